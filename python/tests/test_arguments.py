# SPDX-License-Identifier: MIT
"""Arguments of wrong types: one sentence each."""

import inspect
import pathlib
import pydoc

import numpy as np
import pytest

import headrace
from headrace import Field

SAXPY = headrace.kernel("""
HR_KERNEL3(saxpy, (VALUE, float, 0, a), (IN, float, 1, x), (INOUT, float, 1, y))
{
    HR_EACH1(i) { HR_AT1(y, i) += a * HR_AT1(x, i); }
}""")
ONES = np.ones((2, 2))


def refused(call, kind, words):
    """The call's error has one line with these words."""
    with pytest.raises(kind, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [2j, np.complex64(2), np.array(2j)])
def test_complex_numbers_stay_whole(host, value):
    x = np.ones(4, np.float32)
    words = "is complex, but float32 has no imaginary part"
    refused(lambda: SAXPY(value, x, x.copy()), TypeError, "saxpy: a " + words)
    refused(lambda: headrace.fill(x, value), TypeError, "the value " + words)
    with headrace.Grid((3, 3), now=Field(), z=Field("complex64")) as grid:
        refused(lambda: grid.__setitem__("now", value), TypeError,
                "what 'now' is set to " + words)
        refused(lambda: grid.__setitem__("now", np.full((3, 3), value)),
                TypeError, words)
        grid["z"] = value
        assert (grid["z"] == value).all()
    refused(lambda: headrace.Grid((3, 3), now=Field(value=value)), TypeError,
            "value " + words)
    assert (headrace.fill(np.zeros(3, "c8"), value) == value).all()
    assert (x == 1).all() and host.accelerators


def test_what_is_no_array_and_no_text(host):
    x = np.ones(4, np.float32)
    refused(lambda: headrace.fill([1, 2], 0), TypeError,
            "a is list, not a numpy.ndarray")
    refused(lambda: headrace.random(out=[1.0]), TypeError,
            "out is list, not a numpy.ndarray")
    refused(lambda: headrace.scan("sum", x, out=[1.0]), TypeError, "out is list")
    refused(lambda: headrace.reduce_with(5, x), TypeError,
            "the expression is 5, not text")
    refused(lambda: headrace.transform(None, x=x), TypeError,
            "the statement is None, not text")
    refused(lambda: headrace.kernel("my/kernels.c"), ValueError,
            "^text is 'my/kernels.c', a file's name: pass what the file has")
    refused(lambda: headrace.kernel("kernels.c", "saxpy"), ValueError,
            "a file's name")
    refused(lambda: headrace.kernel(pathlib.Path("kernels.c")), TypeError,
            r"text is PosixPath\('kernels.c'\): pass what the file has")
    refused(lambda: headrace.kernel("no kernel"), ValueError, "no HR_KERNEL1")
    for given in ((5,), (SAXPY.text, 5), (SAXPY.text, "saxpy", 5)):
        refused(lambda: headrace.kernel(*given), TypeError, "is 5, not text")
    assert host.accelerators


def test_windows_are_real():
    refused(lambda: headrace.Window(np.full((3, 3), 1j)), TypeError,
            "weights is complex, but float64 has no imaginary part")
    refused(lambda: headrace.filter(ONES, [["1"]]), TypeError,
            "weights is of <U1, not numbers")


@pytest.mark.parametrize("value", [[], [1, 2], np.ones((1, 1))])
def test_a_value_is_one_number(value):
    refused(lambda: headrace.Grid((3, 3), now=Field(value=value)), TypeError,
            "value is an array of . dimensions?, not one number")


def test_bytes_in_the_other_order(host):
    a = np.arange(12.0).reshape(3, 4)
    other = a.astype(a.dtype.newbyteorder())
    assert (headrace.matmul(other, other.T) == a @ a.T).all()
    assert (headrace.matmul(other, a.T) == a @ a.T).all()
    assert headrace.sum(other) == a.sum()
    assert headrace.dot(other, other) == (a * a).sum()
    assert (headrace.sort(-other) == np.sort(-a)).all() and host.accelerators


def test_text_is_no_number(host):
    x = np.ones(4, np.float32)
    for text in ("2", b"2", np.str_("2")):
        refused(lambda: headrace.gemm(text, ONES, ONES), TypeError,
                "alpha is .*2.*, not a number")
        refused(lambda: headrace.gemm(1, ONES, ONES, text, ONES.copy()),
                TypeError, "beta is .*2.*, not a number")
        refused(lambda: headrace.fill(x, text), TypeError, "not numbers")
    refused(lambda: SAXPY("2", x, x.copy()), TypeError, "saxpy: a is of <U1")
    with headrace.Grid((3, 3), now=Field()) as grid:
        refused(lambda: grid.__setitem__("now", "2"), TypeError, "is of <U1")
    assert host.accelerators


