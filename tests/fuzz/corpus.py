#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write corpora of the fuzzers of files: corpus.py FOLDER.

FOLDER/npy, FOLDER/zip and FOLDER/safetensors get one file for each thing that a
file may hold or get wrong. The names of .npy files do not end so, which git
ignores here.
"""
import io
import json
import struct
import sys
import zipfile
from pathlib import Path

GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"


def npy(text=GOOD, version=1, data=24, length=None, pad=64):
    """A file with this text, and so many bytes of data or these; `length` is
    what its header claims to be."""
    field = 2 if version == 1 else 4
    body = text.encode("latin-1")
    if pad:
        body += b" " * (-(8 + field + len(body) + 1) % pad) + b"\n"
    told = len(body) if length is None else length
    return (b"\x93NUMPY" + bytes([version, 0])
            + struct.pack("<H" if field == 2 else "<I", told)
            + body + (bytes(range(data)) if isinstance(data, int) else data))


def of(descr="'<f4'", order="False", shape="(2, 3)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


def npy_files():
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


def archive(members, comment=b"", zip64=False):
    """Members are (name, bytes, method)."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as z:
        for name, content, method in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            with z.open(info, "w", force_zip64=zip64) as member:
                member.write(content)
        z.comment = comment
    return made.getvalue()


def with_end64(content, **wrong):
    """The same archive with sizes in records of zip64."""
    end = content.rindex(b"PK\5\6")
    count, size, offset = struct.unpack("<HII", content[end + 10:end + 20])
    offset, size = wrong.get("offset", offset), wrong.get("size", size)
    count, at = wrong.get("count", count), wrong.get("at", end)
    return (content[:end]
            + struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, count,
                          count, size, offset)
            + struct.pack("<4sIQI", b"PK\6\7", 0, at, 1)
            + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF,
                          0xFFFFFFFF, 0xFFFFFFFF, 0))


def with_extra64(content, length=24):
    """The same archive of one member, its sizes and place in an extra field."""
    entry, end = content.rindex(b"PK\1\2"), content.rindex(b"PK\5\6")
    stored, size = struct.unpack("<II", content[entry + 20:entry + 28])
    extra = struct.pack("<HHQQQ", 1, length, size, stored, 0)[:4 + length]
    head = bytearray(content[entry:end])
    struct.pack_into("<IIHH", head, 20, 0xFFFFFFFF, 0xFFFFFFFF,
                     *struct.unpack("<H", head[28:30]), len(extra))
    struct.pack_into("<I", head, 42, 0xFFFFFFFF)
    tail = bytearray(content[end:])
    struct.pack_into("<I", tail, 12, len(head) + len(extra))
    return content[:entry] + bytes(head) + extra + bytes(tail)


def patched(content, mark, offset, form, value):
    """One number changed, `offset` bytes behind the last mark."""
    made = bytearray(content)
    struct.pack_into("<" + form, made, made.rindex(mark) + offset, value)
    return bytes(made)


def zip_files():
    stored, deflated = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
    array = npy(data=bytes(24))
    line = npy(of(shape="(6,)"), data=bytes(24))
    one = archive([("a.npy", array, stored)])
    packed = archive([("a.npy", array, deflated)])
    two = archive([("a.npy", array, stored), ("b.npy", line, deflated)])
    yield "one", one
    yield "packed", packed
    yield "two", two
    yield "none", archive([])
    yield "words", archive([("read.me", b"words", stored)])
    yield "empty-member", archive([("a.npy", b"", stored)])
    yield "empty-packed", archive([("a.npy", b"", deflated)])
    yield "twice", two.replace(b"b.npy", b"a.npy")
    yield "without-ending", archive([("a", array, stored)])
    yield "comment", archive([("a.npy", array, stored)], b"a comment" * 9)
    yield "zip64-member", archive([("a.npy", array, stored)], zip64=True)
    yield "zip64-extra", with_extra64(one)
    yield "zip64-extra-short", with_extra64(one, 16)
    yield "zip64-end", with_end64(two)
    yield "zip64-count", with_end64(two, count=1 << 60)
    yield "zip64-offset", with_end64(two, offset=1 << 63)
    yield "zip64-size", with_end64(two, size=(1 << 64) - 1)
    yield "zip64-at", with_end64(two, at=1 << 62)
    yield "bzip2", archive([("a.npy", array, zipfile.ZIP_BZIP2)])
    end, entry, local = b"PK\5\6", b"PK\1\2", b"PK\3\4"
    yield "encrypted", patched(one, entry, 8, "H", 1)
    yield "parts", patched(one, end, 4, "H", 1)
    yield "count", patched(one, end, 10, "H", 0xFFFF)
    yield "directory-offset", patched(one, end, 16, "I", 0xFFFFFFF0)
    yield "directory-bytes", patched(one, end, 12, "I", 0xFFFFFFF0)
    yield "crc", patched(one, entry, 16, "I", 1)
    yield "stored-bytes", patched(one, entry, 20, "I", 1 << 30)
    yield "bytes", patched(one, entry, 24, "I", 7)
    yield "packed-bytes", patched(packed, entry, 24, "I", 7)
    yield "packed-more", patched(packed, entry, 24, "I", 200)
    yield "bomb", patched(packed, entry, 24, "I", 0xFFFFFFF0)
    yield "name-length", patched(one, entry, 28, "H", 0xFFFF)
    yield "extra-length", patched(one, entry, 30, "H", 0xFFFF)
    yield "offset", patched(one, entry, 42, "I", 0x7FFFFFFF)
    yield "offset-64", patched(one, entry, 42, "I", 0xFFFFFFFF)
    yield "overlap", patched(two, entry, 42, "I", 0)
    yield "no-local", patched(one, local, 2, "H", 0)
    yield "local-name", patched(one, local, 30, "B", ord("x"))
    yield "local-extra", patched(one, local, 28, "H", 0xFFFF)
    yield "no-entry", patched(one, entry, 2, "H", 0)
    for cut in [4, 30, 100, len(one) - 22, len(one) - 1]:
        yield f"cut-{cut}", one[:cut]


