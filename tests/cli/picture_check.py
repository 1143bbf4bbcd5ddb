# SPDX-License-Identifier: MIT
"""picture_check.py MACHINE.json PICTURE.svg: whether the picture of `headrace
devices` shows what its JSON of the same run says. Prints what is wrong."""
import json
import re
import sys
import xml.etree.ElementTree

UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
SVG = "{http://www.w3.org/2000/svg}"


def numbers(texts, pattern):
    """The numbers behind a word in all texts, in order."""
    found = (re.search(pattern + r" ([0-9.]+) ([kMGT]?)(?:B|FLOP)/s", text)
             for text in texts)
    return [float(m[1]) * UNITS[m[2]] for m in found if m]


def wrong(machine, picture):
    chosen = machine["accelerators"]
    texts = ["".join(t.itertext()) for t in picture.iter(SVG + "text")]
    for one in chosen:
        if one["path"] not in texts:
            yield f"{one['path']} is not there"
    away = [one for one in chosen if not one["in_place"]]
    near = [one for one in chosen if one["in_place"]]
    for word, key, which in (
            ("^up", "up_bytes_per_second", away),
            ("^down", "down_bytes_per_second", away),
            ("f32", "f32_flops_per_second", None),
            ("f64", "f64_flops_per_second", None)):
        seen = numbers(texts, word)
        want = [one["rates"][key] for one in (which or near + away)]
        order = sorted if which is None else list
        if len(seen) != len(want) or any(
                abs(a - b) > 0.01 * b for a, b in zip(order(seen),
                                                      order(want))):
            yield f"{key}: {seen} instead of {want}"
    width, height = map(float, picture.get("viewBox").split()[2:])
    boxes = [tuple(float(r.get(k)) for k in ("x", "y", "width", "height"))
             for r in picture.iter(SVG + "rect")]
    if len(boxes) != len(chosen) + 1:
        yield f"{len(boxes)} boxes for {len(chosen)} accelerators"
    for x, y, w, h in boxes:
        if x < 0 or y < 0 or x + w > width or y + h > height:
            yield f"a box at {x}, {y} leaves the picture"
    cards = boxes[1:]
    for i, (x, y, w, h) in enumerate(cards):
        for u, v, a, b in cards[:i]:
            if x < u + a and u < x + w and y < v + b and v < y + h:
                yield f"boxes at {x}, {y} and {u}, {v} overlap"


def main():
    machine = json.load(open(sys.argv[1]))
    picture = xml.etree.ElementTree.parse(sys.argv[2]).getroot()
    for fault in wrong(machine, picture):
        print(fault)


if __name__ == "__main__":
    main()
