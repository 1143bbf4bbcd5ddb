# SPDX-License-Identifier: MIT
"""Progress of long calls, and what ends them early."""

from __future__ import annotations

import sys
import time

import numpy as np

from . import contexts
from ._native import ffi, lib
from .contexts import Inside, in_progress
from .errors import check
from .reports import quantity


class Watch:
    """Takes what a call tells of its progress to a function of the caller. An
    exception there, such as that of Ctrl-C, cancels the call."""

    def __init__(self, function=None):
        self.function = function
        self.error = None
        self.handle = ffi.new_handle(self)

    def told(self, *numbers) -> bool:
        """Whether to go on."""
        if contexts.ending and not in_progress.ends:
            self.error = SystemExit()  # of a thread: it ends without a word
            return False
        try:
            with Inside():
                answer = self.function is None or self.function(*numbers)
                # 0 and None are no answer
                return not isinstance(answer, (bool, np.bool_)) or bool(answer)
        except BaseException as error:  # it goes on where the call returns
            self.error = error
            return False

    def told_inside(self, *numbers) -> bool:
        """The same, where the function may not call the library."""
        in_progress.told = True
        try:
            return self.told(*numbers)
        finally:
            in_progress.told = False

    def finish(self):
        """Raise what the function has raised."""
        if self.error is not None:
            raise self.error


def _watch_failed(_kind, error, trace):
    """An exception outside of the function, such as that of a signal."""
    data = trace and trace.tb_frame.f_locals.get("data")
    if data:
        ffi.from_handle(data).error = error


@ffi.def_extern(error=False, onerror=_watch_failed)
def headrace_progress(data, done, total):
    return ffi.from_handle(data).told_inside(done, total)


class Bar:
    """A progress bar: tqdm's where that is installed, else a line of text."""

    WIDTH = 30

    def __init__(self, unit="flop"):
        self._unit, self._bar, self._shown = unit, None, -1
        self._start = time.monotonic()

    def __call__(self, done, total):
        try:
            from tqdm.auto import tqdm
        except ImportError:
            self._line(done, total)
            return
        if self._bar is None:
            self._bar = tqdm(total=total, unit=self._unit, unit_scale=True)
        self._bar.update(done - self._bar.n)
        if done >= total:
            self._bar.close()

    def _line(self, done, total):
        share = done / total if total else 1.0
        percent = int(100 * share)
        if percent != self._shown and sys.stderr.isatty():
            took = time.monotonic() - self._start
            line = f"[{'#' * int(share * self.WIDTH):{self.WIDTH}}] {percent:3d} %"
            if done and took:
                line += f"  {quantity(done / took, self._unit)}/s"
            if percent == 100:
                line += f"  {took:.1f} s\n"
            elif done:
                line += f"  {took * (1 - share) / share:.1f} s left"
            print(f"\r{line}\033[K", end="", file=sys.stderr, flush=True)
        self._shown = percent


def function_of(progress, unit):
    """What to tell of progress: a bar where that is True; None: nothing."""
    if progress is True:
        return Bar(unit)
    if progress and not callable(progress):
        raise TypeError(f"progress is {progress!r}, not True or a function")
    return progress or None


class Pace:
    """How long the points of a kernel take, of which only its calls tell."""

    LONG = 0.1  # seconds from which a call may be cancelled

    def __init__(self):
        self._seconds, self._points = 0.0, 0

    def long(self, points) -> bool:
        """Whether a call may be long. The first one is."""
        return (self._points == 0
                or self._seconds * points >= self.LONG * self._points)

    def took(self, seconds, points):
        """Learn from a call, unless it is too short to tell much."""
        if seconds > 1e-3 or points >= self._points:
            self._seconds, self._points = seconds, points


def watch(progress, long: bool, unit="flop"):
    """The Watch of a call, or None where nothing needs one. progress: True for
    a bar, or a function of (done, total) that may return False to cancel."""
    if progress:
        return Watch(function_of(progress, unit))
    # Ctrl-C ends it in the main thread, in others the interpreter's end
    return Watch() if long else None


def fill(options, seen):
    """Give the options of a call its watch."""
    if seen is not None:
        options.progress = lib.headrace_progress
        options.progress_data = seen.handle


def finish(seen, status):
    """Raise what the function of a call has raised, or what went wrong."""
    if seen is not None:
        seen.finish()
    check(status)
