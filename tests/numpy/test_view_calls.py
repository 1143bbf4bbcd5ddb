#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""NumPy as the judge of calls over views: test_view_calls.py VIEW_CALLS.

Random numbers, one element, many, none, NaN and infinities, in one dimension
and in two. HEADRACE_ACCELERATORS chooses where the calls run.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from checks import check, finish  # without NumPy the test ends here
import numpy as np

FLOATS = ["<f4", "<f8", "<f2"]
TYPES = [*FLOATS, "|i1", "<i4"]
SHAPES = [(1,), (2,), (63,), (4096,), (4097,), (100003,), (1000003,), (1, 300),
          (257, 1025), (3000, 7)]
EPSILON = 2.0 ** -53


class Caller:
    """Collects calls, makes them in one process, and judges the answers."""

    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        self.lines, self.judges, self.count = [], [], 0

    def path(self):
        self.count += 1
        return self.folder / f"{self.count}.npy"

    def save(self, array):
        path = self.path()
        np.save(path, array)
        return path

    def call(self, judge, *words):
        """judge gets the words of the answer, and says whether it is right."""
        self.lines.append(" ".join(map(str, words)))
        self.judges.append(judge)

    def run(self):
        run = subprocess.run([self.tool], input="\n".join(self.lines) + "\n",
                             stdout=subprocess.PIPE, text=True, check=False)
        answers = run.stdout.splitlines()
        if run.returncode == 77:
            print(run.stdout)
            sys.exit(77)
        check(run.returncode == 0 and len(answers) == len(self.lines),
              f"{len(answers)} answers to {len(self.lines)} calls")
        for line, judge, answer in zip(self.lines, self.judges, answers):
            check(judge(answer.split()), f"{line}: {answer}")


def numbers(dtype, shape, seed):
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "i":
        limits = np.iinfo(dtype)
        return random.integers(limits.min, limits.max, shape, dtype,
                               endpoint=True)
    return random.standard_normal(shape).astype(dtype)


