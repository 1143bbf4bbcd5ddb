# SPDX-License-Identifier: MIT
"""Contexts of several sets of accelerators, for all tests."""

import os

import numpy as np
import pytest

import headrace

SETS = ["host", "3xhost", "opencl", "2xhost,opencl"]


def _open(accelerators, **options):
    try:
        return headrace.Context(accelerators, **options)
    except headrace.UnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module", params=SETS)
def context(request):
    """Each set of accelerators."""
    with _open(request.param) as opened:
        yield opened


@pytest.fixture(scope="module")
def host():
    """The host alone, in place."""
    with _open("host") as opened:
        yield opened


@pytest.fixture
def rng():
    """Random numbers, the same each time."""
    return np.random.default_rng(int(os.environ.get("SEED", "20260")))


def pytest_report_header():
    return f"headrace {headrace.__version__}, NumPy {np.__version__}"
