# SPDX-License-Identifier: MIT
"""Kernels out of text, which run over all accelerators."""

from __future__ import annotations

import math
import os
import re
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import progress as _progress
from ._native import ffi, lib
from .contexts import Context, current, pointer_of, using
from .errors import InvalidError, check
from .layouts import (Accelerators, Operand, Progress, Shape, View, Weights,
                      address, as_array, check_element, check_report, choose,
                      dtype_of, element_as, element_of, extent, one_of,
                      shape_of, shown, size_of, struct, text_of, weights_of,
                      with_article)
from .reports import LaunchReport, _LaunchReport

_COMBINE = {"sum": lib.HR_COMBINE_SUM, "min": lib.HR_COMBINE_MIN,
            "max": lib.HR_COMBINE_MAX}
_LONG = 1e6  # elements from which a statement may be cancelled


@dataclass(frozen=True)
class Argument:
    """An array with what a kernel does with it; made by near() and the others.
    """

    array: object
    how: str = ""
    before: int = 0
    after: int = 0
    combine: str = ""


def near(array: Operand, before: int, after: int) -> Argument:
    """Points read so many rows before and after their own: accelerators get
    no more than that."""
    return Argument(array, "near", size_of(before, "before"),
                    size_of(after, "after"))


def whole(array: Operand) -> Argument:
    """Points read any row: every accelerator gets all of it."""
    return Argument(array, "whole")


def combined(array: Operand, how: str) -> Argument:
    """Points change any element, by atomics. Each accelerator has a copy, and
    "sum", "min" or "max" joins them."""
    one_of(how, _COMBINE, "how")
    return Argument(array, "combined", combine=how)


class Options:
    """hr_split_options, and what they point to."""

    def __init__(self, context, accelerators=None, weights=None, tile=None,
                 report=None, progress=None, long=False):
        self.report = None
        check_report(report, LaunchReport)
        self.watch = _progress.watch(progress, long, "point")
        if accelerators is weights is tile is report is self.watch is None:
            self.pointer = ffi.NULL
            return
        o = self.pointer = struct("hr_split_options")
        self._indices = choose(o, accelerators)
        _progress.fill(o, self.watch)
        if weights is not None:
            self._weights = weights_of(weights, len(
                context.accelerators if self._indices is None
                else self._indices))
            o.weights = self._weights
        if tile is not None:
            self._tile = ffi.new("hr_extent *",
                                 extent(shape_of(tile, "tile")))
            o.tile = self._tile
        if report is not None:
            self.report = _LaunchReport(context, report)
            o.report = self.report.pointer

    def finish(self, status):
        _progress.finish(self.watch, status)
        if self.report is not None:
            self.report.read()


def _row_bytes(array):
    """Bytes from row to row as host memory has them; 0: it is packed. None: its
    elements lie otherwise."""
    size, strides = array.itemsize, array.strides
    if array.ndim > 3 or (strides[-1] != size and array.shape[-1] > 1):
        return None
    if array.flags.c_contiguous:
        return 0
    row = strides[-2] if array.ndim > 1 else 0
    if row < array.shape[-1] * size or (
            array.ndim > 2 and strides[0] != row * array.shape[1]):
        return None
    return row


def _packed_rows(array):
    """The array, or a copy whose rows are those of host memory."""
    return array if _row_bytes(array) is not None else np.ascontiguousarray(
        array)


