# SPDX-License-Identifier: MIT
"""Arrays as the library sees them: without a copy wherever it can."""

from __future__ import annotations

import operator
import reprlib
from typing import Any, Callable, Iterable, Mapping, Protocol, Sequence, Union

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ._native import ffi, lib
from .errors import InvalidError, check



class SupportsDLPack(Protocol):
    """What has an array by DLPack."""

    def __dlpack__(self) -> object:
        """A capsule."""

    def __dlpack_device__(self) -> Any:
        """The kind of its memory, and which."""


# Types of arguments and results.
Array = NDArray[Any]
Operand = Union[ArrayLike, SupportsDLPack]  # what as_array() takes
Shape = Union[int, Sequence[int]]
Accelerators = Union[Iterable[int], None]
Weights = Union[Sequence[float], Array, None]
Progress = Union[bool, Callable[[float, float], object], None]

# By numpy.dtype.name: the type of matrices and calls, and the name in kernels.
TYPES = {
    "float32": lib.HR_F32, "float64": lib.HR_F64, "complex64": lib.HR_C32,
    "complex128": lib.HR_C64, "float16": lib.HR_F16, "bfloat16": lib.HR_BF16,
    "int8": lib.HR_I8, "int32": lib.HR_I32}
ELEMENTS = {
    name: ffi.new("char[]", element) for name, element in (
        ("float32", b"float"), ("float64", b"double"), ("complex64", b"hr_c32"),
        ("complex128", b"hr_c64"), ("float16", b"hr_f16"),
        ("bfloat16", b"hr_bf16"), ("int8", b"signed char"),
        ("uint8", b"unsigned char"), ("int16", b"short"),
        ("uint16", b"unsigned short"), ("int32", b"int"),
        ("uint32", b"unsigned"), ("int64", b"long"),
        ("uint64", b"unsigned long"))}

# Other names of types in kernels.
_ALIASES = {
    "char": "signed char", "unsigned int": "unsigned", "signed": "int",
    "short int": "short", "unsigned short int": "unsigned short",
    "long int": "long", "unsigned long int": "unsigned long",
    "long long": "long", "unsigned long long": "unsigned long",
    "size_t": "unsigned long", "hr_index": "long", "int8_t": "signed char",
    "uint8_t": "unsigned char", "int16_t": "short",
    "uint16_t": "unsigned short", "int32_t": "int", "uint32_t": "unsigned",
    "int64_t": "long", "uint64_t": "unsigned long"}

_by_dtype: dict[np.dtype, int] = {}


def bfloat16() -> np.dtype:
    """The dtype of ml_dtypes. ImportError where that is not installed."""
    import ml_dtypes
    return np.dtype(ml_dtypes.bfloat16)


def not_offered(dtype: np.dtype, offered: Iterable[str]) -> TypeError:
    """What is raised for elements of another type than a call offers."""
    return TypeError(f"elements of {dtype} are not offered, only "
                     f"{', '.join(offered)}")


def type_of(dtype: np.dtype, offered: Iterable[str] = tuple(TYPES)) -> int:
    """The hr_type of elements. TypeError where there is none. The library
    itself refuses others that a call does not offer."""
    known = _by_dtype.get(dtype)
    if known is None:
        known = TYPES.get(dtype.name) if dtype.isnative else None
        if known is None:
            raise not_offered(dtype, offered)
        _by_dtype[dtype] = known
    return known


def element_of(dtype: np.dtype, name: str):
    """What kernels call elements, as a string of C; NULL for structs, of which
    only the size is known. TypeError for what kernels cannot have."""
    if dtype.isnative and dtype.name in ELEMENTS:
        return ELEMENTS[dtype.name]
    if dtype.isnative and dtype.names is not None and not dtype.hasobject:
        return ffi.NULL
    raise TypeError(f"{name} has elements of {dtype}, which are not offered")