def test_seeds(host):
    for seed in (0, 2**64 - 1, np.int32(7)):
        assert np.array_equal(headrace.random(9, seed=seed),
                              headrace.random(9, seed=seed))
    assert not np.array_equal(headrace.random(9), headrace.random(9))
    assert not np.array_equal(headrace.random(9, seed=None),
                              headrace.random(9, seed=0))
    for seed in (-1, 2**64):
        refused(lambda: headrace.random(9, seed=seed), headrace.InvalidError,
                rf"seed is {seed}, not from 0 to 2\^64 - 1")
    refused(lambda: headrace.random(9, seed=1, offset=-3),
            headrace.InvalidError, "offset is -3")
    refused(lambda: headrace.random(9, seed="7"), TypeError,
            "seed is '7', not an integer")
    refused(lambda: headrace.random(9, seed=1.5), TypeError, "seed is 1.5")
    assert host.accelerators


def test_names():
    """help() shows all but what Python has under the same name."""
    kept = {"sum", "min", "max", "filter"}
    public = {name for name, thing in vars(headrace).items()
              if not name.startswith("_") and not inspect.ismodule(thing)}
    assert set(headrace.__all__) == public - kept
    star = {}
    exec("from headrace import *", star)
    assert star["matmul"] is headrace.matmul and not kept & set(star)
    assert headrace.sum(np.ones(3, np.float32)) == 3
    page = pydoc.plain(pydoc.render_doc(headrace))
    assert "matmul(a" in page and "class Grid" in page


def calls_with(**options):
    """Calls of each kind, with these options."""
    x, box = np.ones((4, 4), np.float32), headrace.Window.box(1)
    return [lambda: headrace.matmul(x, x, **options),
            lambda: headrace.gemm(1, x, x, **options),
            lambda: headrace.matmul_batch([x], [x], **options),
            lambda: headrace.filter(x, box, **options),
            lambda: headrace.sum(x, **options),
            lambda: headrace.cumsum(x, **options),
            lambda: headrace.sort(x, **options),
            lambda: headrace.random(3, **options),
            lambda: SAXPY(1, x[0], x[1], **options),
            lambda: headrace.transform("x += 1", x=x, **options)]


@pytest.mark.parametrize("given", [0, "host", ["host"], [0.5], None])
def test_accelerators(host, given):
    for call in calls_with(accelerators=given):
        if given is None:
            call()
        else:
            refused(call, TypeError, "accelerators is .*, not a list of indic")
    assert host.accelerators


def test_other_options(host):
    for given, kind, words in (
            ({"accelerators": [-1]}, headrace.InvalidError, "has -1, not an"),
            ({"accelerators": [2**32]}, headrace.InvalidError, "has 42949672"),
            ({"report": {}}, TypeError, r"report is \{\}, not a headrace\."),
            ({"context": "host"}, TypeError,
             "context is 'host', not a headrace.Context")):
        for call in calls_with(**given):
            refused(call, kind, words)
    refused(lambda: headrace.filter(ONES, ONES[:1, :1],
                                    report=headrace.GemmReport()),
            TypeError, "not a headrace.FilterReport")
    refused(lambda: headrace.Grid((2, 2), accelerators=0, x=Field()),
            TypeError, "accelerators is 0")
    refused(lambda: headrace.Grid((2, 2), context="host", x=Field()),
            TypeError, "context is 'host'")
    x = np.ones(3, np.float32)
    refused(lambda: SAXPY(1, x, x.copy(), weights=5), TypeError,
            "weights is 5, not a list of numbers")
    refused(lambda: headrace.sum(ONES, weights="5"), TypeError,
            "weights is '5', not a list of numbers")
    assert headrace.matmul(ONES, ONES, accelerators=np.array([0])).all()
    assert host.accelerators


