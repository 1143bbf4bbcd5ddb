# SPDX-License-Identifier: MIT
"""Matrix products, kernels and grids over every accelerator of a machine.

    import headrace
    c = headrace.matmul(a, b)

Arrays are NumPy's, of any layout, or what has DLPack or the buffer protocol.
Calls use all accelerators, or those of the innermost `with Context(...)`.
`from headrace import *` leaves Python its own sum, min, max and filter.
"""

from ._native import ffi as _ffi
from ._native import lib as _lib
from .calls import (argmax, argmin, argsort, cumprod, cumsum, dot, fill,
                    histogram, norm, prod, random, reduce, reduce_with, scan,
                    sort, sort_by_key)
from .contexts import (Accelerator, Context, Timeline, default_context, devices,
                       trace)
from .errors import (BackendError, BuildError, CancelledError, DomainError,
                     Error, FileError, InvalidError, LostError, MismatchError,
                     OutOfMemoryError, UnavailableError, UnsupportedError)
from .filters import Window
from .grids import Field, Grid, Side, here, phase, swap
from .kernels import (Kernel, Parameter, combined, kernel, near, transform,
                      whole)
from .products import gemm, matmul, matmul_batch, plan, verify
from .reports import (Band, FilterReport, GemmReport, GridReport, LaunchReport,
                      Share, VerifyReport)

# Not in __all__, as Python has its own; "as" tells type checkers of them.
# pylint: disable=useless-import-alias,redefined-builtin
from .calls import max as max
from .calls import min as min
from .calls import sum as sum
from .filters import filter as filter

__version__ = _ffi.string(_lib.hr_version()).decode()

__all__ = [
    "Accelerator", "BackendError", "Band", "BuildError", "CancelledError",
    "Context", "DomainError", "Error", "Field", "FileError", "FilterReport",
    "GemmReport", "Grid", "GridReport", "InvalidError", "Kernel",
    "LaunchReport", "LostError", "MismatchError", "OutOfMemoryError",
    "Parameter", "Share", "Side", "Timeline", "UnavailableError",
    "UnsupportedError", "VerifyReport", "Window", "argmax", "argmin",
    "argsort", "combined", "cumprod", "cumsum", "default_context",
    "devices", "dot", "fill", "gemm", "here", "histogram", "kernel",
    "matmul", "matmul_batch", "near", "norm", "phase", "plan", "prod",
    "random", "reduce", "reduce_with", "scan", "sort", "sort_by_key",
    "swap", "trace", "transform", "verify", "whole"]
