# SPDX-License-Identifier: MIT
"""Calls over arrays: reductions, scans, sorts, histograms, fills and random
numbers. Each takes arrays of any layout and works over all accelerators. Ctrl-C
cancels a call of many elements; what it writes then holds old and new ones."""

from __future__ import annotations

import contextlib
import math
import secrets
from typing import Any, Literal, Protocol, overload

import numpy as np
from numpy.typing import DTypeLike

from ._native import ffi, lib
from .axes import dimension, reduce_lines
from .contexts import Context, current, pointer_of, using
from .errors import InvalidError
from .kernels import Options
from .layouts import (TYPES, Accelerators, Array, Operand, Shape, View, Weights,
                      address, check_array, element_as, not_offered, number_of,
                      one_of, operand, output, shape_of, shown,
                      size_of, text_of, type_of)
from .reports import LaunchReport

REDUCTIONS = {
    "sum": lib.HR_REDUCE_SUM, "min": lib.HR_REDUCE_MIN,
    "max": lib.HR_REDUCE_MAX, "dot": lib.HR_REDUCE_DOT,
    "distance": lib.HR_REDUCE_DISTANCE,
    "max_abs_diff": lib.HR_REDUCE_MAX_ABS_DIFF,
    "product": lib.HR_REDUCE_PRODUCT, "sum_abs": lib.HR_REDUCE_SUM_ABS,
    "max_abs": lib.HR_REDUCE_MAX_ABS, "norm": lib.HR_REDUCE_NORM,
    "argmin": lib.HR_REDUCE_ARGMIN, "argmax": lib.HR_REDUCE_ARGMAX}
# The types of calls.
_SUMS = {"float32": ("float32", "float64"), "float64": ("float64",),
         "int8": ("int8", "int32"), "int32": ("int32", "int64")}  # of scans
_FEW = tuple(_SUMS)
_ORDERED = (*_FEW, "float16", "bfloat16")
_COMPUTED = (*_FEW, "complex64", "complex128")
_LONG, _LONG_SORT = 1e7, 1e6  # elements from which Ctrl-C cancels a call
PAIRS = ("dot", "distance", "max_abs_diff")
_EMPTY = {"sum": 0, "dot": 0, "distance": 0, "product": 1, "sum_abs": 0,
          "norm": 0.0}
_SCANS = {name: REDUCTIONS[name] for name in ("sum", "product", "min", "max")}
_ORDERS = {False: lib.HR_SORT_ASCENDING, True: lib.HR_SORT_DESCENDING}
_DISTRIBUTIONS = {"bits": lib.HR_RANDOM_BITS, "uniform": lib.HR_RANDOM_UNIFORM,
                  "normal": lib.HR_RANDOM_NORMAL}


def _view(context, array, written=False):
    return View(pointer_of(context), array, written)


def reduce(operation: str, a: Operand, b: Operand | None = None, *,
           axis: int | None = None, keepdims: bool = False,
           accelerators: Accelerators = None, weights: Weights = None,
           report: LaunchReport | None = None,
           context: Context | None = None) -> Any:
    """One number from all elements of an array, or of two; or those along an
    axis of one array.

    operation: "sum", "product", "min", "max", "norm", "sum_abs", "max_abs",
        "argmin", "argmax"; of two arrays "dot", "distance", "max_abs_diff".
    axis: None, or one dimension, counted from the end where it is negative.
        It compiles a kernel, which on the host takes a C compiler.
    keepdims: dimensions that are reduced stay, with 1 element.
    report: where a call takes several launches, of one of them.

    Fractions are computed in double, integers exactly modulo 2^64. A NaN wins.
    Returns a float, or an int for integers and for places, which count by rows;
    along an axis float64, or int64. The bits are the same on any accelerators.
    """
    return _reduce(operation, operation, a, b, axis, keepdims,
                   {"accelerators": accelerators, "weights": weights,
                    "report": report, "context": context})


