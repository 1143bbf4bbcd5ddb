# SPDX-License-Identifier: MIT
"""Compare the totals of a timeline with those of its page.

report_totals.py page TRACE.json REPORT.html   the timeline in the page
report_totals.py shown TRACE.json DOM.html     what a browser made of the page

Prints what differs: a quantity, what it belongs to, and both values. Exits with
1 if anything does, or if the timeline has no totals.
"""
import json
import math
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


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def of_timeline(text):
    """What is not 0: a page leaves out what did not happen."""
    found = of_events(json.loads(text)["traceEvents"])
    return {key: value for key, value in found.items() if value != 0}


def of_page(what, text):
    if what == "shown":
        shown = Shown()
        shown.feed(text)
        return shown.found
    return of_timeline(re.search(r'id="timeline">(.*?)</script>', text,
                                 re.S)[1])


def main():
    what, trace, page = sys.argv[1:]
    want, got = of_timeline(read(trace)), of_page(what, read(page))
    wrong = not want
    for key in sorted(want.keys() | got.keys()):
        values = want.get(key, 0.0), got.get(key, 0.0)
        # each adds the same numbers, in an order of its own
        if not math.isclose(*values, rel_tol=1e-9):
            print(*key, *values)
            wrong = True
    sys.exit(wrong)


main()
