# SPDX-License-Identifier: MIT
"""A program of a user of types: `mypy --strict` has nothing to say."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import headrace

SCALE = headrace.kernel("""
HR_KERNEL3(scale, (VALUE, float, 0, a), (IN, float, 1, x), (OUT, float, 1, y))
{
    HR_EACH1(i) { HR_AT1(y, i) = a * HR_AT1(x, i); }
}""", name="scale")


def told(done: float, total: float) -> bool:
    return done <= total


def products(a: NDArray[np.float32]) -> NDArray[Any]:
    report = headrace.GemmReport()
    c: NDArray[np.float32] = headrace.matmul(a, a, progress=told, report=report,
                                             memory_limit="64MiB")
    headrace.gemm(2.0, a, a, 1, c, compute="native", accelerators=[0])
    pairs: list[NDArray[Any]] = headrace.matmul_batch([a, a], [a, a])
    plan: headrace.GemmReport = headrace.plan(a, a, dtype=np.float32)
    checked = headrace.verify(a, a, headrace.matmul(a, a), progress=False)
    rate: float = plan.rate + checked.seconds + report.shares[0].busy
    print(rate, headrace.matmul([[1.0, 2.0]], [[1.0], [2.0]]), plan)
    return pairs[0]


def calls(a: NDArray[np.float32]) -> float:
    total: float = headrace.sum(a) + headrace.min(a)
    total += headrace.max(a, weights=[1]) + headrace.dot(a, a)
    total += headrace.norm(a) + headrace.prod(a)
    place: int = headrace.argmin(a) + headrace.argmax(a)
    rows: NDArray[np.float64] = headrace.sum(a, axis=0, keepdims=True)
    total += float(rows[0, 0]) + float(headrace.max(a, 1)[0])
    most: float = headrace.reduce("max_abs", a)
    one: float = headrace.reduce_with("a + b", a)
    running = headrace.cumsum(a, dtype=np.float64) + headrace.cumprod(a)
    scanned = headrace.scan("sum", a, exclusive=True, out=np.empty_like(a))
    keys, values = headrace.sort_by_key(a, a, descending=True)
    order = headrace.argsort(headrace.sort(a))
    counts, edges = headrace.histogram(a, 4, (0.0, 1.0))
    noise = headrace.random((3, 4), "normal", seed=7, dtype="f4")
    headrace.fill(headrace.random(9), 1.5)
    smooth = headrace.filter(noise, headrace.Window.gaussian(1, 0.5),
                             report=headrace.FilterReport())
    headrace.filter(noise, [[1.0]], edges="mirrored", out=smooth)
    print(keys.shape, values.shape, order[0], counts.sum(), edges[0],
          running.dtype, scanned.shape, headrace.Window([[1]]).weights)
    return total + place + most + one


def kernels(x: NDArray[np.float32]) -> None:
    y = np.empty_like(x)
    SCALE(2.0, headrace.near(x, 0, 0), y, report=headrace.LaunchReport())
    headrace.transform("y = y + a * x", x=x, y=y, a=1.0, progress=True)
    names: list[str] = [p.name for p in SCALE.parameters]
    print(names, headrace.whole(x), headrace.combined(x, "sum"))


def grids() -> NDArray[Any]:
    field = headrace.Field("float32", halo=1, boundary="constant", value=0)
    with headrace.Grid((8,), weights=[1.0], now=field, next=field) as grid:
        grid["now"] = 1.0
        grid.step([headrace.phase(SCALE, 2.0, headrace.here("now"), "next"),
                   headrace.swap("now", "next")], 3, progress=told)
        grid.finish()
        least: float = grid.reduce("min", "now")
        report: headrace.GridReport = grid.report()
        print(least, report.steps, report.bands[0].first)
        return grid["now"]


def main() -> None:
    a = np.ones((4, 4), np.float32)
    with headrace.Context("host", memory_limit="1GiB", threads=2,
                          log=print) as context:
        paths: list[str] = [one.path for one in context.accelerators]
        up: int = context.traffic["up"]
        print(paths, up, products(a), calls(a), context)
        kernels(a[0])
        assert (grids() == 8).all()
    try:
        headrace.sum(a, context=context)
    except headrace.InvalidError as error:
        status: str = error.status
        print(status, len(headrace.devices()), headrace.__version__)
    headrace.default_context().close()


main()
