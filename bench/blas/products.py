#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""products.py N [REPEAT]: numpy.matmul of random N x N floats. products.py sgemm
N [REPEAT]: the same by sgemm_ of the library that is preloaded. products.py
small [COUNT]: COUNT products of 2 x 2 to 64 x 64 doubles each. JSON lines."""
import ctypes
import json
import sys
import time

import numpy


def sgemm(a, b, out):
    """Row by row C = A B is C' = B' A' column by column."""
    n = ctypes.byref(ctypes.c_int(len(a)))
    one, none = (ctypes.byref(ctypes.c_float(x)) for x in (1, 0))
    x, y, z = (m.ctypes.data_as(ctypes.c_void_p) for m in (b, a, out))
    length = ctypes.c_size_t(1)
    ctypes.CDLL(None).sgemm_(b"N", b"N", n, n, n, one, x, n, y, n, none, z, n,
                             length, length)


def seconds_of(multiply, a, b, c, count):
    start = time.perf_counter()
    for _ in range(count):
        multiply(a, b, out=c)
    return (time.perf_counter() - start) / count


def measure(multiply, n, kind, count, repeat):
    source = numpy.random.default_rng(1)
    a, b = (source.random((n, n)).astype(kind) - kind(0.5) for _ in range(2))
    c = numpy.zeros_like(a)
    runs = [seconds_of(multiply, a, b, c, count) for _ in range(repeat)]
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
        measure(numpy.matmul, extent, numpy.float64, times, 7)
else:
    by_name = sys.argv[1] == "sgemm"
    words = [int(word) for word in sys.argv[2 if by_name else 1:]]
    measure(sgemm if by_name else numpy.matmul, words[0], numpy.float32, 1,
            words[1] if len(words) > 1 else 4)
