# SPDX-License-Identifier: MIT
"""Arguments of wrong types: one sentence each."""

import inspect
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
    refused(lambda: headrace.Grid((3, 3), now=Field(value=value)), ValueError,
            "value is .*, not one number")


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
        refused(lambda: headrace.fill(x, text), TypeError, "not a number")
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
            ({"memory_limit": 0}, headrace.InvalidError, "0, not 1 byte"),
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
