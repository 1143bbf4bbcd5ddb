# SPDX-License-Identifier: MIT
"""What a call will do or has done, to read and to print."""

from __future__ import annotations

import html
from dataclasses import dataclass, field, fields
from typing import Any

from ._native import ffi, lib
from .layouts import struct


def quantity(value: float, unit: str) -> str:
    """A number with a prefix: "1.23 GB"."""
    if unit == "s":
        steps = ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (0, "ns"))
        factor, name = next(s for s in steps if value >= s[0])
        return f"{value / (factor or 1e-9):.3g} {name}"
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


class _Table:
    """A report that prints as a table, and shows as one in a notebook."""

    def _rows(self: Any) -> Any:
        for f in fields(self):
            value = getattr(self, f.name)
            unit = f.metadata.get("unit")
            if isinstance(value, list):
                continue
            if unit and isinstance(value, (int, float)):
                value = quantity(value, unit)
            elif isinstance(value, float):
                value = f"{value:.4g}"
            yield f.name.replace("_", " "), str(value)

    def _parts(self: Any) -> Any:
        """Lists of reports inside."""
        return [(f.name, getattr(self, f.name)) for f in fields(self)
                if isinstance(getattr(self, f.name), list)]

    def __str__(self) -> str:
        rows = list(self._rows())
        width = max(len(name) for name, _ in rows)
        lines = [f"{name:<{width}}  {value}" for name, value in rows]
        for _, parts in self._parts():
            lines += _grid([list(p._rows()) for p in parts])
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        cell = "<td>{}</td>".format
        out = ["<table>"]
        for name, value in self._rows():
            out.append(f"<tr><th>{html.escape(name)}</th>"
                       f"{cell(html.escape(value))}</tr>")
        out.append("</table>")
        for _, parts in self._parts():
            if parts:
                out.append("<table><tr>" + "".join(
                    f"<th>{html.escape(n)}</th>"
                    for n, _ in parts[0]._rows()) + "</tr>")
                out += ["<tr>" + "".join(
                    cell(html.escape(v)) for _, v in p._rows()) + "</tr>"
                    for p in parts]
                out.append("</table>")
        return "".join(out)


def _grid(rows):
    """Lines of columns from lists of (name, value)."""
    if not rows:
        return []
    table = [[name for name, _ in rows[0]]] + [
        [value for _, value in row] for row in rows]
    widths = [max(len(line[i]) for line in table)
              for i in range(len(table[0]))]
    return [""] + ["  ".join(f"{word:>{w}}" for word, w in zip(line, widths))
                   for line in table]


def _unit(unit: str) -> Any:
    return field(default=0, metadata={"unit": unit})


@dataclass
class Share(_Table):
    """One accelerator's part in a product."""

    accelerator: str = ""
    busy: float = _unit("s")
    flops: float = _unit("flop")
    tiles: int = 0
    tiles_stolen: int = 0
    host_to_device: int = _unit("B")
    device_to_host: int = _unit("B")
    peer: int = _unit("B")
    memory: int = _unit("B")


@dataclass
class GemmReport(_Table):
    """What a product will do (plan) or has done. Bytes, seconds, operations;
    `ratio` is bytes over the fewest that must move."""

    seconds: float = _unit("s")
    flops: float = _unit("flop")
    bound: str = ""
    compulsory: int = _unit("B")
    host_to_device: int = _unit("B")
    device_to_host: int = _unit("B")
    peer: int = _unit("B")
    ratio: float = 0
    lost: int = 0
    recomputed: int = 0
    late: int = 0
    shares: list[Share] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Floating-point operations in a second."""
        return self.flops / self.seconds if self.seconds > 0 else 0.0


class _GemmReport:
    """Room for the library's report, and what becomes of it."""

    def __init__(self, context, into: GemmReport):
        self._context, self._into = context, into
        count = len(context.accelerators)
        self._shares = ffi.new("hr_gemm_share[]", count)
        self.pointer = struct("hr_gemm_report")
        self.pointer.share_capacity = count
        self.pointer.shares = self._shares

    def read(self):
        r, to = self.pointer, self._into
        for name in ("seconds", "flops", "compulsory", "host_to_device",
                     "device_to_host", "peer", "ratio", "lost", "recomputed",
                     "late"):
            setattr(to, name, getattr(r, name))
        to.bound = ffi.string(lib.hr_bound_name(r.bound)).decode()
        paths = [a.path for a in self._context.accelerators]
        to.shares = [
            Share(paths[s.accelerator], s.seconds_busy, s.flops, s.tiles,
                  s.tiles_stolen, s.host_to_device, s.device_to_host, s.peer,
                  s.memory_bytes)
            for s in self._shares[0:min(r.share_count, r.share_capacity)]]


@dataclass
class Band(_Table):
    """Rows of one accelerator. Of a call that brings its kernel: rows of that
    kernel's domain, which may be groups of rows or of elements."""

    accelerator: str = ""
    first: int = 0
    count: int = 0


@dataclass
class LaunchReport(_Table):
    """What a kernel or a call over arrays does: predicted, and its shares."""

    seconds: float = _unit("s")
    bound: str = ""
    up: int = _unit("B")
    down: int = _unit("B")
    peer: int = _unit("B")
    used: int = 0
    shares: list[Band] = field(default_factory=list)


class _LaunchReport:
    def __init__(self, context, into: LaunchReport):
        self._into = into
        self._paths = [a.path for a in context.accelerators]
        self._bands = ffi.new("hr_band[]", len(self._paths))
        self.pointer = struct("hr_split_report")
        self.pointer.share_capacity = len(self._paths)
        self.pointer.shares = self._bands

    def read(self):
        r, to = self.pointer, self._into
        to.seconds, to.used = r.seconds, r.used
        to.bound = ffi.string(lib.hr_bound_name(r.bound)).decode()
        to.up, to.down, to.peer = r.traffic.up, r.traffic.down, r.traffic.peer
        count = min(r.share_count, r.share_capacity)
        to.shares = [Band(self._paths[b.accelerator], b.first, b.count)
                     for b in self._bands[0:count]]


@dataclass
class VerifyReport(_Table):
    """What verify() found. `row` and `col` of the first wrong element."""

    trials: int = 0
    suspects: int = 0
    rows_checked: int = 0
    unchecked: int = 0
    row: int = -1
    col: int = -1
    error: float = 0
    bound: float = 0
    seconds: float = _unit("s")


@dataclass
class FilterReport(_Table):
    """What a filter has done."""

    method: str = ""
    rank: int = 0
    window_error: float = 0
    seconds: float = _unit("s")
    predicted: float = _unit("s")
    products: float = _unit("flop")
    bound: str = ""
    host_to_device: int = _unit("B")
    device_to_host: int = _unit("B")
    accelerators: int = 0
    pieces: int = 0


@dataclass
class GridReport(_Table):
    """How a grid is spread out, and what it has done."""

    steps: int = 0
    steps_per_exchange: int = 0
    exchanges: int = 0
    halo_bytes: int = _unit("B")
    moves: int = 0
    moved_bytes: int = _unit("B")
    bands: list[Band] = field(default_factory=list)
