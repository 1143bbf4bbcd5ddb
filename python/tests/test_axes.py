# SPDX-License-Identifier: MIT
"""Reductions along an axis against NumPy."""

import numpy as np
import pytest

import conftest
import headrace

SETS = ["host", "3xhost"]
SHAPES = [(1,), (70,), (200003,), (3, 5), (40, 700), (700, 40), (2, 3, 4),
          (5, 1, 33), (3, 70000, 2), (2, 3, 4, 5), (1, 6, 1, 2100)]
TYPES = ["f4", "f8", "f2", "i1", "i4"]
NUMPY = {"sum": np.sum, "min": np.min, "max": np.max, "prod": np.prod,
         "argmin": np.argmin, "argmax": np.argmax}


@pytest.fixture(scope="module", params=SETS)
def context(request):
    """A set of accelerators."""
    with conftest.opened(request.param) as one:
        yield one


def shares(context):
    """All accelerators take part: virtual ones do so only when told."""
    return {"weights": [1] * len(context.accelerators)}


def numbers(rng, shape, dtype):
    """Elements with many equal ones."""
    if np.dtype(dtype).kind == "i":
        return rng.integers(-100, 100, shape).astype(dtype)
    return (rng.integers(-400, 400, shape) / 16).astype(dtype)


def wide(a):
    """The same elements, as they are computed with."""
    return a.astype("i8" if a.dtype.kind == "i" else "f8")


def same(got, want):
    """Equal, in a type of 64 bits."""
    want = np.asarray(want)
    kind = np.int64 if want.dtype.kind == "i" else np.float64
    return (np.asarray(got).dtype == kind and np.shape(got) == want.shape
            and np.allclose(got, want, rtol=1e-11, atol=0, equal_nan=True))


@pytest.mark.parametrize("dtype", TYPES)
def test_every_axis(context, rng, dtype):
    for shape in SHAPES:
        a = numbers(rng, shape, dtype)
        x, more = wide(a), shares(context)
        for axis in range(-a.ndim, a.ndim):
            for name, reference in NUMPY.items():
                factor = 1 + x % 2 if name == "prod" else x  # stays finite
                given = factor.astype(dtype)
                if name == "prod" and dtype[0] == "f":
                    given = np.where(given > 1, 1 + 2**-9, 1).astype(dtype)
                assert same(getattr(headrace, name)(given, axis, **more),
                            reference(wide(given), axis=axis)), (
                                shape, axis, name)
            assert same(headrace.norm(a, axis=axis, **more),
                        np.sqrt((x.astype("f8")**2).sum(axis)))
            assert same(headrace.reduce("sum_abs", a, axis=axis, **more),
                        abs(x).sum(axis))
            assert same(headrace.reduce("max_abs", a, axis=axis, **more),
                        abs(x).max(axis))
            assert same(headrace.max(a, axis=axis, keepdims=True),
                        x.max(axis, keepdims=True))


def test_bfloat16(context, rng):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = numbers(rng, (40, 70), ml_dtypes.bfloat16)
    for axis in (0, 1):
        x = a.astype("f8")
        assert same(headrace.sum(a, axis, **shares(context)), x.sum(axis))
        assert same(headrace.argmin(a, axis), x.argmin(axis))


def test_layouts(context, rng):
    a = numbers(rng, (20, 30, 40), "f4")
    for x in (a.T, a[::2], a[:, ::3], a[..., 4:17], a[::-1], a[:, :, ::-1],
              a.transpose(1, 0, 2), a.transpose(2, 0, 1), np.asfortranarray(a),
              np.broadcast_to(a[0], (6, 30, 40)), a[3], a[:, 4], a[3, :, 5],
              a.astype(">f4"), a.tolist()):
        for axis in range(-1, np.ndim(x)):
            y = np.asarray(x, "f8")
            assert same(headrace.sum(x, axis, **shares(context)), y.sum(axis))
            assert same(headrace.argmax(x, axis), y.argmax(axis))


@pytest.mark.parametrize("shape", [(7, 5), (3, 200001), (200001, 3), (9, 4000)])
def test_a_nan_wins(context, rng, shape):
    a = numbers(rng, shape, "f4")
    a[rng.integers(shape[0], size=4), rng.integers(shape[1], size=4)] = np.nan
    a[-1, -1] = a[0, 1] = np.nan
    for axis in (0, 1):
        for name in ("sum", "min", "max", "argmin", "argmax"):
            assert same(getattr(headrace, name)(a, axis, **shares(context)),
                        NUMPY[name](a.astype("f8"), axis=axis)), name
        assert same(headrace.norm(a, axis=axis),
                    np.sqrt((a.astype("f8")**2).sum(axis)))
    infinite = np.full((4, 70), np.inf, "f4")
    assert (headrace.argmin(infinite, 1) == 0).all()
    assert (headrace.min(infinite, 0) == np.inf).all()


