# SPDX-License-Identifier: MIT
"""Matrix products, kernels and grids over every accelerator of a machine.

    import headrace
    c = headrace.matmul(a, b)

Arrays are NumPy's, of any layout, or what has DLPack or the buffer protocol.
Calls use all accelerators, or those of the innermost `with Context(...)`.
"""

from ._native import ffi as _ffi
from ._native import lib as _lib
from .calls import (argmax, argmin, argsort, cumprod, cumsum, dot, fill,
                    histogram, max, min, norm, prod, random, reduce,
                    reduce_with, scan, sort, sort_by_key, sum)
from .contexts import (Accelerator, Context, Timeline, default_context, devices,
                       trace)
from .errors import (BackendError, BuildError, CancelledError, DomainError,
                     Error, FileError, InvalidError, LostError, MismatchError,
                     OutOfMemoryError, UnavailableError, UnsupportedError)
from .filters import Window, filter
from .grids import Field, Grid, here, phase, swap
from .kernels import (Kernel, Parameter, combined, kernel, near, transform,
                      whole)
from .products import gemm, matmul, matmul_batch, plan, verify
from .reports import (Band, FilterReport, GemmReport, GridReport, LaunchReport,
                      Share, VerifyReport)

__version__ = _ffi.string(_lib.hr_version()).decode()
