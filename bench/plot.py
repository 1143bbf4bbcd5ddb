#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench/plot.py: draw rows of `headrace bench ... --json`, by Matplotlib.

    bench/plot.py [OPTION]... [FILE.jsonl]... -o FILE.svg
    bench/plot.py [OPTION]... [FILE.jsonl]... --data
    bench/plot.py [OPTION]... [FILE.jsonl]... --check FILE.svg

Without a FILE.jsonl it reads standard input. --data prints what a picture
would show. --check exits with 1 when the picture shows other data. Neither
needs Matplotlib. Options:

    --where KEY=VALUE,...   only rows that have one of these values
    --panels KIND,...       only panels of these kinds

The rows say which panels there are:

    size      rate over size, a line for each library and list
    scaling   rate or speed-up over the number of accelerators
    roofline  products below what links or memory, and arithmetic allow
    dots      the rates of what is left, by name

The picture has the data in it (<desc>). headrace-bench has this script in it,
and runs it with --serve for --plot: the first line of output names Matplotlib,
rows come until the end of input, and the answer is the picture. Instead of the
name or the picture there may be "error SENTENCE".
"""
import argparse
import html
import io
import json
import os
import re
import sys
import textwrap

PRODUCTS = {"matmul": "Products", "sizes": "Products",
            "batch": "Products in batches"}
LIBRARIES = {"openblas": "OpenBLAS", "cblas": "CBLAS, called directly"}
BYTES = {"f32": (4, 4), "tf32": (4, 4), "f64": (8, 8), "c32": (8, 8),
         "c64": (16, 16), "f16": (2, 4), "bf16": (2, 4), "i8": (1, 4)}
OURS = ("headrace", "auto", "list", "cold files", "warm files")
# Colours that differ for colour-blind readers [Okabe and Ito], and those that
# take their place on a dark ground.
INK, FAINT, GROUND, EDGE = "#1f2328", "#59636e", "#ffffff", "#d0d7de"
PEER_COLOURS = ["#d55e00", "#6e7781", "#b07a00"]
OUR_COLOURS = ["#0072b2", "#009e73", "#cc79a7", "#56b4e9", *PEER_COLOURS]
DARK = {INK: "#f0f6fc", FAINT: "#9198a1", GROUND: "#0d1117", EDGE: "#3d444d",
        "#0072b2": "#4aa3df", "#009e73": "#2fc49b", "#cc79a7": "#e29cc3",
        "#56b4e9": "#8fd0f5", "#d55e00": "#f0883e", "#6e7781": "#9aa4af",
        "#b07a00": "#e3b341"}
MARKERS = "osD^vP*X"
WIDTH = 8.96  # inches, 860 pixels


class Wrong(Exception):
    """One sentence for the reader."""


# ---- rows


def read_rows(lines, name):
    rows = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except ValueError:
                rows.append(None)
            if not isinstance(rows[-1], dict):
                raise Wrong(f"{name}, line {number}: this is no JSON object")
    return rows


def read(paths):
    rows = []
    for path in paths or ["-"]:
        if path == "-":
            rows += read_rows(sys.stdin, "standard input")
        else:
            try:
                with open(path, encoding="utf-8") as file:
                    rows += read_rows(file, path)
            except (OSError, UnicodeDecodeError) as error:
                reason = getattr(error, "strerror", None) or "it is no text"
                raise Wrong(f"{path}: it cannot be read: {reason}") from None
    return rows


def chosen(rows, wishes):
    for wish in wishes:
        key, equals, values = wish.partition("=")
        if not equals:
            raise Wrong(f"--where: '{wish}' is not KEY=VALUE")
        rows = [row for row in rows
                if str(row.get(key)) in values.split(",")]
    return rows


def extents(*numbers):
    return " x ".join(str(number) for number in numbers)


def problem_of(row):
    return row["m"], row["n"], row["k"]


def size_text(row):
    m, n, k = problem_of(row)
    return str(m) if m == n == k else extents(m, n, k)


def flops(row):
    m, n, k = problem_of(row)
    each = 8 if row["type"] in ("c32", "c64") else 2
    return each * m * n * k * row.get("count", 1)


def rate(row):
    return flops(row) / row["min_seconds"]


def is_ours(row):
    return row.get("kind", "headrace") in OURS


def same_commit(row, rows):
    """Whether a peer was measured beside our rows of the same work. A peer has
    no list where it is of the host."""
    commits = {other["commit"] for other in rows
               if is_ours(other) and problem_of(other) == problem_of(row)
               and row.get("list") in (None, other.get("list"))}
    return not commits or commits == {row["commit"]}


def devices(row):
    """The accelerators of a list beside the host, or of the host alone;
    whether the host is there, too; how many devices they are (4xhost: 1)."""
    words = row["list"].split(",")
    count = row["accelerator_count"]
    parts = [re.fullmatch(r"(\d+)x(.+)", word) for word in words]
    host = sum(int(part[1]) if part else 1 for word, part in zip(words, parts)
               if (part[2] if part else word) == "host")
    mixed = 0 < host < count
    count -= host if mixed else 0
    more = sum(int(part[1]) - 1 for part in parts
               if part and not (mixed and part[2] == "host"))
    return count, mixed, count - more


# ---- what a picture shows


def series(name, ours, x, y, **more):
    return {"name": name, "ours": ours, "x": x, "y": y, **more}


def panel(kind, title, x, y, some):
    return {"kind": kind, "title": title, "x": x, "y": y, "series": some}


def product_name(row):
    """A contestant, the same for all sizes."""
    kind, name = row["kind"], row["name"]
    if kind in OURS:
        return "Headrace, " + name
    return LIBRARIES.get(kind, name)


def by_name(rows, name=product_name):
    """Rows of each contestant, ours first."""
    out = {}
    for row in sorted(rows, key=lambda row: not is_ours(row)):
        out.setdefault(name(row), []).append(row)
    return out


def sizes_panel(title, rows):
    squares = [row for row in rows if len(set(problem_of(row))) == 1]
    some = []
    for name, mine in by_name(squares).items():
        at = {row["m"]: rate(row) for row in mine}
        some.append(series(name, is_ours(mine[0]), sorted(at),
                           [at[size] for size in sorted(at)],
                           kind=mine[0]["kind"]))
    if all(len(one["x"]) < 2 for one in some):
        return []
    return [panel("size", title, "m = n = k", "FLOP/s", some)]


def families(rows):
    """Rows with lists that differ only in the number of devices, if it does.
    Each has a name."""
    some = {}
    for row in rows:
        if "list" in row:
            key = (row.get("kind", "headrace"), devices(row)[1],
                   row.get("list_memory_limit", 0), row["device"])
            some.setdefault(key, []).append(row)
    some = {key: mine for key, mine in some.items()
            if len({devices(row)[0] for row in mine}) > 1}
    several = len({device for _, _, _, device in some}) > 1
    return [(scaling_name(*key, several), mine) for key, mine in some.items()]


def scaling_name(kind, mixed, limit, device, several):
    name = "cuBLASXt" if kind == "cublasxt" else "Headrace"
    if kind.endswith("files"):
        name += ", " + kind
    return (name + (" with the host" if mixed and kind != "cublasxt" else "")
            + (f", {limit / 2**30:.3g} GiB each" if limit else "")
            + (f", {device}" if several else ""))


def ideal(mine, value):
    """In proportion to the devices, from the row with the fewest."""
    base = min(mine, key=lambda row: devices(row)[0])
    one = value(base) / devices(base)[2]
    at = {devices(row)[0]: one * devices(row)[2] for row in mine}
    return series("ideal", True, sorted(at), [at[x] for x in sorted(at)],
                  form="ideal")


def is_host(row):
    """Whether a list has nothing but the host."""
    words = row.get("list", "").split(",")
    return all(word.endswith("host") for word in words)


def unit_of(rows):
    host = all(is_host(row) for row in rows if "list" in row)
    gpus = all(word.startswith(("cuda", "host")) for row in rows
               if "list" in row for word in row["list"].split(","))
    return "GPUs" if gpus and not host else "accelerators"


def scaling_panel(title, rows):
    """Of one product. Nothing where all have the same number of devices."""
    some, first = [], None
    for name, mine in families(rows):
        at = {devices(row)[0]: rate(row) for row in mine}
        some.append(series(name, is_ours(mine[0]), sorted(at),
                           [at[x] for x in sorted(at)], kind=mine[0]["kind"]))
        if first is None and is_ours(mine[0]):
            first = mine
    if first is None:
        return []
    some.sort(key=lambda one: not one["ours"])
    some.append(ideal(first, rate))
    top = {devices(row)[0]: row["flops"] / row["limits"]["seconds"]
           for row in first
           if row.get("limits", {}).get("seconds") and "flops" in row}
    if top:
        some.append(series("limit of the machine", True, sorted(top),
                           [top[x] for x in sorted(top)], form="limit"))
    for row in rows:  # a peer on the host is as fast everywhere
        if "list" not in row and row["kind"] in LIBRARIES:
            some.append(series(LIBRARIES[row["kind"]] + ", host", False,
                               some[0]["x"], [rate(row)] * len(some[0]["x"]),
                               kind=row["kind"], form="level"))
    return [panel("scaling", title, unit_of(rows), "FLOP/s", some)]


def moved(row):
    bytes_ = row.get("bytes", {})
    return bytes_.get("host_to_device", 0) + bytes_.get("device_to_host", 0)


def matrix_bytes(row):
    """Of A, B and C, each once."""
    m, n, k = problem_of(row)
    of_ab, of_c = BYTES[row["type"]]
    return (m * k + k * n) * of_ab + m * n * of_c


def roofline_panel(title, x, rows, bytes_of, speed_of):
    """Products below what arithmetic allows, and what a link or a memory does
    for bytes_of them. Nothing without rows."""
    some = []
    for name, mine in by_name(rows).items():
        points = sorted((flops(row) / bytes_of(row), rate(row))
                        for row in mine)
        limits = [row["limits"] for row in mine]
        some.append(series(
            name, True, [x for x, _ in points], [y for _, y in points],
            link=max(map(speed_of, limits)),
            peak=max(one["flops_per_second"] for one in limits)))
    return [panel("roofline", title, x, "FLOP/s", some)] if some else []


def roofline_panels(title, rows):
    """One of lists with links, and one of those that compute in place."""
    rows = [row for row in rows
            if row.get("limits", {}).get("flops_per_second")]
    return roofline_panel(
        title + ": links", "operations per byte over the links",
        [row for row in rows if moved(row) > 0
         and row["limits"]["links"]["both"] > 0],
        moved, lambda limits: limits["links"]["both"]) + roofline_panel(
        title + ": memory", "operations per byte of A, B and C",
        [row for row in rows if row["limits"].get("memory")],
        matrix_bytes, lambda limits: limits["memory"])


def dots_panel(title, unit, rows):
    """rows: (name, series' name, ours, value), in order."""
    some = {}
    for name, who, ours, value in rows:
        if value is not None and value > 0:
            one = some.setdefault(who, series(who, ours, [], []))
            one["x"].append(name)
            one["y"].append(value)
    some = list(some.values())
    return [panel("dots", title, "", unit, some)] if some else []


def product_panels(rows):
    rows = [row for row in rows if row.get("min_seconds")
            and (is_ours(row) or same_commit(row, rows))]
    if not rows:
        return []
    first = rows[0]
    title = f"{PRODUCTS[first['bench']]}, {first['type']}, {first['memory']}"
    title += " memory"
    over_size = sizes_panel(title, rows)
    out = list(over_size)
    scaled = []
    for problem in sorted({problem_of(row) for row in rows},
                          key=lambda p: p[0] * p[1] * p[2], reverse=True):
        mine = [row for row in rows if problem_of(row) == problem]
        on_line = over_size and len(set(problem)) == 1
        found = [] if on_line and scaled else scaling_panel(
            f"{extents(*problem)}, {first['type']}, {first['memory']} memory",
            mine)
        if on_line:
            scaled += found
        out += found
        if not on_line and not found:
            out += dots_panel(
                f"{title}, {size_text(mine[0])}", "FLOP/s",
                [(product_name(row), "rate", True, rate(row))
                 for row in by_name(mine).values() for row in row])
    return out + roofline_panels("Roofline, " + title.partition(", ")[2], rows)


def grid_panels(rows):
    works = list(dict.fromkeys((row["workload"], *row["extent"])
                               for row in rows))
    some, ideals = [], []
    for work in works:
        mine = [row for row in rows
                if (row["workload"], *row["extent"]) == work]
        for name, like in families(mine):
            at = {devices(row)[0]: row["cells_per_second"] for row in like}
            some.append(series(
                f"{work[0]}, {extents(*work[1:])}"
                + name.removeprefix("Headrace"), True, sorted(at),
                [at[count] / at[min(at)] for count in sorted(at)]))
            ideals.append(ideal(like, lambda row: 1.0))
    longest = max(ideals, key=lambda one: len(one["x"]), default=None)
    kind = "the same rows for each" if rows[0].get("weak") else "one grid"
    out = [] if not some else [
        panel("scaling", f"Steps of grids, {kind}", unit_of(rows), "speed-up",
              some + [longest])]
    dots = []
    for row in rows:
        name = f"{row['workload']}, {row['name']}"
        dots.append((name, "Headrace", True, row["cells_per_second"]))
        if row.get("of_copy"):
            dots.append((name, "a copy of as many bytes", False,
                         row["cells_per_second"] / row["of_copy"]))
    return out + dots_panel("Steps of grids", "cells/s", dots)


def peers_panel(title, unit, rows, name, value, peers):
    """Our value of each row, and those of its peers: (name, value)."""
    dots = []
    for row in rows:
        dots.append((name(row), "Headrace", True, value(row)))
        dots += [(name(row), who, False, other) for who, other in peers(row)]
    return dots_panel(title, unit, dots)


def call_panels(rows):
    first = rows[0]
    return peers_panel(
        f"Calls on {first['list']}, {first['elements']} {first['type']}",
        "B/s", rows, lambda row: row["call"],
        lambda row: row["bytes_per_second"],
        lambda row: [(row["peer"], row["bytes_per_second"] / row["over_peer"])]
        if row.get("over_peer") else [])


def stream_panels(rows):
    def name(row):
        limit = row["list_memory_limit"]
        return (f"{row['list']}, {row['bytes'] / 2**30:.3g} GiB"
                + (f" in {limit / 2**30:.3g}" if limit else ""))

    def peers(row):
        speed = row["bytes_per_second"]
        return [(who, factor) for who, factor in (
            ("by hand", speed / row["over_by_hand"]
             if row.get("over_by_hand") else None),
            ("what the links carry", speed / row["of_limit"]
             if row.get("of_limit") else None))]
    return peers_panel(f"Views that stream, {rows[0]['memory']} memory",
                       "B/s", rows, name,
                       lambda row: row["bytes_per_second"], peers)


def run_panels(rows):
    return peers_panel(
        f"Kernels in one call on {rows[0]['list']} (less is better)", "s",
        rows, lambda row: f"{row['kernel']}, {row['size']}",
        lambda row: row["min_seconds"],
        lambda row: [("OpenMP", row.get("openmp_seconds")),
                     ("NumPy", row.get("numpy_seconds"))])


def filter_panels(rows):
    first = rows[0]
    pixels = first["rows"] * first["cols"]
    dots = []
    for row in rows:
        name = f"{row['method']}, {row['name']}, {row['form']}"
        who = "Headrace" if row["wanted"] == row["method"] else (
            f"Headrace, {row['wanted']}")
        dots.append((name, who, True, pixels / row["min_seconds"]))
        if row.get("published_seconds"):
            dots.append((name, "published", False,
                         pixels / row["published_seconds"]))
    return dots_panel(
        f"Filter, {extents(first['rows'], first['cols'])} {first['type']}, "
        f"reach {first['reach']}", "pixels/s", dots)


def kernel_panels(rows):
    first = rows[0]
    return peers_panel(
        f"Products by kernels on {first['accelerator']}, f32, "
        f"{size_text(first)}", "FLOP/s", rows, lambda row: row["kernel"],
        lambda row: row["gflops"] * 1e9,
        lambda row: [("the library", row["gflops"] * 1e9 / row["of_library"])]
        if row.get("of_library") else [])


# How a benchmark's rows are drawn, and what those of one panel have in common.
SUBJECTS = {
    **{name: (product_panels, ("type", "memory")) for name in PRODUCTS},
    "grid": (grid_panels, ("weak",)),
    "calls": (call_panels, ("list", "type", "elements")),
    "stream": (stream_panels, ("memory",)),
    "run": (run_panels, ("list",)),
    "filter": (filter_panels, ("rows", "cols", "reach", "type")),
    "kernels": (kernel_panels, ("accelerator", "m", "n", "k")),
}


def picture(rows, kinds=None):
    """All panels, and where the rows come from."""
    groups = {}
    for row in rows:
        if row.get("bench") in SUBJECTS:
            _, keys = SUBJECTS[row["bench"]]
            key = [row.get(name) for name in ("machine", "bench", *keys)]
            groups.setdefault(json.dumps(key), []).append(row)
    panels = []
    try:
        for some in groups.values():
            panels += SUBJECTS[some[0]["bench"]][0](some)
    except (KeyError, TypeError, ZeroDivisionError) as error:
        raise Wrong(f"a row of {some[0]['bench']} lacks what is drawn: "
                    f"{error}") from None
    panels = [one for one in panels if kinds is None or one["kind"] in kinds]
    if not panels:
        raise Wrong("no row has a rate, so there is nothing to draw")
    return {"panels": panels, "from": origin(rows)}


def origin(rows):
    def all_of(key, some=rows):
        return list(dict.fromkeys(row[key] for row in some if row.get(key)))
    others = [row for row in rows if not is_host(row)]
    gpus = max((devices(row)[0] for row in rows
                if "cuda" in str(row.get("list"))), default=0)
    names = [name for name in all_of("device", others)
             if not any(name in cpu for cpu in all_of("cpu"))]
    names = names or all_of("machine")
    device = (f"{gpus} x " if gpus else "") + " and ".join(names)
    return ["; ".join(([device] if names else []) + all_of("cpu")),
            "Best of the calls after the first. Commit "
            + ", ".join(sorted(all_of("commit"))) + "; "
            + ", ".join(all_of("compiler")) + "."]


# ---- drawing


def import_matplotlib():
    try:
        import matplotlib
        import matplotlib.backends.backend_svg
        import matplotlib.figure
        import matplotlib.ticker
        import matplotlib.transforms
    except ImportError:
        raise Wrong("this python3 has no Matplotlib") from None
    matplotlib.rcdefaults()
    matplotlib.rcParams.update({
        "svg.fonttype": "none", "svg.hashsalt": "headrace",
        "font.family": ["sans-serif"], "font.size": 9,
        "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
        "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": FAINT,
        "xtick.color": FAINT, "ytick.color": FAINT, "grid.color": EDGE,
        "axes.titlesize": 9.5, "axes.titleweight": "bold",
        "axes.titlelocation": "left", "legend.fontsize": 8.5,
        "axes.spines.top": False, "axes.spines.right": False,
        "axes.grid": True, "grid.linewidth": 0.6, "axes.axisbelow": True})
    return matplotlib


def styles_of(some):
    """A style for each series. Libraries keep their colour."""
    out, ours = [], 0
    fixed = {"openblas": 0, "cublasxt": 1, "cublas": 1, "cblas": 2}
    peers = 0
    for i, one in enumerate(some):
        form = one.get("form")
        if form == "ideal":
            style = {"color": FAINT, "linewidth": 1.2,
                     "linestyle": (0, (1, 2))}
        elif form == "limit":
            style = {"color": INK, "linestyle": "none", "marker": "_",
                     "markersize": 15, "markeredgewidth": 1.4}
        elif one["ours"]:
            style = {"color": OUR_COLOURS[ours % len(OUR_COLOURS)],
                     "marker": MARKERS[ours % len(MARKERS)], "markersize": 5}
            ours += 1
        else:
            at = fixed.get(one.get("kind"), peers)
            style = {"color": PEER_COLOURS[at % len(PEER_COLOURS)],
                     "linestyle": (0, (5, 2)), "markersize": 5,
                     "marker": "" if form == "level"
                     else MARKERS[(i + 2) % len(MARKERS)],
                     "markerfacecolor": GROUND}
            peers += 1
        out.append(style)
    return out


def prefix(most):
    for factor, letter in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"),
                           (1e3, "k")):
        if most >= factor:
            return factor, letter
    return 1, ""


