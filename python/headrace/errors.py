# SPDX-License-Identifier: MIT
"""Exceptions, one for each status of the library, with its sentence."""

from ._native import ffi, lib


class Error(Exception):
    """What a call of the library reports. `status` is its name in C."""

    status = "HR_ERROR"


class InvalidError(Error, ValueError):
    """An argument breaks a documented rule."""

    status = "HR_ERROR_INVALID"


class OutOfMemoryError(Error, MemoryError):
    """Memory of the host or an accelerator, or a memory limit."""

    status = "HR_ERROR_OUT_OF_MEMORY"


class UnsupportedError(Error, NotImplementedError):
    """Valid, but not offered here."""

    status = "HR_ERROR_UNSUPPORTED"


class DomainError(Error, ValueError):
    """A domain or tile that cannot run."""

    status = "HR_ERROR_COMPUTE_DOMAIN"


class LostError(Error, RuntimeError):
    """An accelerator no longer works."""

    status = "HR_ERROR_LOST"


class BuildError(Error, RuntimeError):
    """A kernel did not compile."""

    status = "HR_ERROR_BUILD"


class FileError(Error, OSError):
    """A file could not be read or written."""

    status = "HR_ERROR_IO"


class CancelledError(Error):
    """A progress function returned False."""

    status = "HR_ERROR_CANCELLED"


class MismatchError(Error, ArithmeticError):
    """A result failed its verification."""

    status = "HR_ERROR_MISMATCH"


class BackendError(Error, RuntimeError):
    """A driver or vendor library failed."""

    status = "HR_ERROR_BACKEND"


class UnavailableError(Error, RuntimeError):
    """A backend or accelerator is not there."""

    status = "HR_ERROR_UNAVAILABLE"


_CLASSES = {getattr(lib, kind.status): kind for kind in Error.__subclasses__()}


def check(status: int) -> None:
    """Raise the exception of a status that is not HR_OK."""
    if status != 0:
        sentence = ffi.string(lib.hr_last_error()).decode("utf-8", "replace")
        raise _CLASSES.get(status, Error)(sentence)
