# SPDX-License-Identifier: MIT
"""Contexts, threads, processes, progress, Ctrl-C and `python -m headrace`."""

import copy
import json
import multiprocessing
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import threading
import types

import numpy as np
import pytest

import headrace

PACKAGE = pathlib.Path(headrace.__file__).parent


def run(program, *arguments, stderr=subprocess.PIPE, **options):
    """Run a Python program that finds the package."""
    environment = dict(os.environ, PYTHONPATH=str(PACKAGE.parent))
    return subprocess.Popen(
        [sys.executable, *(["-c"] if "\n" in program else []), program,
         *arguments], env=environment, stdout=subprocess.PIPE,
        stderr=stderr, text=True, **options)


def product(n=40):
    """Whether a product is right."""
    a = np.arange(n * n, dtype=np.float64).reshape(n, n)
    return bool(np.array_equal(headrace.matmul(a, a), a @ a))


@pytest.fixture
def ctrl_c(monkeypatch):
    """A function: Ctrl-C comes when a watched call tells of its progress for
    the n-th time."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    told = headrace.progress.Watch.told

    def comes(n):
        left = [n]

        def told_and_interrupted(self, *numbers):
            left[0] -= 1
            if left[0] == 0:
                signal.raise_signal(signal.SIGINT)
            return told(self, *numbers)
        monkeypatch.setattr(headrace.progress.Watch, "told",
                            told_and_interrupted)
    yield comes
    signal.signal(signal.SIGINT, before)


def test_blocks():
    outer = headrace.default_context()
    assert headrace.contexts.current() is outer
    with headrace.Context("2xhost") as two:
        assert headrace.contexts.current() is two
        with headrace.Context("3xhost") as three:
            assert len(headrace.contexts.current().accelerators) == 3
        assert "closed" in repr(three)
        with two:  # again, inside itself
            assert product()
        assert product() and product()
        assert "host#1" in repr(two)
    with pytest.raises(headrace.InvalidError, match="the context is closed"):
        headrace.matmul(np.eye(2), np.eye(2), context=two)
    assert headrace.contexts.current() is outer


def test_the_default_context_stays():
    with headrace.default_context():
        assert product()
    headrace.default_context().close()
    assert product()


def test_blocks_that_end_in_another_order():
    def inside():
        with headrace.Context("2xhost"):
            yield
    outer = inside()
    next(outer)
    with headrace.Context("3xhost") as three:
        outer.close()
        assert headrace.contexts.current() is three and product()


def test_no_copies():
    with headrace.Context("host") as context:
        with headrace.Grid((3, 3), x=headrace.Field()) as grid:
            for thing in (context, grid, headrace.default_context()):
                for make in (copy.copy, copy.deepcopy, pickle.dumps):
                    with pytest.raises(TypeError, match="cannot be copied"):
                        make(thing)


def test_refused():
    with pytest.raises(headrace.UnavailableError, match="cuda:77"):
        headrace.Context("cuda:77")
    with pytest.raises(headrace.InvalidError) as caught:
        headrace.Context("host,")
    assert isinstance(caught.value, ValueError)
    assert caught.value.status == "HR_ERROR_INVALID"
    with pytest.raises(headrace.InvalidError, match="memory_limit is 0"):
        headrace.Context("host", memory_limit=0)


def test_devices():
    found = headrace.devices()
    host = next(a for a in found if a.path == "host")
    assert host.memory_bytes > 0 and host.in_place and host.compute_units > 0
    assert headrace.Context("host").devices()


def test_log():
    lines = []
    with headrace.Context("host", log=lines.append):
        product()
    assert all(isinstance(line, str) for line in lines)


def test_threads():
    right = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(20):
            m, k, n = rng.integers(1, 60, 3)
            a, b = rng.random((m, k)), rng.random((k, n))
            right.append(np.allclose(headrace.matmul(a, b), a @ b))
            right.append(np.isclose(headrace.sum(a), a.sum()))

    def work_inside(context, seed):
        with context:
            work(seed)

    with headrace.Context("3xhost") as context:
        threads = [threading.Thread(target=work_inside, args=(context, s))
                   for s in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert len(right) == 320 and all(right)


@pytest.mark.parametrize("name", ["product", "kernel", "grid", "random",
                                  "report"])
def test_closed_while_threads_call(name):
    """Calls end with their results or are refused."""
    a = np.ones((64, 64))
    kernel = headrace.kernel(SLOW)
    for turn in range(15):
        context = headrace.Context("2xhost")
        grid = headrace.Grid((64, 64), context=context,
                             now=headrace.Field("float64"),
                             next=headrace.Field("float64"))
        steps = [headrace.phase(kernel, headrace.here("now"), "next"),
                 headrace.swap("now", "next")]
        call = {
            "product": lambda: headrace.matmul(a, a, context=context),
            "kernel": lambda: kernel(a, np.empty((64, 64)), context=context),
            "grid": lambda: (grid.step(steps, 3), grid["now"]),
            "random": lambda: headrace.random(5000, context=context),
            "report": lambda: (context.traffic, context.devices()),
        }[name]
        call()
        ends, made = [], threading.Semaphore(0)

        def work():
            try:
                while True:
                    call()
                    made.release()
            except BaseException as error:
                ends.append(str(error))
        threads = [threading.Thread(target=work)
                   for _ in range(1 if name == "grid" else 3)]
        for thread in threads:
            thread.start()
        for _ in range(turn):
            made.acquire()
        context.close()
        for thread in threads:
            thread.join()
        assert len(ends) == len(threads)
        assert all("is closed" in end for end in ends), ends
    assert product()


def test_close_waits_for_a_call(ctrl_c, monkeypatch):
    context = headrace.Context("2xhost")
    a = np.ones((300, 300))
    begun, go_on, got = threading.Event(), threading.Event(), []

    def told(*_):
        begun.set()
        go_on.wait()
    caller = threading.Thread(target=lambda: got.append(
        headrace.matmul(a, a, progress=told, context=context)))
    caller.start()
    begun.wait()
    with monkeypatch.context() as patch:  # while close() waits
        patch.setattr(headrace.contexts, "time", types.SimpleNamespace(
            sleep=lambda _: signal.raise_signal(signal.SIGINT)))
        with pytest.raises(KeyboardInterrupt):
            context.close()
    assert len(context.accelerators) == 2  # it is open
    closer = threading.Thread(target=context.close)
    closer.start()
    while "closed" not in repr(context):
        assert closer.is_alive()
    with pytest.raises(headrace.InvalidError, match="the context is closed"):
        headrace.matmul(a, a, context=context)
    assert closer.is_alive() and not got
    go_on.set()
    closer.join()
    caller.join()
    assert (got[0] == 300).all()


def test_closed_inside_its_own_call():
    """It is refused, and the context stays open; another one may be closed."""
    a = np.ones((300, 300))
    context, other = headrace.Context("2xhost"), headrace.Context("host")
    words = "a function that a call calls closes the context of the call"

    def close(*_):
        other.close()
        with context:
            pass
    with headrace.Grid((4, 4), context=context, x=headrace.Field(),
                       y=headrace.Field()) as grid:
        swaps = [headrace.swap("x", "y")]
        for call in (
                lambda: headrace.matmul(a, a, progress=lambda *_:
                                        context.close(), context=context),
                lambda: grid.step(swaps, 4, progress=close),
                lambda: grid.step(swaps, 4, every=2, progress=close)):
            with pytest.raises(headrace.InvalidError, match=words):
                call()
            assert len(context.accelerators) == 2
        grid["x"] = 3
    context.close()
    assert "closed" in repr(context) and "closed" in repr(other)


def test_an_error_that_is_kept_does_not_hold_a_context():
    context = headrace.Context("2xhost")
    kept = []
    for call in (
            lambda: headrace.matmul(np.eye(2), np.eye(3), context=context),
            lambda: headrace.sum(np.ones(3, "c8"), context=context),
            lambda: headrace.kernel("HR_KERNEL1(k, (OUT, int, 1, y)) { oops(); "
                                    "}")(np.ones(3, "i4"), context=context)):
        with pytest.raises(ValueError if not kept else headrace.Error) as error:
            call()
        kept.append(error.value)
    context.close()
    assert len(kept) == 3


def test_the_same_arrays_in_threads(rng):
    a, b = rng.random((200, 200)), rng.random((200, 200))
    want = headrace.matmul(a, b)
    got = []
    threads = [threading.Thread(
        target=lambda: got.append(headrace.matmul(a, b))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(np.array_equal(x, want) for x in got) and len(got) == 8


def test_other_threads_run_meanwhile():
    """A call that says when it begins, and ends when Python says so."""
    wait = headrace.kernel("""