def rate_axis(plt, axis, unit, values, always_log=False):
    """Units of a value axis; returns the divisor of values."""
    if unit == "speed-up":
        return 1
    if always_log or max(values) > 30 * min(values):
        axis.axes.set(**{axis.axis_name + "scale": "log"})
        axis.set_major_formatter(plt.ticker.EngFormatter(
            unit if unit == "s" else "", sep=" "))
        axis.set_minor_formatter(plt.ticker.NullFormatter())
        if max(values) < 100 * min(values):
            axis.set_major_locator(plt.ticker.LogLocator(subs=(1, 2, 5)))
        axis.set_label_text("time" if unit == "s" else unit)
        return 1
    factor, letter = prefix(max(values))
    if unit == "s":
        factor, letter = ((1, "") if max(values) >= 1 else
                          (1e-3, "m") if max(values) >= 1e-3 else (1e-6, "µ"))
    axis.set_label_text(letter + unit)
    return factor


def plain_ticks(plt, axis, values):
    axis.set_major_locator(plt.ticker.FixedLocator(values))
    axis.set_major_formatter(plt.ticker.FuncFormatter(lambda x, _: f"{x:g}"))
    axis.set_minor_locator(plt.ticker.NullLocator())


def draw_lines(plt, axes, one, number):
    """Rate over size, or over the number of accelerators."""
    values = [y for line in one["series"] for y in line["y"]]
    places = sorted({x for line in one["series"] for x in line["x"]})
    scaling = one["kind"] == "scaling"
    factor = 1
    if scaling:
        if one["y"] == "speed-up":
            axes.set_ylabel("speed-up")
        else:
            factor, letter = prefix(max(values))
            axes.set_ylabel(letter + one["y"])
        axes.set_xlim(places[0] - 0.1 * (places[-1] - places[0]),
                      places[-1] + 0.16 * (places[-1] - places[0]))
    else:
        factor = rate_axis(plt, axes.yaxis, one["y"], values)
        if places[-1] > 4 * places[0]:
            axes.set_xscale("log", base=2)
    axes.set_xlabel(one["x"])
    if scaling or len(places) <= 7:
        plain_ticks(plt, axes.xaxis, places)
    elif axes.get_xscale() == "log":
        plain_ticks(plt, axes.xaxis,
                    [x for x in (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536)
                     if places[0] <= x <= places[-1]])
    for i, (line, style) in enumerate(zip(one["series"],
                                          styles_of(one["series"]))):
        heights = [y / factor for y in line["y"]]
        axes.plot(line["x"], heights, label=line["name"],
                  gid=f"series-{number}-{i}", **style)
        if scaling and "form" not in line and one["y"] != "speed-up":
            for x, y in zip(line["x"], heights):
                low = y < 0.12 * max(values) / factor
                axes.annotate(f"{y:.3g}", (x, y), (4, 3 if low else -4),
                              textcoords="offset points", ha="left",
                              va="bottom" if low else "top", fontsize=8)
    if axes.get_yscale() != "log":
        axes.set_ylim(0, 1.12 * max(values) / factor)


