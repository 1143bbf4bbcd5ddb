# SPDX-License-Identifier: MIT
"""Grids: fields that kernels step, spread over all accelerators."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import Any, Iterable, Sequence, Union

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ._native import ffi, lib
from .calls import PAIRS, REDUCTIONS
from .contexts import Context, NotCopied, current, pointer_of, using
from .errors import Error, InvalidError, check
from .kernels import Kernel, _Arguments
from .layouts import (Accelerators, Array, Operand, Progress, Shape, Weights,
                      address, as_array, check_element, choose, element_as,
                      element_of, elements_of, extent, indices_of, one_of,
                      shape_of, shown, size_of, struct, type_of, weights_of)
from .progress import Watch, _watch_failed, finish, function_of, watch
from .reports import Band, GridReport

_BOUNDARIES = {
    "constant": lib.HR_BOUNDARY_CONSTANT, "clamp": lib.HR_BOUNDARY_CLAMP,
    "mirror": lib.HR_BOUNDARY_MIRROR, "periodic": lib.HR_BOUNDARY_PERIODIC,
    "user": lib.HR_BOUNDARY_USER}
_LONG = 1e9  # cells times steps from which a call may be cancelled
_REDUCTIONS = {name: reduction for name, reduction in REDUCTIONS.items()
               if name not in ("norm", "argmin", "argmax")}


@dataclass(frozen=True)
class Side:
    """One side of a field in one dimension, where it is not as the field says:
    its boundary, or its own halo or value, which only "constant" has."""

    boundary: str
    halo: int | None = None
    value: ArrayLike | None = None

    def __post_init__(self) -> None:
        if self.value is not None and self.boundary != "constant":
            raise ValueError(f"a Side of {shown(self.boundary)} has the value "
                             f"{shown(self.value)}, but only \"constant\" has "
                             "one")


# A boundary, or those before and after of each dimension.
End = Union[str, Side]
Boundary = Union[str, Iterable[Union[End, tuple[End, End]]]]
FieldName = Union[str, tuple[str, int]]  # a field, or one component of it


@dataclass(frozen=True)
class Field:
    """A field of a grid.

    dtype: of its values. halo: how many cells beyond its own a kernel reads.
    boundary: what lies beyond the ends: "constant", "clamp", "mirror",
        "periodic", or "user": what phases write there. One word, or a pair
        (before, after) for each dimension, of words or of Side.
    value: of a constant boundary. components: values of each cell.
    """

    dtype: DTypeLike = "float32"
    halo: int = 0
    boundary: Boundary = "constant"
    value: ArrayLike | None = None
    components: int = 1


@dataclass(frozen=True)
class Phase:
    """One phase of a step: a kernel and its arguments. A field is given by its
    name, and one component of it as ("name", 2)."""

    kernel: Kernel
    arguments: tuple[Any, ...]
    tile: Sequence[int] | None = None
    origin: Sequence[int] | None = None
    shape: Sequence[int] | None = None


@dataclass(frozen=True)
class Swap:
    """A phase in which two fields change places."""

    a: str
    b: str


@dataclass(frozen=True)
class Here:
    """A field of which a kernel reads each cell itself alone."""

    field: FieldName


def phase(kernel: Kernel, *arguments: Any, tile: Shape | None = None,
          origin: Shape | None = None, shape: Shape | None = None) -> Phase:
    """A phase that runs a kernel for every cell, or for those of `shape` from
    `origin` on. Arguments: names of fields, arrays that all cells may read,
    and numbers."""
    if not isinstance(kernel, Kernel):
        raise TypeError(f"{kernel!r} is no headrace.kernel")
    tile, origin, shape = (
        None if given is None else shape_of(given, name) for given, name in
        ((tile, "tile"), (origin, "origin"), (shape, "shape")))
    if origin is not None:
        if shape is None:
            raise ValueError("a phase has an origin, but no shape")
        if len(origin) != len(shape):
            raise ValueError(f"origin is {origin}, but shape {shape}")
    return Phase(kernel, arguments, tile, origin, shape)


def swap(a: str, b: str) -> Swap:
    """A phase in which two fields change places, which moves nothing."""
    return Swap(a, b)


def here(field: FieldName) -> Here:
    """A field of which a kernel reads each cell itself, and no neighbours."""
    return Here(field)


@ffi.def_extern(error=False, onerror=_watch_failed)
def headrace_steps(data, _grid, steps):
    return ffi.from_handle(data).told(steps)


@ffi.def_extern(error=False, onerror=_watch_failed)
def headrace_grid_progress(data, done, total):
    return ffi.from_handle(data).told(int(done), int(total))


def _side(given):
    """A Side."""
    if isinstance(given, (int, float, complex, np.generic)):
        raise ValueError(f"boundary has {given!r}: a value for one side is "
                         f'headrace.Side("constant", value={given!r})')
    side = given if isinstance(given, Side) else Side(given)
    one_of(side.boundary, _BOUNDARIES, "boundary")
    return side


def _sides(field, rank):
    """(Side before, after) of each dimension."""
    given = field.boundary
    one = (str, Side, int, float, complex, np.generic)  # numbers are refused
    pairs = [(given, given)] * rank if isinstance(given, one) else [
        (x, x) if isinstance(x, one) else tuple(x) for x in given]
    if len(pairs) != rank:
        raise ValueError(f"{len(pairs)} boundaries for {rank} dimensions")
    for pair in pairs:
        if len(pair) != 2:
            raise ValueError(f"boundary has {pair!r}, not two sides")
    return [(_side(before), _side(after)) for before, after in pairs]


def _cell(value, dtype, kept):
    """A pointer to a cell's value; NULL for None."""
    if value is None:
        return ffi.NULL
    cell = element_as(value, dtype, "value")
    kept.append(ffi.new("char[]", cell.tobytes()))
    return kept[-1]


