#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the corpus of the .npy fuzzer: corpus_npy.py FOLDER.

One file for each thing that a header may hold or get wrong. Their names do not
end in .npy, which git ignores here.
"""
import struct
import sys
from pathlib import Path

GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"


def npy(text=GOOD, version=1, data=24, length=None, pad=64):
    """A file with this text; `length` is what its header claims to be."""
    field = 2 if version == 1 else 4
    body = text.encode("latin-1")
    if pad:
        body += b" " * (-(8 + field + len(body) + 1) % pad) + b"\n"
    told = len(body) if length is None else length
    return (b"\x93NUMPY" + bytes([version, 0])
            + struct.pack("<H" if field == 2 else "<I", told)
            + body + bytes(range(data)))


def of(descr="'<f4'", order="False", shape="(2, 3)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


def files():
    yield "version-1", npy()
    yield "version-2", npy(version=2)
    yield "version-3", npy(version=3)
    yield "version-4", npy(version=4)
    yield "version-255", npy(version=255)
    for name, descr, size in [
            ("f4", "<f4", 4), ("f8", "<f8", 8), ("c8", "<c8", 8),
            ("c16", "<c16", 16), ("f2", "<f2", 2), ("i1", "|i1", 1),
            ("i4", "<i4", 4), ("V2", "<V2", 2), ("V2-raw", "|V2", 2)]:
        for order in ["False", "True"]:
            yield f"type-{name}-{order}", npy(of(f"'{descr}'", order),
                                              data=6 * size)
    for name, descr in [
            ("big-f4", "'>f4'"), ("big-c16", "'>c16'"), ("native", "'=f4'"),
            ("bare", "'f4'"), ("empty", "''"), ("i8", "'<i8'"),
            ("u1", "'|u1'"), ("bool", "'|b1'"), ("object", "'|O'"),
            ("text", "'<U3'"), ("bytes", "'|S3'"), ("date", "'<M8[ns]'"),
            ("f16", "'<f16'"), ("raw", "'|V8'"), ("none", "None"),
            ("records", "[('a', '<f4'), ('b', '<i4', (2,))]"),
            ("subarray", "('<f4', (2, 2))")]:
        yield f"refused-{name}", npy(of(descr))
    for name, shape, data in [
            ("scalar", "()", 4), ("column", "(6,)", 24), ("empty", "(0,)", 0),
            ("no-rows", "(0, 3)", 0), ("no-cols", "(3, 0)", 0),
            ("number", "(6)", 24), ("three", "(1, 2, 3)", 24),
            ("many", "(" + "1, " * 64 + ")", 4), ("negative", "(-2, 3)", 24),
            ("plus", "(+2, 3)", 24), ("long", "(2L, 3L)", 24),
            ("hexadecimal", "(0x2, 3)", 24), ("fraction", "(2.0, 3)", 24),
            ("zeros", "(02, 3)", 24), ("comma", "(2, 3,)", 24),
            ("commas", "(2,, 3)", 24), ("open", "(2, 3", 24),
            ("list", "[2, 3]", 24), ("word", "(two, 3)", 24),
            ("most", "(9223372036854775807, 0)", 0),
            ("too-large", "(9223372036854775808, 0)", 0),
            ("digits", "(" + "9" * 60 + ",)", 0),
            ("overflow", "(4294967296, 4294967296)", 24),
            ("overflow-bytes", "(2147483648, 2147483648)", 24),
            ("overflow-end", "(2305843009213693951, 1)", 24),
            ("short", "(2, 4)", 24), ("trailing", "(2, 3)", 40)]:
        yield f"shape-{name}", npy(of(shape=shape), data=data)
    for name, text in [
            ("spaces", "\t{ 'shape'\n:(2 ,\r3 ) ,\f'descr':\"<f4\","
                       "'fortran_order' :False}"),
            ("tight", "{'descr':'<f4','fortran_order':False,'shape':(2,3)}"),
            ("empty", ""), ("braces", "{}"), ("comma", "{,}"),
            ("twice", "{'descr': '<f4', " + of()[1:]),
            ("foreign", "{'x': 1, " + of()[1:]),
            ("no-descr", "{'fortran_order': False, 'shape': (2, 3)}"),
            ("no-order", "{'descr': '<f4', 'shape': (2, 3)}"),
            ("no-shape", "{'descr': '<f4', 'fortran_order': False}"),
            ("quotes", "{'descr\": '<f4'}"), ("escape", "{'d\\escr': 1}"),
            ("prefix", of("u'<f4'")), ("order", of(order="0")),
            ("after", of() + " x"), ("open", of()[:-1]),
            ("nul", of() + "\0"), ("latin", of("'<\xe4\xff'"))]:
        yield f"text-{name}", npy(text)
    for pad in [1, 2, 4, 8, 16]:
        yield f"aligned-{pad}", npy(of("'<f8'") + " " * pad, data=48, pad=0)
    yield "length-0", npy(length=0)
    yield "length-short", npy(length=30)
    yield "length-long", npy(length=500)
    yield "length-most", npy(length=65535)
    yield "length-4GiB", npy(version=2, length=0xFFFFFFFF)
    yield "length-65535", npy(GOOD + " " * (65535 - len(GOOD)), pad=0)
    yield "length-65535-open", npy("{" + " " * 65534, pad=0)
    for cut in [0, 1, 5, 6, 7, 8, 9, 10, 11, 40, 127, 128, 151]:
        yield f"cut-{cut}", npy()[:cut]
    yield "magic", b"\x93NUMPX" + npy()[6:]
    yield "zip", b"PK\3\4" + npy()


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files():
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