def test_integers_are_exact_modulo_2_to_the_64(context, rng):
    a = rng.integers(-2**31, 2**31 - 1, (50, 90)).astype("i4")
    for axis in (0, 1):
        with np.errstate(over="ignore"):
            want = np.prod(a.astype("i8"), axis=axis)
        got = headrace.prod(a, axis, **shares(context))
        assert got.dtype == np.int64 and (got == want).all()
    assert context.accelerators


def test_norms_of_any_size(context):
    a = np.array([[3e200, 4e200], [3e-200, 4e-200], [0, 0], [3, 4],
                  [np.inf, 1], [np.nan, 1], [1e308, 0], [5e-324, 0]])
    want = [5e200, 5e-200, 0, 5, np.inf, np.nan, 1e308, 5e-324]
    for x, axis in ((a, 1), (a.T, 0), (np.ascontiguousarray(a.T), 0)):
        assert np.allclose(headrace.norm(x, axis=axis), want, rtol=1e-14,
                           atol=0, equal_nan=True)
    z = (a[:4] + 1j * a[:4, ::-1])
    for x in (z, z[3:].astype("c8")):
        want = abs(x[:, 0].astype("c16")) * np.sqrt(2)
        assert np.allclose(headrace.norm(x, axis=1), want, rtol=1e-14, atol=0)
    assert context.accelerators


def test_the_same_bits_on_any_accelerators(rng):
    for shape in ((300, 700), (200001,), (5, 70000)):
        a = rng.standard_normal(shape)
        for axis in range(a.ndim):
            got = []
            for accelerators in SETS:
                with headrace.Context(accelerators) as one:
                    got.append((headrace.sum(a, axis, **shares(one)),
                                headrace.norm(a, axis=axis, **shares(one))))
            assert np.array_equal(*got), (shape, axis)


def test_without_elements(host):
    for shape in ((0,), (0, 4), (4, 0), (2, 0, 3)):
        for dtype in ("f4", "i4"):
            a = np.empty(shape, dtype)
            for axis in range(len(shape)):
                for name in ("sum", "prod"):
                    want = wide(NUMPY[name](a, axis=axis))
                    assert same(getattr(headrace, name)(a, axis), want)
                for name in ("min", "max", "argmin", "argmax"):
                    call = getattr(headrace, name)
                    try:
                        want = wide(NUMPY[name](a, axis=axis))
                    except ValueError:
                        with pytest.raises(ValueError, match=f"^{name} of an "
                                           "array without elements"):
                            call(a, axis)
                        continue
                    if name.startswith("arg"):
                        want = want.astype("i8")
                    assert same(call(a, axis), want)
    assert host.accelerators


def test_all_elements(host):
    a = np.arange(6, dtype="f4").reshape(2, 3)
    assert headrace.sum(a, None) == headrace.sum(a, axis=None) == 15
    assert isinstance(headrace.sum(a, axis=None), float)
    for name, reference in NUMPY.items():
        assert same(getattr(headrace, name)(a, keepdims=True),
                    wide(reference(a, keepdims=True)) if name[:3] != "arg" else
                    [[reference(a)]])
    assert isinstance(headrace.sum(a[0], 0), np.float64)
    assert headrace.sum(np.float32(3), axis=0) == 3
    report = headrace.LaunchReport()
    headrace.sum(a, 0, report=report)
    assert report.shares and host.accelerators


@pytest.mark.parametrize("call, kind, words", [
    (lambda a: headrace.sum(a, axis=2), ValueError,
     "^sum: axis is 2, of 2 dimensions$"),
    (lambda a: headrace.prod(a, -3), ValueError, "^prod: axis is -3, of 2 dim"),
    (lambda a: headrace.min(a, axis=(0, 1)), TypeError,
     r"^min: axis is \(0, 1\), not one dimension$"),
    (lambda a: headrace.max(a, 1.5), TypeError, "^max: axis is 1.5, not one"),
    (lambda a: headrace.cumsum(a, axis=2), ValueError, "^axis is 2, of 2"),
    (lambda a: headrace.sum(a, dtype="f8"), TypeError,
     "^sum: dtype= is not offered; results are float64, of integers and places "
     "int64$"),
    (lambda a: headrace.argmin(a, out=a), TypeError,
     "^argmin: out= is not offered$"),
    (lambda a: headrace.dot(a, a, axis=0), TypeError,
     "^dot: axis= is not offered$"),
    (lambda a: headrace.reduce("distance", a, a, axis=0), TypeError,
     "^distance: axis= is not offered for two arrays$"),
    (lambda a: headrace.reduce_with("a + b", a, axis=0), TypeError,
     r"^reduce_with\(\) got an unexpected keyword argument 'axis'"),
    (lambda a: headrace.sum(a.astype("i8"), 0), TypeError, "int64 are not off"),
    (lambda a: headrace.sum(a.astype("c8"), 0), TypeError, "complex64 are not"),
    (lambda a: headrace.sum(np.ma.masked_array(a, a > 1), 0), TypeError,
     "masked array is not offered")])
def test_refused(host, call, kind, words):
    with pytest.raises(kind, match=words):
        call(np.arange(6, dtype="f4").reshape(2, 3))
    assert host.accelerators