def safetensors(tensors, data=24, told=None):
    text = tensors if isinstance(tensors, str) else json.dumps(tensors)
    length = len(text.encode()) if told is None else told
    return struct.pack("<Q", length) + text.encode() + bytes(data)


def tensor(dtype="F32", shape=(2, 3), offsets=(0, 24)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def safetensors_files():
    yield "one", safetensors({"a": tensor()})
    yield "two", safetensors({"a": tensor(), "b": tensor("I8", (5,), (24, 29))},
                             29)
    yield "metadata", safetensors({"__metadata__": {"format": "pt", "x": "y"},
                                   "a": tensor()})
    yield "metadata-number", safetensors({"__metadata__": {"x": 1}})
    yield "metadata-twice", safetensors(
        '{"__metadata__": {}, "__metadata__": {}}')
    yield "none", safetensors("{}", 0)
    for dtype, size in [("F64", 8), ("F16", 2), ("BF16", 2), ("I8", 1),
                        ("I32", 4), ("C64", 8), ("U8", 1), ("I64", 8),
                        ("BOOL", 1), ("F8_E4M3", 1), ("", 1)]:
        yield f"type-{dtype}", safetensors(
            {"a": tensor(dtype, (2, 3), (0, 6 * size))}, 6 * size)
    for name, shape in [("scalar", ()), ("seven", (1,) * 7), ("empty", (0, 3)),
                        ("short", (2, 2)), ("long", (2, 4)),
                        ("overflow", (1 << 40, 1 << 40))]:
        yield f"shape-{name}", safetensors({"a": tensor("F32", shape)})
    for name, offsets in [("turned", (24, 0)), ("beyond", (0, 25)),
                          ("one", (24,)), ("three", (0, 12, 24)),
                          ("far", (1 << 62, 1 << 62)), ("odd", (1, 25))]:
        yield f"offsets-{name}", safetensors(
            {"a": tensor("F32", (2, 3), offsets)})
    yield "misaligned", safetensors({"x": tensor("I8", (1,), (0, 1)),
                                     "a": tensor("F32", (2, 3), (1, 25))}, 25)
    yield "hole", safetensors({"a": tensor("F32", (2, 3), (4, 28))}, 28)
    yield "overlap", safetensors({"a": tensor(), "b": tensor()})
    good = json.dumps(tensor())
    for name, text in [
            ("twice", f'{{"a": {good}, "a": {good}}}'),
            ("twice-escaped", f'{{"a": {good}, "\\u0061": {good}}}'),
            ("spaces", f' {{ "a" :\t{good} ,\n "b":{good} }}  '),
            ("escapes", f'{{"\\"\\\\\\/\\b\\n\\u00e9\\ud83d\\ude00": {good}}}'),
            ("half-pair", f'{{"\\ud83d": {good}}}'),
            ("low-pair", f'{{"\\ude00": {good}}}'),
            ("bad-escape", f'{{"\\x": {good}}}'),
            ("control", f'{{"\n": {good}}}'), ("utf-8", f'{{"\u00e9": {good}}}'),
            ("open", f'{{"a": {good}'), ("after", f'{{"a": {good}}} x'),
            ("comma", f'{{"a": {good},}}'), ("list", '{"a": []}'),
            ("no-dtype", '{"a": {"shape": [1], "data_offsets": [0, 4]}}'),
            ("key", '{"a": {"x": 1}}'),
            ("key-twice", '{"a": {"shape": [1], "shape": [1]}}'),
            ("negative", '{"a": {"shape": [-1]}}'),
            ("fraction", '{"a": {"shape": [1.5]}}'),
            ("zeros", '{"a": {"shape": [01]}}'),
            ("large", '{"a": {"shape": [9223372036854775808]}}'),
            ("nested", '{"a": {"shape": [[1]]}}')]:
        yield f"text-{name}", safetensors(text)
    yield "length-long", safetensors({"a": tensor()}, told=5000)
    yield "length-short", safetensors({"a": tensor()}, told=20)
    yield "length-most", safetensors({"a": tensor()}, told=(1 << 48) - 1)
    yield "length-0", safetensors({"a": tensor()}, told=0)
    yield "cut-8", safetensors({"a": tensor()})[:8]
    yield "cut-9", safetensors({"a": tensor()})[:9]


def main():
    for name, files in [("npy", npy_files()), ("zip", zip_files()),
                        ("safetensors", safetensors_files())]:
        folder = Path(sys.argv[1]) / name
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in files:
            (folder / file).write_bytes(content)


if __name__ == "__main__":
    main()