def test_progress_is_a_function(host):
    x = np.ones((4, 4), np.float32)
    with headrace.Grid((4, 4), x=Field(), y=Field()) as grid:
        for call in (
                lambda **o: headrace.matmul(x, x, **o),
                lambda **o: headrace.verify(x, x, x * 4, **o),
                lambda **o: headrace.filter(x, ONES[:1, :1], **o),
                lambda **o: SAXPY(1, x[0], x[1], **o),
                lambda **o: headrace.transform("x += 1", x=x.copy(), **o),
                lambda **o: grid.step([headrace.swap("x", "y")], **o),
                lambda **o: grid.step([headrace.swap("x", "y")], every=1, **o)):
            refused(lambda: call(progress="yes"), TypeError,
                    "progress is 'yes', not True or a function")
            call(progress=None)
            call(progress=False)
    assert host.accelerators


def test_options_of_contexts():
    for text, limit in (("1MiB", 2**20), ("64MiB", 64 << 20), ("1.5GB", 15e8),
                        ("3000000", 3e6), (np.int64(5e6), 5e6)):
        with headrace.Context("2xhost", memory_limit=text) as context:
            assert {a.memory_limit for a in context.accelerators} == {limit}
            headrace.matmul(ONES, ONES, memory_limit=text)
    for text in ("", "MiB", "64 MiB", "64mib", "-1MiB", "1e3MiB", "1..5",
                 "0.1", "9999999TiB", "64MiB\n"):
        for call in (lambda: headrace.Context("host", memory_limit=text),
                     lambda: headrace.matmul(ONES, ONES, memory_limit=text)):
            refused(call, headrace.InvalidError, "memory_limit is .*, not ")
    for options, kind, words in (
            ({"memory_limit": 0}, headrace.InvalidError, "0, not from 1 to 2"),
            ({"memory_limit": 2**63}, headrace.InvalidError, r"2\^63"),
            ({"memory_limit": 1.5}, TypeError, "1.5, not an integer"),
            ({"threads": -1}, headrace.InvalidError,
             "threads is -1, not from 1 to 1024"),
            ({"threads": "2"}, TypeError, "threads is '2', not an integer"),
            ({"log": "x"}, TypeError, "log is 'x', not a function")):
        refused(lambda: headrace.Context("host", **options), kind, words)
    refused(lambda: headrace.Context(0), TypeError, "accelerators is 0, not te")
    for call, name in (
            (lambda: headrace.Context("h\0ost"), "accelerators"),
            (lambda: headrace.kernel("HR_KERNEL1(f, (IN, double, 2, y)) {}\0")(
                ONES), "text"),
            (lambda: headrace.transform("y = 1\0", y=ONES.copy()),
             "the statement"),
            (lambda: headrace.reduce_with("a\0", ONES), "the expression")):
        refused(call, headrace.InvalidError, name + " has a null byte")
    refused(lambda: headrace.gemm(1, ONES[0], ONES), ValueError,
            "a has 1 dimension, not 2")
    refused(lambda: headrace.filter(ONES.astype("i8"), ONES[:1, :1]), TypeError,
            "int64 are not offered, only float32, float64$")
    refused(lambda: headrace.Context(["host"]), TypeError,
            "accelerators is .*host.*, not text such as")


# ---- numbers, sizes and words

X, EYE = np.ones(4, np.float32), np.eye(1)
INVALID = headrace.InvalidError
MORE = headrace.kernel(b"HR_KERNEL1(more, (INOUT, float, 2, a))\n"
                       b"{ HR_EACH2(i, j) { HR_AT2(a, i, j) += 1; } }")
LONGS = headrace.kernel("HR_KERNEL2(k, (VALUE, long, 0, n), "
                        "(INOUT, float, 1, y))\n"
                        "{ HR_EACH1(i) { HR_AT1(y, i) += n; } }")
TILES = headrace.kernel("HR_KERNEL2(k, (TILE, float, 0, t), "
                        "(INOUT, float, 1, y))\n"
                        "{ HR_EACH1(i) { HR_AT1(y, i) += 1; } }")


@pytest.fixture(scope="module")
def grid():
    """A grid of fields of several types."""
    with headrace.Grid(np.array([4, 4]), f=Field(), i=Field("int32"),
                       u=Field("uint64"), parts=Field(components=3)) as one:
        yield one


@pytest.mark.parametrize("call", [
    lambda w, _: headrace.sum(np.ones(3), weights=w),
    lambda w, _: headrace.Grid((4, 4), weights=w, x=Field()),
    lambda w, g: g.rebalance(w)])
@pytest.mark.parametrize("weights", [
    np.array([1 + 5j]), [1j], ["1"], [None], np.ones((40, 40))])
def test_weights_are_real(host, grid, call, weights):
    refused(lambda: call(weights, grid), TypeError,
            "weights is .*, not a list of numbers")
    assert host.accelerators