def draw_roofline(plt, axes, one, number):
    values = [y for line in one["series"] for y in (*line["y"], line["peak"])]
    places = [x for line in one["series"] for x in line["x"]]
    ridges = [line["peak"] / line["link"] for line in one["series"]]
    axes.set_xscale("log")
    rate_axis(plt, axes.yaxis, one["y"], values, True)
    axes.set_xlabel(one["x"])
    axes.xaxis.set_major_formatter(plt.ticker.EngFormatter(sep=" "))
    axes.xaxis.set_minor_formatter(plt.ticker.NullFormatter())
    axes.xaxis.set_major_locator(plt.ticker.LogLocator(subs=(1, 2, 5)))
    left, right = min(places + ridges) / 2, max(places + ridges) * 2
    for i, (line, style) in enumerate(zip(one["series"],
                                          styles_of(one["series"]))):
        ridge = line["peak"] / line["link"]
        axes.plot([left, ridge, right],
                  [left * line["link"], line["peak"], line["peak"]],
                  color=style["color"], linewidth=1, gid=f"roof-{number}-{i}")
        axes.plot(line["x"], line["y"], label=line["name"],
                  gid=f"series-{number}-{i}", **{**style, "linestyle": "none"})
    axes.set_xlim(left, right)
    axes.set_ylim(min(values) / 3, max(values) * 2)


