#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""products.py N [REPEAT]: numpy.matmul of random N x N floats. products.py small
[COUNT]: COUNT products of 2 x 2 to 64 x 64 doubles each. JSON lines."""
import json
import sys
import time

import numpy


def seconds_of(a, b, c, count):
    start = time.perf_counter()
    for _ in range(count):
        numpy.matmul(a, b, out=c)
    return (time.perf_counter() - start) / count


def measure(n, kind, count, repeat):
    source = numpy.random.default_rng(1)
    a, b = (source.random((n, n)).astype(kind) - kind(0.5) for _ in range(2))
    c = numpy.zeros_like(a)
    runs = [seconds_of(a, b, c, count) for _ in range(repeat)]
    row, col = n // 3, n // 2
    exact = a[row].astype("float64") @ b[:, col].astype("float64")
    print(json.dumps({"bench": "blas", "numpy": numpy.__version__, "n": n,
                      "type": kind.__name__, "first_seconds": runs[0],
                      "min_seconds": min(runs),
                      "gflops": 2e-9 * n**3 / min(runs),
                      "error": abs(float(c[row, col]) - float(exact))}))


if sys.argv[1] == "small":
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 10000
    for extent in (2, 8, 32, 64):
        measure(extent, numpy.float64, times, 7)
else:
    measure(int(sys.argv[1]), numpy.float32, 1,
            int(sys.argv[2]) if len(sys.argv) > 2 else 4)
