# SPDX-License-Identifier: MIT
"""What a call from Python costs: products of small matrices, and products as
large as argv[1] (2048) beside the same call of the C function."""

import sys
import time

import numpy as np

import headrace
from headrace._native import ffi, lib
from headrace.contexts import pointer_of
from headrace.layouts import matrix


def best(calls, count):
    """The best time of one call of each, in turns."""
    times = [float("inf")] * len(calls)
    for _ in range(15):
        for i, call in enumerate(calls):
            begin = time.perf_counter()
            for _ in range(count):
                call()
            times[i] = min(times[i], (time.perf_counter() - begin) / count)
    return times


def compare(context, n, count, dtype):
    """Times for n x n."""
    a, b = (np.random.rand(n, n).astype(dtype) for _ in range(2))
    c = np.empty_like(a)
    m = ffi.new("hr_matrix[3]")
    for i, x in enumerate((a, b, c)):
        matrix(x, m[i])
    one, zero, pointer = lib.hr_real(1), lib.hr_real(0), pointer_of(context)
    native, python, new, numpy = best((
        lambda: lib.hr_gemm(pointer, one, m[0], m[1], zero, m[2], ffi.NULL),
        lambda: headrace.matmul(a, b, out=c), lambda: headrace.matmul(a, b),
        lambda: np.matmul(a, b, out=c)), count)
    print(f"{n:6d} {c.dtype}  C {native * 1e6:10.2f} us  Python "
          f"{python * 1e6:10.2f} us, {python / native:.3f}  without out "
          f"{new * 1e6:10.2f} us  NumPy {numpy * 1e6:10.2f} us")


def main():
    large = int(sys.argv[1]) if len(sys.argv) > 1 else 2048
    with headrace.Context() as context:
        print(context)
        compare(context, 4, 2000, "f8")
        compare(context, 64, 500, "f8")
        compare(context, large, 1, "f4")


if __name__ == "__main__":
    main()
