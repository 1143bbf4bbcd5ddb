# SPDX-License-Identifier: MIT
"""Grids and filters against NumPy."""

import copy
import pickle

import numpy as np
import pytest

import headrace
from headrace import Field, here, phase, swap

HEAT = headrace.kernel("""
HR_KERNEL2(heat, (IN, float, 2, now), (OUT, float, 2, next))
{
    HR_EACH2(i, j)
    {
        HR_AT2(next, i, j) =
            0.25f * (HR_AT2(now, i - 1, j) + HR_AT2(now, i + 1, j) +
                     HR_AT2(now, i, j - 1) + HR_AT2(now, i, j + 1));
    }
}""")
ADD = headrace.kernel("""
HR_KERNEL4(add, (VALUE, double, 0, a), (IN, double, 1, table),
           (INS, double, 1, v), (INOUT, double, 1, to))
{
    HR_EACH1(i)
    {
        HR_AT1(to, i) += a * (HR_OF1(v, 0, i) - HR_OF1(v, 1, i)) +
                         HR_AT1(table, i % HR_EXTENT(table, 0));
    }
}""")
MODES = {"constant": dict(mode="constant"), "clamp": dict(mode="edge"),
         "mirror": dict(mode="symmetric"), "periodic": dict(mode="wrap")}


def heat(x, boundary):
    """One step in NumPy, in the kernel's order."""
    p = np.pad(x, 1, **MODES[boundary])
    return np.float32(0.25) * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2]
                               + p[1:-1, 2:])


def test_sides_of_their_own(context, rng):
    """Above is 2, below 3, on the left 0; on the right the last column."""
    start = rng.random((7, 9), dtype=np.float32)
    field = Field(halo=1, boundary=[
        (headrace.Side("constant", value=2),
         headrace.Side("constant", value=3)),
        ("constant", headrace.Side("clamp", halo=1))])
    with headrace.Grid(start.shape, context=context, now=field,
                       next=field) as grid:
        grid["now"] = start
        grid.step([phase(HEAT, "now", "next"), swap("now", "next")])
        result = grid["now"]
    p = np.pad(start, 1, mode="edge")
    p[0], p[-1], p[1:-1, 0] = 2, 3, 0
    want = np.float32(0.25) * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2]
                               + p[1:-1, 2:])
    assert np.allclose(result, want, rtol=1e-6)


@pytest.mark.parametrize("boundary", MODES)
def test_steps(context, rng, boundary):
    start = rng.random((70, 50), np.float32)
    field = Field(halo=1, boundary=boundary)
    with headrace.Grid((70, 50), now=field, next=field) as grid:
        grid["now"] = start
        grid.step([phase(HEAT, "now", "next"), swap("now", "next")], 20)
        want = start
        for _ in range(20):
            want = heat(want, boundary)
        assert np.allclose(grid["now"], want, rtol=1e-6)
        total = grid.reduce("sum", "now")
        assert np.isclose(total, want.sum(dtype="f8"), rtol=1e-6)
        change = grid.reduce("max_abs_diff", "now", "next")
        assert change > 0
        report = grid.report()
        assert report.steps == 20
        assert sum(band.count for band in report.bands) == 70
        assert "exchanges" in str(report)
    assert context.accelerators


def test_arrays_numbers_and_components(context, rng):
    table = rng.random(7)
    v = rng.random((2, 300))
    with headrace.Grid(300, v=Field("f8", components=2), to=Field("f8")) as g:
        g["v"] = v
        g["to"] = 1.0
        g.step([phase(ADD, 2.0, table, here("v"), "to")], 3)
        want = 1 + 3 * (2 * (v[0] - v[1]) + table[np.arange(300) % 7])
        assert np.allclose(g["to"], want)
        assert np.array_equal(g[("v", 1)], v[1])
        g[("v", 0)] = 5
        assert (g["v"][0] == 5).all() and np.array_equal(g["v"][1], v[1])
    assert context.accelerators


def test_weights(context):
    count = len(context.accelerators)
    with headrace.Grid((60, 7), weights=[1] * count, x=Field()) as grid:
        grid["x"] = 2.0
        grid.rebalance([i + 1 for i in range(count)])
        assert (grid["x"] == 2).all()
        assert sum(b.count for b in grid.report().bands) == 60


