# SPDX-License-Identifier: MIT
"""Kernels out of text, and statements, against NumPy."""

import os

import numpy as np
import pytest

import headrace

COUNT = int(os.environ.get("KERNELS", "40"))

SAXPY = headrace.kernel("""
HR_KERNEL3(saxpy, (VALUE, float, 0, a), (IN, float, 1, x),
           (INOUT, float, 1, y))
{
    HR_EACH1(i) { HR_AT1(y, i) += a * HR_AT1(x, i); }
}""")
BLUR = headrace.kernel("""
HR_KERNEL2(blur, (IN, double, 2, from), (OUT, double, 2, to))
{
    HR_EACH2(i, j)
    {
        double s = 0;
        for (hr_index k = i - 1; k <= i + 1; k++) {
            s += HR_INSIDE2(from, k, j) ? HR_AT2(from, k, j) : 0;
        }
        HR_AT2(to, i, j) = s;
    }
}""")
COUNTS = headrace.kernel("""
HR_KERNEL2(counts, (IN, int, 1, x), (INOUT, int, 1, bins))
{
    HR_EACH1(i) { HR_ATOMIC_ADD(HR_AT1(bins, HR_AT1(x, i)), 1); }
}""")
LISTS = headrace.kernel("""
HR_KERNEL2(mean, (INS, float, 1, x), (OUT, float, 1, y))
{
    HR_EACH1(i)
    {
        float s = 0;
        for (int q = 0; q < (int)HR_COUNT(x); q++) { s += HR_OF1(x, q, i); }
        HR_AT1(y, i) = s / (float)HR_COUNT(x);
    }
}""")


def test_saxpy(context, rng):
    for n in (1, 2, 63, 1000, 100003):
        x, y = rng.random(n, np.float32), rng.random(n, np.float32)
        want = y + np.float32(2) * x
        assert SAXPY(2, x, y) is None
        assert np.allclose(y, want, rtol=1e-6)
    assert context.accelerators


def test_any_layout(context, rng):
    x, y = rng.random((3, 2001), np.float32), rng.random(4000, np.float32)
    wide = rng.random((2000, 3), np.float32)
    for a, b in ((x[1, ::2], y[:2002:2]), (x[0, :1000], y[::-1][:1000]),
                 (wide[1000:, 1], y[3000:])):
        want, before = b + a * np.float32(0.5), y.copy()
        SAXPY(0.5, a, b)
        assert np.allclose(b, want, rtol=1e-6)
        b[...], want[...] = 0, 0
        rest = before.copy()
        rest[np.isin(np.arange(4000), np.arange(4000)[y == 0])] = 0
        assert np.array_equal(rest, y)
    assert context.accelerators


def test_new_arrays(context, rng):
    a = rng.random((30, 20))
    pad = np.pad(a, ((1, 1), (0, 0)))
    want = pad[:-2] + pad[1:-1] + pad[2:]
    for given in (a, headrace.near(a, 1, 1), headrace.whole(a)):
        got = BLUR(given, None, domain=a.shape)
        assert got.dtype == np.float64 and np.allclose(got, want)
    report = headrace.LaunchReport()
    BLUR(headrace.near(a, 1, 1), np.empty_like(a), report=report)
    assert sum(band.count for band in report.shares) == 30
    assert context.accelerators


FLIP = headrace.kernel("""
HR_KERNEL2(flip, (IN, float, 2, x), (OUT, float, 2, y))
{
    HR_EACH2(i, j) { HR_AT2(y, i, j) = HR_AT2(x, HR_EXTENT(x, 0) - 1 - i, j); }
}""")
FIRST = headrace.kernel("""
HR_KERNEL2(first, (INS, float, 1, x), (OUT, float, 1, y))
{
    HR_EACH1(i) { HR_AT1(y, i) = HR_OF1(x, 0, HR_EXTENT(x, 0) - 1 - i); }
}""")


def test_other_rows_of_any_layout(context, rng):
    x = rng.random((300, 40), np.float32)
    weights = [1] * len(context.accelerators)
    for a in (x, np.asfortranarray(x), x[::2], x[::-1], x[:, ::3],
              x.reshape(30, 10, 40)):
        wide = a if a.ndim == 2 else a.reshape(300, 40)
        for y in (np.empty_like(wide, order="C"),
                  np.empty((*wide.shape, 2), np.float32)[..., 0]):
            FLIP(a, y, weights=weights)
            assert np.array_equal(y, wide[::-1])
    y = np.empty(40, np.float32)
    FIRST(x, y, weights=weights)
    assert np.array_equal(y, x[0, ::-1])


