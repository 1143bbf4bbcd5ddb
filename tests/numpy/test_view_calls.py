#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""NumPy as the judge of calls over views: test_view_calls.py VIEW_CALLS.

Random numbers, one element, many, none, NaN and infinities, in one dimension
and in two. HEADRACE_ACCELERATORS chooses where the calls run.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
except ImportError as error:
    print(f"skip: {error}")
    sys.exit(77)

FLOATS = ["<f4", "<f8", "<f2"]
TYPES = [*FLOATS, "|i1", "<i4"]
SHAPES = [(1,), (2,), (63,), (4096,), (4097,), (100003,), (1000003,), (1, 300),
          (257, 1025), (3000, 7)]
EPSILON = 2.0 ** -53

checks = 0
failures = 0


def check(ok, what):
    global checks, failures
    checks += 1
    if not ok:
        failures += 1
        print(f"failed: {what}", file=sys.stderr)


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


def main():
    tool = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(dir=".") as name:
        caller = Caller(tool, Path(name))
        reductions(caller)
        scans(caller)
        caller.run()
    print(f"NumPy {np.__version__}: {checks} checks, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
