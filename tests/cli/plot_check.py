# SPDX-License-Identifier: MIT
"""plot_check.py ROWS.jsonl PICTURE.svg: whether a picture of products shows what
their rows say, where it has its points and in its data. Prints what is wrong."""
import json
import math
import sys
import xml.etree.ElementTree

SVG = "{http://www.w3.org/2000/svg}"


def speed(row):
    return 2 * row["m"] * row["n"] * row["k"] / row["min_seconds"]


def points(group):
    """Where a series has its markers."""
    return [(float(use.get("x")), float(use.get("y")))
            for use in group.iter(SVG + "use")]


def spread(pairs):
    """How far from a straight line the pairs (value, pixel) are."""
    (a, at_a), (b, at_b) = min(pairs), max(pairs)
    if a == b:
        return 0.0
    return max(abs(at_a + (value - a) * (at_b - at_a) / (b - a) - pixel)
               for value, pixel in pairs)


def wrong_places(panel, number, picture):
    groups = {group.get("id"): group for group in picture.iter(SVG + "g")}
    pairs = {"x": [], "y": []}
    for i, one in enumerate(panel["series"]):
        group = groups.get(f"series-{number}-{i}")
        if group is None:
            yield f"{panel['title']}: {one['name']} is not drawn"
            continue
        if one.get("form") in ("ideal", "level"):
            continue  # without markers
        places = points(group)
        if len(places) != len(one["x"]):
            yield (f"{panel['title']}: {one['name']} has {len(places)} "
                   f"points instead of {len(one['x'])}")
            continue
        for x, y, place in zip(one["x"], one["y"], places):
            if panel["kind"] == "dots":
                pairs["x"].append((y, place[0]))
            else:
                pairs["x"].append((x, place[0]))
                pairs["y"].append((y, place[1]))
    for axis, some in pairs.items():
        if some:
            logs = [(math.log(value), pixel) for value, pixel in some]
            off = min(spread(some), spread(logs))
            if off > 0.01:
                yield f"{panel['title']}: {axis} is off by {off} points"


def wrong(rows, picture):
    shown = json.loads(picture.find(SVG + "desc").text)
    texts = {"".join(text.itertext()) for text in picture.iter(SVG + "text")}
    kinds = [panel["kind"] for panel in shown["panels"]]
    for kind in ("size", "scaling", "roofline"):
        if kind not in kinds:
            yield f"there is no panel {kind}, only {kinds}"
    for number, panel in enumerate(shown["panels"]):
        yield from wrong_places(panel, number, picture)
        for one in panel["series"]:
            if one["name"] not in texts:
                yield f"there is no text {one['name']}"
    sizes = next(panel for panel in shown["panels"] if panel["kind"] == "size")
    got = sorted(y for one in sizes["series"] for y in one["y"])
    if got != sorted(map(speed, rows)):
        yield f"rates are {got}, not {sorted(map(speed, rows))}"
    for row in rows:
        if row["kind"] != "headrace":
            continue
        mine = [one for one in sizes["series"]
                if one["name"] == "Headrace, " + row["name"]]
        if len(mine) != 1 or speed(row) != dict(
                zip(mine[0]["x"], mine[0]["y"])).get(row["m"]):
            yield f"{row['name']}, {row['m']}: its rate is not there"
    if not any("FLOP/s" in text for text in texts):
        yield "there is no unit"


def main():
    with open(sys.argv[1]) as file:
        rows = [json.loads(line) for line in file]
    picture = xml.etree.ElementTree.parse(sys.argv[2]).getroot()
    for fault in wrong(rows, picture):
        print(fault)


if __name__ == "__main__":
    main()
