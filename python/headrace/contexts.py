# SPDX-License-Identifier: MIT
"""Contexts: the accelerators that calls use."""

from __future__ import annotations

import atexit
import contextvars
import itertools
import os
import threading
import time
import weakref
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

from ._native import ffi, lib
from .errors import InvalidError, check
from .layouts import bytes_of, size_of, struct, text_of

# The contexts of the blocks around, of each thread and each task.
_blocks: contextvars.ContextVar[tuple[Context, ...]] = contextvars.ContextVar(
    "headrace contexts", default=())
# All contexts that are open, for children of fork().
_open: weakref.WeakSet[Context] = weakref.WeakSet()
_numbers = itertools.count()
_PATIENCE = 10.0  # seconds that the end of the interpreter waits for calls
# Arrays of products that an accelerator still had when its context was closed.
_never_freed: list[list[Any]] = []


class _InProgress(threading.local):
    """Of each thread: where it is."""

    told = False  # in a function that is told of progress, which may not call
    inside = False  # in any function that a call calls
    ends = False  # it ends the interpreter


in_progress = _InProgress()
ending = False  # the interpreter, so calls of other threads are cancelled


@dataclass(frozen=True)
class Accelerator:
    """An accelerator, or one that the machine could have. Sizes in bytes."""

    path: str  #: "host", "opencl:0:1", "host#2" (virtual)
    name: str
    arithmetic: str  #: what multiplies there: library and version
    memory_bytes: int
    memory_limit: int  #: what the library may use of it; 0 if not chosen
    compute_units: int
    emulated: bool  #: a CPU behind a GPU's interface
    in_place: bool  #: works in the caller's memory, copies nothing
    chosen: bool  #: part of the context
    reason: str  #: if not chosen: why


def _text(field) -> str:
    return ffi.string(field).decode("utf-8", "replace")


def _accelerator(info) -> Accelerator:
    return Accelerator(
        _text(info.path), _text(info.name), _text(info.arithmetic),
        info.memory_bytes, info.memory_limit, info.compute_units,
        bool(info.emulated), bool(info.in_place), bool(info.chosen),
        _text(info.reason))


def _describe(function, pointer, index) -> Accelerator:
    info = struct("hr_accelerator_info")
    check(function(pointer, index, info))
    return _accelerator(info)


class Inside:
    """A function that a call calls."""

    def __enter__(self):
        self._before = in_progress.inside
        in_progress.inside = True

    def __exit__(self, *_):
        in_progress.inside = self._before


@ffi.def_extern()
def headrace_log(data, line):
    with Inside():
        ffi.from_handle(data)(_text(line))


def options_of(accelerators, memory_limit, threads):
    """hr_context_options, and the text that they borrow."""
    options, names = struct("hr_context_options"), None
    if accelerators is not None:
        if not isinstance(accelerators, str):
            raise TypeError(f"accelerators is {accelerators!r}, not text "
                            'such as "cuda,host"')
        names = options.accelerators = ffi.new(
            "char[]", text_of(accelerators, "accelerators"))
    if memory_limit is not None:
        options.memory_limit = bytes_of(memory_limit, "memory_limit")
    if threads is not None:
        options.threads = size_of(threads, "threads", 1, 1024)
    return options, names


class NotCopied:
    """What stands for something of the library, which has no copies."""

    def __reduce_ex__(self, _):
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled")