@pytest.mark.parametrize("value, kind", [
    (1.5, TypeError), (np.float16(0.5), TypeError), (2**40, OverflowError),
    (10**30, OverflowError), (-2.0**31 - 1, OverflowError),
    (np.nan, OverflowError), (-np.inf, OverflowError)])
def test_integers_stay_whole(host, grid, value, kind):
    words = "is .*, which int32 does not hold"
    for call in (lambda: grid.__setitem__("i", value),
                 lambda: headrace.Grid((3, 3), x=Field("i4", value=value)),
                 lambda: headrace.fill(np.zeros(2, "i4"), value),
                 lambda: headrace.fill(np.zeros(0, "i4"), value)):
        refused(call, kind, words)
    with pytest.raises(kind, match=words):
        grid["i"] = np.full((4, 4), value, None if abs(value) < 2**64 else "f8")
    assert host.accelerators


@pytest.mark.parametrize("name, value", [
    ("i", 3.0), ("i", -2**31), ("i", 2.0**31 - 1), ("i", np.int64(7)),
    ("i", True), ("u", 2**64 - 1), ("u", 2.0**63), ("f", 2**64)])
def test_numbers_that_fit(host, grid, name, value):
    for given in (value, np.full((4, 4), value, np.asarray(
            float(value) if name == "f" else value).dtype)):
        grid[name] = given
        assert (grid[name] == np.array(float(value) if name == "f" else value)
                .astype(grid[name].dtype)).all()
    assert host.accelerators


@pytest.mark.parametrize("value, kind, words", [
    (np.nan, OverflowError, "k: n is nan, which int64 does not hold"),
    (2.0**63, OverflowError, r"k: n is 9\.2.*e\+18, which int64 does not hold"),
    ([5], TypeError, "k: n is an array of 1 dimension, not one number")])
def test_values_of_kernels(host, value, kind, words):
    refused(lambda: LONGS(value, X.copy()), kind, words)
    assert host.accelerators


@pytest.mark.parametrize("value, kind", [
    (2.7, TypeError), ("64", TypeError), (None, TypeError), (True, TypeError),
    (np.ones((40, 40)), TypeError), (-1, INVALID), (2**70, INVALID)])
def test_sizes(host, grid, value, kind):
    box = headrace.Window
    for call, name in (
            (lambda: TILES(value, X.copy()), "k: t"),
            (lambda: headrace.near(X, value, 0), "before"),
            (lambda: headrace.near(X, 0, value), "after"),
            (lambda: box.box(value), "reach"),
            (lambda: box.radial(value), "reach"),
            (lambda: box.gaussian(value, 1), "reach"),
            (lambda: headrace.histogram(X, value), "bins"),
            (lambda: headrace.Grid((3, 3), x=Field(halo=value)), "halo"),
            (lambda: headrace.Grid((3, 3), x=Field(
                boundary=headrace.Side("clamp", halo="0" if value is None
                                       else value))), "halo"),
            (lambda: headrace.Grid((3, 3), x=Field(components=value)),
             "components"),
            (lambda: headrace.Grid((3, 3), x=Field(), steps_per_exchange=value),
             "steps_per_exchange"),
            (lambda: grid["parts", "0" if value is None else value],
             "the component of 'parts'"),
            (lambda: grid.step([], value), "steps")):
        refused(call, kind, f"^{name} is .*, not (an integer|from . to )")
    assert host.accelerators


@pytest.mark.parametrize("value", [2, "no", None])
def test_reproducible_or_not(value):
    refused(lambda: headrace.Context("host", reproducible=value), TypeError,
            "reproducible is .*, not True or False")


@pytest.mark.parametrize("value", ["1", [1], 2j, np.ones((40, 40)), object()])
@pytest.mark.parametrize("name, call", [
    *((name, lambda v, name=name: headrace.filter(ONES, EYE, **{name: v}))
      for name in ("scale", "constant", "tolerance")),
    ("sigma", lambda v: headrace.Window.gaussian(1, v)),
    ("alpha", lambda v: headrace.gemm(v, ONES, ONES))])
def test_real_numbers(host, name, call, value):
    if name == "alpha" and isinstance(value, complex):
        return
    refused(lambda: call(value), TypeError, f"^{name} is .*, not a (real )?num")
    assert host.accelerators