def check_element(dtype: np.dtype, element: str, name: str):
    """TypeError where a kernel's parameter has other elements."""
    try:
        wanted = dtype_of(element)
    except (KeyError, ImportError):
        return  # the text's own, of which the library compares the size
    if dtype != wanted:
        raise TypeError(f"{name} has elements of {element}, which is {wanted}, "
                        f"but the array is {dtype}")


def elements_of(value: Any, dtype: np.dtype[Any], name: str) -> Array:
    """Numbers as elements of a type. TypeError as check_numbers(), and where
    fractions would be lost; OverflowError where integers do not hold them."""
    given = np.asarray(value)
    if given.dtype == object and isinstance(given[()], int):  # of many bits
        given = np.asarray(number_of(given[()], name))
    check_numbers(given, dtype, name)
    if dtype.kind in "iu" and not np.can_cast(given.dtype, dtype):
        limits = np.iinfo(dtype)
        if given.dtype.kind not in "iu":
            given = given.astype(np.float64)
        wrong = ~((given >= limits.min) & (given < limits.max + 1))
        if wrong.any():
            raise OverflowError(f"{name} is {given[wrong].flat[0]}, which "
                                f"{dtype} does not hold")
        if given.dtype.kind == "f" and (given != np.trunc(given)).any():
            given = given[given != np.trunc(given)]
            raise TypeError(f"{name} is {given.flat[0]}, which {dtype} does "
                            "not hold")
    with np.errstate(over="ignore"):
        return given.astype(dtype, copy=False)


def element_as(value: Any, dtype: np.dtype[Any], name: str) -> Array:
    """The same of one number: an array without dimensions."""
    if dtype.names is not None:
        value = np.array(value, dtype)
    if np.ndim(value) > 0:
        raise TypeError(f"{name} is an array of "
                        f"{plural(np.ndim(value), 'dimension')}, not one "
                        "number")
    return elements_of(value, dtype, name)


def number_of(value: Any, name: str) -> float:
    """A real number. TypeError for what is none."""
    if not isinstance(value, (str, bytes)) and not np.iscomplexobj(value):
        try:
            if np.ndim(value) == 0:
                return float(value)
        except (TypeError, ValueError):
            pass
        except OverflowError:
            raise OverflowError(f"{name} is larger than a double") from None
    raise TypeError(f"{name} is {shown(value)}, not a real number")


def one_of(given: Any, known: Mapping[str, Any], name: str) -> Any:
    """What a word stands for. ValueError for another one."""
    if not isinstance(given, str) or given not in known:
        raise ValueError(f'{name} is "{given}", not one of {", ".join(known)}')
    return known[given]


def check_numbers(given: Array, dtype: np.dtype[Any], name: str) -> None:
    """TypeError where numbers would come from text, or lose a part."""
    if given.dtype.kind in "USMmO":
        raise TypeError(f"{name} is of {given.dtype}, not numbers")
    if given.dtype.kind == "c" and dtype.kind != "c":
        raise TypeError(f"{name} is complex, but {dtype} has no imaginary part")