def packed_for(name: FieldName, values: Any, dtype: np.dtype[Any],
               shape: tuple[int, ...]) -> Array:
    """Values of a field, element after element."""
    given = elements_of(as_array(values), dtype, f"what {name!r} is set to")
    try:
        return np.ascontiguousarray(np.broadcast_to(given, shape))
    except ValueError:
        raise ValueError(f"{name!r} is set to an array of {given.shape}, but "
                         f"it is {shape}") from None


class Grid(NotCopied):
    """Fields of one shape on all accelerators, which keep them while they step.

        grid = headrace.Grid((1000, 1000), now=Field(halo=1), next=Field(halo=1))
        grid["now"] = start
        grid.step([headrace.phase(heat, "now", "next"),
                   headrace.swap("now", "next")], 100)
        result = grid["now"]

    shape: of one to three dimensions.
    accelerators, weights: which, and their shares that stay; otherwise bands
        move where that pays.
    steps_per_exchange: how often neighbours get halos; 0: as measured.

    A grid is used by one thread at a time. close(), or the end of a `with`
    block, frees it.
    """

    def __init__(self, shape: Shape, *, accelerators: Accelerators = None,
                 weights: Weights = None, steps_per_exchange: int = 0,
                 context: Context | None = None, **fields: Field) -> None:
        self._pointer = ffi.NULL
        self._stepping: list[bool] = []  # calls under way: may it step inside?
        self._context = current(context)
        self.shape = shape_of(shape, "shape")
        self.fields = dict(fields)
        if not 1 <= len(self.shape) <= lib.HR_MAX_KERNEL_RANK:
            raise InvalidError(f"a grid has 1 to 3 dimensions, not "
                               f"{len(self.shape)}")
        self._numbers = {name: i for i, name in enumerate(fields)}
        kept: list[Any] = []
        made = ffi.new("hr_field[]", max(len(fields), 1))
        for to, field in zip(made, fields.values()):
            self._declare(to, field, kept)
        o = struct("hr_grid_options")
        o.steps_per_exchange = size_of(steps_per_exchange,
                                       "steps_per_exchange", 0, 1024)
        count = len(self._context.accelerators)
        listed = list(range(count)) if accelerators is None \
            else indices_of(accelerators)
        self._count = len(listed)
        if accelerators is not None or weights is not None:
            kept.append(choose(o, listed))
        if weights is not None:
            shares = self._shares(weights)
            o.weights = shares
            kept.append(shares)
        out = ffi.new("hr_grid **")
        with using(self._context), self._named():
            self._create(made, len(fields), o, out)
            self._pointer = out[0]
            self._context._grids.add(self)

    def _create(self, fields, count, options, out):
        check(lib.hr_grid_create(pointer_of(self._context), extent(self.shape),
                                 fields, count, options, out))

    @property
    def _here(self):
        """The shape of what this process has."""
        return self.shape

    def _shares(self, weights):
        """Weights of as many accelerators as the grid has."""
        return weights_of(weights, self._count)

    def _declare(self, to, field, kept):
        if not isinstance(field, Field):
            raise TypeError(f"{field!r} is no headrace.Field")
        dtype = np.dtype(field.dtype)
        element_of(dtype, "a field")
        to.element_bytes = dtype.itemsize
        to.components = size_of(field.components, "components", 1,
                                lib.HR_MAX_COMPONENTS)
        value = _cell(field.value, dtype, kept)
        for d, pair in enumerate(_sides(field, len(self.shape))):
            for side, given in ((to.before[d], pair[0]), (to.after[d], pair[1])):
                side.halo = size_of(field.halo if given.halo is None
                                    else given.halo, "halo")
                side.boundary = _BOUNDARIES[given.boundary]
                side.value = (value if given.value is None
                              else _cell(given.value, dtype, kept))

    def close(self) -> None:
        """Wait for all work and free the grid. InvalidError while it steps, as in
        a function that is told of progress."""
        if self._stepping:
            raise InvalidError("the grid is closed in a step of its own")
        with self._context._freeing:
            pointer, self._pointer = self._pointer, ffi.NULL
            if pointer != ffi.NULL and self._context._held != ffi.NULL:
                lib.hr_grid_destroy(pointer)

    def __del__(self):
        if getattr(self, "_pointer", ffi.NULL) != ffi.NULL:
            self.close()

    def __enter__(self) -> Grid:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self):
        """Its pointer, for calls inside `with using(its context):`."""
        if ffi.NULL in (self._pointer, self._context._pointer):
            raise InvalidError("the grid is closed")
        return self._pointer

    def _field(self, name):
        """The number of a field, or of one of its components."""
        name, component = name if isinstance(name, tuple) else (name, None)
        if name not in self._numbers:
            raise KeyError(f"the grid has no field {name!r}, only "
                           f"{', '.join(self._numbers)}")
        number = self._numbers[name]
        return number if component is None else lib.hr_field_component(
            number, size_of(component, f"the component of {name!r}", 0,
                            self.fields[name].components - 1))

    @contextlib.contextmanager
    def _named(self):
        """Errors of the library have the names of fields, not their numbers."""
        try:
            yield
        except Error as error:
            names = list(self._numbers)
            text = re.sub(r"\bfield (\d+)\b", lambda found:
                          f"field {names[int(found[1])]!r}"
                          if int(found[1]) < len(names) else found[0],
                          str(error))
            if text == str(error):
                raise
            raise type(error)(text) from None

    def _layout(self, name):
        field = self.fields[name[0] if isinstance(name, tuple) else name]
        parts = 1 if isinstance(name, tuple) else field.components
        shape = self._here if parts == 1 else (parts, *self._here)
        return np.dtype(field.dtype), shape

    def __setitem__(self, name: FieldName, values: Operand) -> None:
        """Copy values into a field: an array of the grid's shape, with the
        components in front, or a number. Real fields take no complex ones."""
        number = self._field(name)
        dtype, shape = self._layout(name)
        packed = packed_for(name, values, dtype, shape)
        with using(self._context):
            check(lib.hr_grid_scatter(self._open(), number, address(packed)))

    def __getitem__(self, name: FieldName) -> Array:
        """A new array of a field's values, after all steps so far."""
        number = self._field(name)
        dtype, shape = self._layout(name)
        values = np.empty(shape, dtype)
        with using(self._context):
            check(lib.hr_grid_gather(self._open(), number, address(values)))
        return values

    def _argument(self, list_, p, given, name):
        read_here = isinstance(given, Here)
        given = given.field if read_here else given
        element = ffi.string(p.type).decode()
        if isinstance(given, (str, tuple)) and p.kind == lib.HR_PARAMETER_VIEW:
            make = (lib.hr_field_here if read_here else lib.hr_field_in) \
                if p.access == lib.HR_IN else lib.hr_field_out \
                if p.access == lib.HR_OUT else lib.hr_field_inout
            number = self._field(given)
            check_element(self._layout(given)[0], element, name)
            list_.list.append(make(number))
        elif p.kind == lib.HR_PARAMETER_VALUE:
            list_.add_value(given, element, name)
        elif p.kind == lib.HR_PARAMETER_TILE:
            list_.add_tile(given, name)
        else:
            # an array, not host memory: the steps run after the call
            array = as_array(given)
            check_element(array.dtype, element, name)
            list_.add_view(None, array, p.access, name, data=False)

    def _phases(self, phases, list_, kept):
        made = ffi.new("hr_phase[]", max(len(phases), 1))
        for to, one in zip(made, phases):
            if isinstance(one, Swap):
                to.swap[0], to.swap[1] = self._field(one.a), self._field(one.b)
                continue
            if not isinstance(one, Phase):
                raise TypeError(f"{one!r} is no headrace.phase or swap")
            kernel = one.kernel.pointer(self._context)
            declared = one.kernel._declared(kernel)
            if len(declared) != len(one.arguments):
                raise TypeError(f"{one.kernel.name} takes {len(declared)} "
                                f"arguments, not {len(one.arguments)}")
            list_.list = []
            for p, given in zip(declared, one.arguments):
                self._argument(list_, p, given, f"{one.kernel.name}: "
                               f"{ffi.string(p.name).decode()}")
            pointer = list_.pointer
            kept.append(pointer)
            to.kernel, to.arguments = kernel, pointer
            to.argument_count = len(one.arguments)
            if one.tile is not None:
                to.tile = extent(one.tile)
            if one.shape is not None:
                to.extent = extent(one.shape)
                for d, start in enumerate(one.origin or ()):
                    to.origin[d] = start
        return made

    def step(self, phases: Iterable[Phase | Swap], steps: int = 1, *,
             every: int | None = None, progress: Progress = None) -> None:
        """Run the list of phases so many times.

        progress: True for a bar, or a function of (done, steps), which may read
            fields and return False to end the run. It is called at the start,
            about ten times a second and at the end, or after every `every`
            steps. With `every` it may also step the grid. Ctrl-C ends the run,
            too. The grid then has the values after as many steps as report()
            says.

        Without progress a short run only waits where arrays are arguments.
        """
        kept: list[Any] = []
        phases = list(phases)
        told = function_of(progress, "step")
        steps = size_of(steps, "steps")
        every = None if every is None else size_of(every, "every", 1)
        if self._stepping and not self._stepping[-1]:
            raise InvalidError("the grid steps in a step of its own; with "
                               "every= its function may")
        with (using(self._context), self._named(),
              _Arguments(self._context) as list_):
            made = self._phases(phases, list_, kept)
            cells = np.prod(self.shape, dtype=float)
            seen = watch(told if every is None else None,
                         told or cells * steps > _LONG)
            self._stepping.append(told is not None and every is not None)
            try:
                with self._told(seen):
                    if told and every is not None:
                        self._run(made, len(phases), steps, every, told, seen)
                    else:
                        finish(seen, lib.hr_grid_step(self._open(), made,
                                                      len(phases), steps))
            finally:
                self._stepping.pop()
            if list_._views:
                self._wait()  # the arrays go when the block ends

    @contextlib.contextmanager
    def _told(self, seen):
        """Calls that step the grid tell a Watch, unless it is None."""
        if seen is None:
            yield
            return
        try:
            check(lib.hr_grid_set_progress(
                self._open(), lib.headrace_grid_progress, seen.handle))
            yield
        finally:
            check(lib.hr_grid_set_progress(self._pointer, ffi.NULL, ffi.NULL))

    def _run(self, made, count, steps, every, told, seen):
        """Step, and call told(done, steps) after every `every` steps."""
        def tell(done):
            self._wait()  # steps were only enqueued
            return told(done, steps)
        calls = Watch(tell)
        status = lib.hr_grid_run(self._open(), made, count, steps, every,
                                 lib.headrace_steps, calls.handle)
        calls.finish()
        finish(seen, status)

    def finish(self) -> None:
        """Wait for all steps so far."""
        with using(self._context):
            check(lib.hr_grid_finish(self._open()))

    def _wait(self):
        """The same inside a call, for which a context that closes waits."""
        check(lib.hr_grid_finish(self._pointer))

    def reduce(self, operation: str, a: FieldName,
               b: FieldName | None = None) -> float:
        """One number from a field, or from two: "sum", "min", "max", "product",
        "sum_abs", "max_abs", and "dot", "distance" or "max_abs_diff" of two."""
        reduction = one_of(operation, _REDUCTIONS, "operation")
        first = self._field(a)
        kind = type_of(self._layout(a)[0], ("float32", "float64", "int32"))
        pairs = operation in PAIRS
        if (b is not None) != pairs:
            raise TypeError(f"{operation} takes "
                            f"{'two fields' if pairs else 'one field'}")
        if b is not None and self._field(b) >= 0 and \
                self._layout(a)[0] != self._layout(b)[0]:
            raise TypeError(f"a is {self._layout(a)[0]}, but b is "
                            f"{self._layout(b)[0]}")
        out, value = ffi.new("hr_reducing **"), ffi.new("double *")
        with using(self._context), self._named():
            check(lib.hr_grid_reduce(
                self._open(), reduction, kind, first,
                first if b is None else self._field(b), out))
            check(lib.hr_grid_reduced(out[0], value))
        return float(value[0])

    def rebalance(self, weights: Weights) -> None:
        """Move the bands: one share for each accelerator."""
        with using(self._context):
            check(lib.hr_grid_rebalance(self._open(), self._shares(weights)))

    def report(self) -> GridReport:
        """How the grid is spread out, and what it has done."""
        paths = [a.path for a in self._context.accelerators]
        state = struct("hr_grid_state")
        bands = ffi.new("hr_band[]", len(paths))
        with using(self._context):
            check(lib.hr_grid_describe(self._open(), state, bands, len(paths)))
        return GridReport(
            state.steps, state.steps_per_exchange, state.exchanges,
            state.halo_bytes, state.moves, state.moved_bytes,
            [Band(paths[b.accelerator], b.first, b.count)
             for b in bands[0:state.band_count]])

    def __repr__(self) -> str:
        return f"<headrace.Grid {self.shape}: {', '.join(self.fields)}>"