def test_arrays_of_more_dimensions(context, rng):
    x = rng.random((2, 3, 4, 5)).astype(np.float32)
    y = np.zeros_like(x)
    one = headrace.kernel("""
HR_KERNEL2(one, (IN, float, 1, x), (INOUT, float, 1, y))
{
    HR_EACH1(i) { HR_AT1(y, i) += HR_AT1(x, i); }
}""")
    one(x, y)
    one(np.asfortranarray(x), y)
    assert np.array_equal(y, 2 * x)
    assert context.accelerators


def test_values(host):
    k = headrace.kernel("""
HR_KERNEL4(k, (VALUE, unsigned int, 0, a), (VALUE, hr_index, 0, b),
           (VALUE, double, 0, c), (OUT, double, 1, y))
{
    HR_EACH1(i) { HR_AT1(y, i) = (double)a + (double)b + c; }
}""")
    got = k(np.array(4), np.int8(-2), np.float32(0.5), None,
            domain=np.int64(3))
    assert np.array_equal(got, [2.5, 2.5, 2.5])
    assert host.accelerators


def test_combined(context, rng):
    x = rng.integers(0, 50, 10007).astype(np.int32)
    bins = np.zeros(50, np.int32)
    COUNTS(x, headrace.combined(bins, "sum"), domain=x.shape)
    assert np.array_equal(bins, np.bincount(x, minlength=50))
    with pytest.raises(ValueError, match='how is "mean", not one of sum, min'):
        headrace.combined(bins, "mean")
    assert context.accelerators


def test_lists(context, rng):
    x = rng.random((5, 400), np.float32)
    got = LISTS(x, None, domain=400)
    assert np.allclose(got, x.mean(axis=0), rtol=1e-5)
    assert context.accelerators


def test_parameters(host):
    assert [(p.name, p.type, p.kind, p.rank) for p in SAXPY.parameters] == [
        ("a", "float", "VALUE", 0), ("x", "float", "IN", 1),
        ("y", "float", "INOUT", 1)]
    assert LISTS.parameters[0].kind == "INS"
    assert host.accelerators


