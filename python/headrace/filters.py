# SPDX-License-Identifier: MIT
"""Weighted averages of neighbours, over all accelerators."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
from numpy.typing import ArrayLike

from . import progress as _progress
from ._native import ffi, lib
from .contexts import Context, current, pointer_of, using
from .errors import check
from .layouts import (Accelerators, Array, Operand, Progress, check_report,
                      choose, elements_of, matrix, number_of, one_of, operand,
                      output, overlap, plural, size_of, struct, type_of)
from .reports import FilterReport

_EDGES = {"left": lib.HR_EDGES_LEFT, "clamped": lib.HR_EDGES_CLAMPED,
          "mirrored": lib.HR_EDGES_MIRRORED,
          "periodic": lib.HR_EDGES_PERIODIC,
          "constant": lib.HR_EDGES_CONSTANT}
_METHODS = {"auto": lib.HR_FILTER_AUTO, "direct": lib.HR_FILTER_DIRECT,
            "separable": lib.HR_FILTER_SEPARABLE, "fft": lib.HR_FILTER_FFT}
_TYPES = ("float32", "float64")
_LONG = 1e9  # multiplications from which a filter may be cancelled


class Window:
    """(2 reach + 1)^2 weights, the one for the element itself in the middle;
    made of an array, or by box(), gaussian() and radial()."""

    def __init__(self, weights: ArrayLike) -> None:
        weights = np.ascontiguousarray(
            elements_of(weights, np.dtype(np.float64), "weights"))
        if (weights.ndim != 2 or weights.shape[0] != weights.shape[1]
                or weights.shape[0] % 2 == 0):
            raise ValueError(f"a window is n x n with an odd n, not "
                             f"{weights.shape}")
        self._take(lib.hr_window_create, weights.shape[0] // 2,
                   ffi.cast("double *", ffi.from_buffer(weights)))

    def _take(self, function: Callable[..., int], *arguments: object) -> Window:
        made = ffi.new("hr_window **")
        check(function(*arguments, made))
        self._pointer = ffi.gc(made[0], lib.hr_window_destroy)
        return self

    def __reduce__(self) -> tuple[type, tuple[Array]]:
        return type(self), (self.weights,)

    @classmethod
    def box(cls, reach: int) -> Window:
        """All weights 1."""
        return cls.__new__(cls)._take(lib.hr_window_box,
                                      size_of(reach, "reach"))

    @classmethod
    def gaussian(cls, reach: int, sigma: float) -> Window:
        """exp(-(i^2 + j^2) / (2 sigma^2)), not normalised."""
        return cls.__new__(cls)._take(lib.hr_window_gaussian,
                                      size_of(reach, "reach"),
                                      number_of(sigma, "sigma"))

    @classmethod
    def radial(cls, reach: int) -> Window:
        """1 in the middle, 0 in the corners."""
        return cls.__new__(cls)._take(lib.hr_window_radial,
                                      size_of(reach, "reach"))

    @property
    def reach(self) -> int:
        """How far it goes from its middle."""
        return int(lib.hr_window_reach(self._pointer))

    @property
    def weights(self) -> Array:
        """A copy of its weights."""
        n = 2 * self.reach + 1
        values = lib.hr_window_values(self._pointer)
        return np.frombuffer(
            ffi.buffer(values, 8 * n * n)).reshape(n, n).copy()


def filter(a: Operand, window: Window | ArrayLike, *,  # pylint: disable=W0622
           scale: float | None = None, edges: str = "clamped",
           constant: float = 0.0, method: str = "auto", tolerance: float = 0.0,
           out: Array | None = None, accelerators: Accelerators = None,
           progress: Progress = None, report: FilterReport | None = None,
           context: Context | None = None) -> Array:
    """Each element becomes scale times the weighted sum of its neighbours.

    a: a matrix of float32 or float64. window: a Window, or an array of weights.
    scale: by default one over the sum of the weights, which gives an average.
    edges: what lies beyond a: "clamped", "mirrored", "periodic", "constant",
        or "left": elements whose window is not inside stay as they are in out.
    method: "auto", "direct", "separable" or "fft". tolerance: of the first two.
    progress: as in matmul, of elements. Ctrl-C cancels; out then holds old and
        new elements.
    """
    a = operand(a)
    window = window if isinstance(window, Window) else Window(window)
    if a.ndim != 2:
        raise ValueError("filter takes a matrix, not "
                         f"{plural(a.ndim, 'dimension')}")
    type_of(a.dtype, _TYPES)
    o = struct("hr_filter_options")
    o.edges = one_of(edges, _EDGES, "edges")
    o.constant = number_of(constant, "constant")
    o.method = one_of(method, _METHODS, "method")
    o.tolerance = number_of(tolerance, "tolerance")
    if edges == "left" and out is None:
        raise ValueError('edges="left" leaves elements as they are: pass out=')
    if scale is None:
        total = float(window.weights.sum())
        scale = 1.0 / total if total != 0 else 1.0
    scale = number_of(scale, "scale")
    check_report(report, FilterReport)
    result = output(out, a.shape, a.dtype)
    beside = result.copy() if overlap(a, result) else result
    context = current(context)
    operands = ffi.new("hr_matrix[2]")
    read = matrix(a, operands[0])
    written = matrix(beside, operands[1])
    kept = read, choose(o, accelerators)
    found = struct("hr_filter_report")
    o.report = found
    seen = _progress.watch(
        progress, a.size * (2.0 * window.reach + 1) ** 2 > _LONG, "element")
    _progress.fill(o, seen)
    with using(context):
        _progress.finish(seen, lib.hr_filter(
            pointer_of(context), window._pointer, scale, operands[0],
            operands[1], o))
    del kept
    if written is not result:
        result[...] = written
    if report is not None:
        for name in ("rank", "window_error", "seconds", "predicted",
                     "products", "host_to_device", "device_to_host",
                     "accelerators", "pieces"):
            setattr(report, name, getattr(found, name))
        report.method = ffi.string(
            lib.hr_filter_method_name(found.method)).decode()
        report.bound = ffi.string(lib.hr_bound_name(found.bound)).decode()
    return result
