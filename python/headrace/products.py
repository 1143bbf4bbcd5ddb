# SPDX-License-Identifier: MIT
"""Products of matrices."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
from numpy.typing import DTypeLike

from . import progress as _progress
from ._native import ffi, lib
from .contexts import Context, current, keep_left, pointer_of, using
from .errors import check
from .layouts import (Accelerators, Array, Operand, Progress, bytes_of,
                      check_report, choose, matrix, not_offered, one_of,
                      operand, output, overlap, plural, shown, struct, type_of)
from .reports import GemmReport, VerifyReport, _GemmReport

#: How products are formed: docs/several-gpus.md.
COMPUTE = {"native": lib.HR_COMPUTE_NATIVE, "tf32": lib.HR_COMPUTE_TF32,
           "reproducible": lib.HR_COMPUTE_REPRODUCIBLE,
           "precise": lib.HR_COMPUTE_PRECISE}
_FACTORS = ("float32", "float64", "complex64", "complex128", "float16",
            "bfloat16", "int8")
_SUMS = {lib.HR_I8: np.dtype("int32")}  # where C has another type than A
_ONE, _ZERO = lib.hr_real(1.0), lib.hr_real(0.0)
_LONG = 1e9  # operations from which a product may be cancelled
_MATRICES = ffi.typeof("hr_matrix[3]")


def _scalar(value, name):
    try:
        value = complex(None if isinstance(value, (str, bytes)) else value)
    except TypeError:
        raise TypeError(f"{name} is {shown(value)}, not a number") from None
    return lib.hr_complex(value.real, value.imag)


def _operands(a: Operand, b: Operand) -> tuple[Array, Array]:
    """Two arrays of one offered type."""
    a, b = operand(a), operand(b)
    if a.dtype is not b.dtype and a.dtype != b.dtype:
        common = np.result_type(a.dtype, b.dtype)
        a, b = a.astype(common, copy=False), b.astype(common, copy=False)
    return a, b


def _result_dtype(a, dtype):
    """The dtype of a product. TypeError where none is offered."""
    try:
        kind = type_of(a.dtype, _FACTORS)
        if kind == lib.HR_I32:
            raise not_offered(a.dtype, _FACTORS)
    except TypeError as error:
        if a.dtype.kind not in "iub":
            raise
        raise TypeError(f"{error}; for others pass a.astype(np.float64)"
                        ) from None
    usual = _SUMS.get(kind, a.dtype)
    return usual if dtype is None else np.dtype(dtype)


class _Options:
    """hr_gemm_options, and what they point to."""

    def __init__(self, context, flops, compute, memory_limit, accelerators,
                 progress, report):
        mode = one_of(compute, COMPUTE, "compute")
        self.watch = _progress.watch(progress, flops > _LONG)
        self.report = None
        check_report(report, GemmReport)
        o = self.pointer = struct("hr_gemm_options")
        o.compute = mode
        if memory_limit is not None:
            o.memory_limit = bytes_of(memory_limit, "memory_limit")
        self._indices = choose(o, accelerators)
        _progress.fill(o, self.watch)
        if report is not None or context._left:
            self.report = _GemmReport(context, report or GemmReport())
            o.report = self.report.pointer

    @property
    def lost(self):
        """Whether the call left an accelerator behind; None: not known."""
        return self.report and self.report.pointer.lost > 0

    def finish(self, status):
        _progress.finish(self.watch, status)
        if self.report is not None:
            self.report.read()


def _gemm(context, alpha, a, b, beta, c, compute, memory_limit, accelerators,
          progress, report):
    """C := alpha A B + beta C of matrices; C in the caller's array."""
    operands = ffi.new(_MATRICES)
    a = matrix(a, operands[0])
    b = matrix(b, operands[1])
    beside = matrix(c, operands[2])
    flops = 2.0 * a.shape[0] * a.shape[1] * b.shape[1]
    kept = lost = None
    if flops <= _LONG and compute == "native" and (
            memory_limit is accelerators is progress is report is None
            and not context._left):
        options = ffi.NULL
        finish = check
    else:
        kept = _Options(context, flops, compute, memory_limit, accelerators,
                        progress, report)
        options, finish = kept.pointer, kept.finish
    with memoryview(context._uses):  # using(context), without a call
        try:
            finish(lib.hr_gemm(pointer_of(context), alpha, operands[0],
                               operands[1], beta, operands[2], options))
            lost = kept and kept.lost
        finally:
            keep_left(context, lost, a, b, beside)
    if beside is not c:
        c[...] = beside