def with_specials(array, specials):
    """A copy with these values in some places."""
    array = array.copy()
    flat = array.reshape(-1)
    for number, value in enumerate(specials):
        flat[(number * 7919 + flat.size // 2) % flat.size] = value
    return array


def float_arrays(dtype, shape, seed):
    array = numbers(dtype, shape, seed)
    yield array
    yield with_specials(array, [np.nan])
    yield with_specials(array, [np.inf, -np.inf])
    yield with_specials(array, [-np.inf, np.nan, np.inf, np.nan])


def arrays(dtype, shape, seed):
    if np.dtype(dtype).kind == "f":
        return float_arrays(dtype, shape, seed)
    return iter([numbers(dtype, shape, seed)])


# ---- reductions

def near(value, exact, terms):
    """Whether a sum is within its bound of the exact one."""
    if not np.isfinite(exact) or not np.isfinite(value):
        return np.array_equal(value, exact, equal_nan=True)
    steps = 4200 + np.log2(terms.size)
    return abs(value - exact) <= 2 * steps * EPSILON * np.sum(np.abs(terms))


def value_of(words):
    return float.fromhex(words[0]) if words[0][0] in "-0123456789in" else None


def fraction_sum(terms):
    with np.errstate(invalid="ignore"):
        exact = np.sum(terms)
    return lambda words: near(value_of(words), exact, terms)


def equals(value, index=-1):
    return lambda words: (np.array_equal(value_of(words), float(value),
                                         equal_nan=True)
                          and int(words[2]) == index)


def integer_sum(terms):
    exact = int(np.sum(terms, dtype=np.int64))
    return lambda words: int(words[1]) == exact


def reduce_sums(caller, path, array):
    with np.errstate(invalid="ignore", over="ignore"):
        if array.dtype.kind == "i":
            wide = array.astype(np.int64)
            caller.call(integer_sum(wide), "reduce sum", path)
            caller.call(integer_sum(wide * wide), "reduce dot", path, path)
            caller.call(integer_sum(np.abs(wide)), "reduce sum_abs", path)
            return
        wide = array.astype(np.float64)
        caller.call(fraction_sum(wide), "reduce sum", path)
        caller.call(fraction_sum(wide * wide), "reduce dot", path, path)
        caller.call(fraction_sum(np.abs(wide)), "reduce sum_abs", path)
        norm = np.linalg.norm(wide)
        caller.call(lambda words: np.isclose(value_of(words), norm, 1e-12, 0,
                                             equal_nan=True),
                    "reduce norm", path)


def reduce_ends(caller, path, array):
    wide = array.astype(np.float64)
    caller.call(equals(np.min(wide)), "reduce min", path)
    caller.call(equals(np.max(wide)), "reduce max", path)
    caller.call(equals(np.max(np.abs(wide))), "reduce max_abs", path)
    for name, place in [("argmin", np.argmin(wide)), ("argmax", np.argmax(wide))]:
        caller.call(equals(wide.reshape(-1)[place], place), "reduce", name, path)


def reductions(caller):
    for dtype in TYPES:
        for seed, shape in enumerate(SHAPES):
            for array in arrays(dtype, shape, seed):
                path = caller.save(array)
                reduce_sums(caller, path, array)
                reduce_ends(caller, path, array)
    empty = caller.save(np.zeros(0, "<f4"))
    caller.call(lambda words: words[0] == "HR_ERROR_INVALID", "reduce sum",
                empty)


# ---- scans

def scanned(out, exact, error):
    """Whether the file has these numbers, up to an error of each. A file of one
    column comes back as two dimensions."""
    def judge(words):
        with np.errstate(invalid="ignore"):
            found = np.load(out).reshape(exact.shape).astype(exact.dtype)
            good = (found == exact) | (np.abs(found - exact) <= error)
        return words == ["done"] and np.all(good | (np.isnan(found)
                                                    & np.isnan(exact)))
    return judge


def one_later(inclusive, first):
    """The exclusive scan."""
    result = np.roll(inclusive, 1, axis=-1)
    result[..., 0] = first
    return result


def call_scan(caller, path, kind, how, exact, error):
    out = caller.path()
    caller.call(scanned(out, exact, error), "scan", kind, how, path, out)


def scan_fractions(caller, path, array):
    """Sums are computed in double and rounded once."""
    with np.errstate(invalid="ignore"):
        wide = array.astype(np.float64)
        sums = np.cumsum(wide, axis=-1)
        sizes = np.cumsum(np.abs(wide), axis=-1)
    rounding = np.finfo(array.dtype).eps / 2
    for how, exact, size in [("inclusive", sums, sizes),
                             ("exclusive", one_later(sums, 0),
                              one_later(sizes, 0))]:
        with np.errstate(invalid="ignore"):
            error = (rounding * np.abs(exact)
                     + 2 * array.shape[-1] * EPSILON * size)
        call_scan(caller, path, "sum", how, exact, error)


def scans(caller):
    for dtype in ["<f4", "<f8", "|i1", "<i4"]:
        for seed, shape in enumerate(SHAPES):
            for array in arrays(dtype, shape, seed + 100):
                path = caller.save(array)
                if array.dtype.kind == "f":
                    scan_fractions(caller, path, array)
                else:
                    exact = np.cumsum(array, axis=-1, dtype=dtype)
                    call_scan(caller, path, "sum", "inclusive", exact, 0)
                    call_scan(caller, path, "sum", "exclusive",
                              one_later(exact, 0), 0)
                for kind, least in [("min", np.minimum), ("max", np.maximum)]:
                    call_scan(caller, path, kind, "inclusive",
                              least.accumulate(array, axis=-1), 0)


# ---- fills

def filled(out, value, shape):
    def judge(words):
        want = np.full(shape, value[0], value.dtype)
        return words == ["done"] and np.load(out).tobytes() == want.tobytes()
    return judge


def fills(caller):
    for dtype in [*TYPES, "<c8", "<c16"]:
        for seed, (rows, cols) in enumerate([(1, 1), (1, 2), (4097, 1),
                                             (100003, 1), (257, 1025),
                                             (3000, 7)]):
            random = np.random.default_rng(seed + 200)
            size = np.dtype(dtype).itemsize
            value = np.frombuffer(random.bytes(size), dtype)
            out = caller.path()
            caller.call(filled(out, value, (rows, cols)), "fill",
                        caller.save(value), rows, cols, out)


# ---- histograms

def counted(array, bins, ends):
    with np.errstate(invalid="ignore"):
        wanted, _ = np.histogram(array, bins, ends)
    return lambda words: words == [str(count) for count in wanted]


def call_histogram(caller, array, bins, ends, path=None):
    path = path or caller.save(array)
    caller.call(counted(array, bins, ends), "histogram", bins,
                *(float(end).hex() for end in ends), path)


def on_edges(dtype, bins, ends, seed):
    """Elements on edges, and on either side of them."""
    edges = np.linspace(*ends, bins + 1).astype(dtype)
    random = np.random.default_rng(seed)
    chosen = random.choice(edges, 30000)
    side = random.integers(0, 3, chosen.size)
    return np.where(side == 0, chosen,
                    np.nextafter(chosen, np.where(side == 1, -np.inf, np.inf)
                                 .astype(dtype))).astype(dtype)


def float_histograms(caller, dtype):
    for seed, (bins, ends) in enumerate([(1, (0, 1)), (10, (-1, 2)),
                                         (100, (-0.1, 0.7)), (256, (0, 1)),
                                         (3, (0.1, 0.3)), (500, (-4.7, 3.3)),
                                         (4100, (-1, 1)), (20, (-1e30, 2e30))]):
        call_histogram(caller, on_edges(dtype, bins, ends, seed), bins, ends)
        call_histogram(caller, np.full(5000, ends[1], dtype), bins, ends)
        for array in float_arrays(dtype, (100003,), seed + 300):
            call_histogram(caller, array, bins, ends)


def histograms(caller):
    for dtype in ["<f4", "<f8"]:
        float_histograms(caller, dtype)
        for seed, shape in enumerate(SHAPES):
            for array in float_arrays(dtype, shape, seed + 400):
                call_histogram(caller, array, 30, (-2, 2.5))
    for dtype in ["|i1", "<i4"]:
        for seed, shape in enumerate(SHAPES):
            array = numbers(dtype, shape, seed + 500)
            limits = np.iinfo(dtype)
            for bins, ends in [(7, (limits.min, limits.max)), (10, (-5, 5)),
                               (4100, (limits.min / 2, limits.max / 3))]:
                call_histogram(caller, array, bins, ends)
    small = np.random.default_rng(1).integers(0, 300, 50000).astype("<i4")
    wanted = [str(count) for count in np.bincount(small)]
    caller.call(lambda words: words == wanted, "histogram", len(wanted), -0.5,
                len(wanted) - 0.5, caller.save(small))
    empty = caller.save(np.zeros(0, "<f4"))
    caller.call(lambda words: words[0] == "HR_ERROR_INVALID", "histogram", 3, 0,
                1, empty)


# ---- sorts

def same_bits(out, exact):
    def judge(words):
        found = np.load(out).reshape(exact.shape)
        return (words == ["done"] and found.dtype == exact.dtype
                and found.tobytes() == exact.tobytes())
    return judge


def places(array, order):
    """A stable sort of what is reversed, reversed, has the largest first."""
    if order == "ascending":
        return np.argsort(array, axis=-1, kind="stable")
    backwards = np.argsort(array[..., ::-1], axis=-1, kind="stable")
    return array.shape[-1] - 1 - backwards[..., ::-1]


def sort_array(caller, array):
    path = caller.save(array)
    for order in ["ascending", "descending"]:
        exact = places(array, order)
        out = caller.path()
        caller.call(same_bits(out, exact.astype("<i4")), "argsort", order, path,
                    out)
        out = caller.path()
        caller.call(same_bits(out, np.take_along_axis(array, exact, -1)),
                    "sort", order, path, out)


def sorts(caller):
    shapes = [(1,), (2,), (4096,), (4097,), (40009,), (1, 300), (300, 7),
              (5, 5003)]
    for dtype in TYPES:
        for seed, shape in enumerate(shapes):
            *_, array = arrays(dtype, shape, seed + 200)
            sort_array(caller, array)
        few = numbers("|i1", (20011,), 300) // 50
        sort_array(caller, few.astype(dtype))
        sort_array(caller, with_specials(np.zeros(9001, dtype),
                                         [-0.0] * 50 + [1]))
    if os.environ.get("HEADRACE_ACCELERATORS") == "host":
        sort_array(caller, numbers("<f4", (1500000,), 400))
    empty = caller.save(np.zeros(0, "<f4"))
    caller.call(lambda words: words[0] == "HR_ERROR_INVALID",
                "sort ascending", empty, caller.path())


def main():
    tool = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(dir=".") as name:
        caller = Caller(tool, Path(name))
        reductions(caller)
        scans(caller)
        fills(caller)
        histograms(caller)
        sorts(caller)
        caller.run()
    return finish()


if __name__ == "__main__":
    sys.exit(main())