def names_of(one):
    return list(dict.fromkeys(name for line in one["series"]
                              for name in line["x"]))


def draw_dots(plt, axes, one, number):
    names = names_of(one)
    values = [y for line in one["series"] for y in line["y"]]
    factor = rate_axis(plt, axes.xaxis, one["y"], values)
    for i, (line, style) in enumerate(zip(one["series"],
                                          styles_of(one["series"]))):
        axes.plot([y / factor for y in line["y"]],
                  [names.index(name) for name in line["x"]],
                  label=line["name"], gid=f"series-{number}-{i}",
                  **{**style, "linestyle": "none"})
    if axes.get_xscale() != "log":
        axes.set_xlim(0, 1.06 * max(values) / factor)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", labelcolor=INK, length=0)


DRAW = {"size": draw_lines, "scaling": draw_lines, "roofline": draw_roofline,
        "dots": draw_dots}


def legend_columns(one, width):
    longest = max(len(line["name"]) for line in one["series"])
    return max(1, min(4, int((width + 0.3) / (0.55 + 0.06 * longest))))


def title_lines(one, wide):
    return textwrap.wrap(one["title"], 100 if wide else 50)


class Place:
    """Where a panel lies, in inches: from the left, its width, and the heights
    of the title, the plot and the legend."""

    def __init__(self, one, wide):
        self.wide, self.row = wide, 0
        all_ = WIDTH if wide else WIDTH / 2
        self.left, self.plot = 0.76, 2.2
        if one["kind"] == "dots":
            names = names_of(one)
            self.left = min(WIDTH / 2, 0.3 + 0.075 * max(map(len, names)))
            self.plot = 0.15 + 0.2 * len(names)
        self.width = all_ - self.left - 0.2
        self.columns = legend_columns(one, self.width)
        lines = -(-len(one["series"]) // self.columns)
        self.title = 0.12 + 0.18 * len(title_lines(one, wide))
        self.below = 0.55 + 0.18 * (lines if has_legend(one) else 0)

    def height(self):
        return self.title + self.plot + self.below


def has_legend(one):
    return len(one["series"]) > 1 or one["kind"] == "roofline"


def places_of(panels):
    """Panels side by side in rows, those with names on their own."""
    out, free = [], False
    for i, one in enumerate(panels):
        lonely = [two["kind"] for two in panels[i + 1:i + 2]] in ([], ["dots"])
        wide = one["kind"] == "dots" or (lonely and not free)
        place = Place(one, wide)
        if free and not wide:
            place.row, place.left = out[-1].row, place.left + WIDTH / 2
        else:
            place.row = out[-1].row + 1 if out else 0
        free = not wide and not free
        out.append(place)
    return out


def draw_panel(plt, figure, one, number, place, top):
    """top: of the panel's row, inches from the lower edge."""
    width, height = figure.get_size_inches()
    axes = figure.add_axes((
        place.left / width, (top - place.title - place.plot) / height,
        place.width / width, place.plot / height), facecolor="none")
    axes.set_title("\n".join(title_lines(one, place.wide)),
                   x=0 if place.wide else -0.58 / place.width)
    DRAW[one["kind"]](plt, axes, one, number)
    if has_legend(one):
        below = plt.transforms.ScaledTranslation(0, -0.45,
                                                 figure.dpi_scale_trans)
        axes.legend(loc="upper left", bbox_to_anchor=(0, 0), borderpad=0,
                    borderaxespad=0, bbox_transform=axes.transAxes + below,
                    frameon=False, ncol=place.columns, columnspacing=1.2,
                    handlelength=2.4)


def draw(shown):
    """The picture, as SVG."""
    plt = import_matplotlib()
    places = places_of(shown["panels"])
    rows = [max(place.height() for place in places if place.row == row)
            for row in range(places[-1].row + 1)]
    foot = 0.18 * len(shown["from"]) + 0.2
    figure = plt.figure.Figure((WIDTH, sum(rows) + foot), facecolor=GROUND)
    plt.backends.backend_svg.FigureCanvasSVG(figure)
    for number, (one, place) in enumerate(zip(shown["panels"], places)):
        draw_panel(plt, figure, one, number, place,
                   foot + sum(rows[place.row:]))
    for i, line in enumerate(reversed(shown["from"])):
        figure.text(0.18 / WIDTH, (0.12 + 0.18 * i) / (sum(rows) + foot), line,
                    color=FAINT, fontsize=8)
    out = io.StringIO()
    figure.savefig(out, format="svg", facecolor=GROUND, metadata={
        "Date": None, "Creator": None, "Format": None, "Type": None})
    return finish(out.getvalue(), shown)


def finish(svg, shown):
    """Add a title, the data, and colours for a dark ground."""
    head, body = re.search(r"(<svg[^>]*>)(.*)", svg, re.S).groups()
    title = "; ".join(dict.fromkeys(one["title"] for one in shown["panels"]))
    rules = "\n".join(
        f'[style*="{part}: {light}"] {{ {part}: {dark} !important }}'
        for light, dark in DARK.items() for part in ("fill", "stroke"))
    return (f"{head}\n<title>{html.escape(title, quote=False)}</title>\n"
            f"<desc>{html.escape(dump(shown), quote=False)}</desc>\n"
            "<style>@media (prefers-color-scheme: dark) {\n"
            f"{rules}\n}}</style>{body}")


def dump(shown):
    return json.dumps(shown)


# ---- commands


def check(path, shown):
    try:
        with open(path, encoding="utf-8") as file:
            found = re.search("<desc>(.*?)</desc>", file.read(), re.S)
    except OSError as error:
        raise Wrong(f"{path}: it cannot be read: {error.strerror}") from None
    if found is None or html.unescape(found[1]) != dump(shown):
        raise Wrong(f"{path}: it shows other data than these rows")


def write(path, text):
    """The file appears whole or not at all."""
    draft = f"{path}.{os.getpid()}"
    try:
        with open(draft, "x", encoding="utf-8") as file:
            file.write(text)
        os.replace(draft, path)
    except OSError as error:
        if os.path.exists(draft):
            os.unlink(draft)
        raise Wrong(f"{path}: it cannot be written: "
                    f"{error.strerror}") from None


def serve():
    """Be a process of headrace-bench."""
    try:
        plt = import_matplotlib()
        print("Matplotlib", plt.__version__, flush=True)
        answer = draw(picture(read_rows(sys.stdin, "rows")))
    except Wrong as wrong:
        answer = f"error {wrong}\n"
    sys.stdout.write(answer)


def main(arguments):
    parser = argparse.ArgumentParser(
        prog="plot.py", usage=argparse.SUPPRESS, add_help=False)
    parser.add_argument("--where", action="append", default=[])
    parser.add_argument("--panels", type=lambda text: text.split(","))
    parser.add_argument("-o", dest="output")
    parser.add_argument("--data", action="store_true")
    parser.add_argument("--check")
    parser.add_argument("--help", action="store_true")
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("files", nargs="*")
    o = parser.parse_args(arguments)
    if o.help:
        print(__doc__, end="")
        return 0
    if o.serve:
        serve()
        return 0
    if bool(o.output) + o.data + bool(o.check) != 1:
        parser.error("one of -o, --data and --check is wanted")
    if o.output and not o.output.endswith(".svg"):
        parser.error(f"-o: '{o.output}' is not a file name that ends in .svg")
    try:
        shown = picture(chosen(read(o.files), o.where), o.panels)
        if o.data:
            print(dump(shown))
        elif o.check:
            check(o.check, shown)
        else:
            write(o.output, draw(shown))
    except Wrong as wrong:
        print(f"plot.py: {wrong}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