def plural(count: int, word: str) -> str:
    """A number of things: "1 dimension"."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def with_article(word: str) -> str:
    """A noun: "a float", "an int"."""
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def text_of(text: str | bytes, name: str) -> bytes:
    """A string for C. TypeError for what is no text, InvalidError where a null
    byte would end it."""
    if isinstance(text, str):
        text = text.encode("utf-8", "surrogateescape")
    if not isinstance(text, bytes):
        raise TypeError(f"{name} is {text!r}, not text")
    if b"\0" in text:
        raise InvalidError(f"{name} has a null byte")
    return text


def shown(value: Any) -> str:
    """A value in one line of a message."""
    return " ".join(reprlib.repr(value).split())


def size_of(value: Any, name: str, least: int = 0,
            most: int = 2**63 - 1) -> int:
    """A size as an int. TypeError for what is none, InvalidError where it is
    less or more."""
    try:
        if isinstance(value, bool):
            raise TypeError
        size = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {shown(value)}, not an integer") from None
    if not least <= size <= most:
        end = str(most) if most < 2**31 - 1 else f"2^{most.bit_length()} - 1"
        raise InvalidError(f"{name} is {size}, not from {least} to {end}")
    return size


def shape_of(value: Any, name: str) -> tuple[int, ...]:
    """A shape as a tuple of ints."""
    try:
        sizes = (value,) if np.ndim(value) == 0 and hasattr(
            value, "__index__") else value
        return tuple(size_of(v, name) for v in sizes)
    except TypeError:
        raise TypeError(f"{name} is {shown(value)}, not a shape") from None


def dtype_of(name: str) -> np.dtype:
    """The dtype of elements that kernels call so. KeyError for others."""
    name = " ".join(name.split())
    name = _ALIASES.get(name, name)
    for numpy_name, element in ELEMENTS.items():
        if ffi.string(element).decode() == name:
            return bfloat16() if numpy_name == "bfloat16" else np.dtype(
                numpy_name)
    raise KeyError(name)


def as_array(thing: Any) -> Array:
    """The array that something is or stands for, without a copy where it has
    the buffer protocol, DLPack on the host, or NumPy's own protocols. TypeError
    for a mask, which would be forgotten."""
    if isinstance(thing, np.ndarray):
        if isinstance(thing, np.ma.MaskedArray):
            raise TypeError("a masked array is not offered; give its filled() "
                            "or its data")
        return thing
    if hasattr(thing, "__dlpack__") and not isinstance(thing, np.generic):
        try:
            return np.from_dlpack(thing)
        except (BufferError, RuntimeError) as error:
            raise TypeError(
                f"{type(thing).__name__} gives no array of this host: {error}"
            ) from error
    return np.asarray(thing)


def operand(thing: Any) -> Array:
    """The same for what is only read: elements of the other byte order are
    turned round."""
    array = as_array(thing)
    return array if array.dtype.isnative else array.astype(
        array.dtype.newbyteorder("="))


_UNITS = {"": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30,
          "TiB": 2**40, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def bytes_of(value: Any, name: str) -> int:
    """Bytes: an integer, or text such as "512MiB"."""
    given = value
    if isinstance(value, str):
        unit = value.lstrip("0123456789.")
        number = value[:len(value) - len(unit)]
        try:
            value = int(float(number) * _UNITS[unit])
        except (KeyError, ValueError, OverflowError):
            raise InvalidError(f"{name} is {given!r}, not bytes, such as 1000 "
                               'or "512MiB" (B, KiB to TiB, kB to TB)'
                               ) from None
    return size_of(value, name, 1)


def check_report(report: object, kind: type) -> None:
    """TypeError where a report to fill is of another kind."""
    if report is not None and not isinstance(report, kind):
        raise TypeError(f"report is {report!r}, not a headrace.{kind.__name__}")


def struct(name: str) -> Any:
    """A new struct of the library that begins with its size."""
    made = ffi.new(name + " *")
    made.size = ffi.sizeof(name)
    return made


def indices_of(accelerators: Any) -> list[int]:
    """The indices of accelerators."""
    try:
        indices = [operator.index(i) for i in accelerators]
    except TypeError:
        raise TypeError(f"accelerators is {accelerators!r}, not a list of "
                        "indices such as [0, 1]") from None
    for i in indices:
        if not 0 <= i < 2**32:
            raise InvalidError(f"accelerators has {i}, not an index")
    return indices


def weights_of(weights, count: int):
    """Shares of so many accelerators."""
    try:
        shares = ffi.new("double[]", [number_of(w, "a weight")
                                      for w in weights])
    except TypeError:
        raise TypeError(f"weights is {shown(weights)}, not a list of "
                        "numbers") from None
    if len(shares) != count:
        raise ValueError(f"{len(shares)} weights for {count} accelerators")
    return shares


def choose(options, accelerators):
    """Let options name accelerators, by their indices; None: all. Returns what
    the options borrow."""
    if accelerators is None:
        return None
    indices = ffi.new("uint32_t[]", indices_of(accelerators))
    options.accelerators = indices
    options.accelerator_count = len(indices)
    return indices


def address(array: np.ndarray):
    """A pointer to the first element. The caller keeps the array."""
    try:
        return ffi.from_buffer(array)
    except (ValueError, BufferError, TypeError):  # gaps, or no buffer
        return ffi.cast("void *", array.__array_interface__["data"][0])


def matrix(array: Array, into: Any) -> Array:
    """Fill an hr_matrix with a matrix. Returns the array that it borrows: the
    given one, or a packed copy where neither dimension is contiguous."""
    rows, cols = array.shape
    if array.flags.c_contiguous:
        row, col = cols, 1
    else:
        size = array.itemsize
        row, col = array.strides
        if not (_is_apart(row, cols, col, rows, size)
                or _is_apart(col, rows, row, cols, size)):
            array = np.ascontiguousarray(array)
            row, col = array.strides
        row, col = row // size, col // size
    into.data = address(array)
    into.type = type_of(array.dtype)
    into.rows, into.cols = rows, cols
    into.row_stride, into.col_stride = row, col
    return array


def _is_apart(row, cols, col, rows, size):
    """Whether elements of a row follow each other, and rows do not meet."""
    return ((col == size or cols < 2)
            and (rows < 2 or (row >= cols * size and row % size == 0)))


def extent(shape: Any) -> Any:
    """An hr_extent of a shape."""
    if len(shape) > lib.HR_MAX_RANK:
        raise ValueError(f"{len(shape)} dimensions, not at most "
                         f"{lib.HR_MAX_RANK}")
    made = ffi.new("hr_extent *")
    made.rank = len(shape)
    for d, size in enumerate(shape):
        made.size[d] = size
    return made[0]


def overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether the memory of two arrays may have bytes in common."""
    return np.may_share_memory(a, b)