def test_grids_are_freed(host):
    def held():
        return open("/proc/self/statm").read().split()[1]
    for i in range(60):
        grid = headrace.Grid((1000, 500), x=Field())
        grid["x"] = 1.0
        if i == 20:
            before = int(held())
    assert int(held()) - before < 20 * 1000 * 500 * 4 / 4096
    assert grid is not None and host.accelerators


def test_progress(context, rng):
    field = Field(halo=1)
    steps = [phase(HEAT, "now", "next"), swap("now", "next")]
    told = []
    with headrace.Grid((40, 30), now=field, next=field) as grid:
        grid["now"] = rng.random((40, 30), np.float32)
        grid.step(steps, 10, every=4, progress=lambda *n: told.append(n))
        assert told and told[0] == (4, 10)
        with pytest.raises(headrace.CancelledError):
            grid.step(steps, 1000, every=1, progress=lambda *n: False)

        def breaks(*_):
            raise KeyError("mine")
        with pytest.raises(KeyError, match="mine"):
            grid.step(steps, 1000, every=1, progress=breaks)
    assert context.accelerators


@pytest.mark.parametrize("call, kind, words", [
    (lambda g: g["other"], KeyError, "no field 'other', only now, next"),
    (lambda g: g.step([HEAT]), TypeError, "is no headrace.phase or swap"),
    (lambda g: g.step([phase(HEAT, "now")]), TypeError,
     "heat takes 2 arguments, not 1"),
    (lambda g: g.step([phase(HEAT, "now", "now")]), headrace.InvalidError,
     "heat: field 'now' is two arguments, and one of them is written$"),
    (lambda g: g.step([swap("now", "now2")]), KeyError, "now2"),
    (lambda g: g.reduce("mean", "now"), ValueError, '"mean", not one of'),
    (lambda g: g.reduce("dot", "now"), TypeError, "dot takes two fields"),
    (lambda g: g.reduce("sum", "zz"), KeyError, "no field 'zz'"),
    (lambda g: g.step([phase(ADD, 1.0, np.zeros(3), "now", "next")]),
     TypeError, "v has elements of double, which is float64"),
    (lambda g: g.step([phase(HEAT, "now", "next", origin=(1, 1))]),
     ValueError, "an origin, but no shape"),
    (lambda g: g.rebalance([1, 2]), ValueError, "2 weights for 1"),
    (lambda g: headrace.Grid((3, 3), weights=[1, 2], x=Field()), ValueError,
     "2 weights for 1 accelerators"),
    (lambda g: headrace.Grid((3, 3), x=Field(components=0)), ValueError,
     "components is 0, not from 1 to 1024"),
    (lambda g: headrace.Grid((3, 3), x=Field(dtype=object)), TypeError,
     "elements of object"),
    (lambda g: headrace.Grid((3, 3), x=Field(dtype=">f4")), TypeError, ">f4"),
    (lambda g: headrace.Grid("33", x=Field()), TypeError, "shape is '33'"),
    (lambda g: g.__setitem__("now", np.zeros((3, 3))), ValueError,
     r"^'now' is set to an array of \(3, 3\), but it is \(6, 6\)$"),
    (lambda g: g.__setitem__("now", np.zeros((2, 6, 6))), ValueError,
     r"^'now' is set to an array of \(2, 6, 6\), but it is \(6, 6\)$"),
    (lambda g: headrace.Grid((3, 3), x=Field(
        boundary=["periodic", ("constant", 2.5)])), ValueError,
     r'2.5: a value for one side is headrace.Side\("constant", value=2.5\)$'),
    (lambda g: headrace.Grid((3, 3), x=Field(boundary=("constant", 2))),
     ValueError, r'one side is headrace.Side\("constant", value=2\)$'),
    (lambda g: headrace.Side("clamp", value=2), ValueError,
     "a Side of 'clamp' has the value 2, but only \"constant\" has one$"),
    (lambda g: headrace.Grid((3, 3), x=Field(boundary="soft")), ValueError,
     'boundary is "soft", not one of constant, clamp'),
    (lambda g: headrace.Grid((3, 3)), headrace.InvalidError, "field"),
    (lambda g: headrace.Grid((3, 3), x=3), TypeError, "no headrace.Field"),
    (lambda g: headrace.Grid((2,) * 4, x=Field()), headrace.InvalidError,
     "1 to 3 dimensions, not 4")])