class Context(NotCopied):
    """Accelerators that calls in a `with` block use.

    accelerators: a list of paths such as "cuda,host", "opencl:0:1" or
        "4xhost"; None: every accelerator, or HEADRACE_ACCELERATORS.
    memory_limit: bytes of each accelerator, or such as "2GiB"; None: what is
        free of it.
    threads: how many work on the host; None: one for each CPU.
    reproducible: the same call gives the same bits on any accelerators.
    log: a function that gets a line of what the library does.

    A context closes when its last block ends, or with close(). Any thread may
    use it: threads have blocks of their own, or pass `context=` to calls. A
    child of fork() must make its own.
    """

    def __init__(self, accelerators: str | None = None, *,
                 memory_limit: int | str | None = None,
                 threads: int | None = None,
                 reproducible: bool = False,
                 log: Callable[[str], object] | None = None) -> None:
        options, _names = options_of(accelerators, memory_limit, threads)
        if not isinstance(reproducible, (bool, np.bool_)):
            raise TypeError(f"reproducible is {reproducible!r}, not True or "
                            "False")
        options.reproducible = bool(reproducible)
        if log is not None:
            if not callable(log):
                raise TypeError(f"log is {log!r}, not a function")
            self._log = ffi.new_handle(log)
            options.log, options.log_data = lib.headrace_log, self._log
        self._take(lib.hr_context_create, options)

    def _take(self, create, *arguments):
        """Be the context that a function of the library creates."""
        self._kept = {}  # kernels by their text and name, with their pace
        self._grids = weakref.WeakSet()
        self._lock = threading.Lock()
        self._depth = 0  # of blocks
        self._uses = bytearray()  # as using() says
        self._left = []  # arrays that accelerators may still use, with
        self._leaving = threading.Lock()
        # Held where grids and the context are freed; by a thread that frees one
        # grid while it frees another, too.
        self._freeing = threading.RLock()
        made = ffi.new("hr_context **")
        check(create(*arguments, made))
        # for calls, until close(), and for grids to be freed, until it ends
        self._pointer = self._held = made[0]
        self._number = next(_numbers)
        _open.add(self)

    def close(self) -> None:
        """Close the accelerators, and the grids of the context.

        It refuses new calls, and waits for those under way in other threads.
        InvalidError in a function that is told of progress of such a call.
        """
        self._close()

    def _close(self, until=None):
        """The same. Calls that are under way at that time keep it open."""
        with self._lock:
            pointer, self._pointer = self._pointer, ffi.NULL
        if pointer == ffi.NULL:
            return
        try:
            while self._used():
                if in_progress.inside:
                    raise InvalidError("a function that a call calls closes "
                                       "the context of the call")
                if until is not None and time.monotonic() > until:
                    return
                time.sleep(0.001)
        except BaseException:  # such as that of Ctrl-C: it stays open
            self._pointer = pointer
            raise
        with self._freeing:
            for grid in list(self._grids):
                grid.close()
            self._kept.clear()
            if lib.hr_context_settle(pointer, 0) == lib.HR_ERROR_LOST:
                _never_freed.append(self._left)
                self._left = []
            self._held = ffi.NULL
            self._destroy(pointer)

    @staticmethod
    def _destroy(pointer):
        lib.hr_context_destroy(pointer)

    def _used(self):
        """Whether a call is under way."""
        try:
            self._uses.append(0)
        except BufferError:
            return True
        return False

    def __del__(self):
        if getattr(self, "_pointer", ffi.NULL) != ffi.NULL:
            self.close()

    def __enter__(self) -> Context:
        pointer_of(self)
        with self._lock:
            self._depth += 1
        _blocks.set((*_blocks.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        blocks = _blocks.get()
        for i in reversed(range(len(blocks))):
            if blocks[i] is self:
                _blocks.set(blocks[:i] + blocks[i + 1:])
                break
        with self._lock:
            self._depth -= 1
            last = self._depth == 0
        if last:
            self.close()

    @property
    def accelerators(self) -> list[Accelerator]:
        """The accelerators that calls use."""
        with using(self):
            pointer = pointer_of(self)
            return [_describe(lib.hr_accelerator_describe, pointer, i)
                    for i in range(lib.hr_accelerator_count(pointer))]

    def devices(self) -> list[Accelerator]:
        """Every accelerator found on the machine, chosen or not."""
        with using(self):
            pointer = pointer_of(self)
            return [_describe(lib.hr_machine_describe, pointer, i)
                    for i in range(lib.hr_machine_count(pointer))]

    @property
    def traffic(self) -> dict[str, int]:
        """Bytes that arrays have moved so far: up, down and peer."""
        with using(self):
            moved = lib.hr_context_traffic(pointer_of(self))
        return {"up": moved.up, "down": moved.down, "peer": moved.peer}

    def trace(self, path: str | bytes | os.PathLike[Any] | None) -> Timeline:
        """Write to a file what the context does from now on: a timeline.

        It ends with a `with` block, with trace(None), when another one begins,
        and when the context closes. The file is complete then. In the path, %p
        stands for the number of the process. No other call on the context is
        under way. It waits for all work.
        """
        name = ffi.NULL if path is None else text_of(
            os.fsencode(path), "the path of the timeline")
        with using(self):
            check(lib.hr_context_trace(pointer_of(self), name))
        return Timeline(self)

    def __repr__(self) -> str:
        if self._pointer == ffi.NULL:
            return "<headrace.Context, closed>"
        return ("<headrace.Context of "
                f"{', '.join(a.path for a in self.accelerators)}>")


class Timeline:
    """A timeline that a `with` block ends."""

    def __init__(self, context: Context):
        self._context = context

    def __enter__(self) -> Timeline:
        return self

    def __exit__(self, *_: object) -> None:
        if self._context._pointer != ffi.NULL:  # closing it ended the timeline
            self._context.trace(None)


class _Default(Context):
    """The library's own context of this process, which it never closes."""

    def __init__(self):  # pylint: disable=super-init-not-called
        self._take(lib.hr_context_default)

    def close(self) -> None:
        """It stays open until the process ends."""


_default: _Default | None = None
_default_lock = threading.Lock()


def default_context() -> Context:
    """The context of calls outside of any `with` block: all accelerators."""
    global _default
    with _default_lock:
        if _default is None:
            _default = _Default()
        return _default


def _forget_parent():
    """A child of fork() has nothing of its parent's contexts, and gets a default
    one of its own."""
    global _default, _default_lock
    _default, _default_lock = None, threading.Lock()
    for context in list(_open):
        context._pointer = context._held = ffi.NULL
        context._lock = threading.Lock()
        context._freeing = threading.RLock()
        for grid in list(context._grids):
            grid._pointer, grid._stepping = ffi.NULL, []


os.register_at_fork(after_in_child=_forget_parent)


@atexit.register
def _end():
    """Before the interpreter ends: cancel the calls of daemon threads, which may
    not call Python any more, and wait for them. Functions that they call need
    not return."""
    global ending
    ending = in_progress.ends = True
    until = time.monotonic() + _PATIENCE
    for context in sorted(tuple(_open), key=lambda one: one._number):
        Context._close(context, until)


def current(context: Context | None = None) -> Context:
    """The context given, or else that of the innermost block."""
    if context is not None:
        if not isinstance(context, Context):
            raise TypeError(f"context is {context!r}, not a headrace.Context")
        return context
    blocks = _blocks.get()
    return blocks[-1] if blocks else _default or default_context()


def using(context: Context) -> memoryview:
    """Around a call, `with using(context):`. The context's bytearray cannot
    grow before the block ends, which close() waits for: a count that no signal
    gets wrong, as all of it is done in C."""
    return memoryview(context._uses)


def keep_left(context: Context, lost: bool | None, *arrays: Any) -> None:
    """After a product, inside `with using(context):`. Keep its arrays while an
    accelerator that it left behind may use them. lost: whether it left one;
    None: ask."""
    settle, held = lib.hr_context_settle, context._held
    if not context._left and settle(held, 0) == lib.HR_OK:
        return
    with context._leaving:
        status = settle(held, 0)
        if status == lib.HR_OK:
            context._left.clear()
        elif status == lib.HR_ERROR_LOST and lost is not False:
            context._left.append(arrays)


def pointer_of(context: Context) -> Any:
    """Its pointer, for calls inside `with using(context):`. InvalidError if it
    is closed, or in a function that is told of progress."""
    pointer = context._pointer
    if pointer == ffi.NULL:
        if ending and not in_progress.ends:
            raise SystemExit  # of a daemon thread: it ends without a word
        raise InvalidError("the context is closed, or of a parent process")
    if in_progress.told:
        raise InvalidError("a function that is told of progress calls headrace")
    return pointer


def devices() -> list[Accelerator]:
    """Every accelerator found on the machine, chosen or not."""
    return current().devices()


def trace(path: str | bytes | os.PathLike[Any] | None, *,
          context: Context | None = None) -> Timeline:
    """Write a timeline of the calls that follow: see Context.trace()."""
    return current(context).trace(path)
