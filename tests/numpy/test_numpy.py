#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""NumPy against Headrace's .npy files: test_numpy.py NPY_COPY CORPUS.

NumPy reads every file that we write, bit for bit; we read every type, order
and version that NumPy writes of our types, and refuse the others by name; and
whatever we accept, well-formed or not, NumPy accepts with the same meaning.
"""
import random
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

from checks import check, finish  # without NumPy the test ends here
import numpy as np

TYPES = {"<f4": "f32", "<f8": "f64", "<c8": "c32", "<c16": "c64", "<f2": "f16",
         "|i1": "i8", "<i4": "i32", "|V2": "bf16"}
SHAPES = [(67, 33), (2, 3), (5,), (1, 1), (0, 3), (3, 0), (0,)]
VERSIONS = [(1, 0), (2, 0), (3, 0)]


def describe(tool, paths):
    """What the tool says of each file: lists of words."""
    run = subprocess.run([tool, "describe", *map(str, paths)], check=True,
                         stdout=subprocess.PIPE)
    return [line.split() for line in run.stdout.decode("latin-1").splitlines()]


def some_array(dtype, shape, order):
    """Random bits, so that NaNs of every kind are among them."""
    count = int(np.prod(shape))
    bits = np.random.default_rng(count).bytes(count * np.dtype(dtype).itemsize)
    return np.frombuffer(bits, dtype).reshape(shape, order=order)


def write(path, array, version):
    with open(path, "wb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "stored in format 2.0"
        np.lib.format.write_array(file, array, version)


def same(ours, array):
    """One dimension comes back as a column."""
    shape = array.shape if array.ndim == 2 else (*array.shape, 1)
    return (ours.dtype == array.dtype and ours.shape == shape
            and ours.tobytes("C") == array.tobytes("C"))


def copies_are_equal(tool, folder):
    """NumPy writes, we read and write, NumPy reads. All versions of one shape,
    one version of the others; the target's order alternates."""
    cases = []
    for descr in TYPES:
        for shape in SHAPES:
            for order in "CF":
                for version in VERSIONS if shape == SHAPES[0] else [None]:
                    cases.append((descr, shape, order, version))
    for turn, target_order in enumerate(["row", "column"]):
        pairs = []
        for number, (descr, shape, order, version) in enumerate(cases):
            if number // 2 % 2 != turn:  # neither always C nor always F
                continue
            pairs += [folder / f"in-{number}.npy", folder / f"out-{number}.npy"]
            write(pairs[-2], some_array(descr, shape, order), version)
        run = subprocess.run([tool, "copy", target_order, *pairs], check=False)
        check(run.returncode == 0, f"copy to {target_order}")
    for number, (descr, shape, order, version) in enumerate(cases):
        array = some_array(descr, shape, order)
        target = folder / f"out-{number}.npy"
        check(target.exists() and same(np.load(target), array)
              and target.stat().st_size == 128 + array.nbytes,
              f"{descr} {shape} {order} {version}")


def files_can_be_mapped(tool, folder):
    """NumPy maps what we write, in the order that was asked for."""
    array = some_array("<f8", (6, 4), "C")
    source, target = folder / "in.npy", folder / "out.npy"
    np.save(source, array)
    for order, flag in [("row", "C_CONTIGUOUS"), ("column", "F_CONTIGUOUS")]:
        subprocess.run([tool, "copy", order, source, target], check=True)
        mapped = np.load(target, mmap_mode="r")
        check(mapped.flags[flag] and mapped.flags["ALIGNED"], f"map {order}")
        check(same(mapped, array), f"map {order}")


def types_are_named(tool, folder):
    """bfloat16 as ml_dtypes makes NumPy write it, and ordinary types."""
    for descr, name in [*TYPES.items(), ("<V2", "bf16")]:
        path = folder / "type.npy"
        with open(path, "wb") as file:
            np.lib.format.write_array_header_1_0(
                file, {"descr": descr, "fortran_order": True, "shape": (2, 3)})
            file.write(bytes(6 * np.dtype(descr).itemsize))
        check(describe(tool, [path]) == [["HR_OK", name, "2", "3", "1", "2"]],
              f"{descr} is {name}")