def test_refused(host, call, kind, words):
    field = Field(halo=1)
    with headrace.Grid((6, 6), now=field, next=field) as grid:
        with pytest.raises(kind, match=words):
            call(grid)
    with pytest.raises(headrace.InvalidError, match="the grid is closed"):
        grid.finish()
    assert host.accelerators


# ---- filters


def slow(a, w, mode):
    """The sums, element by element of the window."""
    s = w.shape[0] // 2
    p = np.pad(a, s, **mode)
    return sum(w[i, j] * p[i:i + a.shape[0], j:j + a.shape[1]]
               for i in range(2 * s + 1) for j in range(2 * s + 1))


@pytest.mark.parametrize("edges, mode", [
    ("clamped", dict(mode="edge")), ("mirrored", dict(mode="symmetric")),
    ("periodic", dict(mode="wrap")),
    ("constant", dict(mode="constant", constant_values=3.0))])
def test_filters(context, rng, edges, mode):
    w = rng.random((5, 5))
    for dtype, close in (("f8", 1e-12), ("f4", 1e-4)):
        a = rng.random((37, 29)).astype(dtype)
        want = slow(a.astype("f8"), w, mode) / w.sum()
        for x in (a, np.asfortranarray(a), np.repeat(a, 2, 1)[:, ::2]):
            report = headrace.FilterReport()
            got = headrace.filter(x, w, edges=edges, constant=3.0,
                                  report=report)
            assert got.dtype == dtype and np.allclose(got, want, atol=close)
            assert report.method in ("direct", "separable", "fft")
    assert context.accelerators


def test_windows(host, rng):
    assert headrace.Window.box(2).weights.sum() == 25
    assert headrace.Window.gaussian(3, 1.0).weights[3, 3] == 1
    assert headrace.Window.radial(2).weights[0, 0] == 0
    assert headrace.Window(np.eye(5)).reach == 2
    for make in (copy.copy, copy.deepcopy,
                 lambda w: pickle.loads(pickle.dumps(w))):
        window = headrace.Window.gaussian(2, 1.5)
        assert (make(window).weights == window.weights).all()
    a = rng.random((20, 20))
    out = a.copy()
    assert headrace.filter(out, headrace.Window.box(1), out=out) is out
    assert np.allclose(out, slow(a, np.ones((3, 3)), dict(mode="edge")) / 9)
    inner = np.zeros((20, 20))
    headrace.filter(a, headrace.Window.box(1), edges="left", out=inner)
    assert (inner[0] == 0).all() and (inner[1:-1, 1:-1] > 0).all()
    for call, words in (
            (lambda: headrace.filter(a[0], np.eye(3)),
             "a matrix, not 1 dimension$"),
            (lambda: headrace.filter(a, np.eye(4)), "odd n"),
            (lambda: headrace.filter(a, np.eye(3), edges="soft"), '"soft"'),
            (lambda: headrace.filter(a, np.eye(3), method="new"), '"new"'),
            (lambda: headrace.filter(a, np.eye(3), edges="left"), "pass out")):
        with pytest.raises(ValueError, match=words):
            call()
    assert host.accelerators


@pytest.mark.parametrize("every", [None, 1])
def test_closed_in_a_step(every):
    kernel = headrace.kernel("HR_KERNEL1(more, (INOUT, float, 2, a))\n"
                             "{ HR_EACH2(i, j) { HR_AT2(a, i, j) += 1; } }")
    with headrace.Grid((9, 9), a=headrace.Field()) as grid:
        with pytest.raises(headrace.InvalidError, match="a step of its own"):
            grid.step([headrace.phase(kernel, "a")], 3, every=every,
                      progress=lambda *_: grid.close())
        grid.step([headrace.phase(kernel, "a")])  # it stays open
