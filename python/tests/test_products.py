# SPDX-License-Identifier: MIT
"""Products against NumPy: types, shapes, layouts, stacks, and what is refused.
"""

import os
import pickle

import numpy as np
import pytest

import headrace

COUNT = int(os.environ.get("PRODUCTS", "2000"))
TYPES = ["f4", "f8", "c8", "c16", "f2", "i1"]


def bound(a, b):
    """What rounding explains, generously."""
    k = a.shape[-1]
    wide = np.result_type(a.dtype, np.float64)
    eps = {"f": {2: 1e-3, 4: 6e-8, 8: 1.2e-16},
           "c": {8: 6e-8, 16: 1.2e-16}}[a.dtype.kind][a.dtype.itemsize]
    return 1e-30 + 8 * (k + 4) * eps * (np.abs(a.astype(wide))
                                        @ np.abs(b.astype(wide)))


def numbers(rng, shape, dtype):
    """Random elements of a type."""
    dtype = np.dtype(dtype)
    if dtype.kind == "i":
        return rng.integers(-100, 100, shape).astype(dtype)
    x = rng.standard_normal(shape)
    if dtype.kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def layout(rng, x):
    """The same matrix in one of the layouts that NumPy has."""
    kind = rng.integers(0, 8)
    rows, cols = x.shape
    if kind == 1:
        return np.asfortranarray(x)
    if kind == 2:  # rows further apart
        big = np.zeros((rows, cols + 5), x.dtype)
        big[:, 2:2 + cols] = x
        return big[:, 2:2 + cols]
    if kind == 3:  # every other column
        big = np.zeros((rows, 2 * cols + 1), x.dtype)
        big[:, 1::2][:, :cols] = x
        return big[:, 1::2][:, :cols]
    if kind == 4:  # from the last row to the first
        return np.ascontiguousarray(x[::-1])[::-1]
    if kind == 5:  # from the last column to the first
        return np.ascontiguousarray(x[:, ::-1])[:, ::-1]
    if kind == 6:  # read-only
        x = x.copy()
        x.flags.writeable = False
    if kind == 7:  # a transpose with columns further apart
        big = np.zeros((cols, rows + 3), x.dtype)
        big[:, :rows] = x.T
        return big[:, :rows].T
    return x


def check(got, a, b):
    """The product, up to rounding; of integers exactly."""
    if a.dtype.kind == "i":
        want = a.astype("i4") @ b.astype("i4")
        assert got.dtype == np.int32 and np.array_equal(got, want)
        return
    wide = np.result_type(a.dtype, np.float64)
    want = a.astype(wide) @ b.astype(wide)
    assert got.shape == want.shape
    spread = 1e-3 * np.abs(want) if got.dtype == np.float16 else 0
    assert (np.abs(got - want) <= bound(a, b) + spread).all()


