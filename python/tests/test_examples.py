# SPDX-License-Identifier: MIT
"""The examples give the bits of NumPy in a reproducible context."""

import importlib.util
import pathlib
import sys

import numpy as np
import pytest

import headrace

FOLDER = pathlib.Path(__file__).parents[1] / "examples"


def load(name):
    path = FOLDER / f"{name}.py"
    if not path.exists():
        pytest.skip("no examples beside the tests")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=["host", "3xhost"])
def exact(request):
    with headrace.Context(request.param, reproducible=True) as opened:
        yield opened


def mandelbrot(size, left, top, width, steps):
    left, top, width = np.float32([left, top, width])
    step = width / np.float32(size)
    index = np.arange(size, dtype=np.float32)
    re, im = left + step * index[None, :], top - step * index[:, None]
    x = y = np.zeros((size, size), np.float32)
    count = np.zeros((size, size), np.int32)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(steps):
            x, y = x * x - y * y + re, np.float32(2) * x * y + im
            count += x * x + y * y <= 4
    return count


def test_mandelbrot(exact):
    count = load("mandelbrot").inside(70, -2.2, 1.5, 3.0, 60)
    assert np.array_equal(count, mandelbrot(70, -2.2, 1.5, 3.0, 60))
    assert count.min() < 5 and count.max() == 60


def gray_scott(u, v, steps):
    one, f = np.float32(1), np.float32

    def around(x):
        return np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + \
            np.roll(x, -1, 1)
    for _ in range(steps):
        made = u * v * v
        u, v = (u + f(0.16) * (around(u) - f(4) * u) - made +
                f(0.035) * (one - u),
                v + f(0.08) * (around(v) - f(4) * v) + made - f(0.095) * v)
    return v


def test_gray_scott(exact):
    example = load("gray_scott")
    v = example.run(40, 50)
    assert np.array_equal(v, gray_scott(*example.start(40), 50))
    assert np.count_nonzero(v) > 400


@pytest.mark.parametrize("name, words, kind", [
    ("mandelbrot", ["20"], "P6 20 20 255"),
    ("gray_scott", ["24", "30"], "P5 24 24 255")])
def test_pictures(name, words, kind, tmp_path, monkeypatch):
    picture = tmp_path / "picture"
    monkeypatch.setattr(sys, "argv", [name, *words, str(picture)])
    with headrace.Context("host"):
        load(name).main()
    head, pixels = picture.read_bytes().split(b"\n", 1)
    assert head.decode() == kind
    size = int(words[0])
    assert len(pixels) == size * size * (3 if kind[1] == "6" else 1)
    assert len(set(pixels)) > 10
