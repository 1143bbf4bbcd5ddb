#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The nine kernels of bench/kernels/run.c as a NumPy program has them. It is a
peer of headrace-bench (bench/peers/peer.c): it names itself, and answers
"KERNEL COUNT EDGE PIXELS" with "SECONDS CHECKSUM" of one run."""
import sys
import time

try:
    import numpy as np
except ImportError:
    print("error there is no NumPy", flush=True)
    sys.exit(1)

STEPS, SOFTENING = 200, np.float32(1e-3)
WEIGHTS = [0.0625, 0.25, 0.375, 0.25, 0.0625]


def mixed(count, seed=0):
    """The same numbers of 32 bits as bench/workloads/run.c makes."""
    x = np.arange(count, dtype=np.uint32) ^ np.uint32(seed)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x ^= x >> np.uint32(shift)
        x *= np.uint32(factor)
    return x ^ (x >> np.uint32(16))


def fractions(count, seed=0):
    return (mixed(count, seed) >> np.uint32(20)).astype(np.float32) / 4096


def square(s):
    return fractions(s.edge**2).reshape(s.edge, s.edge)


class Saxpy:
    def __init__(self, s):
        self.x, self.y = fractions(s.count), fractions(s.count, 0x80000000)

    def run(self):
        self.y += 2 * self.x
        return self.y


class Stencil:
    def __init__(self, s):
        self.x = fractions(s.count)
        self.y = self.x.copy()

    def run(self):
        x = self.x
        self.y[1:-1] = 0.25 * x[:-2] + 0.5 * x[1:-1] + 0.25 * x[2:]
        return self.y


class Transpose:
    def __init__(self, s):
        self.x = square(s)
        self.y = np.zeros_like(self.x)

    def run(self):
        self.y[:] = self.x.T
        return self.y


class RowSums:
    def __init__(self, s):
        self.x = square(s)

    def run(self):
        return self.x.sum(axis=1)


class Mandelbrot:
    def __init__(self, s):
        step = np.float32(3) / np.float32(s.pixels)
        n = np.arange(s.pixels, dtype=np.float32)
        re, im = np.float32(-2.2) + step * n, np.float32(1.5) - step * n
        self.c = re[None, :] + 1j * im[:, None]

    def run(self):
        counts = np.zeros(self.c.size, np.int32)
        c, where = self.c.ravel(), np.arange(self.c.size)
        z = np.zeros_like(c)
        for _ in range(STEPS):  # points that left are left out
            z = z * z + c
            near = z.real**2 + z.imag**2 <= 4
            z, c, where = z[near], c[near], where[near]
            counts[where] += 1
        return counts


class Nbody:
    def __init__(self, s):
        self.bodies = fractions(4 * s.edge).reshape(s.edge, 4)

    def run(self):
        x, y, z, mass = self.bodies.T
        dx, dy, dz = x - x[:, None], y - y[:, None], z - z[:, None]
        r2 = dx * dx + dy * dy + dz * dz + SOFTENING
        f = mass / (r2 * np.sqrt(r2))
        return np.stack([(f * d).sum(axis=1) for d in (dx, dy, dz)], axis=1)


class Blur:
    def __init__(self, s):
        self.n, wide = s.edge, s.edge + 4
        self.x = fractions(wide**2).reshape(wide, wide)

    def run(self):
        n = self.n
        y = np.zeros((n, n), np.float32)
        for i in range(5):
            for j in range(5):
                y += WEIGHTS[i] * WEIGHTS[j] * self.x[i : i + n, j : j + n]
        return y


class Gather:
    def __init__(self, s):
        self.x = fractions(s.count)
        wide = mixed(s.count).astype(np.uint64) * np.uint64(s.count)
        self.indices = (wide >> np.uint64(32)).astype(np.intp)

    def run(self):
        return self.x[self.indices]


class Histogram:
    def __init__(self, s):
        self.x = (mixed(s.edge**2) >> np.uint32(24)).astype(np.uint8)

    def run(self):
        return np.bincount(self.x, minlength=256)


KERNELS = {
    "run_saxpy": Saxpy,
    "run_stencil": Stencil,
    "run_transpose": Transpose,
    "run_row_sums": RowSums,
    "run_mandelbrot": Mandelbrot,
    "run_nbody": Nbody,
    "run_blur": Blur,
    "run_gather": Gather,
    "run_histogram": Histogram,
}


class Sizes:
    def __init__(self, count, edge, pixels):
        self.count, self.edge, self.pixels = count, edge, pixels


def checksum(result):
    """Elements without their signs, weighted by where they are."""
    flat = np.abs(result.ravel().astype(np.float64))
    return np.dot(flat, 1 + np.arange(flat.size) % 97)


def main():
    last, work, total = None, None, 0.0
    print("NumPy", np.__version__, flush=True)
    for line in sys.stdin:
        words = line.split()
        if line != last:
            work = None  # frees the last one's memory
            work = KERNELS[words[0]](Sizes(*map(int, words[1:])))
        start = time.perf_counter()
        result = work.run()
        seconds = time.perf_counter() - start
        total = checksum(result) if line != last else total
        last = line
        print(repr(seconds), repr(float(total)), flush=True)


main()