HR_KERNEL1(wait, (INOUT, int, 1, word))
{
    HR_EACH1(i)
    {
        volatile int *said = (volatile int *)&HR_AT1(word, i);
        *said = 1;
        while (*said == 1) { }
    }
}""")
    word = np.zeros(1, np.int32)
    with headrace.Context("host") as context:  # which works in place
        caller = threading.Thread(target=lambda: wait(word, context=context))
        caller.start()
        while word[0] == 0:
            assert caller.is_alive()
        word[0] = 2
        caller.join()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes(method):
    assert product()
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(product, [10, 20, 30, 40]) == [True] * 4
    assert product()


# ---- timelines

def calls_of(path):
    """The names of a timeline's bars of calls, in order."""
    bars = json.loads(path.read_text())["traceEvents"]
    return [bar["name"] for bar in bars if bar.get("cat") == "call"]


def test_timeline(tmp_path):
    path = tmp_path / "run.json"
    with headrace.Context("2xhost") as context:
        with context.trace(path):
            assert product()
        assert product()
        assert calls_of(path) == ["hr_gemm"]
        context.trace(str(path))  # goes on with the file
        assert product() and product()
        context.trace(None)
        assert product()
        assert calls_of(path) == ["hr_gemm"] * 3
        context.trace(None)