def test_random_kernels(context, rng):
    """Expressions over two arrays and a number, in all integer types."""
    names = {"i1": "signed char", "u1": "unsigned char", "i2": "short",
             "u2": "unsigned short", "i4": "int", "u4": "unsigned",
             "i8": "long", "u8": "unsigned long"}
    operators = ["+", "-", "*", "&", "|", "^"]
    for number in range(COUNT // 4):
        dtype = list(names)[rng.integers(0, len(names))]
        c = names[dtype]
        expression = "x"
        for _ in range(rng.integers(1, 6)):
            operator = operators[rng.integers(0, len(operators))]
            other = ("x", "y", "n", str(rng.integers(1, 9)))[
                rng.integers(0, 4)]
            expression = f"({expression} {operator} {other})"
        rank = int(rng.integers(1, 4))
        shape = tuple(int(s) for s in rng.integers(1, 12, rank))
        index = ", ".join("ijk"[:rank])
        text = f"""
HR_KERNEL4(k{number}, (VALUE, {c}, 0, n), (IN, {c}, {rank}, a),
           (IN, {c}, {rank}, b), (OUT, {c}, {rank}, to))
{{
    HR_EACH{rank}({index})
    {{
        const {c} x = HR_AT{rank}(a, {index}), y = HR_AT{rank}(b, {index});
        HR_AT{rank}(to, {index}) = ({c}){expression};
    }}
}}"""
        info = np.iinfo(dtype)
        a, b = (rng.integers(info.min, info.max, shape, dtype, True)
                for _ in range(2))
        n = rng.integers(info.min, info.max, None, dtype, True)
        with np.errstate(over="ignore"):
            want = eval(expression, {  # the same arithmetic, modulo 2^bits
                "x": a.astype("u8"), "y": b.astype("u8"),
                "n": np.uint64(int(n) % 2**64)}).astype(dtype)
        to = headrace.kernel(text)(n, a, b, None, domain=shape)
        assert np.array_equal(to, want), text
    assert context.accelerators


def test_transform(context, rng):
    x, y = rng.random((20, 30)), rng.random((20, 30))
    want = 3 * x + y
    headrace.transform("y = a * x + y", a=3, x=x, y=y)
    assert np.allclose(y, want)
    z = np.empty((20, 30))
    headrace.transform("double d = x - y; z = d * d", x=x, y=y, z=z)
    assert np.allclose(z, (x - y)**2)
    flags = np.zeros((20, 30), np.int32)
    headrace.transform("f = x == y", x=x, y=y, f=flags)
    assert not flags.any()
    assert context.accelerators


@pytest.mark.parametrize("call, kind, words", [
    (lambda x: SAXPY(1, x), TypeError, "saxpy takes 3 arguments, not 2"),
    (lambda x: SAXPY(1, x, x.astype("f8")), TypeError,
     "saxpy: y has elements of float, which is float32, but the array is "
     "float64"),
    (lambda x: SAXPY(1, x, x.astype(">f4")), TypeError, "array is >f4"),
    (lambda x: SAXPY(1, x.astype(object), x), TypeError, "array is object"),
    (lambda x: SAXPY(1, None, x), TypeError, "x is None; only OUT"),
    (lambda x: SAXPY(None, x, x.copy()), TypeError, "a is a float, but None"),
    (lambda x: SAXPY(x, x, x.copy()), TypeError,
     "saxpy: a is an array of 1 dimension, not one number"),
    (lambda x: SAXPY(1, x, x.copy(), domain="8"), TypeError, "domain"),
    (lambda x: headrace.transform("y = 2 * y", y=x.astype("f2")), TypeError,
     "y is float16, with which C does not compute"),
    (lambda x: headrace.transform("y = 2 * y", y=x.tolist()), TypeError,
     "y is written, so it is a numpy.ndarray"),
    (lambda x: headrace.transform("y = x", x=x.astype("M8[s]"), y=x),
     TypeError, "x has elements of datetime64"),
    (lambda x: SAXPY(1, x[:4], x.copy()), headrace.DomainError,
     "the domain has size 8 in dimension 0, but x, indexed with it, has 4"),
    (lambda x: SAXPY(1, x, x.tolist()), TypeError,
     "saxpy: y is written, so it is a numpy.ndarray, not list"),
    (lambda x: SAXPY(1, x[:0], x[:0]), headrace.InvalidError,
     "saxpy: x has no elements"),
    (lambda x: SAXPY(1, x, np.broadcast_to(x[0], x.shape)), ValueError,
     "saxpy: y is written, but the array is read-only"),
    (lambda x: COUNTS(x.astype("i4"),
                      headrace.combined(np.zeros(3, "i4"), "sum")),
     TypeError, "counts writes no array that tells the domain: pass domain="),
    (lambda x: headrace.kernel("int x;"), ValueError,
     "the text has no HR_KERNEL1"),
    (lambda x: headrace.kernel(SAXPY.text + LISTS.text), ValueError,
     "the text has the kernels saxpy, mean: which name"),
    (lambda x: headrace.kernel(
        "HR_KERNEL1(k, (OUT, float, 1, y)) { HR_EACH1(i) { oops(); } }",
        file="mine.c")(x), headrace.BuildError, "mine.c:1:.*oops"),
    (lambda x: headrace.kernel(
        "HR_KERNEL1(k, (OUT, float, 1, y)) {\nHR_EACH1(i) {\nreturn; } }",
        file="mine.c")(x), headrace.BuildError,
     "mine.c:3: k: return must not leave the block of HR_EACH1 in line 2"),
    (lambda x: headrace.kernel(
        "HR_KERNEL2(k, (VALUE, int, 0, n), (OUT, float, 1, y)) {}")(1.5, x),
     TypeError, "k: n is 1.5, which int32 does not hold"),
    (lambda x: headrace.kernel(
        "HR_KERNEL2(k, (VALUE, int, 0, n), (OUT, float, 1, y)) {}")(2**40, x),
     OverflowError, "k: n is 1099511627776, which int32 does not hold"),
    (lambda x: SAXPY(1, x, x.copy(), weights=[1, 2, 3, 4, 5, 6]), ValueError,
     "6 weights for 1 accelerators")])
def test_refused(host, call, kind, words):
    with pytest.raises(kind, match=words):
        call(np.arange(8, dtype=np.float32))
    assert host.accelerators


def test_larger_than_memory(rng):
    with headrace.Context("2xhost", memory_limit=100_000) as context:
        x, y = rng.random(200_000, np.float32), rng.random(200_000, np.float32)
        want = y + x
        before = context.traffic
        SAXPY(1, x, y)
        after = context.traffic
        assert np.array_equal(y, want)
        assert after["up"] - before["up"] == x.nbytes + y.nbytes
        assert after["down"] - before["down"] == y.nbytes
