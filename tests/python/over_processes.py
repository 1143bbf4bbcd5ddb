# SPDX-License-Identifier: MIT
"""headrace.mpi beside NumPy:

    mpirun -n 3 python3 -m mpi4py over_processes.py
    mpirun -n 3 python3 over_processes.py alone

`alone`: without mpi4py. Files are written to the current folder."""
import copy
import os
import pickle
import sys

import numpy as np

import headrace
from headrace import mpi

ALONE = len(sys.argv) > 1
random = np.random.default_rng(7)


def refuses(kind, words, function, *arguments, **named):
    """The call raises this exception, with these words."""
    try:
        function(*arguments, **named)
    except kind as error:
        assert words in str(error), error
        return
    raise AssertionError(f"{words}: nothing was raised")


def values(shape, dtype):
    made = random.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        made = made + 1j * random.standard_normal(shape)
    return made.astype(dtype)


def local_part(whole, block, grid, rank):
    """The elements of process `rank`, by columns."""
    def mine(length, size, count, which):
        index = np.arange(length)
        return index[index // size % count == which]
    p, q = divmod(rank, grid[1])
    if p >= grid[0]:
        return np.empty((0, 0), whole.dtype, order="F")
    rows = mine(whole.shape[0], block[0], grid[0], p)
    cols = mine(whole.shape[1], block[1], grid[1], q)
    return np.asfortranarray(whole[np.ix_(rows, cols)])


def by_rows(whole, size, rank):
    """Blocks of rows, and the array of this process."""
    ends = [whole.shape[0] * i // size for i in range(size + 1)]
    mine = np.ascontiguousarray(whole[ends[rank]:ends[rank + 1]])
    parts = [(ends[i], 0, ends[i + 1] - ends[i], whole.shape[1], i,
              mine if i == rank else None) for i in range(size)]
    return mpi.blocks(whole.shape, parts, whole.dtype), mine, ends


def products(context):
    size, rank = context.size, context.rank
    for dtype in ("float32", "float64", "complex64", "complex128"):
        a, b, c = (values(s, dtype) for s in ((40, 30), (30, 50), (40, 50)))
        own_a = local_part(a, (4, 7), (1, size), rank)
        spread_a = mpi.cyclic(own_a, a.shape, block=(4, 7), grid=(1, size))
        spread_b, _, _ = by_rows(b, size, rank)
        spread_c, own_c, ends = by_rows(c, size, rank)
        want = 2 * a @ b - c
        planned = context.plan(2, spread_a, spread_b, -1, spread_c)
        done = context.gemm(2, spread_a, spread_b, -1, spread_c)
        assert (done.sent, done.messages) == (planned.sent, planned.messages)
        assert "ratio" in str(done)
        tolerance = 1e-4 if dtype in ("float32", "complex64") else 1e-11
        mine = slice(ends[rank], ends[rank + 1])
        np.testing.assert_allclose(own_c, want[mine], tolerance, tolerance)
        # transposes, conjugates, sections and what all have
        t = mpi.everywhere(np.ascontiguousarray(a.T.conj()))
        context.gemm(1, t.T.conj(), spread_b, 0, spread_c, grid=(size, 1, 1))
        np.testing.assert_allclose(own_c, (a @ b)[mine], tolerance, tolerance)
        context.gemm(1, spread_a[3:20, :], spread_b[:, 10:31], 0,
                     spread_c[20:37, 5:26])
        whole = (a @ b)
        whole[20:37, 5:26] = a[3:20] @ b[:, 10:31]
        np.testing.assert_allclose(own_c, whole[mine], tolerance, tolerance)
        np.testing.assert_allclose(
            headrace.matmul(a, b), a @ b, tolerance, tolerance)


def files(context):
    a, b = values((33, 20), "float64"), values((20, 17), "float64")
    path = os.path.abspath("C.npy")
    with context.new_file(path, (33, 17), "float64") as c:
        context.gemm(1, mpi.everywhere(a), mpi.everywhere(b), 0, c)
    np.testing.assert_allclose(np.load(path), a @ b, 1e-12)
    never = os.path.abspath("never.npy")
    try:
        with context.new_file(never, (3, 3), "float64"):
            raise KeyError
    except KeyError:
        pass
    assert not os.path.exists(never)
    refuses(headrace.InvalidError, "is closed", context.gemm, 1,
            mpi.everywhere(a), mpi.everywhere(b), 0, c)
    late = context.new_file(never, (3, 3), "float64")
    refuses(TypeError, "a File cannot be copied", pickle.dumps, late)
    refuses(TypeError, "a Matrix cannot be copied", copy.copy, c)
    late.__enter__()
    late._close()
    refuses(headrace.InvalidError, "was closed", late.__exit__, None)


def steps(context):
    heat = headrace.kernel("""
HR_KERNEL2(heat, (IN, float, 2, now), (OUT, float, 2, next))
{
    HR_EACH2(i, j)
    {
        HR_AT2(next, i, j) =
            0.25f * (HR_AT2(now, i - 1, j) + HR_AT2(now, i + 1, j) +
                     HR_AT2(now, i, j - 1) + HR_AT2(now, i, j + 1));
    }
}""")
    field = headrace.Field(halo=1, boundary="periodic")
    grid = mpi.Grid(context, (70, 2100), now=field, next=field)
    start = values((70, 2100), "float32")
    grid.scatter("now", start if context.rank == 1 % context.size else None,
                 1 % context.size)
    own = tuple(slice(o, o + n) for o, n in zip(grid.origin, grid.part_shape))
    np.testing.assert_array_equal(grid["now"], start[own])
    grid.step([headrace.phase(heat, "now", "next"),
               headrace.swap("now", "next")], 3)
    want = start
    for _ in range(3):
        want = np.float32(0.25) * (
            np.roll(want, 1, 0) + np.roll(want, -1, 0) + np.roll(want, 1, 1)
            + np.roll(want, -1, 1))
    np.testing.assert_allclose(grid["now"], want[own], 1e-5, 1e-6)
    total = grid.reduce("sum", "now")
    assert abs(total - want.sum(dtype=float)) < 1e-2 * abs(want).sum() / 100
    whole = grid.gather("now")
    assert (whole is None) == (context.rank != 0)
    path = os.path.abspath("field.npy")
    grid.save("now", path)
    saved = np.load(path)
    np.testing.assert_array_equal(saved[own], grid["now"])
    if whole is not None:
        np.testing.assert_array_equal(saved, whole)
    wrong = np.zeros((3, 4)) if context.rank == 0 else None
    refuses(ValueError, "", grid.scatter, "now", wrong)
    refuses(TypeError, "is of object", grid.__setitem__, "now", None)
    grid.close()


def refusals(context):
    a = mpi.everywhere(np.zeros((3, 4)))
    refuses(headrace.InvalidError, "A is 3 x 4", context.plan, 1, a, a, 0, a)
    refuses(TypeError, "not a headrace.mpi.Matrix", context.gemm, 1,
            np.zeros((3, 3)), a, 0, a)
    refuses(TypeError, "two slices", lambda: a[1])
    refuses(ValueError, "steps of 1", lambda: a[::2, :])
    refuses(ValueError, 'order="F"', mpi.cyclic, np.zeros((3, 4)), (3, 4),
            block=(1, 1), grid=(1, 1))
    refuses(ValueError, "run backwards", mpi.cyclic,
            np.asfortranarray(np.zeros((3, 4)))[:, ::-1], (3, 4), block=(3, 4),
            grid=(1, 1))
    refuses(ValueError, "a block is", mpi.blocks, (3, 4), [(0, 0, 3, 4)],
            "float64")
    # too few columns, and arrays that are not to be written, in one process
    size, rank = context.size, context.rank
    own = local_part(np.zeros((9, 9)), (2, 2), (1, size), rank)
    short = own[:, :-1] if rank == 0 else own
    unit = mpi.everywhere(np.eye(9))
    c = mpi.cyclic(short, (9, 9), block=(2, 2), grid=(1, size))
    words = "local is (9, " if rank == 0 else "process 0"
    refuses(headrace.InvalidError if rank else ValueError, words, context.gemm,
            1, unit, unit, 0, c)
    fixed = own.copy(order="F")
    fixed.flags.writeable = rank != 0
    refuses(headrace.InvalidError if rank else ValueError,
            "process 0" if rank else "read-only", context.gemm, 1, unit, unit, 0,
            mpi.cyclic(fixed, (9, 9), block=(2, 2), grid=(1, size)))
    # first blocks of another size
    whole = values((9, 9), "float64")
    columns = [j for j in range(9) if (0 if j < 1 else (j - 1) // 2 + 1) % size
               == rank]
    context.gemm(1, mpi.cyclic(np.asfortranarray(whole[:, columns]), (9, 9),
                               block=(9, 2), grid=(1, size), first_block=(9, 1)),
                 unit, 0, mpi.cyclic(own, (9, 9), block=(2, 2), grid=(1, size)))
    np.testing.assert_allclose(
        own, local_part(whole, (2, 2), (1, size), rank), 1e-13)
    refuses(TypeError, "needs dtype", mpi.cyclic, None, (3, 4), block=(1, 1),
            grid=(1, 1))
    refuses(ValueError, "a block of", mpi.blocks, (3, 4),
            [(0, 0, 3, 4, 0, np.zeros((2, 2)))], "float64")
    if not ALONE:
        refuses(TypeError, "is no communicator", mpi.Context, "all")
    # what differs between processes is refused in all
    if context.size > 1:
        refuses(headrace.InvalidError, "different arguments", context.plan,
                context.rank, a.T, a, 0, mpi.blocks(
                    (4, 4), [(0, 0, 4, 4, 0)], "float64"))


def main():
    comm = None
    if not ALONE:
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
    with mpi.Context(comm, threads=1) as context:
        assert f"of {context.size}>" in repr(context)
        products(context)
        files(context)
        steps(context)
        refusals(context)
        print("process", context.rank, "is done", flush=True)
    assert "closed" in repr(context)


main()
