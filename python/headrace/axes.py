# SPDX-License-Identifier: MIT
"""Reductions along one axis: kernels of text, in which an item reduces a line.
Lines that are long and few are cut into parts, which NumPy joins. The cuts
depend on shapes and layouts alone, so the bits are the same on any
accelerators."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from ._native import ffi
from .kernels import Kernel, near
from .layouts import ELEMENTS, Array, plural

_WIDTH, _TILE = 32, 1024  # sums of an item; items of a tile, at most
_FEW, _PART, _LEAST = 16, 65536, 64  # lines; elements, rows of a part

# Numbers of an element x, the step that takes number y into s, and what joins
# parts. A NaN wins: it is kept by comparisons, and `y != y` takes one.
_LESSER = "(int)(y < s) | (int)(y != y) ? y : s"
_LARGER = "(int)(y > s) | (int)(y != y) ? y : s"
_SIZE = {"double": "fabs(x)", "long": "x < 0 ? -x : x"}
_STEPS = {
    "sum": ("x", "s + y", np.add), "product": ("x", "s * y", np.multiply),
    "min": ("x", _LESSER, np.minimum), "max": ("x", _LARGER, np.maximum),
    "sum_abs": (_SIZE, "s + y", np.add),
    "max_abs": (_SIZE, _LARGER, np.maximum), "norm": (None, None, np.add)}
_PLACES = {"argmin": ("<", np.argmin), "argmax": (">", np.argmax)}

_DOUBLE = """
#if !defined(HR_HAS_DOUBLE)
#error "reductions along an axis compute in double, which this device lacks"
#endif
"""

# What sum s and its place p make of element e, the k-th.
_JOINED = """
HR_FUNCTION {number} number_of({element} e) {{ return {load}; }}
HR_FUNCTION {number} joined({number} s, {number} y) {{ return {step}; }}
#define BEGIN(s, p, e, k) s = number_of(e)
#define TAKE(s, p, e, k)  s = joined(s, number_of(e))
#define JOIN(s, p, t, q)  s = joined(s, t)
#define RESULT(s, p)      ({result})s
"""

# Multiplications and additions are fused here, so no compiler chooses.
_SQUARED = """
HR_FUNCTION double with_squares(double s, {element} e) {{ return {load}; }}
#define BEGIN(s, p, e, k) s = with_squares(0, e)
#define TAKE(s, p, e, k)  s = with_squares(s, e)
#define JOIN(s, p, t, q)  s += t
#define RESULT(s, p)      s
"""

# The first of equal ones, and the first NaN.
_PLACED = """
HR_FUNCTION {number} number_of({element} e) {{ return {load}; }}
HR_FUNCTION int wins({number} y, {number} s)
{{
    return (int)(y {less} s) | ((int)(y != y) & (int)(s == s));
}}
#define BEGIN(s, p, e, k) s = number_of(e); p = k
#define TAKE(s, p, e, k) \\
    const {number} y = number_of(e); \\
    const int won = wins(y, s); \\
    p = won ? k : p; \\
    s = won ? y : s
#define JOIN(s, p, t, q) \\
    if (wins(t, s) || (q < p && !wins(s, t))) {{ \\
        s = t; \\
        p = q; \\
    }}