def test_shapes(host, grid):
    assert grid.shape == (4, 4)
    assert (TILES(64, X.copy(), tile=4, domain=np.array([4])) is None)
    grid["f"] = 0.0
    grid.step([headrace.phase(MORE, "f", shape=np.array([2, 2]), origin=(1, 1),
                              tile=(2, 2))])
    assert grid["f"].sum() == 4
    for options, kind, words in (
            ({"tile": "4"}, TypeError, "tile is '4', not a shape"),
            ({"tile": 4}, headrace.DomainError, "tiles have rank 1"),
            ({"shape": 4}, INVALID, "extent has rank 1, but the grid has 2"),
            ({"shape": (4, 4), "origin": (0,) * 9}, ValueError,
             r"origin is \(0, .*\), but shape \(4, 4\)")):
        refused(lambda: grid.step([headrace.phase(MORE, "f", **options)]), kind,
                words)
    refused(lambda: headrace.phase(None, "f"), TypeError,
            "None is no headrace.kernel")
    assert host.accelerators


@pytest.mark.parametrize("call, name", [
    (lambda w, g: headrace.reduce(w, X), "operation"),
    (lambda w, g: headrace.scan(w, X), "operation"),
    (lambda w, g: g.reduce(w, "f"), "operation"),
    (lambda w, g: headrace.matmul(ONES, ONES, compute=w), "compute"),
    (lambda w, g: headrace.filter(ONES, EYE, edges=w), "edges"),
    (lambda w, g: headrace.filter(ONES, EYE, method=w), "method"),
    (lambda w, g: headrace.random(3, w), "distribution"),
    (lambda w, g: headrace.combined(X, w), "how")])
def test_words(host, grid, call, name):
    for word in ([], None, "x", 5):
        refused(lambda: call(word, grid), ValueError, f"{name} is .*, not one ")
    assert host.accelerators


@pytest.mark.parametrize("a", [X, X[:0]])
def test_arrays_without_elements_are_checked(host, a):
    for given in (5, (None, 5), (1, 2, 3), "ab", (0, 1j)):
        refused(lambda: headrace.histogram(a, 5, given), TypeError,
                "range is .*, not two numbers")
    for given in ((2, 0), (np.nan, 1), (0, np.inf)):
        refused(lambda: headrace.histogram(a, 5, given), INVALID, "range goes")
    refused(lambda: headrace.scan("sum", a, dtype="i2"), TypeError,
            "dtype is int16, but a scan of float32 gives float32 or float64")
    refused(lambda: headrace.scan("sum", a.astype("i4"), dtype="f8"), TypeError,
            "dtype is float64, but a scan of int32 gives int32 or int64")
    refused(lambda: headrace.fill(a.astype("i4"), "zz"), TypeError, "<U2, not ")
    for got, want in zip(headrace.histogram(a, 5, (1, 1)),
                         np.histogram(a, 5, (1, 1))):
        assert np.allclose(got, want)
    assert host.accelerators


def test_text_as_bytes(host):
    x = X.copy()
    headrace.transform(b"x = 3", x=x)
    assert (x == 3).all() and MORE.name == "more"
    assert (headrace.fill(np.zeros(2), 10**30) == 1e30).all()
    assert host.accelerators


@pytest.mark.parametrize("c, kind", [
    ([[1.0]], TypeError), (np.ones((3, 2)), ValueError),
    (np.broadcast_to(1.0, (2, 2)), ValueError)])
def test_c_is_called_c(host, c, kind):
    refused(lambda: headrace.gemm(1, ONES, ONES, 0, c), kind, "^c is ")
    assert host.accelerators


@pytest.mark.parametrize("every", [None, 1])
@pytest.mark.parametrize("answer", [False, np.False_, 0, None])
def test_what_cancels(host, grid, every, answer):
    def run():
        grid.step([headrace.phase(MORE, "f")], 2, every=every,
                  progress=lambda *_: answer)
    if isinstance(answer, (bool, np.bool_)):
        with pytest.raises(headrace.CancelledError):
            run()
    else:
        run()
    assert host.accelerators


@pytest.mark.parametrize("every", [None, 1])
def test_steps_in_steps(host, grid, every):
    grid["f"] = 0.0
    steps, told = [headrace.phase(MORE, "f")], []

    def more(*numbers):
        told.append(numbers)
        grid.step(steps)
    if every is None:
        refused(lambda: grid.step(steps, 2, progress=more), INVALID,
                "the grid steps in a step of its own")
        assert len(told) == 1
        grid.step(steps)
    else:
        grid.step(steps, 2, every=every, progress=more)
    assert (grid["f"] == (1 if every is None else 4)).all()
    assert host.accelerators
