#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""filter_scipy.py HEADRACE [SIZE [REACH]]: the weighted average over a radial
window by SciPy, in turns with `HEADRACE bench filter` on the host: JSON lines.
Each of SciPy's ways has the best of its runs, in float32; ndimage.correlate,
which takes minutes, runs once on a part of the picture and is scaled up."""
import json
import subprocess
import sys
import time

import numpy
import scipy
from scipy import fft, ndimage, signal

TURNS = 3


def separable(picture, window, rank):
    """The sum of `rank` separable filters, borders as they come."""
    u, s, v = numpy.linalg.svd(window.astype("float64"))
    total = 0
    for k in range(rank):
        down = ndimage.correlate1d(picture, u[:, k] * s[k], axis=0)
        total = total + ndimage.correlate1d(down, v[k], axis=1)
    return total


def workers(count):
    def run(picture, window):
        with fft.set_workers(count):
            return signal.fftconvolve(picture, window, "valid")

    return run


WAYS = {
    "fftconvolve": workers(1),
    "fftconvolve, all cores": workers(-1),
    "oaconvolve": lambda p, w: signal.oaconvolve(p, w, "valid"),
    "correlate1d, rank 10": lambda p, w: separable(p, w, 10),
}


def timed(function, *arguments):
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def main():
    command = sys.argv[1]
    size = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    reach = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    steps = numpy.arange(-reach, reach + 1)
    distance = numpy.sqrt(steps[:, None] ** 2 + steps**2)
    window = 1 - distance / (reach * 2**0.5)
    window = (window / window.size).astype("float32")
    picture = numpy.random.default_rng(1).random((size, size), "float32")
    best = {}
    ours = []
    for _ in range(TURNS):
        for name, way in WAYS.items():
            seconds = timed(way, picture, window)
            best[name] = min(seconds, best.get(name, seconds))
        text = subprocess.run(
            [command, "bench", "filter", "--size", str(size), "--window",
             str(reach), "--accelerators", "host", "--json"],
            check=True, capture_output=True, text=True).stdout
        ours += [json.loads(line) for line in text.splitlines()]
    part = picture[: 2 * reach + 32, : 2 * reach + 32]
    seconds = timed(ndimage.correlate, part, window)
    best["ndimage.correlate"] = seconds * size**2 / part.size
    for name, seconds in best.items():
        print(json.dumps({"bench": "filter", "peer": name, "rows": size,
                          "reach": reach, "min_seconds": seconds,
                          "scipy": scipy.__version__}))
    for method in sorted({row["wanted"] for row in ours}):
        rows = [row for row in ours if row["wanted"] == method]
        print(json.dumps(min(rows, key=lambda row: row["min_seconds"])))


main()