class _Arguments:
    """hr_argument for each parameter, in a `with` block."""

    def __init__(self, context):
        self._context = context
        self.list = []
        self._kept, self._views = [], []

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        failed = None
        for view in self._views:
            try:
                view.__exit__(kind, error, trace)
            except Exception as e:
                failed = failed or e
        if failed is not None and kind is None:
            raise failed

    def add_view(self, given, array, access, name, rank=None, *, data=True):
        """A view of an array. rank: of a kernel's parameter; None: any. data:
        it may be host memory."""
        written = access != lib.HR_IN
        if written and not array.flags.writeable:
            raise ValueError(f"{name} is written, but the array is read-only")
        if array.size == 0:
            raise InvalidError(f"{name} has no elements: {array.shape}")
        element = element_of(array.dtype, name)
        if array.ndim == 0:
            array = array.reshape(1)
        how = given.how if isinstance(given, Argument) else ""
        made = None
        if data:
            array = self._as_rows(array, rank, written)
            made = self._data(array, access, element)
        if made is None:
            view = View(pointer_of(self._context), array, written)
            self._views.append(view)
            made = {lib.HR_IN: lib.hr_in, lib.HR_OUT: lib.hr_out,
                    lib.HR_INOUT: lib.hr_inout}[access](view.view)
            if not written and not how:
                how = "whole"  # as host memory that is read
        self._kept.append(array)
        if how == "near":
            made = lib.hr_near(made, given.before, given.after)
        elif how == "whole":
            made = lib.hr_whole(made)
        elif how == "combined":
            made = lib.hr_combined(made, _COMBINE[given.combine])
        self.list.append(made)

    @staticmethod
    def _as_rows(array, rank, written):
        """The array as host memory of the parameter's rank, by a copy where it
        is only read."""
        if rank is not None and array.ndim > rank > 0 and (
                array.flags.c_contiguous or not written):
            array = np.ascontiguousarray(array).reshape(
                -1, *array.shape[array.ndim - rank + 1:])
        return array if written or array.ndim > 3 else _packed_rows(array)

    @staticmethod
    def _data(array, access, element):
        """Host memory as it is, or None where only a view can be had of it."""
        row = _row_bytes(array)
        if row is None:
            return None
        function = {lib.HR_IN: lib.hr_in_data, lib.HR_OUT: lib.hr_out_data,
                    lib.HR_INOUT: lib.hr_inout_data}[access]
        return function(address(array), element, array.itemsize,
                        extent(array.shape), row)

    def add_value(self, value, element, name):
        """A number, as the parameter's type; the bytes of a struct. TypeError
        for text, and for complex numbers where the type is real."""
        kind = with_article(element)
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if value is None:
            raise TypeError(f"{name} is {kind}, but None is given")
        if isinstance(value, (np.void, bytes)):
            self._add_bytes(bytes(value), ffi.NULL)
            return
        try:
            dtype = dtype_of(element)
        except KeyError:
            raise TypeError(
                f"{name} is {kind}: pass its bytes, such as those of a "
                "numpy.void") from None
        self._add_bytes(element_as(value, dtype, name).tobytes(), ffi.NULL)

    def add_number(self, value, name):
        """A number, of its own type."""
        number = np.asarray(value)
        self._add_bytes(number.tobytes(), element_of(number.dtype, name))

    def _add_bytes(self, value, element):
        memory = ffi.new("char[]", value)
        self._kept.append(memory)
        self.list.append(lib.hr_value_typed(memory, element, len(value)))

    def add_tile(self, count, name):
        self.list.append(lib.hr_tile_bytes(size_of(count, name)))

    @property
    def pointer(self):
        self._kept.append(ffi.new("hr_argument[]", self.list))
        return self._kept[-1]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel, as its text declares it."""

    name: str
    type: str
    kind: str  #: "IN", "OUT", "INOUT", "VALUE" or "TILE"; lists end with S
    rank: int


_ACCESS = {lib.HR_IN: "IN", lib.HR_OUT: "OUT", lib.HR_INOUT: "INOUT"}


def _kind(p):
    if p.kind == lib.HR_PARAMETER_VIEW:
        return _ACCESS[p.access] + ("S" if p.list else "")
    return "VALUE" if p.kind == lib.HR_PARAMETER_VALUE else "TILE"


def _decoded(text: str | bytes, name: str) -> str:
    """Text that text_of() encodes again."""
    return text_of(text, name).decode("utf-8", "surrogateescape")


class Kernel:
    """A kernel, called like a function with an argument for each parameter.

    Arrays of any layout for views, numbers for values (complex ones only where
    the parameter is complex), and for a list of views
    an array whose first dimension counts them. None for an OUT parameter: a
    new array of the domain's shape is made, and returned.
    """

    def __init__(self, text: str | bytes, name: str | None = None,
                 file: str | None = None) -> None:
        for given, what in ((name or "", "name"), (file or "", "file")):
            text_of(given, what)
        if isinstance(text, os.PathLike):
            raise TypeError(f"text is {text!r}: pass what the file has, its "
                            "read_text()")
        text = _decoded(text, "text")
        if "{" not in text and re.fullmatch(r"[^\n;()]*\.\w+", text):
            raise ValueError(f"text is {shown(text)}, a file's name: pass what "
                             "the file has, open(...).read()")
        names = re.findall(r"\bHR_KERNEL\d+\s*\(\s*(\w+)", text)
        if name is None:
            if len(set(names)) != 1:
                raise ValueError(
                    "the text has no HR_KERNEL1 or the like" if not names else
                    f"the text has the kernels {', '.join(names)}: which name?")
            name = names[0]
        self.text, self.name, self.file = text, name, file

    def pointer(self, context: Context) -> Any:
        """The hr_kernel of a context, which keeps it."""
        return self._made(context)[0]

    def _made(self, context):
        key = (self.text, self.name, self.file)
        with using(context), context._lock:
            made = context._kept.get(key)
            if made is None:
                out = ffi.new("const hr_kernel **")
                check(lib.hr_kernel_create(
                    pointer_of(context), text_of(self.text, "text"),
                    text_of(self.name, "name"),
                    ffi.NULL if self.file is None else
                    text_of(self.file, "file"), out))
                made = context._kept[key] = out[0], _progress.Pace()
        return made

    def _declared(self, kernel):
        listed = kernel.parameters(kernel)
        return [listed[i] for i in range(kernel.parameter_count)]

    @property
    def parameters(self) -> list[Parameter]:
        """The parameters, as the text declares them."""
        context = current()
        with using(context):
            return [Parameter(ffi.string(p.name).decode(),
                              ffi.string(p.type).decode(), _kind(p), p.rank)
                    for p in self._declared(self.pointer(context))]

    def __call__(self, *arguments: Any, domain: Shape | None = None,
                 tile: Shape | None = None, accelerators: Accelerators = None,
                 weights: Weights = None, progress: Progress = None,
                 report: LaunchReport | None = None,
                 context: Context | None = None) -> Any:
        """Run it over all accelerators, and have the results when it returns.

        domain: the shape of the points it runs for; by default that of the
            first array that is written by its points.
        tile: items of a tile. accelerators, weights: which, and their shares.
        progress: as in matmul, of points. Ctrl-C cancels the first call, and
            later ones that will take 0.1 s or more at the pace of the last;
            arrays that are written then hold old and new elements.
        report: a LaunchReport to fill.

        Returns None, or the new arrays of OUT parameters given as None.
        """
        context = current(context)
        with using(context):
            return self._run(context, arguments, domain, tile, accelerators,
                             weights, progress, report)

    def _run(self, context, arguments, domain, tile, accelerators, weights,
             progress, report):
        kernel, pace = self._made(context)
        declared = self._declared(kernel)
        if len(arguments) != len(declared):
            raise TypeError(f"{self.name} takes {len(declared)} arguments, not "
                            f"{len(arguments)}")
        domain = self._domain(declared, arguments, domain)
        points = math.prod(domain)
        made = []
        with _Arguments(context) as list_:
            for p, given in zip(declared, arguments):
                name = f"{self.name}: {ffi.string(p.name).decode()}"
                element = ffi.string(p.type).decode()
                if p.kind == lib.HR_PARAMETER_VALUE:
                    list_.add_value(given, element, name)
                elif p.kind == lib.HR_PARAMETER_TILE:
                    list_.add_tile(given, name)
                else:
                    array = given.array if isinstance(given, Argument) \
                        else given
                    if array is None and p.access == lib.HR_OUT \
                            and not p.list:
                        array = np.empty(domain, dtype_of(element))
                        made.append(array)
                    array = self._written(p, array, name)
                    check_element(array.dtype, element, name)
                    list_.add_view(given, array, p.access, name, p.rank,
                                   data=not p.list)
            options = Options(context, accelerators, weights, tile, report,
                              progress, pace.long(points))
            start = time.perf_counter()
            options.finish(lib.hr_run(
                pointer_of(context), kernel, extent(domain), list_.pointer,
                len(arguments), options.pointer))
            pace.took(time.perf_counter() - start, points)
        return None if not made else made[0] if len(made) == 1 else tuple(made)

    @staticmethod
    def _written(p, given, name):
        if given is None:
            raise TypeError(f"{name} is None; only OUT parameters may be")
        if p.access != lib.HR_IN and not isinstance(given, np.ndarray):
            raise TypeError(f"{name} is written, so it is a numpy.ndarray, not "
                            f"{type(given).__name__}")
        return as_array(given)

    def _domain(self, declared, arguments, domain):
        if domain is not None:
            return shape_of(domain, "domain")
        for p, given in zip(declared, arguments):
            if p.kind != lib.HR_PARAMETER_VIEW or p.access == lib.HR_IN:
                continue
            if isinstance(given, Argument) and given.how == "combined":
                continue
            array = given.array if isinstance(given, Argument) else given
            if array is None:
                continue
            array = self._written(
                p, array, f"{self.name}: {ffi.string(p.name).decode()}")
            shape = np.shape(array)[1 if p.list else 0:] or (1,)
            spare = max(len(shape) - p.rank, 0)
            return (int(np.prod(shape[:spare + 1])), *shape[spare + 1:])
        raise TypeError(f"{self.name} writes no array that tells the domain: "
                        "pass domain=")

    def __repr__(self) -> str:
        return f"<headrace.Kernel {self.name}>"


def kernel(text: str | bytes, name: str | None = None,
           file: str | None = None) -> Kernel:
    """A kernel out of text in the dialect (docs/dialect.md): the text itself,
    not a file's name.

    name: which, where the text has several. file: its name in messages.
    The text needs no #include. It is compiled where it first runs.
    """
    return Kernel(text, name, file)


_ASSIGNED = r"(?<![\w.]){}\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)"


def transform(statement: str | bytes, *, context: Context | None = None,
              accelerators: Accelerators = None, weights: Weights = None,
              progress: Progress = None, report: LaunchReport | None = None,
              **names: Any) -> None:
    """Run a statement for each element, over all accelerators.

        headrace.transform("y = a * x + y", a=2.0, x=x, y=y)

    names: arrays of one shape, and numbers. Those assigned to are written.
        Numbers are doubles, or of their NumPy type.
    progress: as in Kernel. Ctrl-C cancels a call of many elements.
    """
    context = current(context)
    statement = _decoded(statement, "the statement")
    points = 0
    with using(context), _Arguments(context) as list_:
        for name, given in names.items():
            if isinstance(given, np.ndarray) and given.ndim == 0:
                given = given[()]
            if isinstance(given, (int, float, complex, np.generic)):
                list_.add_number(
                    float(given) if type(given) is int else given, name)
                continue
            written = re.search(_ASSIGNED.format(re.escape(name)), statement)
            if written and not isinstance(given, np.ndarray):
                raise TypeError(f"{name} is written, so it is a numpy.ndarray, "
                                f"not {type(given).__name__}")
            array = as_array(given)
            points = max(points, array.size)
            if array.dtype.name in ("float16", "bfloat16"):
                raise TypeError(f"{name} is {array.dtype}, with which C does "
                                "not compute")
            list_.add_view(given, array, lib.HR_INOUT if written
                           else lib.HR_IN, name)
        options = Options(context, accelerators, weights, None, report,
                          progress, points > _LONG)
        options.finish(lib.hr_transform(
            pointer_of(context), text_of(statement, "the statement"),
            text_of(", ".join(names), "the name of an array"),
            list_.pointer, len(names), options.pointer))