def test_random_products(context, rng):
    for _ in range(COUNT // 4):
        m, k, n = (int(x) for x in rng.integers(1, 70, 3))
        dtype = TYPES[rng.integers(0, len(TYPES))]
        a = layout(rng, numbers(rng, (m, k), dtype))
        b = layout(rng, numbers(rng, (k, n), dtype))
        check(headrace.matmul(a, b), a, b)
        out = layout(rng, np.zeros(
            (m, n), "i4" if dtype == "i1" else dtype)).copy("K")
        assert headrace.matmul(a, b, out=out) is out
        check(out, a, b)
    assert context.accelerators


def test_outputs_of_any_layout(context, rng):
    a, b = numbers(rng, (20, 30), "f8"), numbers(rng, (30, 10), "f8")
    big = np.full((40, 33), 7.0)
    for out in (big[::2, ::3][:20, :10], big[::-1][:20, :10],
                big[:20, :10], np.asfortranarray(big)[:20, :10],
                big.T[:20, :10], big[5:25, 9::-1][:, :10]):
        before = big.copy()
        assert headrace.matmul(a, b, out=out) is out
        check(out, a, b)
        out[...] = 7.0
        assert out.base is None or np.array_equal(big, before)
    assert context.accelerators


def test_out_may_be_an_operand(context, rng):
    a, b = numbers(rng, (9, 9), "f4"), numbers(rng, (9, 9), "f4")
    want = headrace.matmul(a, b)
    for x, y, out in ((a.copy(), b, 0), (a, b.copy(), 1)):
        given = (x, y)[out]
        assert headrace.matmul(x, y, out=given) is given
        assert np.array_equal(given, want)
    assert context.accelerators


@pytest.mark.parametrize("shapes", [
    ((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)), ((4, 1, 2, 3), (5, 3, 2)),
    ((4, 5, 2, 3), (3,)), ((3,), (4, 5, 3, 2)), ((0, 2, 3), (3, 4)),
    ((2, 0), (0, 3)), ((0, 3), (3, 2)), ((2, 3), (3, 0)), ((1, 1), (1, 1)),
    ((6, 7, 2, 3), (1, 7, 3, 4)), ((2, 0), (0,))])
def test_shapes_of_numpy(context, rng, shapes):
    a, b = (numbers(rng, s, "f8") for s in shapes)
    want = a @ b
    got = headrace.matmul(a, b)
    assert np.shape(got) == want.shape
    assert np.allclose(got, want, rtol=1e-13, atol=1e-13)
    if want.ndim:
        out = np.full(want.shape, np.nan)
        assert headrace.matmul(a, b, out=out) is out
        assert np.array_equal(out, got)
    assert context.accelerators


def test_stacks_of_any_layout(host, rng):
    base = numbers(rng, (4, 6, 8, 10), "f8")
    for a in (base[:, ::2], base[::-1], base.transpose(1, 0, 2, 3),
              base.transpose(2, 3, 0, 1), base[..., ::2], base[:, :, ::-1],
              np.broadcast_to(base[0, 0], (4, 6, 8, 10))):
        b = numbers(rng, (a.shape[-1], 5), "f8")
        assert np.allclose(headrace.matmul(a, b), a @ b, atol=1e-12)
    assert host.accelerators


def test_gemm(context, rng):
    for dtype in ("f4", "f8", "c8", "c16"):
        a, b = numbers(rng, (11, 7), dtype), numbers(rng, (7, 13), dtype)
        c = numbers(rng, (11, 13), dtype)
        alpha, beta = (2 - 1j, 0.5j) if dtype[0] == "c" else (2, -0.5)
        want = alpha * (a @ b) + beta * c
        assert headrace.gemm(alpha, a, b, beta, c) is c
        assert np.allclose(c, want, rtol=1e-4, atol=1e-4)
        x = headrace.gemm(1, b.T, a.T)
        assert np.allclose(x, b.T @ a.T, rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match="beta is 1, but there is no c"):
        headrace.gemm(1, a, b, 1)
    with pytest.raises(headrace.InvalidError):
        headrace.gemm(1j, a.real.copy(), b.real.copy())
    assert context.accelerators


def test_lists_of_matrices(context, rng):
    a = [layout(rng, numbers(rng, (5, 6), "f4")) for _ in range(20)]
    b = [layout(rng, numbers(rng, (6, 7), "f4")) for _ in range(20)]
    out = [layout(rng, np.zeros((5, 7), "f4")) for _ in range(20)]
    out = [x if x.flags.writeable else x.copy() for x in out]
    for got, x, y in zip(headrace.matmul_batch(a, b, out=out), a, b):
        check(got, x, y)
    for got, y in zip(headrace.matmul_batch(a[0], b), b):
        check(got, a[0], y)
    assert headrace.matmul_batch([], []) == []
    with pytest.raises(ValueError, match="a has 3 matrices, but b has 20"):
        headrace.matmul_batch(a[:3], b)
    with pytest.raises(ValueError, match="all are matrices of a shape"):
        headrace.matmul_batch([a[0], b[0]], b[:2])
    assert context.accelerators


def test_bfloat16(host, rng):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = numbers(rng, (20, 30), "f4").astype(ml_dtypes.bfloat16)
    b = numbers(rng, (30, 10), "f4").astype(ml_dtypes.bfloat16)
    want = a.astype("f8") @ b.astype("f8")
    wide = headrace.matmul(a, b, dtype="f4")
    assert wide.dtype == np.float32 and np.allclose(wide, want, atol=1e-4)
    narrow = headrace.matmul(a, b)
    assert narrow.dtype == ml_dtypes.bfloat16
    assert np.allclose(narrow.astype("f8"), want, rtol=2**-8, atol=1e-2)
    assert host.accelerators


def test_files_that_are_mapped(context, rng, tmp_path):
    a, b = numbers(rng, (40, 50), "f4"), numbers(rng, (50, 30), "f4")
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    c = np.lib.format.open_memmap(tmp_path / "c.npy", "w+", "f4", (40, 30))
    headrace.matmul(np.load(tmp_path / "a.npy", mmap_mode="r"),
                    np.load(tmp_path / "b.npy", mmap_mode="r"), out=c)
    c.flush()
    check(np.load(tmp_path / "c.npy"), a, b)
    assert context.accelerators


class Other:
    """An array of another library, with DLPack alone."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class Elsewhere(Other):
    """One in the memory of a GPU."""

    def __dlpack__(self, **options):
        raise BufferError("it lies on device 0")

    def __dlpack_device__(self):
        return (2, 0)


def test_arrays_of_other_libraries(host, rng):
    a, b = numbers(rng, (4, 5), "f8"), numbers(rng, (5, 3), "f8")
    check(headrace.matmul(Other(a), Other(b)), a, b)
    check(headrace.matmul(memoryview(a), b), a, b)
    check(headrace.matmul(a.tolist(), b.tolist()), a, b)
    with pytest.raises(TypeError, match="Elsewhere gives no array"):
        headrace.matmul(Elsewhere(a), b)
    assert host.accelerators


def test_types_that_meet(host, rng):
    a, b = numbers(rng, (4, 5), "f4"), numbers(rng, (5, 3), "f8")
    got = headrace.matmul(a, b)
    assert got.dtype == np.float64
    check(got, a.astype("f8"), b)
    assert host.accelerators


@pytest.mark.parametrize("arguments, options, kind, words", [
    ((np.zeros((2, 3)), np.zeros((4, 2))), {}, ValueError,
     "A has 3 columns, but B has 4 rows"),
    ((np.zeros((2, 3), "i8"), np.zeros((3, 2), "i8")), {}, TypeError,
     "elements of int64 are not offered, only float32, float64, complex64, "
     "complex128, float16, bfloat16, int8; for others pass a.astype"),
    ((np.zeros((2, 3), "i4"), np.zeros((3, 2), "i4")), {}, TypeError,
     r"elements of int32 are not offered, .* pass a.astype\(np.float64\)$"),
    ((np.zeros((2, 2), "U3"), np.zeros((2, 2), "U3")), {}, TypeError, "<U3"),
    ((1.0, np.zeros((2, 2))), {}, ValueError, "one dimension or more"),
    ((np.zeros((2, 2)),) * 2, {"out": np.zeros((2, 3))}, ValueError,
     r"out is float64 \(2, 3\), but the result is float64 \(2, 2\)"),
    ((np.zeros((2, 2)),) * 2, {"out": np.zeros((2, 2), "f4")}, ValueError,
     "out is float32"),
    ((np.zeros((2, 2)),) * 2, {"out": [[0, 0], [0, 0]]}, TypeError,
     "out is list, not a numpy.ndarray"),
    ((np.zeros((2, 2)),) * 2, {"compute": "fast"}, ValueError,
     'compute is "fast", not one of native, tf32, reproducible, precise'),
    ((np.zeros((2, 2)),) * 2, {"accelerators": [7]}, headrace.InvalidError,
     "7"),
    ((np.zeros((2, 2)),) * 2, {"dtype": "f4"}, headrace.UnsupportedError,
     "f32")])
def test_refused(host, arguments, options, kind, words):
    with pytest.raises(kind, match=words):
        headrace.matmul(*arguments, **options)
    assert host.accelerators


def test_reports(context, rng):
    a, b = numbers(rng, (300, 200), "f4"), numbers(rng, (200, 100), "f4")
    report = headrace.GemmReport()
    headrace.matmul(a, b, report=report)
    assert report.flops == 2 * 300 * 200 * 100 and report.seconds > 0
    assert sum(s.flops for s in report.shares) == report.flops
    assert "host to device" in str(report)
    assert "<table>" in report._repr_html_()
    planned = headrace.plan(a, b)
    assert planned.flops == report.flops
    assert planned.compulsory == report.compulsory
    assert pickle.loads(pickle.dumps(report)) == report
    assert context.accelerators


def test_plan_needs_no_memory(host):
    a = np.broadcast_to(np.float32(0), (10**6, 10**6))
    assert headrace.plan(a, a).flops == 2e18
    assert host.accelerators


def test_verify(context, rng):
    a, b = numbers(rng, (100, 80), "f8"), numbers(rng, (80, 60), "f8")
    c = headrace.matmul(a, b)
    assert headrace.verify(a, b, c).row == -1
    c[31, 7] += 1
    with pytest.raises(headrace.MismatchError, match="31"):
        headrace.verify(a, b, c)
    assert context.accelerators


def test_memory_limit(rng):
    a, b = numbers(rng, (900, 800), "f4"), numbers(rng, (800, 700), "f4")
    with headrace.Context("2xhost", memory_limit=4 << 20):
        report = headrace.GemmReport()
        check(headrace.matmul(a, b, report=report), a, b)
        assert all(s.memory <= 4 << 20 for s in report.shares)
        assert report.host_to_device > 0
        with pytest.raises(headrace.OutOfMemoryError, match="bytes"):
            headrace.matmul(a, b, memory_limit=1)