def test_timeline_of_the_innermost_context(tmp_path):
    names = [tmp_path / name for name in ("default.json", "two.json")]
    with headrace.trace(os.fsencode(names[0])):
        assert product()
        with headrace.Context("2xhost") as two:
            headrace.trace(names[1])
            assert product() and product()
            assert headrace.devices()
        assert "closed" in repr(two)
        assert product()
    assert [len(calls_of(name)) for name in names] == [2, 2]
    with headrace.Context("host") as other:
        with headrace.trace(names[0], context=headrace.default_context()):
            assert product()  # on the other context
            headrace.matmul(np.eye(3), np.eye(3),
                            context=headrace.default_context())
        assert headrace.contexts.current() is other
    assert len(calls_of(names[0])) == 3


def test_timelines_one_after_the_other(tmp_path):
    """Another one ends the first. So does the end of a context, or an error in
    the block."""
    first, second, third = (tmp_path / f"{i}.json" for i in range(3))
    with headrace.Context("2xhost") as context:
        with context.trace(first):
            assert product()
            with context.trace(second):
                assert product() and product()
            assert product()
        assert len(calls_of(first)) == 1 and len(calls_of(second)) == 2
        with pytest.raises(ZeroDivisionError):
            with context.trace(third):
                assert product()
                raise ZeroDivisionError
        assert product()
        assert len(calls_of(third)) == 1
    with headrace.Context("host").trace(second) as timeline:
        timeline._context.close()
    json.loads(second.read_text())


def test_timelines_refused(tmp_path):
    kept = tmp_path / "kept.json"
    with headrace.Context("2xhost") as context:
        for path, error, sentence in (
                (tmp_path / "none" / "run.json", headrace.FileError,
                 "trace: .*run.json cannot be written: No such file"),
                (tmp_path, headrace.FileError, "Is a directory"),
                ("", headrace.InvalidError, "trace: the path is empty"),
                ("a\0b", headrace.InvalidError, "the path of the timeline has a "
                 "null byte"),
                (7, TypeError, "")):
            with pytest.raises(error, match=sentence):
                context.trace(path)
        with context.trace(kept):
            assert product()
        assert calls_of(kept) == ["hr_gemm"]
    with pytest.raises(headrace.InvalidError, match="the context is closed"):
        context.trace(kept)
    assert calls_of(kept) == ["hr_gemm"]


# ---- progress and what ends a call


def test_progress(rng):
    a = rng.random((700, 700), np.float32)
    told = []
    headrace.matmul(a, a, progress=lambda *n: told.append(n))
    assert told[-1] == (2 * 700.0**3,) * 2
    with headrace.Context("2xhost", memory_limit=4 << 20):
        with pytest.raises(headrace.CancelledError):
            headrace.matmul(a, a, progress=lambda *_: False)

        def breaks(*_):
            raise ZeroDivisionError("mine")
        with pytest.raises(ZeroDivisionError, match="mine"):
            headrace.matmul(a, a, progress=breaks)


def test_a_function_that_calls(rng):
    a = rng.random((300, 300))
    with pytest.raises(headrace.InvalidError, match="told of progress calls"):
        headrace.matmul(a, a, progress=lambda *_: headrace.sum(a))
    assert product()


def test_children_of_a_context():
    """A child cannot use its parent's context, and ends all the same."""
    with headrace.Context("2xhost") as context:
        grid = headrace.Grid((3, 3), x=headrace.Field())
        child = os.fork()
        if child == 0:
            good = 0
            try:
                headrace.matmul(np.eye(2), np.eye(2))
            except headrace.InvalidError as error:
                good += "of a parent process" in str(error)
            grid.close()
            context.close()
            del grid
            with headrace.Context("2xhost"):
                good += product()
            os._exit(0 if good == 2 else 1)
        assert os.waitpid(child, 0) == (child, 0)
        assert product()