def _reduce(name, operation, a, b, axis, keepdims, options):
    """The same, of a function of this name."""
    one_of(operation, REDUCTIONS, "operation")
    a = operand(a)
    if (b is not None) != (operation in PAIRS):
        raise TypeError(f"{operation} takes "
                        f"{'two arrays' if b is None else 'one array'}")
    type_ = type_of(a.dtype, TYPES if operation in ("norm", "distance") else
                    _ORDERED)
    if b is not None:
        b = operand(b)
        if a.shape != b.shape:
            raise ValueError(f"a is {a.shape}, but b is {b.shape}")
        if a.dtype != b.dtype:
            raise TypeError(f"a is {a.dtype}, but b is {b.dtype}")
        if axis is not None:
            raise TypeError(f"{name}: axis= is not offered for two arrays")
    if axis is not None:
        result = _along_axis(name, operation, a, axis, options)
        if keepdims:
            return np.expand_dims(result, dimension(axis, a.ndim, name))
        return result[()]
    result = _of_all(name, operation, type_, a, b, **options)
    return np.full((1,) * a.ndim, result) if keepdims else result


def _whole(operation, dtype):
    """Whether results are integers: elements, not places."""
    return dtype.kind in "iu" and operation != "norm"


def _along_axis(name, operation, a, axis, options):
    """The results along an axis: an array."""
    d = dimension(axis, a.ndim, name)
    context = current(options["context"])
    if a.dtype.kind == "c" and operation != "norm":
        raise not_offered(a.dtype, _ORDERED)
    if a.size > 0:
        return reduce_lines(name, operation, a, d, {**options,
                                                    "context": context})
    shape = (*a.shape[:d], *a.shape[d + 1:])
    places = operation in ("argmin", "argmax")
    if operation not in _EMPTY and (0 not in shape or
                                    (places and a.shape[d] == 0)):
        raise ValueError(f"{name} of an array without elements")
    return np.full(shape, _EMPTY.get(operation, 0), np.int64 if places
                   or _whole(operation, a.dtype) else np.float64)


def _of_all(name, operation, type_, a, b, accelerators, weights, report,
            context):
    """One number."""
    whole = _whole(operation, a.dtype)
    if a.size == 0:
        if operation not in _EMPTY:
            raise ValueError(f"{name} of an array without elements")
        return _EMPTY[operation] if whole else float(_EMPTY[operation])
    context = current(context)
    result = ffi.new("hr_reduced *")
    options = Options(context, accelerators, weights, None, report,
                      long=a.size > _LONG)
    with using(context), contextlib.ExitStack() as stack:
        va = stack.enter_context(_view(context, a))
        vb = ffi.NULL if b is None else ffi.new(
            "hr_view *", stack.enter_context(_view(context, b)))
        options.finish(lib.hr_reduce(
            pointer_of(context), REDUCTIONS[operation], type_, va, vb,
            options.pointer, result))
    if operation in ("argmin", "argmax"):
        return result.index
    return result.integer if whole else result.value


class _Reduction(Protocol):
    """What reduces all elements of an array, or those along an axis."""

    @overload
    def __call__(self, a: Operand, axis: None = None, *,
                 keepdims: Literal[False] = False,
                 accelerators: Accelerators = None, weights: Weights = None,
                 report: LaunchReport | None = None,
                 context: Context | None = None) -> float: ...

    @overload
    def __call__(self, a: Operand, axis: int | None = None, *,
                 keepdims: bool = False,
                 accelerators: Accelerators = None, weights: Weights = None,
                 report: LaunchReport | None = None,
                 context: Context | None = None) -> Any: ...


class _Places(Protocol):
    """The same of places."""

    @overload
    def __call__(self, a: Operand, axis: None = None, *,
                 keepdims: Literal[False] = False,
                 accelerators: Accelerators = None, weights: Weights = None,
                 report: LaunchReport | None = None,
                 context: Context | None = None) -> int: ...

    @overload
    def __call__(self, a: Operand, axis: int | None = None, *,
                 keepdims: bool = False,
                 accelerators: Accelerators = None, weights: Weights = None,
                 report: LaunchReport | None = None,
                 context: Context | None = None) -> Any: ...


