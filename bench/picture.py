#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench/picture.py: docs/speed.svg from bench/results/*.jsonl.

    bench/picture.py            write docs/speed.svg
    bench/picture.py --check    exit with 1 when the picture is not this one
    bench/picture.py --print    print it

It shows products from ordinary memory, Headrace beside its peers. Bars are in one
group only if one commit measured them on one machine. The machine is the one
with results for the most GPUs.
"""
import glob
import html
import json
import os
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PICTURE = os.path.join(ROOT, "docs", "speed.svg")
PANELS = [  # part of bench/run-gpu, m, n, k
    ("c", 16384, 16384, 16384),
    ("g", 200000, 4096, 4096),
]
TYPE, MEMORY = "f32", "ordinary"
NAMES = {"headrace": "Headrace", "cublasxt": "cuBLASXt", "openblas": "OpenBLAS"}

WIDTH, MARGIN = 860, 24
NAME = 120                    # x of the bars' names
BARS = 216                    # x of the bars' left end
LONGEST = 496                 # width of the longest bar
BAR, STEP, GAP = 20, 25, 13   # height of a bar, from bar to bar, after a group
STYLE = """
.ground { fill: #ffffff; stroke: #d0d7de }
text { fill: #1f2328; font-size: 16px;
  font-family: system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif }
.title { font-size: 19px; font-weight: 600 }
.panel { font-weight: 600 }
.small { fill: #59636e; font-size: 14px }
.value { font-weight: 600 }
.headrace { fill: #0969da }
.cublasxt { fill: #8c959f }
.openblas { fill: #bc6c25 }
.limit { fill: #b6d7fb }
@media (prefers-color-scheme: dark) {
.ground { fill: #0d1117; stroke: #3d444d }
text { fill: #f0f6fc }
.small { fill: #9198a1 }
.headrace { fill: #4493f8 }
.cublasxt { fill: #7d8590 }
.openblas { fill: #d98e4a }
.limit { fill: #1c3a63 }
}
"""


def read(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def gpus(row):
    """How many GPUs a row of Headrace or cuBLASXt has; the host is none."""
    host = row["list"].split(",").count("host")
    return row["accelerator_count"] - host


def rows_of(rows, panel):
    """The rows of a panel that give a rate."""
    part, m, n, k = panel
    return [row for row in rows
            if (row.get("part"), row.get("m"), row.get("n"), row.get("k"),
                row.get("type"), row.get("memory"))
            == (part, m, n, k, TYPE, MEMORY)
            and row.get("kind") in NAMES and "tflops" in row]


def groups(rows, panel):
    """The bars of a panel: (label, rows), the host alone first. A peer is left
    out where Headrace's row beside it is of another commit."""
    some = rows_of(rows, panel)
    ours = {gpus(row): row for row in some if row["kind"] == "headrace"}
    out = []
    host = [row for row in some if row["kind"] == "openblas"]
    commits = {row["commit"] for row in ours.values()}
    if host and commits == {host[0]["commit"]}:
        out.append(("CPUs only", host[:1]))
    for count in sorted(ours):
        peers = [row for row in some
                 if row["kind"] == "cublasxt" and gpus(row) == count
                 and row["commit"] == ours[count]["commit"]]
        label = f"{count} GPU" + ("s" if count > 1 else "")
        out.append((label, [ours[count]] + peers[:1]))
    return out


def limit(row):
    """What the machine allows, TFLOP/s: docs/performance.md says how."""
    if "limits" not in row:
        return None
    return row["flops"] / row["limits"]["seconds"] * 1e-12


def choose():
    """The results of the machine with the most GPUs in the first panel."""
    best, most = [], 0
    for path in sorted(glob.glob(os.path.join(ROOT, "bench/results/*.jsonl"))):
        rows = read(path)
        count = max((gpus(row) for row in rows_of(rows, PANELS[0])
                     if row["kind"] == "headrace"), default=0)
        if count > most:
            best, most = rows, count
    return best


class Drawing:
    def __init__(self):
        self.parts, self.y = [], MARGIN

    def text(self, x, y, kind, words):
        self.parts.append(f'<text x="{x:g}" y="{y:g}" class="{kind}">'
                          f"{html.escape(words, quote=False)}</text>")

    def line(self, kind, words, down):
        """A line of text from the left margin, and the way to the next."""
        self.text(MARGIN, self.y + 16, kind, words)
        self.y += down

    def box(self, width, kind):
        self.parts.append(f'<rect x="{BARS}" y="{self.y:g}" width="{width:.1f}"'
                          f' height="{BAR}" rx="2" class="{kind}"/>')

    def bar(self, row, scale):
        allowed = limit(row)
        value = f"{row['tflops']:.3g}"
        end = row["tflops"]
        if allowed is not None:
            self.box(allowed * scale, "limit")
            value += f" of {allowed:.3g}"
            end = max(end, allowed)
        self.box(row["tflops"] * scale, row["kind"])
        self.text(NAME, self.y + 16, "name", NAMES[row["kind"]])
        self.text(round(BARS + end * scale) + 8, self.y + 16, "value", value)
        self.y += STEP

    def svg(self, alternative):
        height = self.y + MARGIN
        return "\n".join([
            '<svg xmlns="http://www.w3.org/2000/svg" role="img" '
            f'viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" '
            f'height="{height:g}">',
            "<!-- made by bench/picture.py from bench/results -->",
            f"<title>{html.escape(alternative, quote=False)}</title>",
            f"<style>{STYLE}</style>",
            f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" '
            f'height="{height - 1:g}" rx="8" class="ground"/>',
            *self.parts, "</svg>"]) + "\n"


def heading(panel, bars):
    ours = [row for _, some in bars for row in some
            if row["kind"] == "headrace"]
    with_host = any("host" in row["list"].split(",") for row in ours)
    sizes = " x ".join(map(str, panel[1:]))
    return sizes + (", Headrace on GPUs and CPUs" if with_host else "")


def footer(shown):
    """Where the bars come from, in two lines."""
    ours = [row for row in shown if row["kind"] == "headrace"]
    peers = sorted({row["library"] for row in shown if row.get("library")})
    most = max(map(gpus, ours))
    calls = min(row["runs"] for row in ours)
    commits = ", ".join(sorted({row["commit"] for row in ours}))
    first = (f"{most} x {ours[0]['device']}, {ours[0]['cpu']}. "
             f"Best of {calls} calls after the first.")
    second = f"Commits {commits}. "
    if peers:
        second += ", ".join(peers) + ": best block size, page-locking off."
    return first, second


def picture(rows):
    panels = [(panel, groups(rows, panel)) for panel in PANELS]
    panels = [(panel, bars) for panel, bars in panels if bars]
    out = Drawing()
    title = "Products of floats from ordinary memory, TFLOP/s"
    out.line("title", title, 28)
    if not panels:
        out.line("small", "No results are kept in bench/results yet.", 20)
        return out.svg(title)
    shown = [row for _, bars in panels for _, some in bars for row in some]
    longest = max(max(row["tflops"], limit(row) or 0) for row in shown)
    out.line("small", "More is better. A faint bar is the most that the "
             "machine's links and arithmetic allow.", 36)
    for panel, bars in panels:
        out.line("panel", heading(panel, bars), 30)
        for label, some in bars:
            out.text(MARGIN, out.y + 16, "label", label)
            for row in some:
                out.bar(row, LONGEST / longest)
            out.y += GAP
        out.y += 6
    for words in footer(shown):
        out.line("small", words, 21)
    out.y -= 10
    return out.svg(title + ": " + "; ".join(
        f"{' x '.join(map(str, panel[1:]))} on {label}: " + ", ".join(
            f"{NAMES[row['kind']]} {row['tflops']:.3g}" for row in some)
        for panel, bars in panels for label, some in bars))


def main(arguments):
    if arguments not in ([], ["--check"], ["--print"]):
        print(__doc__, end="", file=sys.stderr)
        return 2
    text = picture(choose())
    if arguments == ["--print"]:
        print(text, end="")
        return 0
    if arguments == ["--check"]:
        try:
            with open(PICTURE, encoding="utf-8") as file:
                same = file.read() == text
        except FileNotFoundError:
            same = False
        if not same:
            print("docs/speed.svg: run bench/picture.py")
        return int(not same)
    with open(PICTURE, "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
