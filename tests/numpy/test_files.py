#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""NumPy against the command's products of files: test_files.py HEADRACE.

Random arrays of rank 1 to 6 in every form and both orders: what the command
writes is what numpy.matmul computes, in the same shape. Damaged archives and
wrong names are refused in one sentence.
"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from checks import check, finish  # without NumPy the test ends here
import numpy as np

DTYPES = {"f32": "<f4", "f64": "<f8", "c32": "<c8", "c64": "<c16", "i8": "|i1"}
TENSOR_TYPES = {"<f4": "F32", "<f8": "F64", "<c8": "C64", "|i1": "I8"}
FORMS = ["npy", "npz", "packed", "safetensors", "raw"]


class Command:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, *words, stdin=None):
        return subprocess.run([self.program, *map(str, words)], input=stdin,
                              cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False,
                              env={**os.environ, "HEADRACE_ACCELERATORS": "host"})

    def refuses(self, sentence, *words, status=1):
        ran = self.run(*words)
        said = ran.stderr.decode()
        check(ran.returncode == status and sentence in said
              and said.count("\n") == 1 and not (self.folder / "c.npy").exists(),
              f"{words}: {ran.returncode}, {said!r}, not '{sentence}'")


def save_safetensors(path, arrays):
    """Elements in the order of the arrays, each where the last one ended."""
    header, data = {"__metadata__": {"made": "by a test"}}, b""
    for name, array in arrays.items():
        kind = TENSOR_TYPES[array.dtype.str]
        end = len(data) + array.nbytes
        header[name] = {"dtype": kind, "shape": list(array.shape),
                        "data_offsets": [len(data), end]}
        data += array.tobytes("C")
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def save(folder, name, array, form, alone):
    """Write the array, beside another one unless alone. Returns its name."""
    other = {} if alone else {"x:y": np.ones(3, "i1")}
    member = "" if alone else ":w.0"
    if form == "npy":
        np.save(folder / f"{name}.npy", array)
        return f"{name}.npy"
    if form in ("npz", "packed"):
        write = np.savez if form == "npz" else np.savez_compressed
        write(folder / f"{name}.npz", **other, **{"w.0": array})
        return f"{name}.npz{member}"
    if form == "safetensors":
        save_safetensors(folder / f"{name}.safetensors",
                         {**other, "w.0": array})
        return f"{name}.safetensors{member}"
    array.tofile(folder / f"{name}.raw")
    return f"{name}.raw"


def some_array(source, kind, shape, order):
    if kind == "i8":
        values = source.integers(-128, 128, shape, "i1")
    else:
        values = source.integers(-99, 100, shape).astype(DTYPES[kind])
        if kind[0] == "c":
            values = values + 1j * source.integers(-99, 100, shape)
    return np.array(values, DTYPES[kind], order=order)


def some_shapes(dice):
    """Shapes that numpy.matmul takes: vectors, matrices, batches."""
    m, k, n = (dice.choice([1, 2, 3, 7, 16]) for _ in range(3))
    if dice.random() < 0.1:
        m, k, n = (dice.choice([extent, 0]) for extent in (m, k, n))
    batch = [dice.choice([1, 2, 3]) for _ in range(dice.choice([0, 1, 2, 4]))]
    pair = []
    for last in [(m, k), (k, n)]:
        own = batch[dice.randrange(len(batch) + 1):]
        own = [dice.choice([extent, 1]) for extent in own]
        pair.append((*own, *last))
    if dice.random() < 0.2:
        pair[0] = (k,)
    if dice.random() < 0.2:
        pair[1] = (k,)
    return pair


def shape_word(shape):
    return "x".join(map(str, shape))