def _check_others(name, others):
    """TypeError for options of NumPy that a reduction does not have."""
    for other in others:
        raise TypeError(f"{name}: {other}= is not offered" + (
            "; results are float64, of integers and places int64"
            if other == "dtype" else ""))


def _reduction(name: str, operation: str, words: str) -> Any:
    def call(a, axis=None, *, keepdims=False, accelerators=None, weights=None,
             report=None, context=None, **others):
        _check_others(name, others)
        return _reduce(name, operation, a, None, axis, keepdims,
                       {"accelerators": accelerators, "weights": weights,
                        "report": report, "context": context})
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{words} of all elements, or along an axis: see reduce()."
    return call


# pylint: disable=redefined-builtin
sum: _Reduction = _reduction("sum", "sum", "The sum")
min: _Reduction = _reduction("min", "min", "The least; a NaN wins")
max: _Reduction = _reduction("max", "max", "The largest; a NaN wins")
prod: _Reduction = _reduction("prod", "product", "The product")
norm: _Reduction = _reduction(
    "norm", "norm", "The square root of the sum of |a|^2")
argmin: _Places = _reduction("argmin", "argmin", "The place of the least")
argmax: _Places = _reduction("argmax", "argmax", "The place of the largest")


def dot(a: Operand, b: Operand, **options: Any) -> float:
    """The sum of a b: see reduce()."""
    _check_others("dot", {name: None for name in options if name not in (
        "accelerators", "weights", "report", "context")})
    number: float = reduce("dot", a, b, **options)
    return number


def reduce_with(expression: str, a: Operand, *,
                accelerators: Accelerators = None, weights: Weights = None,
                report: LaunchReport | None = None,
                context: Context | None = None) -> Any:
    """One element from all elements with a function of your own: an expression
    in C of two elements a and b, such as "fabs(a) < fabs(b) ? a : b". It must
    not matter in which order and groups they are joined."""
    a = operand(a)
    if a.size == 0:
        raise ValueError("reduce_with of an array without elements")
    context = current(context)
    result = np.empty(1, a.dtype)
    options = Options(context, accelerators, weights, None, report,
                      long=a.size > _LONG)
    with using(context), _view(context, a) as view:
        options.finish(lib.hr_reduce_with(
            pointer_of(context), text_of(expression, "the expression"),
            type_of(a.dtype, _COMPUTED), view,
            options.pointer, ffi.from_buffer(result)))
    return result[0]


def _is_last(a, axis, caller=""):
    """Whether it is a's last dimension, of which rows are."""
    return dimension(axis, a.ndim, caller) == (a.ndim or 1) - 1


def _along(axis, call, *arrays):
    """What a call over rows makes of arrays along another dimension."""
    moved = [np.ascontiguousarray(np.moveaxis(a, axis, -1)) for a in arrays]
    return np.moveaxis(call(*moved), -1, axis)


def scan(operation: str, a: Operand, *, axis: int = -1, exclusive: bool = False,
         out: Array | None = None, dtype: DTypeLike | None = None,
         accelerators: Accelerators = None, weights: Weights = None,
         report: LaunchReport | None = None,
         context: Context | None = None) -> Array:
    """Running sums ("sum"), products, minima or maxima along a dimension.
    float32, float64, int8, int32; the result may be wider.

    exclusive: of the elements before each one, without its own.
    """
    reduction = one_of(operation, _SCANS, "operation")
    a = operand(a)
    result = output(out, a.shape,
                    np.dtype(dtype) if dtype is not None else
                    getattr(out, "dtype", a.dtype))
    if a.dtype.name not in _SUMS:
        raise not_offered(a.dtype, _SUMS)
    if result.dtype not in [np.dtype(name) for name in _SUMS[a.dtype.name]]:
        raise TypeError(f"{'out' if dtype is None else 'dtype'} is "
                        f"{result.dtype}, but a scan of {a.dtype} gives "
                        f"{' or '.join(_SUMS[a.dtype.name])}")
    if not _is_last(a, axis):
        result[...] = _along(axis, lambda rows: scan(
            operation, rows, exclusive=exclusive, dtype=result.dtype,
            accelerators=accelerators, weights=weights, report=report,
            context=context), a)
        return result
    if a.size == 0:
        return result
    context = current(context)
    kind = lib.HR_SCAN_EXCLUSIVE if exclusive else lib.HR_SCAN_INCLUSIVE
    options = Options(context, accelerators, weights, None, report,
                      long=a.size > _LONG)
    a = a.copy() if np.may_share_memory(a, result) else a
    with (using(context), _view(context, a) as va,
          _view(context, result, True) as vb):
        options.finish(lib.hr_scan(
            pointer_of(context), reduction, kind, type_of(a.dtype), va,
            vb, options.pointer))
    return result


