# SPDX-License-Identifier: MIT
"""What a page of headrace report must show, or does show.

report_totals.py trace TRACE.json   from the timeline
report_totals.py page REPORT.html   from the timeline in the page
report_totals.py shown DOM.html     from what a browser made of the page

Prints lines of a quantity, what it belongs to, and its value.
"""
import json
import re
import sys
from html.parser import HTMLParser

KINDS = ("compute", "up", "down", "peer", "inside", "pack", "wait")


def union(bars):
    """Microseconds in which at least one of the bars runs."""
    busy, end = 0.0, float("-inf")
    for begin, until in sorted((e["ts"], e["ts"] + e["dur"]) for e in bars):
        busy += max(0.0, until - max(begin, end))
        end = max(end, until)
    return busy


def of_events(events):
    """{(quantity, process): value}, with "all" for a sum over processes."""
    bars = [e for e in events if e["ph"] == "X"]
    begin = min(e["ts"] for e in bars)
    end = max(e["ts"] + e["dur"] for e in bars)
    found = {("span", "all"): end - begin,
             ("calls", "all"): union(e for e in bars if e["cat"] == "call")}
    for what in ("up", "down", "peer"):
        found[what, "all"] = sum(e["args"].get("bytes", 0) for e in bars
                                 if e["cat"] == what)
    found["flop", "all"] = sum(e["args"].get("flop", 0) for e in bars
                               if e["cat"] == "compute")
    for process in {e["pid"] for e in bars if e["cat"] != "call"}:
        own = [e for e in bars if e["pid"] == process]
        found["busy", str(process)] = 1e-6 * union(
            e for e in own if e["cat"] not in ("call", "wait"))
        for kind in KINDS:
            of = [e for e in own if e["cat"] == kind]
            found[f"busy-{kind}", str(process)] = 1e-6 * union(of)
            found[kind, str(process)] = sum(e["args"].get("bytes", 0)
                                            for e in of)
        found["flop", str(process)] = sum(
            e["args"].get("flop", 0) for e in own if e["cat"] == "compute")
    return found


class Shown(HTMLParser):
    """The elements with exact values."""

    def __init__(self):
        super().__init__()
        self.found = {}

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        if "data-sum" in a:
            key = a["data-sum"], a["data-of"]
            assert key not in self.found, key
            self.found[key] = float(a["data-value"])


def main():
    what, path = sys.argv[1:]
    text = open(path, encoding="utf-8", errors="replace").read()
    if what == "shown":
        shown = Shown()
        shown.feed(text)
        found = shown.found
    else:
        if what == "page":
            text = re.search(r'id="timeline">(.*?)</script>', text, re.S)[1]
        found = of_events(json.loads(text)["traceEvents"])
    for key, value in sorted(found.items()):
        if value != 0:  # a page leaves out what did not happen
            print(*key, f"{value:.6g}")


main()
