# SPDX-License-Identifier: MIT
"""python -m headrace SCRIPT [ARGUMENT...]: run an unchanged script whose
products, those of NumPy among them, go through the drop-in BLAS."""

import ctypes
import os
import pathlib
import sys


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print("usage: python -m headrace SCRIPT [ARGUMENT...]\n"
              "       python -m headrace -m MODULE [ARGUMENT...]\n"
              "Run Python with Headrace's BLAS: docs/numpy.md")
        return 0 if len(sys.argv) > 1 else 2
    name = "libheadrace_blas.so"
    library = str(pathlib.Path(__file__).with_name(name))
    if not os.path.exists(library):  # a system has it where its libraries are
        library = name
        try:
            ctypes.CDLL(library)
        except OSError as error:
            print(f"headrace: the drop-in BLAS is not there: {error}",
                  file=sys.stderr)
            return 1
    if any(c in library for c in " :"):
        print(f"headrace: LD_PRELOAD takes no path with spaces or colons: "
              f"{library}", file=sys.stderr)
        return 1
    preloaded = [library] + [
        p for p in os.environ.get("LD_PRELOAD", "").split(":") if p]
    os.environ["LD_PRELOAD"] = ":".join(preloaded)
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
    return 1


if __name__ == "__main__":
    sys.exit(main())