def _check_matrices(**arrays):
    for name, x in arrays.items():
        if x.ndim != 2:
            raise ValueError(f"{name} has {plural(x.ndim, 'dimension')}, "
                             "not 2")


def _check_shapes(a, b):
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"A has {a.shape[-1]} columns, but B has "
                         f"{b.shape[-2]} rows")


def matmul(a: Operand, b: Operand, *, out: Array | None = None,
           dtype: DTypeLike | None = None, compute: str = "native",
           memory_limit: int | str | None = None,
           accelerators: Accelerators = None, progress: Progress = None,
           report: GemmReport | None = None,
           context: Context | None = None) -> Any:
    """The product of two arrays, as numpy.matmul gives it.

    a, b: [m, k] and [k, n]; vectors and stacks of matrices as in NumPy.
        float32, float64, complex64, complex128, float16, bfloat16 and int8;
        different types are brought to a common one. Arrays of any layout,
        np.memmap, and what has DLPack or the buffer protocol.
    out: where to write the result; must not overlap a or b, or is written at
        the end. dtype: of the result: float16 and bfloat16 may give float32;
        int8 gives int32.
    compute: "native", "tf32", "reproducible" or "precise".
    memory_limit: bytes of each accelerator, or such as "2GiB".
    accelerators: their indices.
    progress: True for a bar, or a function of (done, total) operations, which
        may return False to cancel. report: a GemmReport to fill.

    Returns the result. Ctrl-C cancels. Raises headrace.Error with the
    library's sentence, and TypeError or ValueError. Any thread; the GIL is
    released meanwhile.
    """
    a, b = _operands(a, b)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("matmul needs arrays of one dimension or more")
    context = current(context)
    options = (compute, memory_limit, accelerators, progress, report)
    if a.ndim != 2 or b.ndim != 2:
        return _stacks(context, a, b, out, dtype, options)
    _check_shapes(a, b)
    c = output(out, (a.shape[0], b.shape[1]), _result_dtype(a, dtype))
    if out is not None and (overlap(a, c) or overlap(b, c)):
        beside = np.empty(c.shape, c.dtype)
        _gemm(context, _ONE, a, b, _ZERO, beside, *options)
        c[...] = beside
    else:
        _gemm(context, _ONE, a, b, _ZERO, c, *options)
    return c


def gemm(alpha: complex, a: Operand, b: Operand, beta: complex = 0,
         c: Array | None = None, *, compute: str = "native",
         memory_limit: int | str | None = None,
         accelerators: Accelerators = None, progress: Progress = None,
         report: GemmReport | None = None,
         context: Context | None = None) -> Array:
    """C := alpha A B + beta C. Returns c.

    a, b, c: matrices [m, k], [k, n], [m, n], as in matmul; c is written in
        place, or None for a new one where beta is 0. Pass a.T for a transpose.

    Options, errors and threads as in matmul.
    """
    a, b = _operands(a, b)
    _check_matrices(a=a, b=b)
    _check_shapes(a, b)
    if c is None and beta != 0:
        raise ValueError(f"beta is {beta}, but there is no c")
    dtype = _result_dtype(a, c.dtype if isinstance(c, np.ndarray) else None)
    c = output(c, (a.shape[0], b.shape[1]), dtype, "c")
    options = (compute, memory_limit, accelerators, progress, report)
    beside = c.copy() if overlap(a, c) or overlap(b, c) else c
    _gemm(current(context), _scalar(alpha, "alpha"), a, b,
          _scalar(beta, "beta"), beside,
          *options)
    if beside is not c:
        c[...] = beside
    return c


# ---- stacks


def _stacks(context, a, b, out, dtype, options):
    """numpy.matmul of vectors and of stacks of matrices."""
    columns = b.ndim == 1
    rows = a.ndim == 1
    a = a[np.newaxis] if rows else a
    b = b[:, np.newaxis] if columns else b
    _check_shapes(a, b)
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = (*lead, a.shape[-2], b.shape[-1])
    dropped = tuple(np.delete(
        shape, [i for i, drop in ((-2, rows), (-1, columns)) if drop]))
    result = output(out, dropped, _result_dtype(a, dtype))
    direct = (result.flags.c_contiguous
              and not (overlap(a, result) or overlap(b, result)))
    c = result.reshape(shape) if direct else np.empty(shape, result.dtype)
    if 0 not in lead:
        _batch(context, a, b, c, lead, options)
    if not direct:
        result[...] = c.reshape(dropped)
    return result if dropped or out is not None else result[()]