#define RESULT(s, p) p
"""

# Lines of the last axis: an item has one, whose elements go to the sums in
# turn.
_ALONG = """
enum {{ WIDTH = {width} }};
HR_KERNEL2({name}, (IN, {element}, 2, a), (OUT, {result}, 1, result))
{{
    HR_EACH1(i)
    {{
        {number} s[WIDTH];
        hr_index p[WIDTH];
        const hr_index n = HR_EXTENT(a, 1);
        const int width = n < WIDTH ? (int)n : WIDTH;
        hr_index j = WIDTH;
        for (int l = 0; l < width; l++) {{
            BEGIN(s[l], p[l], HR_AT2(a, i, l), l);
        }}
        for (; j + WIDTH <= n; j += WIDTH) {{
            for (int l = 0; l < WIDTH; l++) {{
                TAKE(s[l], p[l], HR_AT2(a, i, j + l), j + l);
            }}
        }}
        for (int l = 0; l < n - j; l++) {{
            TAKE(s[l], p[l], HR_AT2(a, i, j + l), j + l);
        }}
        for (int l = 1; l < width; l++) {{
            JOIN(s[0], p[0], s[l], p[l]);
        }}
        HR_AT1(result, i) = RESULT(s[0], p[0]);
    }}
}}
"""

# Lines of another axis: an item has one, and a tile reads rows side by side.
_ACROSS = """
HR_KERNEL2({name}, (IN, {element}, 3, a), (OUT, {result}, 2, result))
{{
    HR_PRIVATE({number}, s);
    HR_PRIVATE(hr_index, p);
    HR_EACH2(i, c)
    {{
        BEGIN(HR_P(s), HR_P(p), HR_AT3(a, i, 0, c), 0);
    }}
    for (hr_index j = 1; j < HR_EXTENT(a, 1); j++) {{
        HR_EACH2(i, c)
        {{
            TAKE(HR_P(s), HR_P(p), HR_AT3(a, i, j, c), j);
        }}
    }}
    HR_EACH2(i, c)
    {{
        HR_AT2(result, i, c) = RESULT(HR_P(s), HR_P(p));
    }}
}}
"""


@functools.lru_cache(maxsize=None)
def _kernel(name, operation, dtype, form, scale):
    """The kernel of a function for elements of a type."""
    element = ffi.string(ELEMENTS[dtype]).decode()
    whole = dtype.startswith("int") and operation != "norm"
    number = "long" if whole else "double"
    value = {"float16": "hr_f16_to_f32(e)", "bfloat16": "hr_bf16_to_f32(e)"
             }.get(dtype, "e")
    value, step, result = f"({number})({value})", "", number
    if operation == "norm":
        parts = ("e.re", "e.im") if dtype[0] == "c" else (value,)
        load, text = "s", _SQUARED
        for part in parts:
            load = f"fma({scale!r} * {part}, {scale!r} * {part}, {load})"
    elif operation in _PLACES:
        load, text, result = value, _PLACED, "long"
    else:
        load, step, _ = _STEPS[operation]
        load = load if isinstance(load, str) else load[number]
        load, text = load.replace("x", value), _JOINED
        if whole and operation in ("sum", "product", "sum_abs"):
            number = "unsigned long"  # which may wrap around
    words = {"element": element, "number": number, "load": load, "step": step,
             "result": result, "width": _WIDTH, "name": f"{name}_along_axis",
             "less": _PLACES.get(operation, [""])[0]}
    return Kernel(("" if whole else _DOUBLE) + (text + form).format(**words))


def dimension(axis: Any, dimensions: int, caller: str = "") -> int:
    """An axis from 0 on. TypeError for what is not one, ValueError for one that
    an array does not have."""
    before = caller and f"{caller}: "
    try:
        given = operator.index(axis)
    except TypeError:
        raise TypeError(f"{before}axis is {axis!r}, not one dimension"
                        ) from None
    count = dimensions or 1
    if not -count <= given < count:
        raise ValueError(f"{before}axis is {given}, of "
                         f"{plural(dimensions, 'dimension')}")
    return given % count


def _launch(kernel, a, options):
    """The results of a [before, n, after] array: [before, after]."""
    result = np.empty((a.shape[0], a.shape[2]), np.dtype(
        "int64" if "(OUT, long" in kernel.text else "float64"))
    rows, _, cols = a.shape
    if cols == 1:
        kernel(near(a[:, :, 0], 0, 0), result[:, 0], domain=rows, **options)
    else:
        tile = -(-cols // -(-cols // _TILE))
        kernel(near(a, 0, 0), result, domain=(rows, cols), tile=(1, tile),
               **options)
    return result


def _cut(kernel, a, operation, count, options):
    """The results of an [n, after] array, in `count` parts of equal length and
    what is left."""
    size = a.shape[0] // count
    end = size * count
    parts = []
    if end < a.shape[0]:
        parts.append(_launch(kernel, a[np.newaxis, end:], options))
    parts.insert(0, _launch(kernel, a[:end].reshape(count, size, a.shape[1]),
                            options))
    found = np.concatenate(parts)
    if operation not in _PLACES:
        return _STEPS[operation][2].reduce(found, axis=0)
    found += size * np.arange(len(found))[:, np.newaxis]
    values = np.take_along_axis(a, found, 0).astype(
        a.dtype if a.dtype.kind == "i" else np.float64)
    best = _PLACES[operation][1](values, axis=0)
    return np.take_along_axis(found, best[np.newaxis], 0)[0]


def _lines(name, operation, a, options, scale=1.0):
    """The results of a [before, n, after] array that has elements."""
    before, n, after = a.shape
    form = _ALONG if after == 1 else _ACROSS
    kernel = _kernel(name, operation, a.dtype.name, form, scale)
    count = min(n // _LEAST, n * after // _PART)
    if before >= _FEW or count < 2:
        return _launch(kernel, a, options)
    return np.stack([_cut(kernel, one, operation, count, options)
                     for one in a])


def _norms(name, a, options):
    """Square roots of sums of squares. Where those leave the range of double
    they are computed again, scaled."""
    squares = _lines(name, "norm", a, options)
    norms = np.sqrt(squares)
    if a.dtype.name in ("float64", "complex128"):
        for wrong, up, down in ((squares < 2.0**-900, 2.0**600, 2.0**-600),
                                (np.isinf(squares), 2.0**-600, 2.0**600)):
            if wrong.any():
                again = _lines(name, "norm", a, options, up)
                norms = np.where(wrong, np.sqrt(again) * down, norms)
    return norms


def reduce_lines(name: str, operation: str, a: Array, axis: int,
                 options: dict[str, Any]) -> Array:
    """The results along an axis of an array that has elements. name: of the
    function, for messages."""
    a = a if a.ndim > 0 else a.reshape(1)
    turned = a.flags.f_contiguous and not a.flags.c_contiguous
    if turned:
        a, axis = a.T, a.ndim - 1 - axis
    shape = (*a.shape[:axis], *a.shape[axis + 1:])
    lines = a.reshape(int(np.prod(a.shape[:axis], dtype=np.int64)),
                      a.shape[axis], -1)
    if operation == "norm":
        result = _norms(name, lines, options)
    else:
        result = _lines(name, operation, lines, options)
    result = result.reshape(shape)
    return result.T if turned else result
