# SPDX-License-Identifier: MIT
"""Contexts of several sets of accelerators, for all tests."""

import os

import numpy as np
import pytest

import headrace

SETS = os.environ.get("SETS", "host;3xhost;2xhost,opencl").split(";")


def opened(accelerators, **options):
    """A context, or a skip where the machine lacks an accelerator."""
    try:
        return headrace.Context(accelerators, **options)
    except headrace.UnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module", params=SETS)
def context(request):
    """Each set of accelerators."""
    with opened(request.param) as one:
        yield one


@pytest.fixture(scope="module")
def host():
    """The host alone, in place."""
    with opened("host") as one:
        yield one


@pytest.fixture
def rng():
    """Random numbers, the same each time."""
    return np.random.default_rng(int(os.environ.get("SEED", "20260")))


def pytest_report_header():
    return f"headrace {headrace.__version__}, NumPy {np.__version__}"