def _strided(stack, lead, into):
    """Fill hr_matrices with a stack: with a list of pointers where its matrices
    do not lie at equal distances. Returns what it borrows."""
    stack = np.broadcast_to(stack, (*lead, *stack.shape[-2:]))
    first = stack[(0,) * len(lead)]
    if matrix(first, into.matrix) is not first:
        stack = np.broadcast_to(np.ascontiguousarray(stack), stack.shape)
        matrix(stack[(0,) * len(lead)], into.matrix)
    count = int(np.prod(lead, dtype=np.int64))
    at = np.zeros(lead, np.int64)
    for d, stride in enumerate(stack.strides[:-2]):
        steps = np.arange(lead[d]) * stride
        at += steps.reshape(-1, *(1,) * (len(lead) - d - 1))
    at = at.reshape(-1)
    step = int(at[1]) if count > 1 else 0
    even = step >= 0 and step % stack.itemsize == 0 and np.array_equal(
        at, np.arange(count) * step)
    pointers = None
    if even:
        into.stride = step // stack.itemsize
    else:
        pointers = at + stack.__array_interface__["data"][0]
        into.list = ffi.cast("void *const *", ffi.from_buffer(pointers))
    return stack, pointers


def _batch(context, a, b, c, lead, options):
    operands = ffi.new("hr_matrices[3]")
    kept = [_strided(x, lead, operands[i]) for i, x in enumerate((a, b, c))]
    count = int(np.prod(lead, dtype=np.int64))
    flops = 2.0 * count * a.shape[-2] * a.shape[-1] * b.shape[-1]
    o = _Options(context, flops, *options)
    _run_batch(context, count, operands, o, kept)


def _run_batch(context, count, operands, o, kept):
    """C := A B of the operands, whose arrays are `kept`."""
    lost = None
    with using(context):
        try:
            o.finish(lib.hr_gemm_batch(
                pointer_of(context), count, _ONE, operands[0], operands[1],
                _ZERO, operands[2], o.pointer))
            lost = o.lost
        finally:
            keep_left(context, lost, *kept)


def matmul_batch(a: Sequence[Operand] | Array, b: Sequence[Operand] | Array, *,
                 out: Sequence[Array] | None = None,
                 dtype: DTypeLike | None = None, compute: str = "native",
                 memory_limit: int | str | None = None,
                 accelerators: Accelerators = None, progress: Progress = None,
                 report: GemmReport | None = None,
                 context: Context | None = None) -> list[Array]:
    """The products of pairs of matrices that lie anywhere, in one call.

    a, b: as many matrices of one shape, or one for all pairs: lists of arrays
        [m, k] and [k, n]. out: a list of arrays [m, n].

    Returns the list of results. Otherwise as matmul, which takes stacks.
    """
    a, b = _listed(a, "a"), _listed(b, "b")
    count = max(len(a), len(b))
    if count > 0 and not {len(a), len(b)} <= {1, count}:
        raise ValueError(f"a has {len(a)} matrices, but b has {len(b)}")
    if count == 0:
        return []
    _check_shapes(a[0], b[0])
    common = np.result_type(a[0].dtype, b[0].dtype)
    a, b = ([x.astype(common, copy=False) for x in y] for y in (a, b))
    shape = (a[0].shape[0], b[0].shape[1])
    result = _result_dtype(a[0], dtype)
    if out is not None and len(out) != count:
        raise ValueError(f"out has {len(out)} arrays, but there are {count} "
                         "products")
    c = [output(None if out is None else out[i], shape, result)
         for i in range(count)]
    context = current(context)
    operands = ffi.new("hr_matrices[3]")
    kept = [_pointers(x, count, operands[i])
            for i, x in enumerate((a, b, c))]
    o = _Options(context, 2.0 * count * shape[0] * shape[1] * a[0].shape[1],
                 compute, memory_limit, accelerators, progress, report)
    _run_batch(context, count, operands, o, kept)
    for mine, written in zip(c, kept[2][0]):
        if written is not mine:
            mine[...] = written
    return c