def check_array(array: object, name: str) -> None:
    """TypeError for what is no array, ValueError for one that is not to be
    written."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{name} is {type(array).__name__}, not a "
                        "numpy.ndarray")
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, not offered; give its data")
    if not array.flags.writeable:
        raise ValueError(f"{name} is read-only")


def output(out: Array | None, shape: Any, dtype: DTypeLike,
           name: str = "out") -> Array:
    """The array to write: the caller's after a check, or a new one."""
    if out is None:
        return np.empty(shape, dtype)
    check_array(out, name)
    if out.shape != tuple(shape) or out.dtype != dtype:
        raise ValueError(f"{name} is {out.dtype} {out.shape}, but the result "
                         f"is {np.dtype(dtype)} {tuple(shape)}")
    return out


class View:
    """An hr_view of an array's elements, of any layout, in a `with` block.
    What is written is home when the block ends."""

    def __init__(self, context_pointer, array: np.ndarray, written=False):
        if array.ndim > lib.HR_MAX_RANK:
            if written and not array.flags.c_contiguous:
                raise ValueError(f"an array of {array.ndim} dimensions and "
                                 "gaps is written; at most "
                                 f"{lib.HR_MAX_RANK} may have gaps")
            array = array.reshape(-1, *array.shape[1 - lib.HR_MAX_RANK:])
        elif array.ndim == 0:
            array = array.reshape(1)
        self._array, self._written = array, written
        made = ffi.new("hr_array **")
        check(lib.hr_array_wrap_strided(
            context_pointer, address(array),
            element_of(array.dtype, "the array"), array.itemsize,
            extent(array.shape), ffi.new("int64_t[]", array.strides), made))
        self._made = made[0]
        self.view = lib.hr_view_of(self._made)

    def __enter__(self):
        return self.view

    def __exit__(self, kind, *_):
        try:
            if self._written and kind is None:
                check(lib.hr_synchronize(self.view))
        finally:
            lib.hr_array_destroy(self._made)