def cumsum(a: Operand, **options: Any) -> Array:
    """Running sums along a dimension: see scan()."""
    return scan("sum", a, **options)


def cumprod(a: Operand, **options: Any) -> Array:
    """Running products along a dimension: see scan()."""
    return scan("product", a, **options)


def sort(a: Operand, *, axis: int = -1, descending: bool = False,
         out: Array | None = None,
         accelerators: Accelerators = None, weights: Weights = None,
         report: LaunchReport | None = None,
         context: Context | None = None) -> Array:
    """The elements of each row in order, rows along a dimension. Stable; NaNs
    last, or first where descending. Ctrl-C ends a long call between its
    rows: a single long row is sorted to its end."""
    a = operand(a)
    result = output(out, a.shape, a.dtype)
    if not _is_last(a, axis, "sort"):
        result[...] = _along(axis, lambda rows: sort(
            rows, descending=descending, accelerators=accelerators,
            weights=weights, report=report, context=context), a)
        return result
    if a.size == 0:
        return result
    context = current(context)
    options = Options(context, accelerators, weights, None, report,
                      long=a.size > _LONG_SORT)
    a = a.copy() if np.may_share_memory(a, result) else a
    with (using(context), _view(context, a) as va,
          _view(context, result, True) as vb):
        options.finish(lib.hr_sort(
            pointer_of(context), _ORDERS[bool(descending)],
            type_of(a.dtype, _ORDERED), va, vb, options.pointer))
    return result


def sort_by_key(keys: Operand, values: Operand, *, descending: bool = False,
                accelerators: Accelerators = None, weights: Weights = None,
                report: LaunchReport | None = None,
                context: Context | None = None) -> tuple[Array, Array]:
    """Keys in order along the last dimension, and the values moved with them:
    elements of 4 or 8 bytes. Returns both as new arrays."""
    keys, values = operand(keys), operand(values)
    if keys.shape != values.shape:
        raise ValueError(f"keys are {keys.shape}, but values {values.shape}")
    if values.itemsize not in (4, 8):
        raise TypeError(f"values have {values.itemsize} bytes, not 4 or 8")
    keys, values = keys.copy("C"), values.copy("C")
    if keys.size == 0:
        return keys, values
    bits = values.view(f"i{values.itemsize}" if values.itemsize == 4 else "f8")
    context = current(context)
    options = Options(context, accelerators, weights, None, report,
                      long=keys.size > _LONG_SORT)
    with (using(context), _view(context, keys, True) as k,
          _view(context, bits, True) as v):
        options.finish(lib.hr_sort_by_key(
            pointer_of(context), _ORDERS[bool(descending)],
            type_of(keys.dtype, _ORDERED), k,
            lib.HR_I32 if values.itemsize == 4 else lib.HR_F64, v,
            options.pointer))
    return keys, values


def argsort(a: Operand, *, axis: int = -1, descending: bool = False,
            **options: Any) -> Array:
    """The places of the elements of each row in order. Stable."""
    a = operand(a)
    if a.ndim == 0:
        raise ValueError("argsort of an array without dimensions")
    if not _is_last(a, axis, "argsort"):
        return _along(axis, lambda rows: argsort(
            rows, descending=descending, **options), a)
    places = np.broadcast_to(np.arange(a.shape[-1], dtype=np.int64), a.shape)
    return sort_by_key(a, places, descending=descending, **options)[1]


