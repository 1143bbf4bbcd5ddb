# SPDX-License-Identifier: MIT
"""Compare the totals of a timeline with those of its page.

report_totals.py page TRACE.json REPORT.html   the timeline in the page
report_totals.py shown TRACE.json DOM.html     what a browser made of the page
report_totals.py told TOLD.json REPORT.html    what headrace matmul --json told
                                               of the only call in the page

Prints what differs: a quantity, what it belongs to, and both values. Exits with
1 if anything does, or if the timeline has no totals.
"""
import json
import math
import re
import sys
from html.parser import HTMLParser

KINDS = ("compute", "up", "down", "peer", "inside", "pack", "wait", "measure")


def union(bars):
    """Microseconds in which at least one of the bars runs."""
    busy, end = 0.0, float("-inf")
    for begin, until in sorted((e["ts"], e["ts"] + e["dur"]) for e in bars):
        busy += max(0.0, until - max(begin, end))
        end = max(end, until)
    return busy


def measured(bars, call):
    """Microseconds of a call in which its thread measures."""
    begin, end = call["ts"], call["ts"] + call["dur"]
    inside = []
    for e in bars:
        if (e["cat"], e["pid"], e["tid"]) == ("measure", 0, call["tid"]):
            ts = max(e["ts"], begin)
            inside.append({"ts": ts, "dur": min(e["ts"] + e["dur"], end) - ts})
    return union(e for e in inside if e["dur"] > 0)


def of_events(events):
    """{(quantity, process): value}, with "all" for a sum over processes."""
    bars = [e for e in events if e["ph"] == "X"]
    begin = min(e["ts"] for e in bars)
    end = max(e["ts"] + e["dur"] for e in bars)
    calls = [e for e in bars if e["cat"] == "call"]
    found = {("span", "all"): end - begin,
             ("calls", "all"): union(calls) - sum(measured(bars, call)
                                                  for call in calls),
             ("measured", "all"): union(e for e in bars if e["pid"] == 0
                                        and e["cat"] == "measure")}
    for what in ("up", "down", "peer"):
        found[what, "all"] = sum(e["args"].get("bytes", 0) for e in bars
                                 if e["cat"] == what)
    found["flop", "all"] = sum(e["args"].get("flop", 0) for e in bars
                               if e["cat"] == "compute")
    for process in {e["pid"] for e in bars if e["cat"] != "call"}:
        own = [e for e in bars if e["pid"] == process]
        found["busy", str(process)] = 1e-6 * union(
            e for e in own if e["cat"] not in ("call", "wait", "measure"))
        for kind in KINDS:
            of = [e for e in own if e["cat"] == kind]
            if kind == "peer":  # counts where it goes to
                of = [e for e in bars if e["cat"] == kind
                      and e["args"].get("to", e["pid"]) == process]
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
    return of_timeline(in_page(text))


def in_page(text):
    return re.search(r'id="timeline">(.*?)</script>', text, re.S)[1]


def of_told(told, timeline):
    """What was told, by the processes of the timeline."""
    paths = {e["args"]["name"].split(": ")[0]: str(e["pid"])
             for e in json.loads(timeline)["traceEvents"]
             if e["name"] == "process_name"}
    found = {}
    for whose, moved in [("all", told["bytes"])] + [
            (paths[a["path"]], a["bytes"]) for a in told["accelerators"]]:
        for kind, name in (("up", "host_to_device"),
                           ("down", "device_to_host"), ("peer", "peer")):
            found[kind, whose] = moved[name]
    return found


def main():
    what, trace, page = sys.argv[1:]
    got = of_page(what, read(page))
    if what == "told":
        want = of_told(json.loads(read(trace)), in_page(read(page)))
        got = {key: got.get(key, 0) for key in want}
    else:
        want = of_timeline(read(trace))
    wrong = not want
    for key in sorted(want.keys() | got.keys()):
        values = want.get(key, 0.0), got.get(key, 0.0)
        # each adds the same numbers, in an order of its own
        if not math.isclose(*values, rel_tol=1e-9):
            print(*key, *values)
            wrong = True
    sys.exit(wrong)


main()