def test_a_bar(capfd, rng):
    a = rng.random((300, 300))
    assert np.allclose(headrace.matmul(a, a, progress=True), a @ a)
    captured = capfd.readouterr()
    assert captured.out == ""


def test_a_bar_without_tqdm():
    """On a terminal: a line with the rate and the time, drawn again."""
    pty = pytest.importorskip("pty")
    script = """
import sys
sys.modules["tqdm.auto"] = None  # its import fails
import numpy as np, headrace
a = np.ones((600, 600), np.float32)
headrace.matmul(a, a, progress=True, context=headrace.Context("2xhost"))
"""
    ours, theirs = pty.openpty()
    program = run(script, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while data := os.read(ours, 4096):
            shown += data
    except OSError:  # Linux: nobody else has the terminal
        pass
    os.close(ours)
    assert program.wait() == 0
    lines = shown.decode().replace("\x1b[K", "").split("\r")
    assert "[" + " " * 30 + "]   0 %" in lines
    last = next(line for line in lines if "100 %" in line)
    assert re.fullmatch(r"\[#{30}\] 100 %  [0-9.]+ [kMGT]?flop/s  [0-9.]+ s", last)


SLOW = """
HR_KERNEL2(slow, (IN, double, 2, x), (OUT, double, 2, y))
{
    HR_EACH2(i, j)
    {
        double sum = HR_AT2(x, i, j);
        for (int k = 0; k < 200; k++) {
            sum = sum * 0.5 + k;
        }
        HR_AT2(y, i, j) = sum;
    }
}"""


def slow_calls(n, steps_of_grid=20):
    """By name: a call on n x n numbers that is given progress= and others."""
    a = np.ones((n, n))
    kernel = headrace.kernel(SLOW)
    grid = headrace.Grid((n, n), now=headrace.Field("float64"),
                         next=headrace.Field("float64"))
    steps = [headrace.phase(kernel, headrace.here("now"), "next"),
             headrace.swap("now", "next")]
    return {
        "matmul": lambda **o: headrace.matmul(a, a, **o),
        "filter": lambda **o: headrace.filter(
            a, headrace.Window.box(20), method="direct", **o),
        "kernel": lambda **o: kernel(a, np.empty((n, n)), **o),
        "transform": lambda **o: headrace.transform("b = a + 1", a=a, b=a * 2,
                                                    **o),
        "verify": lambda **o: headrace.verify(a, a, a * n, **o),
        "grid": lambda **o: grid.step(steps, steps_of_grid, **o)}


@pytest.mark.parametrize("name", ["filter", "kernel", "transform", "verify",
                                  "grid"])
def test_progress_of(name, capfd):
    with headrace.Context("2xhost", memory_limit=64 << 20):
        call = slow_calls(300)[name]
        call()
        told = []
        call(progress=lambda *n: told.append((*n, threading.get_ident())))
        here = threading.get_ident()
        done, total = [x[0] for x in told], told[0][1]
        assert len(told) >= 2 and done == sorted(done)
        assert done[0] == 0 and done[-1] == total > 0
        assert {x[1:] for x in told} == {(total, here)}
        with pytest.raises(headrace.CancelledError, match="cancelled after"):
            call(progress=lambda *_: False)

        def breaks(*_):
            raise ZeroDivisionError("mine")
        with pytest.raises(ZeroDivisionError, match="mine"):
            call(progress=breaks)
        call(progress=True)
        call()
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("name", ["matmul", "filter", "kernel", "transform",
                                  "verify", "grid"])
def test_ctrl_c(name, ctrl_c, capfd):
    """Calls that are large enough to be watched, though nobody is told."""
    with headrace.Context("2xhost", memory_limit=64 << 20):
        call = slow_calls(1010, 1000000)[name]
        ctrl_c(1)
        with pytest.raises(KeyboardInterrupt):
            call()
        assert product()
    assert capfd.readouterr() == ("", "")


HEAVY = """
HR_KERNEL1(heavy, (OUT, double, 2, y))
{
    HR_EACH2(i, j)
    {
        double x = i;
        for (long k = 0; k < 4000000; k++) {
            x = x * 0.5 + j;
        }
        HR_AT2(y, i, j) = x;
    }
}"""


@pytest.mark.parametrize("accelerators", ["host", "2xhost"])
def test_ctrl_c_ends_a_kernel_of_few_points(accelerators, ctrl_c):
    """The first call, and one that is long at the pace of those before. Each
    would take minutes on a few CPUs."""
    kernel = headrace.kernel(HEAVY)
    with headrace.Context(accelerators):
        for small in (False, True):
            if small:
                kernel(None, domain=(2, 2))
                kernel(None, domain=(2, 2))
            out = np.full((20000, 4), -1.0)
            ctrl_c(2)  # when some points have been computed
            with pytest.raises(KeyboardInterrupt):
                kernel(out)
            assert (out == -1).any()
        assert product()


def test_ctrl_c_ends_random_numbers(ctrl_c):
    out = np.zeros(10_000_001, np.float32)
    ctrl_c(1)
    with pytest.raises(KeyboardInterrupt):
        headrace.random(out=out, distribution="normal", seed=4)
    assert (out[-9:] == 0).all()  # it ended early


def test_paces():
    pace = headrace.progress.Pace()
    assert pace.long(1)
    pace.took(0.05, 1000)
    assert not pace.long(1000) and pace.long(2000)
    pace.took(20e-6, 1)  # all of it the call itself
    assert not pace.long(1000)
    pace.took(0.2, 10)
    assert pace.long(10) and not pace.long(4)


# ---- python -m headrace

SCRIPT = """
import sys
import numpy
a = numpy.ones((600, 600))
assert (a @ a == 600).all()
print(open("/proc/self/maps").read().count("libheadrace_blas"), sys.argv[1:])
"""


def test_module(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    process = run("-m", "headrace", str(script), "one", "two")
    out, err = process.communicate()
    assert process.returncode == 0, err
    count, arguments = out.split(" ", 1)
    assert int(count) > 0 and arguments == "['one', 'two']\n"
    process = run("-m", "headrace")
    out, _ = process.communicate()
    assert process.returncode == 2 and out.startswith("usage: ")


ENDS = """
import atexit, os, sys, threading
told, ended = threading.Event(), threading.Event()
atexit.register(ended.wait)  # after headrace's own step
import numpy as np, headrace
class Log:
    def __call__(self, done, total):
        told.set()
        return True
a = np.ones((600, 600))
where = headrace.Context(sys.argv[1]) if sys.argv[1] else None
def work():
    try:
        while True:
            headrace.matmul(a, a, context=where, progress=Log())
    except SystemExit:
        os.write(1, b"cancelled\\n")
        ended.set()
        raise
threading.Thread(target=work, daemon=True).start()
told.wait()
"""


@pytest.mark.parametrize("accelerators", ["", "2xhost"])
def test_calls_of_daemon_threads_end_with_the_interpreter(accelerators):
    done = run(ENDS, accelerators)
    out, errors = done.communicate()
    assert (done.returncode, out, errors) == (0, "cancelled\n", "")


class Left:
    """The library, in which an accelerator may have been left behind."""

    def __init__(self, library):
        self._library, self.left = library, False

    def __getattr__(self, name):
        return getattr(self._library, name)

    def hr_context_settle(self, context, seconds):
        status = self._library.hr_context_settle(context, seconds)
        return self.HR_ERROR_LOST if self.left and status == 0 else status


def test_arrays_that_an_accelerator_may_still_use(monkeypatch):
    library = Left(headrace.contexts.lib)
    monkeypatch.setattr(headrace.contexts, "lib", library)
    a = np.eye(3)
    with headrace.Context("2xhost") as two:
        headrace.matmul(a, a, context=two)
        assert two._left == []
        library.left = True
        c = headrace.matmul(a, a, context=two)
        assert [id(x) for x in two._left[0]] == [id(a), id(a), id(c)]
        for _ in range(3):  # nothing more is left behind
            headrace.matmul(a, a, context=two)
        assert len(two._left) == 1
        library.left = False
        headrace.matmul(a, a, context=two)
        assert two._left == []
        library.left = True
        headrace.matmul(a, a, context=two)
        kept = two._left
    with pytest.raises(headrace.InvalidError):
        headrace.matmul(a, a, context=two)
    assert headrace.contexts._never_freed.pop() is kept and len(kept) == 1


def test_calls_after_the_end_are_refused():
    done = run("""
import atexit
def late():
    try:
        headrace.matmul(np.eye(2), np.eye(2))
    except headrace.InvalidError as error:
        print(error)
atexit.register(late)
import numpy as np, headrace
headrace.matmul(np.eye(2), np.eye(2))
""")
    out, errors = done.communicate()
    assert done.returncode == 0 and "closed" in out and errors == ""
