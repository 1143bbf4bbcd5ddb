# SPDX-License-Identifier: MIT
"""Reductions, scans, sorts and the others against NumPy."""

import numpy as np
import pytest

import conftest
import headrace

SHAPES = [(1,), (7,), (100003,), (3, 5), (40, 700), (2, 3, 4), (2, 1, 3, 2, 5),
          (2, 1, 3, 2, 5, 2, 2)]
# An OpenCL driver compiles the library's own kernels for seconds.
SETS = [s for s in conftest.SETS if "opencl" not in s] or conftest.SETS
# All types where kernels are compiled already.
TYPES = [(accelerators, dtype) for accelerators in SETS
         for dtype in (("f4", "i4") if accelerators == "opencl"
                       else ("f4", "f8", "i1", "i4"))]
of_types = pytest.mark.parametrize("context, dtype", TYPES,
                                   indirect=["context"])


@pytest.fixture(scope="module", params=SETS)
def context(request):
    """A set of accelerators."""
    with conftest.opened(request.param) as one:
        yield one


def numbers(rng, shape, dtype):
    """Random elements; fractions with some NaN-free spread."""
    if np.dtype(dtype).kind == "i":
        return rng.integers(-100, 100, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


@of_types
def test_reductions(context, rng, dtype):
    for shape in SHAPES:
        a, b = numbers(rng, shape, dtype), numbers(rng, shape, dtype)
        wide = "i8" if np.dtype(dtype).kind == "i" else "f8"
        x, y = a.astype(wide), b.astype(wide)
        close = dict(rtol=1e-11, atol=1e-9)
        assert np.isclose(headrace.sum(a), x.sum(), **close)
        assert headrace.min(a) == a.min() and headrace.max(a) == a.max()
        assert headrace.argmin(a) == a.argmin()
        assert headrace.argmax(a) == a.argmax()
        assert np.isclose(headrace.norm(a), np.linalg.norm(x.ravel()), **close)
        assert np.isclose(headrace.dot(a, b), (x * y).sum(), **close)
        assert np.isclose(headrace.reduce("sum_abs", a), abs(x).sum(), **close)
        assert headrace.reduce("max_abs", a) == abs(x).max()
        assert headrace.reduce("max_abs_diff", a, b) == abs(x - y).max()
        assert np.isclose(headrace.reduce("distance", a, b),
                          ((x - y)**2).sum(), **close)
        small = (a[(0,) * (a.ndim - 1)][:5] % 3).astype(dtype)
        assert np.isclose(headrace.prod(small), small.astype(wide).prod(),
                          **close)
    assert context.accelerators


def test_results_of_integers_are_exact(host):
    a = np.full(5, 2**31 - 1, np.int32)
    assert headrace.sum(a) == 5 * (2**31 - 1)
    assert isinstance(headrace.sum(a), int)
    assert isinstance(headrace.sum(a.astype("f4")), float)
    assert host.accelerators


def test_layouts(context, rng):
    a = rng.standard_normal((60, 80))
    for x in (a[::2], a[:, ::3], a.T, a[::-1], a[5:9, 7:70], a[3], a[:, 4]):
        assert np.isclose(headrace.sum(x), x.sum(), atol=1e-10)
        assert headrace.argmax(x) == x.argmax()
        assert np.array_equal(headrace.sort(x), np.sort(x))
        out = np.zeros(x.shape[::-1]).T if x.ndim == 2 else np.zeros(
            2 * len(x))[::2]
        headrace.cumsum(x, out=out)
        assert np.allclose(out, np.cumsum(x, axis=-1), atol=1e-10)
    assert context.accelerators


def test_nan_and_empty(context):
    a = np.array([3, np.nan, 1, np.nan], np.float32)
    assert np.isnan(headrace.min(a)) and np.isnan(headrace.sum(a))
    assert headrace.argmin(a) == np.argmin(a) == 1
    assert np.array_equal(headrace.sort(a), np.sort(a), equal_nan=True)
    none = np.empty((0, 4), np.float32)
    assert headrace.sum(none) == 0 and headrace.prod(none) == 1
    assert headrace.norm(none) == 0
    for call in (headrace.min, headrace.argmax):
        with pytest.raises(ValueError, match="without elements"):
            call(none)
    assert headrace.cumsum(none).shape == headrace.sort(none).shape == (0, 4)
    assert headrace.random((0, 3)).shape == (0, 3)
    assert np.array_equal(headrace.histogram(none, 3)[0], [0, 0, 0])
    assert context.accelerators


def test_a_function_of_ones_own(context, rng):
    a = rng.standard_normal(5000).astype("f4")
    got = headrace.reduce_with("fabs(a) < fabs(b) ? a : b", a)
    assert got == a[np.argmin(abs(a))]
    assert context.accelerators


@of_types
def test_scans(context, rng, dtype):
    for shape in SHAPES:
        a = numbers(rng, shape, dtype)
        wide = {"f4": "f8", "f8": "f8", "i1": "i4", "i4": "i8"}[dtype]
        want = np.cumsum(a, axis=-1, dtype=wide)
        got = headrace.cumsum(a, dtype=wide)
        assert got.dtype == wide
        assert np.allclose(got, want, rtol=1e-10, atol=1e-8)
        before = headrace.scan("sum", a, exclusive=True, dtype=wide)
        assert np.allclose(before, want - a, rtol=1e-10, atol=1e-8)
        assert np.array_equal(headrace.scan("max", a),
                              np.maximum.accumulate(a, axis=-1))
        assert headrace.scan("min", a, out=a) is a
    assert context.accelerators


@pytest.mark.parametrize("context, dtype", [*TYPES, ("3xhost", "f2")],
                         indirect=["context"])
def test_sorts(context, rng, dtype):
    for shape in SHAPES[:6]:
        a = numbers(rng, shape, dtype)
        assert np.array_equal(headrace.sort(a), np.sort(a, axis=-1))
        assert np.array_equal(headrace.sort(a, descending=True),
                              np.sort(a, axis=-1)[..., ::-1])
        assert np.array_equal(headrace.argsort(a),
                              np.argsort(a, axis=-1, kind="stable"))
        values = rng.random(shape, np.float32)
        keys, moved = headrace.sort_by_key(a, values)
        places = np.argsort(a, axis=-1, kind="stable")
        assert np.array_equal(keys, np.take_along_axis(a, places, -1))
        assert np.array_equal(moved, np.take_along_axis(values, places, -1))
    assert context.accelerators


@of_types
def test_histograms(context, rng, dtype):
    a = numbers(rng, (30, 501), dtype)
    low, high = (-2, 2) if dtype[0] == "f" else (-100, 100)
    for bins in (1, 10, 777):
        got, edges = headrace.histogram(a, bins, (low, high))
        want, other = np.histogram(a, bins, (low, high))
        assert np.array_equal(got, want) and np.allclose(edges, other)
    assert headrace.histogram(a)[0].sum() == a.size
    assert context.accelerators


def test_fills_and_random_numbers(context):
    a = np.zeros((30, 40), np.float32)
    assert headrace.fill(a[::2], 2.5) is not None
    assert (a[::2] == 2.5).all() and (a[1::2] == 0).all()
    one = headrace.random((100, 100), seed=5)
    assert one.dtype == np.float64 and 0 <= one.min() and one.max() < 1
    assert abs(one.mean() - 0.5) < 0.01
    assert np.array_equal(one, headrace.random((100, 100), seed=5))
    assert not np.array_equal(one, headrace.random((100, 100), seed=6))
    rest = headrace.random(5000, seed=5, offset=5000)
    assert np.array_equal(rest, one.ravel()[5000:])
    normal = headrace.random(100000, "normal", dtype="f4", seed=1)
    assert abs(normal.mean()) < 0.02 and abs(normal.std() - 1) < 0.02
    assert headrace.random(3, "bits").dtype == np.int32
    with pytest.raises(ValueError, match='"dice", not one of bits, uniform'):
        headrace.random(3, "dice")
    assert context.accelerators


def test_the_same_numbers_on_any_accelerators():
    got = []
    for accelerators in ("host", "3xhost", "opencl"):
        try:
            with headrace.Context(accelerators):
                got.append(headrace.random(10007, "normal", seed=9))
        except headrace.UnavailableError:
            continue
    assert all(np.array_equal(got[0], x) for x in got)


@pytest.mark.parametrize("call, kind, words", [
    (lambda a: headrace.reduce("mean", a), ValueError, '"mean", not one of'),
    (lambda a: headrace.reduce("dot", a), TypeError, "dot takes two arrays"),
    (lambda a: headrace.reduce("sum", a, a), TypeError, "sum takes one array"),
    (lambda a: headrace.dot(a, a[:2]), ValueError, r"a is \(4,\), but b is"),
    (lambda a: headrace.sum(a.astype("i8")), TypeError,
     "int64 are not offered, only float32, float64, int8, int32, float16, "
     "bfloat16$"),
    (lambda a: headrace.norm(a.astype("i8")), TypeError, "complex64"),
    (lambda a: headrace.cumsum(a.astype("i8"), dtype="i8"), TypeError,
     "only float32, float64, int8, int32$"),
    (lambda a: headrace.histogram(a.astype("i8")), TypeError,
     "only float32, float64, int8, int32$"),
    (lambda a: headrace.sort(a.astype("i8")), TypeError, "int32, float16, bf"),
    (lambda a: headrace.reduce_with("a", a.astype("i8")), TypeError,
     "int32, complex64, complex128$"),
    (lambda a: headrace.random(4, dtype="i8"), TypeError,
     "only float32, float64$"),
    (lambda a: headrace.random(4, "bits", dtype="i8"), TypeError, "only int32$"),
    (lambda a: headrace.sum(a.astype("c8")), headrace.UnsupportedError, "c32"),
    (lambda a: headrace.scan("mean", a), ValueError, '"mean", not one of sum'),
    (lambda a: headrace.cumsum(a, dtype="i4"), TypeError,
     "dtype is int32, but a scan of float32 gives float32 or float64"),
    (lambda a: headrace.cumsum(a, dtype=">f4"), TypeError, "dtype is >f4, but"),
    (lambda a: headrace.cumsum(a, dtype="M8[s]"), TypeError, "dtype is datetime"),
    (lambda a: headrace.dot(a, a.astype("f8")), TypeError,
     "a is float32, but b is float64"),
    (lambda a: headrace.argsort(a[0]), ValueError, "without dimensions"),
    (lambda a: headrace.fill(a, []), TypeError, "not one number"),
    (lambda a: headrace.fill(a, None), TypeError, "not numbers"),
    (lambda a: headrace.fill(a.astype("i1"), 300), OverflowError,
     "the value is 300, which int8 does not hold"),
    (lambda a: headrace.histogram(a, [0, 1]), TypeError, "bins is"),
    (lambda a: headrace.sort(a, out=np.zeros(3)), ValueError, "out is"),
    (lambda a: headrace.sort_by_key(a, a.astype("i1")), TypeError,
     "values have 1 bytes, not 4 or 8"),
    (lambda a: headrace.histogram(a, 0), ValueError, "bins is 0, not from 1"),
    (lambda a: headrace.histogram(a, 3, (2, 1)), headrace.InvalidError,
     "range goes from 2.0 to 1.0"),
    (lambda a: headrace.fill(a.astype("i4"), np.nan), OverflowError,
     "the value is nan, which int32 does not hold"),
    (lambda a: headrace.fill(np.broadcast_to(a, (3, 4)), 1), ValueError,
     "^a is read-only")])
def test_refused(host, call, kind, words):
    with pytest.raises(kind, match=words):
        call(np.arange(4, dtype=np.float32))
    assert host.accelerators


def test_other_axes(context, rng):
    a = rng.integers(-9, 9, (4, 5, 6)).astype(np.int32)
    for axis in range(-3, 3):
        assert (headrace.sort(a, axis=axis) == np.sort(a, axis)).all()
        assert (headrace.cumsum(a, axis=axis) == np.cumsum(a, axis)).all()
        assert (headrace.argsort(a, axis=axis)
                == np.argsort(a, axis, kind="stable")).all()
    out = np.zeros_like(a)
    assert headrace.sort(a, axis=0, out=out) is out
    assert (out == np.sort(a, 0)).all()
    assert headrace.cumsum(a[:0], axis=1).shape == (0, 5, 6)
    for axis in (3, -4):
        with pytest.raises(ValueError, match=f"axis is {axis}, of 3 dim"):
            headrace.sort(a, axis=axis)
    with pytest.raises(TypeError, match="axis is None, not one dimension"):
        headrace.cumsum(a, axis=None)


def test_masks_are_not_forgotten(context):
    a = np.ma.masked_array(np.eye(3), mask=np.eye(3) > 0)
    for call in (headrace.sum, headrace.sort, headrace.cumsum,
                 lambda x: headrace.matmul(x, x), headrace.histogram):
        with pytest.raises(TypeError, match="masked array is not offered"):
            call(a)
    with pytest.raises(TypeError, match="is a masked array, not offered"):
        headrace.fill(a, 1)
    with pytest.raises(TypeError, match="is a masked array, not offered"):
        headrace.sort(np.eye(3), out=a)
