#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the corpora of the fuzzers of archives: corpus_archives.py FOLDER.

FOLDER/zip and FOLDER/safetensors get one file for each thing that an archive
may hold or get wrong.
"""
import io
import json
import struct
import sys
import zipfile
from pathlib import Path


def npy(shape="(2, 3)", count=6):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    body = text.encode() + b" " * (117 - len(text)) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", 118) + body + bytes(4 * count)


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


def zips():
    stored, deflated = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
    one = archive([("a.npy", npy(), stored)])
    packed = archive([("a.npy", npy(), deflated)])
    two = archive([("a.npy", npy(), stored), ("b.npy", npy("(6,)"), deflated)])
    yield "one", one
    yield "packed", packed
    yield "two", two
    yield "none", archive([])
    yield "words", archive([("read.me", b"words", stored)])
    yield "empty-member", archive([("a.npy", b"", stored)])
    yield "empty-packed", archive([("a.npy", b"", deflated)])
    yield "twice", two.replace(b"b.npy", b"a.npy")
    yield "without-ending", archive([("a", npy(), stored)])
    yield "comment", archive([("a.npy", npy(), stored)], b"a comment" * 9)
    yield "zip64-member", archive([("a.npy", npy(), stored)], zip64=True)
    yield "zip64-extra", with_extra64(one)
    yield "zip64-extra-short", with_extra64(one, 16)
    yield "zip64-end", with_end64(two)
    yield "zip64-count", with_end64(two, count=1 << 60)
    yield "zip64-offset", with_end64(two, offset=1 << 63)
    yield "zip64-size", with_end64(two, size=(1 << 64) - 1)
    yield "zip64-at", with_end64(two, at=1 << 62)
    yield "bzip2", archive([("a.npy", npy(), zipfile.ZIP_BZIP2)])
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


def tensor_files():
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
    for name, files in [("zip", zips()), ("safetensors", tensor_files())]:
        folder = Path(sys.argv[1]) / name
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in files:
            (folder / file).write_bytes(content)


if __name__ == "__main__":
    main()