def products_are_numpys(command, folder):
    source, dice = np.random.default_rng(1), random.Random(1)
    for number in range(300):
        kind = dice.choice(list(DTYPES))
        shapes = some_shapes(dice)
        forms = [dice.choice(FORMS) for _ in shapes]
        if number < 50:
            forms = [FORMS[number % 5], FORMS[number // 5 % 5]]
        arrays, names, saved, options = [], [], [], []
        for name, shape, form in zip("ab", shapes, forms):
            if form == "safetensors" and DTYPES[kind] not in TENSOR_TYPES:
                form = "npz"
            order = "C" if form in ("raw", "safetensors") else dice.choice("CF")
            array = some_array(source, kind, shape, order)
            arrays.append(array)
            if dice.random() < 0.2:
                options.append(f"--transpose-{name}")
                if array.ndim > 1:
                    array = np.array(array.swapaxes(-1, -2), order=order)
            names.append(save(folder, name, array, form, dice.random() < 0.5))
            saved.append(array.shape)
        if "raw" in forms:
            options += ["--shape", ",".join(map(shape_word, saved)),
                        "--input-type", kind]
        a, b = arrays
        if kind == "i8":
            a, b = a.astype("i4"), b.astype("i4")
        want = np.matmul(a, b)
        if dice.random() < 0.2:
            c0 = np.array(source.integers(-9, 9, want.shape), want.dtype,
                          order=dice.choice("CF"))
            np.save(folder / "c0.npy", c0)
            options += ["--add", "c0.npy"]
            want = want + c0
        output = dice.choice(["c.npy", "c.raw", "c.bin", "-", "-.raw"])
        ran = command.run("matmul", *names, "-o", output, "--quiet", "--verify",
                          *options)
        what = f"{number}: {kind} {shapes} {names} {options} to {output}"
        if ran.returncode != 0:
            check(False, f"{what}: {ran.stderr.decode()}")
            continue
        path = folder / output
        if output[0] == "-":
            path = folder / ("c.npy" if output == "-" else "c.raw")
            path.write_bytes(ran.stdout)
        got = (np.load(path) if path.suffix == ".npy"
               else np.fromfile(path, want.dtype).reshape(want.shape))
        check(got.shape == want.shape and got.dtype == want.dtype
              and np.array_equal(got, want), f"{what}: {got} is not {want}")
        path.unlink()


def filters_are_the_same(command, folder):
    picture = np.random.default_rng(2).random((20, 31)).astype("f4")
    outputs = set()
    for form in FORMS:
        name = save(folder, "p", picture, form, False)
        options = ["--shape", "20x31", "--type", "f32"] if form == "raw" else []
        ran = command.run("filter", name, "-o", "-", "--window", 2, "--quiet",
                          *options)
        check(ran.returncode == 0, f"filter {form}: {ran.stderr.decode()}")
        outputs.add(ran.stdout)
    check(len(outputs) == 1, "filters of all forms give the same file")
    np.save(folder / "p.npy", picture[None])
    command.refuses("p.npy is 1x20x31: a picture has one or two dimensions",
                    "filter", "p.npy", "-o", "c.npy", "--window", 2)


def standard_input_is_read(command, folder):
    a = np.arange(6, dtype="f4").reshape(2, 3)
    np.save(folder / "b.npy", a.T)
    for form in FORMS:
        name = save(folder, "s", a, form, True).split(":")[0]
        options = ["--shape", "2x3", "--input-type", "f32"]
        ran = command.run("matmul", "-", "b.npy", "-o", "-.raw", "--quiet",
                          *(options if form == "raw" else []),
                          stdin=(folder / name).read_bytes())
        check(ran.stdout == (a @ a.T).tobytes() and ran.stderr == b"",
              f"{form} on standard input: {ran.stderr.decode()}")


def names_find_members(command, folder):
    a = np.eye(2, dtype="f4")
    np.savez(folder / "w.npz", one=a, two=2 * a)
    np.save(folder / "odd:name.npy", 3 * a)
    np.save(folder / "w.npz:two", 0 * a)
    (folder / "w.npz:two.npy").rename(folder / "w.npz:one")
    for name, factor in [("odd:name.npy", 3), ("w.npz:two", 2), ("w.npz:one", 0),
                         ("./w.npz:one", 0)]:
        ran = command.run("matmul", name, "odd:name.npy", "-o", "-.raw",
                          "--quiet")
        check(np.array_equal(np.frombuffer(ran.stdout, "f4").reshape(2, 2),
                             factor * 3 * a), f"{name}: {ran.stderr.decode()}")
    (folder / "w.npz:one").unlink()
    command.refuses("w.npz: it has no array 'three', but one, two",
                    "matmul", "w.npz:three", "w.npz:one", "-o", "c.npy")
    command.refuses("w.npz: it has 2 arrays: write one of their names behind a "
                    "colon: one, two",
                    "matmul", "w.npz", "w.npz:one", "-o", "c.npy")
    command.refuses("only .npz and safetensors files have arrays with names",
                    "matmul", "odd:name.npy:x", "w.npz:one", "-o", "c.npy")
    command.refuses("'w.npz' is the same file as the input 'w.npz:one'", "matmul",
                    "w.npz:one", "w.npz:one", "-o", "w.npz", status=2)
    command.refuses("files of this form are not written, only .npy, .raw and "
                    ".bin", "matmul", "w.npz:one", "w.npz:one", "-o", "d.npz")


def wrong_files_are_refused(command, folder):
    a = np.arange(6, dtype="f4").reshape(2, 3)
    np.save(folder / "b.npy", a.T)

    def refuse(sentence, name, *options, status=1):
        command.refuses(sentence, "matmul", name, "b.npy", "-o", "c.npy",
                        *options, status=status)

    raw = ["--shape", "2x4", "--type", "f32"]
    a.tofile(folder / "a.raw")
    refuse("a.raw: 2x4 elements of f32 have 32 bytes, but the file has 24",
           "a.raw", *raw)
    refuse("no shape and type of elements alone were given", "a.raw")
    refuse("--shape needs --type", "a.raw", "--shape", "2x3", status=2)
    refuse("--input-type needs --shape", "a.raw", "--input-type", "f32",
           status=2)
    refuse("--shape: '1x2x3x4x5x6x7' is not a shape", "a.raw", "--shape",
           "1x2x3x4x5x6x7", status=2)
    refuse("--shape is for files without a header", "b.npy", *raw)
    np.save(folder / "d.npy", np.ones((2, 2, 3), "f4"))
    np.save(folder / "e.npy", np.ones((3, 3, 4), "f4"))
    command.refuses("d.npy is 2x2x3 and e.npy is 3x3x4: a batch of 2 does not "
                    "fit one of 3", "matmul", "d.npy", "e.npy", "-o", "c.npy")
    command.refuses("e.npy is 3x3x4 of f32, but the product is 2x2x2 of f32",
                    "matmul", "d.npy", "b.npy", "-o", "c.npy", "--add", "e.npy")

    np.save(folder / "s.npy", np.ones((), "f4"))
    refuse("s.npy has no dimensions", "s.npy")

    np.savez(folder / "z.npz", a=a)
    whole = (folder / "z.npz").read_bytes()
    damaged = bytearray(whole)
    damaged[whole.rindex(a.tobytes()) + 5] ^= 1
    (folder / "z.npz").write_bytes(damaged)
    refuse("z.npz: a: its CRC is ", "z.npz")
    (folder / "z.npz").write_bytes(whole[:-30])
    refuse("z.npz: it begins as a zip archive", "z.npz")
    with zipfile.ZipFile(folder / "z.npz", "w", zipfile.ZIP_LZMA) as z:
        z.writestr("a.npy", (folder / "b.npy").read_bytes())
    refuse("z.npz: a: method 14 of compression is not offered", "z.npz")

    tensor = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
    for change, sentence in [
            ({"dtype": "I64"}, "t: elements of 'I64' are not offered"),
            ({"shape": [2, 2]}, "t: 2x2 elements of f32 have 16 bytes, but its "
             "data_offsets give 24"),
            ({"shape": [1] * 7}, "t: 7 dimensions; up to 6 are offered"),
            ({"data_offsets": [0, 25]}, "its tensor 't' is at bytes 0 to 25 of "
             "24")]:
        text = json.dumps({"t": {**tensor, **change}}).encode()
        (folder / "t.safetensors").write_bytes(
            struct.pack("<Q", len(text)) + text + bytes(24))
        refuse(f"t.safetensors: {sentence}", "t.safetensors")
    text = f'{{"t": {json.dumps(tensor)}, "\\u0074": {json.dumps(tensor)}}}'
    (folder / "t.safetensors").write_bytes(
        struct.pack("<Q", len(text)) + text.encode() + bytes(24))
    refuse("it has two members 't'", "t.safetensors")
    (folder / "t.safetensors").write_bytes(struct.pack("<Q", 9999)
                                           + text.encode())
    refuse("its header wants 9999 bytes", "t.safetensors")


def main():
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name).resolve()
        command = Command(Path(sys.argv[1]).resolve(), folder)
        for test in [products_are_numpys, filters_are_the_same,
                     standard_input_is_read, names_find_members,
                     wrong_files_are_refused]:
            test(command, folder)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