def histogram(a: Operand, bins: int = 10,
              range: tuple[float, float] | None = None,
              *, accelerators: Accelerators = None, weights: Weights = None,
              report: LaunchReport | None = None,
              context: Context | None = None) -> tuple[Array, Array]:
    """Counts of elements in bins of one width, and the edges of the bins, as
    numpy.histogram gives them. float32, float64, int8, int32."""
    a = operand(a)
    bins = size_of(bins, "bins", 1)
    type_ = type_of(a.dtype, _FEW)
    if range is None:
        low, high = (0.0, 1.0) if a.size == 0 else (
            reduce("min", a, context=context), reduce("max", a,
                                                      context=context))
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ValueError(f"elements go from {low} to {high}: pass range=")
    else:
        try:
            low, high = (number_of(x, "range") for x in range)
        except (TypeError, ValueError):
            raise TypeError(f"range is {shown(range)}, not two numbers"
                            ) from None
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            raise InvalidError(f"range goes from {low} to {high}")
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, bins + 1,
                        dtype=np.result_type(a.dtype, np.float32)
                        if a.dtype.kind == "f" else None)
    counts = np.zeros(bins, np.int64)
    if a.size == 0:
        return counts, edges
    context = current(context)
    options = Options(context, accelerators, weights, None, report,
                      long=a.size > _LONG)
    with (using(context), _view(context, a) as va,
          _view(context, counts, True) as vc):
        options.finish(lib.hr_histogram(
            pointer_of(context), type_, va, low, high, vc, options.pointer))
    return counts, edges


def fill(a: Array, value: complex | np.generic | Array, *,
         accelerators: Accelerators = None, weights: Weights = None,
         report: LaunchReport | None = None,
         context: Context | None = None) -> Array:
    """Set each element to a value, which is real where a is. Returns a."""
    check_array(a, "a")
    a = output(a, a.shape, a.dtype)
    kind = type_of(a.dtype)
    number = element_as(value, a.dtype, "the value").reshape(1)
    if a.size > 0:
        context = current(context)
        options = Options(context, accelerators, weights, None, report,
                          long=a.size > _LONG)
        with using(context), _view(context, a, True) as view:
            options.finish(lib.hr_fill(
                pointer_of(context), view, kind, address(number),
                options.pointer))
    return a


def _word(value, name):
    """A number of 64 bits."""
    return size_of(value, name, 0, 2**64 - 1)


def random(shape: Shape | None = None, distribution: str = "uniform", *,
           dtype: DTypeLike | None = None, seed: int | None = None,
           stream: int = 0, offset: int = 0, out: Array | None = None,
           accelerators: Accelerators = None, weights: Weights = None,
           report: LaunchReport | None = None,
           context: Context | None = None) -> Array:
    """An array of random numbers: "uniform" in [0, 1), "normal", or "bits" for
    int32. Element n is number offset + n of the stream of the seed (Philox),
    whatever the accelerators.

    seed: from 0 to 2^64 - 1, for the same numbers each time; None: others at
        each call.
    """
    drawn = one_of(distribution, _DISTRIBUTIONS, "distribution")
    if out is None:
        if shape is None:
            raise TypeError("random takes a shape or out=")
        kind = dtype or (np.int32 if distribution == "bits" else np.float64)
        out = np.empty(shape, kind)
    else:
        check_array(out, "out")
        out = output(out, np.shape(out) if shape is None else
                     shape_of(shape, "shape"),
                     out.dtype if dtype is None else np.dtype(dtype))
    if out.size == 0:
        return out
    place = [_word(secrets.randbits(64) if seed is None else seed, "seed"),
             _word(stream, "stream"), _word(offset, "offset")]
    context = current(context)
    numbers = ffi.new("hr_random *", (drawn, *place))
    offered = ("int32",) if distribution == "bits" else ("float32", "float64")
    options = Options(context, accelerators, weights, None, report,
                      long=out.size > _LONG)
    with using(context), _view(context, out, True) as view:
        options.finish(lib.hr_random_fill(
            pointer_of(context), view, type_of(out.dtype, offered), numbers[0],
            options.pointer))
    return out