def others_are_refused(tool, folder):
    """What else NumPy writes: each refusal names what was there."""
    for dtype in [">f4", ">f8", ">c8", ">c16", ">f2", ">i4", "<i2", "<i8",
                  "<u4", "|u1", "|b1", "<f16", "<c32", "<U3", "|S3", "<M8[ns]",
                  "<m8[s]", "|V8", "|O"]:
        path = folder / "other.npy"
        np.save(path, np.zeros((2, 3), dtype))
        answer = describe(tool, [path])[0]
        check(answer[0] == "HR_ERROR_UNSUPPORTED"
              and f"'{np.dtype(dtype).str}'" in " ".join(answer),
              f"{dtype} is refused by name")
    for array, name in [
            (np.zeros((1, 2, 3)), "shape 1x2x3"), (np.zeros(()), "shape ()"),
            (np.zeros(3, [("a", "<f4"), ("b", "<i4")]), "structured"),
            (np.zeros(3, [("\u00e4", "<f4")]), "structured"),
            (np.zeros(3, [("\u6f22", "<f4")]), "structured"),
            (np.zeros((1,) * 32), "shape (1, 1, 1")]:
        write(path, array, None)
        answer = describe(tool, [path])[0]
        check(answer[0] == "HR_ERROR_UNSUPPORTED" and name in " ".join(answer),
              f"{name} is refused by name")


def mutate(content, source):
    """One or two places of the header changed, doubled or removed. No lines and
    tabs: after the dictionary Python takes them for indentation."""
    content = bytearray(content)
    for _ in range(source.randint(1, 2)):
        at = source.randrange(8, min(len(content), 90))
        part = bytes(source.choices(b"0123456789-+_,:'\"(){}[]  #LlTFue<>|",
                                    k=source.randint(0, 2)))
        content[at:at + source.randint(0, 2)] = part
    return bytes(content)


def numpy_agrees(path, answer):
    try:
        with open(path, "rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "written by Python 2"
            array = np.lib.format.read_array(file, max_header_size=1 << 20)
    except Exception as error:  # any: the file is not accepted
        return f"NumPy says {error}"
    _, name, *numbers = answer
    rows, cols, row_stride, col_stride = map(int, numbers)
    strides = tuple(stride * array.itemsize for stride in
                    (row_stride, col_stride)[:array.ndim])
    if TYPES.get(array.dtype.str) != name:
        return f"NumPy says {array.dtype}"
    shape = array.shape if array.ndim == 2 else (*array.shape, 1)
    if (rows, cols) != shape:
        return f"NumPy says {array.shape}"
    if min(array.shape) > 1 and strides != array.strides:
        return f"NumPy says strides {array.strides}"
    return None


def accepted_agree(tool, paths):
    """Compare the files that we accept; returns them."""
    accepted = []
    for start in range(0, len(paths), 500):
        some = paths[start:start + 500]
        for path, answer in zip(some, describe(tool, some)):
            if answer[0] == "HR_OK":
                accepted.append(path)
                why = numpy_agrees(path, answer)
                check(why is None,
                      f"{path.read_bytes()[:160]}: we say {answer}, {why}")
    return accepted


def what_we_accept_numpy_accepts(tool, folder, corpus):
    source = random.Random(1)
    good = accepted_agree(tool, sorted(corpus.iterdir()))
    check(len(good) > 20, "the corpus is there")
    mutations = []
    for number in range(4000):
        mutations.append(folder / f"mutation-{number}")
        mutations[-1].write_bytes(
            mutate(good[number % len(good)].read_bytes(), source))
    accepted = accepted_agree(tool, mutations)
    print(f"{len(accepted)} of {len(mutations)} mutations accepted")
    check(len(accepted) > 200, "enough mutations are accepted")


def main():
    tool, corpus = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name)
        copies_are_equal(tool, folder)
        files_can_be_mapped(tool, folder)
        types_are_named(tool, folder)
        others_are_refused(tool, folder)
        what_we_accept_numpy_accepts(tool, folder, corpus)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
