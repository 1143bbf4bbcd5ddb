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
