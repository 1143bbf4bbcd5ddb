# SPDX-License-Identifier: MIT
"""Products of matrices and grids over the processes of MPI.

    from headrace import mpi
    from mpi4py import MPI

    with mpi.Context(MPI.COMM_WORLD) as context:
        a = mpi.cyclic(mine, (m, k), block=(256, 256), grid=(2, 2))
        ...
        report = context.gemm(1, a, b, 0, c)

Each process works with its own accelerators. All processes call the same
functions in the same order, but for those that say otherwise. An error in one
is raised in all. The library is libheadrace_mpi of the MPI that mpi4py was
built for: docs/cluster.md. Without mpi4py, Context() takes all processes.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from dataclasses import dataclass
from typing import Any, Iterable, Sequence

import numpy as np
from numpy.typing import DTypeLike

from . import progress as _progress
from ._native import ffi, lib
from .contexts import Context as _Context
from .contexts import NotCopied, options_of, pointer_of, using
from .errors import InvalidError, UnavailableError, check
from .grids import Field, FieldName, Grid as _Grid
from .grids import packed_for
from .layouts import (Array, Operand, Progress, Shape, address, as_array,
                      bytes_of, extent, one_of, plural, shape_of,
                      size_of, struct, text_of, type_of)
from .products import COMPUTE, _scalar
from .reports import _Table, _unit

__all__ = ["Context", "Grid", "Matrix", "File", "Report", "blocks", "cyclic",
           "everywhere"]

EVERYWHERE = -1  #: the owner of a block that every process has


class _Library:
    """libheadrace_mpi of one MPI."""

    _loaded: dict[str, _Library] = {}

    def __init__(self, name):
        folder = os.path.dirname(__file__)
        beside = os.path.join(folder, name)
        try:
            self._library = ctypes.CDLL(
                beside if os.path.exists(beside) else name,
                mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            raise UnavailableError(f"there is no library for several "
                                   f"processes: {error}") from None

    @classmethod
    def of(cls, kind):
        """That of "openmpi" or "mpich"."""
        version = ".".join(
            ffi.string(lib.hr_version()).decode().split(".")[:2])
        error = None
        for name in (f"libheadrace_mpi_{kind}.so.{version}",
                     f"libheadrace_mpi.so.{version}"):
            try:
                if name not in cls._loaded:
                    cls._loaded[name] = cls(name)
                return cls._loaded[name]
            except UnavailableError as failed:
                error = error or failed
        raise error

    def function(self, name, kind=None):
        """A function of it; kind: its type, if the headers have none."""
        found = ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value
        return ffi.cast(kind or f"hr_mpi_{name.removeprefix('hr_mpi_')}_type",
                        found)

    def __getattr__(self, name):
        made = self.function("hr_mpi_" + name)
        setattr(self, name, made)
        return made


def _kind_that_started() -> str:
    """The MPI that started this process, by itself or for Slurm."""
    slurm = "PMIX_RANK" in os.environ and "PMI_SIZE" not in os.environ
    return "openmpi" if "OMPI_COMM_WORLD_SIZE" in os.environ or slurm else "mpich"


def _communicator(comm):
    """The kind of a communicator of mpi4py, and its handle."""
    try:
        from mpi4py import MPI
    except ImportError:
        raise TypeError(f"{comm!r} is no communicator of mpi4py, which is not "
                        "installed") from None
    if not isinstance(comm, MPI.Comm):
        raise TypeError(f"{comm!r} is no communicator of mpi4py")
    at = MPI._addressof(comm)
    if "Open MPI" in MPI.Get_library_version():
        return "openmpi", "void *", ctypes.c_void_p.from_address(at).value or 0
    return "mpich", "int", ctypes.c_int.from_address(at).value


@dataclass
class Report(_Table):
    """What a product over processes will do (plan) or has done."""

    rows: int = 0  #: processes that share rows of C,
    cols: int = 0  #: its columns
    depth: int = 0  #: and the sum
    panels: int = 0
    seconds: float = _unit("s")
    sent: int = _unit("B")  #: between processes, all together
    bound: int = _unit("B")  #: the fewest that any schedule needs
    ratio: float = 0
    messages: int = 0
    memory: int = _unit("B")  #: that this process needs besides its matrices


class Matrix(NotCopied):
    """A matrix whose elements are in several processes: of cyclic(), blocks()
    or everywhere(). m.T is its transpose, m.conj() its conjugate, and
    m[2:5, :] a section. Nothing moves."""

    def __init__(self, shape, dtype, made, kept):
        self.shape, self.dtype = shape, np.dtype(dtype)
        self._made, self._kept = made, kept
        self._transposed = False
        self._file: File | None = None

    def _with(self, shape, change):
        made = ffi.new("hr_mpi_matrix *", self._made[0])
        change(made)
        new = Matrix(shape, self.dtype, made, self._kept)
        new._transposed, new._file = self._transposed, self._file
        return new

    def _check(self, name, rank, written):
        """ValueError where this process's elements are not there or are not to
        be written."""
        if self._file is not None and self._file._made == ffi.NULL:
            raise InvalidError(f"{name}: the file of the matrix is closed")
        for array in self._kept:
            if written and isinstance(array, np.ndarray) and \
                    not array.flags.writeable:
                raise ValueError(f"{name}: the array is read-only")
        described = self._made.cyclic
        if described == ffi.NULL or described.data == ffi.NULL:
            return
        needed = tuple(_own(described, d, rank, whole) for d, whole in enumerate(
            (self._made.whole_rows, self._made.whole_cols)))
        local = self._kept[0].shape
        if 0 not in needed and (local[0] < needed[0] or local[1] < needed[1]):
            raise ValueError(f"{name}: local is {local}, but process {rank} has "
                             f"{needed} of the matrix")

    def _without_data(self):
        """The same with no elements, which is refused in all processes."""
        made = ffi.new("hr_mpi_matrix *", self._made[0])
        if made.cyclic != ffi.NULL:
            empty = ffi.new("hr_mpi_cyclic *", made.cyclic[0])
            empty.data = ffi.NULL
            made.cyclic = empty
        else:
            empty = ffi.new("hr_mpi_block[]", max(1, made.block_count))
            for to, block in zip(empty, made.blocks[0:made.block_count]):
                to.row, to.col = block.row, block.col
                to.rows, to.cols, to.owner = block.rows, block.cols, block.owner
            made.blocks = empty
        return made, empty

    @property
    def T(self) -> Matrix:
        """The transpose."""
        def change(m):
            m.transposed = not m.transposed
            m.rows, m.cols = m.cols, m.rows
        new = self._with(self.shape[::-1], change)
        new._transposed = not self._transposed
        return new

    def conj(self) -> Matrix:
        """The complex conjugate; of real numbers the matrix itself."""
        def change(m):
            m.conjugate = self.dtype.kind == "c" and not m.conjugate
        return self._with(self.shape, change)

    def __getitem__(self, key: tuple[slice, slice]) -> Matrix:
        """The section of two slices."""
        if not (isinstance(key, tuple) and len(key) == 2 and
                all(isinstance(k, slice) for k in key)):
            raise TypeError(f"{key!r} are not two slices such as 2:5, :")
        ends = [k.indices(n) for k, n in zip(key, self.shape)]
        if any(step != 1 for _, _, step in ends):
            raise ValueError("sections have steps of 1")
        shape = tuple(max(0, end - start) for start, end, _ in ends)

        def change(m):
            row, col = ends[0][0], ends[1][0]
            if self._transposed:
                row, col = col, row
            m.row, m.col = m.row + row, m.col + col
            m.rows, m.cols = shape
        return self._with(shape, change)

    def __repr__(self) -> str:
        return f"<headrace.mpi.Matrix {self.shape} of {self.dtype}>"


def _own(c, d, rank, whole):
    """The rows (d = 0) or columns (1) that a process has of blocks in turn."""
    count = c.process_rows * c.process_cols
    place = rank if c.ranks == ffi.NULL else next(
        (i for i in range(count) if c.ranks[i] == rank), count)
    if place >= count:
        return 0
    at = divmod(place, c.process_cols)[d]
    processes = (c.process_rows, c.process_cols)[d]
    first = (c.first_row, c.first_col)[d]
    block = (c.row_block, c.col_block)[d]
    begin = (c.first_rows, c.first_cols)[d] or block
    if min(block, begin, processes) < 1:
        return 0  # which the library refuses
    turn = (at - first) % processes
    mine = max(0, min(whole, begin)) if turn == 0 else 0
    rest = max(0, whole - begin)  # in blocks of which this one's are
    blocks_before, part = divmod(rest, block)
    turn = (turn - 1) % processes
    mine += blocks_before // processes * block
    left = blocks_before % processes
    return mine + (block if turn < left else part if turn == left else 0)


def _matrix(shape, dtype):
    """An hr_mpi_matrix without elements."""
    shape = shape_of(shape, "shape")
    if len(shape) != 2 or min(shape) < 0:
        raise ValueError(f"shape is {shape}, not two sizes")
    made = ffi.new("hr_mpi_matrix *")
    made.type = type_of(np.dtype(dtype))
    made.rows, made.cols = made.whole_rows, made.whole_cols = shape
    return shape, made


def _pair(value, name):
    pair = shape_of(value, name)
    if len(pair) != 2:
        raise ValueError(f"{name} is {value!r}, not a pair")
    return pair


def cyclic(local: Array, shape: Shape, *, block: Shape, grid: Shape,
           first: Shape = (0, 0), first_block: Shape = (0, 0),
           ranks: Sequence[int] | None = None,
           dtype: DTypeLike | None = None) -> Matrix:
    """A matrix in blocks that go to processes in turn, as in ScaLAPACK.

    local: this process's elements, a matrix by columns (order="F"); written in
        place where the matrix is C. None where it has none.
    shape: of the whole matrix. block: rows and columns of a block. grid: rows
        and columns of processes. first: the process that has the first block.
    first_block: the size of the first block; 0: that of the others.
    ranks: of the processes of the grid, row by row; None: 0, 1, 2 ...
    dtype: of the elements, if local is None.

    Not collective. The matrix borrows local.
    """
    if local is None and dtype is None:
        raise TypeError("a process without elements needs dtype=")
    leading = 1
    pointer = ffi.NULL
    if local is not None:
        if not isinstance(local, np.ndarray) or local.ndim != 2:
            raise TypeError("local is no matrix of numpy")
        if local.size > 0 and not (
                local.strides[0] == local.itemsize or local.shape[0] == 1):
            raise ValueError('local does not lie by columns (order="F")')
        dtype = local.dtype
        leading = max(1, local.shape[0])
        if local.size > 0 and local.shape[1] > 1:
            if local.strides[1] < leading * local.itemsize or \
                    local.strides[1] % local.itemsize != 0:
                raise ValueError("columns of local overlap, run backwards or "
                                 "have bytes between them")
            leading = local.strides[1] // local.itemsize
        pointer = address(local)
    shape, made = _matrix(shape, dtype)
    described = ffi.new("hr_mpi_cyclic *")
    described.row_block, described.col_block = _pair(block, "block")
    described.process_rows, described.process_cols = _pair(grid, "grid")
    described.first_row, described.first_col = _pair(first, "first")
    described.first_rows, described.first_cols = _pair(first_block,
                                                       "first_block")
    described.data, described.leading_dimension = pointer, leading
    kept: list[Any] = [local, described]
    if ranks is not None:
        listed = ffi.new("int[]", [size_of(r, "a rank") for r in ranks])
        rows, cols = _pair(grid, "grid")
        if len(listed) != rows * cols:
            raise ValueError(f"{len(listed)} ranks for a grid of {rows} x "
                             f"{cols} processes")
        described.ranks = listed
        kept.append(listed)
    made.cyclic = described
    return Matrix(shape, dtype, made, kept)


def blocks(shape: Shape, parts: Iterable[Sequence[Any]],
           dtype: DTypeLike) -> Matrix:
    """A matrix in any blocks, which cover it and do not overlap.

    parts: (row, col, rows, cols, owner) of every block, in the same order in
        every process, and behind them the array in the process `owner`.
        Arrays are written in place where the matrix is C.

    Not collective. The matrix borrows the arrays.
    """
    shape, made = _matrix(shape, dtype)
    listed = list(parts)
    described = ffi.new("hr_mpi_block[]", max(1, len(listed)))
    kept: list[Any] = [described]
    for to, part in zip(described, listed):
        if not 5 <= len(part) <= 6:
            raise ValueError(f"a block is {part!r}, not row, col, rows, cols, "
                             "owner and perhaps an array")
        row, col, rows, cols, owner, *array = part
        to.row, to.col, to.rows, to.cols = row, col, rows, cols
        to.owner = owner
        if array and array[0] is not None:
            _fill(to, array[0], np.dtype(dtype), kept)
    made.blocks, made.block_count = described, len(listed)
    return Matrix(shape, dtype, made, kept)


def _fill(to, array, dtype, kept):
    """Let a block have the elements of an array."""
    if not isinstance(array, np.ndarray) or array.shape != (to.rows, to.cols):
        raise ValueError(f"a block of {to.rows} x {to.cols} has "
                         f"{getattr(array, 'shape', array)!r}")
    if array.dtype != dtype:
        raise TypeError(f"a block has elements of {array.dtype}, not {dtype}")
    if any(s % array.itemsize for s in array.strides):
        raise ValueError("a block has elements between others")
    to.data = address(array)
    to.row_stride, to.col_stride = (s // array.itemsize for s in array.strides)
    kept.append(array)


def everywhere(array: Operand) -> Matrix:
    """A matrix that every process has, such as a file that all have mapped:
    numpy.load(name, mmap_mode="r"). None of it is sent. Not collective."""
    array = as_array(array)
    if array.ndim != 2:
        raise ValueError(f"the array has {plural(array.ndim, 'dimension')}, "
                         "not 2")
    return blocks(array.shape, [(0, 0, *array.shape, EVERYWHERE, array)],
                  array.dtype)


class Context(_Context):
    """The processes of a communicator, and the accelerators of this one.

    comm: a communicator of mpi4py; None: all processes.
    accelerators, memory_limit, threads: as in headrace.Context. Processes of
        one machine share its accelerators.

    It is a headrace.Context, too: in a `with` block all other functions use
    the accelerators of this process. close() is collective.
    """

    def __init__(self, comm: Any = None, *, accelerators: str | None = None,
                 memory_limit: int | str | None = None,
                 threads: int | None = None) -> None:
        # pylint: disable=super-init-not-called
        options, _names = options_of(accelerators, memory_limit, threads)
        self._processes, self._failed = ffi.NULL, False
        self._files: weakref.WeakSet[File] = weakref.WeakSet()
        made = ffi.new("hr_mpi_context **")
        if comm is None:
            self._library = _Library.of(_kind_that_started())
            check(self._library.context_create_world(options, made))
        else:
            kind, handle, value = _communicator(comm)
            self._library = _Library.of(kind)
            create = self._library.function(
                "hr_mpi_context_create",
                f"hr_status(*)({handle}, const hr_context_options *, "
                "hr_mpi_context **)")
            check(create(ffi.cast(handle, value), options, made))
        self._processes = made[0]
        self._take(self._local)

    def _local(self, out):
        out[0] = self._library.context_local(self._processes)
        return lib.HR_OK

    def _destroy(self, pointer):
        processes, self._processes = self._processes, ffi.NULL
        for file in list(self._files):
            file._close()
        if not self._failed:
            self._library.context_destroy(processes)

    def __exit__(self, kind: Any = None, *rest: object) -> None:
        # After an exception here others may not come, so to close it with them
        # would wait for ever.
        self._failed = kind is not None
        super().__exit__(kind, *rest)

    @property
    def rank(self) -> int:
        """Of this process. Not collective."""
        return self._library.rank(self._processes)

    @property
    def size(self) -> int:
        """The number of processes. Not collective."""
        return self._library.count(self._processes)

    def gemm(self, alpha: complex, a: Matrix, b: Matrix, beta: complex,
             c: Matrix, *, compute: str = "native",
             grid: Sequence[int] | None = None,
             memory_limit: int | str | None = None,
             progress: Progress = None) -> Report:
        """C := alpha A B + beta C. C is written in place.

        grid: processes for the rows and columns of C and for the sum, each 0
            for what is fastest. memory_limit: for panels, in each process.
        progress: as in headrace.matmul; if it returns False in one process,
            all raise CancelledError.

        Returns what was done.
        """
        report = struct("hr_mpi_gemm_report")
        options, watch, call = self._product(alpha, a, b, beta, c, compute,
                                             grid, memory_limit, progress)
        options.report = report
        with using(self):
            pointer_of(self)
            wrong, kept = None, []
            try:
                for name, m in (("A", a), ("B", b), ("C", c)):
                    m._check(name, self.rank, m is c)
            except ValueError as error:
                wrong = error  # which the others hear by the call
                kept = [m._without_data() for m in (a, b, c)]
                call = (call[0], kept[0][0][0], kept[1][0][0], call[3],
                        kept[2][0][0])
            status = self._library.gemm(self._processes, *call, options)
            if wrong is not None:
                raise wrong
            _progress.finish(watch, status)
        return _report(report)

    def plan(self, alpha: complex, a: Matrix, b: Matrix, beta: complex,
             c: Matrix, *, compute: str = "native",
             grid: Sequence[int] | None = None,
             memory_limit: int | str | None = None) -> Report:
        """What gemm() with the same arguments would do."""
        report = struct("hr_mpi_gemm_report")
        options, _, call = self._product(alpha, a, b, beta, c, compute, grid,
                                         memory_limit, None)
        with using(self):
            pointer_of(self)
            check(self._library.gemm_plan(self._processes, *call, options,
                                          report))
        return _report(report)

    def _product(self, alpha, a, b, beta, c, compute, grid, memory_limit,
                 progress):
        for name, m in (("A", a), ("B", b), ("C", c)):
            if not isinstance(m, Matrix):
                raise TypeError(f"{name} is {type(m).__name__}, not a "
                                "headrace.mpi.Matrix")
        options = struct("hr_mpi_gemm_options")
        options.compute = one_of(compute, COMPUTE, "compute")
        if grid is not None:
            grid = shape_of(grid, "grid")
            if len(grid) != 3:
                raise ValueError(f"grid is {grid!r}, not rows, columns, depth")
            options.rows, options.cols, options.depth = grid
        if memory_limit is not None:
            options.memory_limit = bytes_of(memory_limit, "memory_limit")
        watch = _progress.watch(progress, progress is not None)
        _progress.fill(options, watch)
        call = (_scalar(alpha, "alpha"), a._made[0], b._made[0],
                _scalar(beta, "beta"), c._made[0])
        return options, watch, call

    def new_file(self, path: str | bytes | os.PathLike[Any], shape: Shape,
                 dtype: DTypeLike) -> File:
        """A new .npy file for C, which all processes see under that name. It
        appears when its `with` block ends, whole, or not at all:

            with context.new_file("C.npy", (m, n), "float64") as c:
                context.gemm(1, a, b, 0, c)
        """
        return File(self, path, shape, dtype)

    def __repr__(self) -> str:
        if self._processes == ffi.NULL:
            return "<headrace.mpi.Context, closed>"
        return f"<headrace.mpi.Context, process {self.rank} of {self.size}>"


def _report(r):
    return Report(r.rows, r.cols, r.depth, r.panels, r.seconds, r.sent, r.bound,
                  r.ratio, r.messages, r.memory_bytes)


class File(NotCopied):
    """A file of Context.new_file(). Its block has the matrix."""

    def __init__(self, context, path, shape, dtype):
        self._context, self._made = context, ffi.NULL
        shape, _ = _matrix(shape, dtype)
        like = ffi.new("hr_file_array *")
        like.type, like.rank = type_of(np.dtype(dtype)), 2
        like.extents[0], like.extents[1] = shape
        made = ffi.new("hr_mpi_file **")
        with using(context):
            pointer_of(context)
            check(context._library.file_create(
                context._processes, text_of(os.fsencode(path), "path"),
                like[0], made))
        self._made = made[0]
        self._shape, self._dtype = shape, dtype
        context._files.add(self)

    def __enter__(self) -> Matrix:
        if self._made == ffi.NULL:
            raise InvalidError("the file is closed")
        matrix = ffi.new("hr_mpi_matrix *",
                         self._context._library.file_matrix(self._made))
        whole = Matrix(self._shape, self._dtype, matrix, [self])
        whole._file = self
        return whole

    def __exit__(self, kind: Any, *_: object) -> None:
        library = self._context._library
        made, self._made = self._made, ffi.NULL
        if made == ffi.NULL:
            if kind is None:
                raise InvalidError("the file was closed before it was complete")
            return
        try:
            if kind is None:
                check(library.file_commit(made))
        finally:
            library.file_close(made)

    def _close(self):
        made, self._made = self._made, ffi.NULL
        if made != ffi.NULL:
            self._context._library.file_close(made)

    def __del__(self):
        if hasattr(self, "_made"):
            self._close()


class Grid(_Grid):
    """A headrace.Grid over the processes of an mpi.Context.

    shape: of the whole grid. processes: how many share each dimension; None:
        what sends least. Fields and phases as in headrace.Grid; phases count
        cells of the whole grid.

    step(), finish() and reduce() are collective. grid["name"] are the values
    of this process's part, which `origin` and `part_shape` place.
    """

    _context: Context

    def __init__(self, context: Context, shape: Shape, *,
                 processes: Sequence[int] | None = None,
                 steps_per_exchange: int = 0, **fields: Field) -> None:
        if not isinstance(context, Context):
            raise TypeError(f"context is {context!r}, not a "
                            "headrace.mpi.Context")
        self._processes = processes
        self._part: tuple[int, ...] = ()
        #: where this process's part begins
        self.origin: tuple[int, ...] = ()
        super().__init__(shape, accelerators=None, weights=None,
                         steps_per_exchange=steps_per_exchange,
                         context=context, **fields)

    def _create(self, fields, count, options, out):
        library = self._context._library
        processes = ffi.NULL
        if self._processes is not None:
            self._processes = shape_of(self._processes, "processes")
            if len(self._processes) != len(self.shape):
                raise ValueError(f"{len(self._processes)} numbers of processes "
                                 f"for {len(self.shape)} dimensions")
            processes = ffi.new("int[]", [size_of(n, "processes", 0, 2**31 - 1)
                                          for n in self._processes])
        pointer_of(self._context)
        check(library.grid_create(self._context._processes, extent(self.shape),
                                  fields, count, options, processes, out))
        state = struct("hr_mpi_grid_state")
        check(library.grid_describe(out[0], state))
        rank = len(self.shape)
        self._part = tuple(state.extent.size[0:rank])
        self.origin = tuple(state.origin[0:rank])

    @property
    def _here(self):
        return self._part

    @property
    def part_shape(self) -> tuple[int, ...]:
        """The shape of this process's part."""
        return self._part

    def _whole(self, name):
        """The dtype and shape of a field of the whole grid."""
        dtype, part = self._layout(name)
        return dtype, (*part[:len(part) - len(self.shape)], *self.shape)

    def scatter(self, name: FieldName, values: Operand | None,
                root: int = 0) -> None:
        """Copy values of the whole grid, which process `root` has, into a
        field. Others pass None."""
        number = self._field(name)
        dtype, shape = self._whole(name)
        pointer, wrong = ffi.NULL, None
        if self._context.rank == root:
            try:
                packed = packed_for(name, values, dtype, shape)
                pointer = address(packed)
            except (TypeError, ValueError, OverflowError) as error:
                wrong = error  # which the others hear by the call
        with using(self._context):
            status = self._context._library.grid_scatter(
                self._open(), number, pointer, root)
        if wrong is not None:
            raise wrong
        check(status)

    def gather(self, name: FieldName, root: int = 0) -> Array | None:
        """The values of the whole grid in process `root`; None in others."""
        number = self._field(name)
        dtype, shape = self._whole(name)
        mine = self._context.rank == root
        values = np.empty(shape, dtype) if mine else None
        with using(self._context):
            check(self._context._library.grid_gather(
                self._open(), number,
                address(values) if values is not None else ffi.NULL, root))
        return values

    def save(self, name: FieldName,
             path: str | bytes | os.PathLike[Any]) -> None:
        """Write a field to a new .npy file, of which each process writes a
        part: whole, or not at all."""
        number = self._field(name)
        with using(self._context):
            check(self._context._library.grid_save(
                self._open(), number, type_of(self._layout(name)[0]),
                text_of(os.fsencode(path), "path")))