def _listed(given: Any, name: str) -> list[Array]:
    arrays = [operand(x) for x in
              ([given] if isinstance(given, np.ndarray) and given.ndim == 2
               else given)]
    for i, x in enumerate(arrays):
        if x.ndim != 2:
            raise ValueError(f"{name}[{i}] has "
                             f"{plural(x.ndim, 'dimension')}, not 2")
        if x.shape != arrays[0].shape:
            raise ValueError(f"{name}[{i}] is {x.shape}, but {name}[0] is "
                             f"{arrays[0].shape}: all are matrices of a shape")
    return arrays


def _pointers(arrays, count, into):
    """A list of matrices of one layout; copies of those of another."""
    first = matrix(arrays[0], into.matrix)
    same = [x if x.strides == first.strides else
            np.array(x, order="C" if first.flags.c_contiguous else "F")
            for x in [first, *arrays[1:]]]
    if any(x.strides != first.strides for x in same):
        same = [np.ascontiguousarray(x) for x in same]
        matrix(same[0], into.matrix)
    at = np.array([x.__array_interface__["data"][0] for x in same], np.uintp)
    at = np.broadcast_to(at, (count,)).copy()
    into.list = ffi.cast("void *const *", ffi.from_buffer(at))
    return same, at


# ---- plans and checks


def plan(a: Operand, b: Operand, *, beta: complex = 0,
         dtype: DTypeLike | None = None, compute: str = "native",
         memory_limit: int | str | None = None,
         accelerators: Accelerators = None,
         context: Context | None = None) -> GemmReport:
    """What matmul or gemm would do with matrices like these, without doing it:
    bytes of each link, memory of each accelerator, seconds, and what bounds
    them. Only shapes, types and layouts count, so np.broadcast_to or np.empty
    may stand for matrices that are not there yet."""
    a, b = _operands(a, b)
    _check_matrices(a=a, b=b)
    _check_shapes(a, b)
    context = current(context)
    operands = ffi.new("hr_matrix[3]")
    made = _result_dtype(a, dtype)
    for m, (rows, cols), kind, array in (
            (operands[0], a.shape, a.dtype, a),
            (operands[1], b.shape, b.dtype, b),
            (operands[2], (a.shape[0], b.shape[1]), made, None)):
        m.type, m.rows, m.cols = type_of(kind), rows, cols
        column_major = (array is not None and array.flags.f_contiguous
                        and not array.flags.c_contiguous)
        m.row_stride = 1 if column_major else max(cols, 1)
        m.col_stride = max(rows, 1) if column_major else 1
    report = GemmReport()
    o = _Options(context, 0, compute, memory_limit, accelerators, None, report)
    with using(context):
        o.finish(lib.hr_gemm_plan(
            pointer_of(context), _ONE, operands[0], operands[1],
            _scalar(beta, "beta"), operands[2], o.pointer, o.report.pointer))
    return report


def verify(a: Operand, b: Operand, c: Operand, *, alpha: complex = 1,
           beta: complex = 0, c0: Operand | None = None,
           progress: Progress = None,
           context: Context | None = None) -> VerifyReport:
    """Check that c = alpha a b + beta c0 up to rounding, in O(mn + mk + kn)
    operations. Raises MismatchError, whose sentence names the element.
    progress: as in matmul, of elements. Ctrl-C cancels."""
    a, b = _operands(a, b)
    c = operand(c)
    c0 = c if c0 is None else operand(c0)
    _check_matrices(a=a, b=b, c=c, c0=c0)
    type_of(a.dtype, _FACTORS)
    operands = ffi.new("hr_matrix[4]")
    kept = [matrix(x, operands[i]) for i, x in enumerate((a, b, c0, c))]
    found = struct("hr_verify_report")
    seen = _progress.watch(progress, True, "element")
    _progress.fill(found, seen)
    context = current(context)
    with using(context):
        _progress.finish(seen, lib.hr_gemm_verify(
            pointer_of(context), _scalar(alpha, "alpha"), operands[0],
            operands[1], _scalar(beta, "beta"), operands[2], operands[3],
            found))
    del kept
    return VerifyReport(found.trials, found.suspects, found.rows_checked,
                        found.unchecked, found.row, found.col, found.error,
                        found.bound, found.seconds)
