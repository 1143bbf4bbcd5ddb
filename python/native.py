# SPDX-License-Identifier: MIT
"""Write the C source of the extension headrace._native: the declarations of
the public headers, for cffi. Usage: native.py COMPILER INCLUDE OUTPUT"""
import re
import subprocess
import sys

import cffi

# What Python code gives to the library as callbacks.
CALLBACKS = """
extern "Python" bool headrace_progress(void *, double, double);
extern "Python" bool headrace_steps(void *, hr_grid *, int64_t);
extern "Python" bool headrace_grid_progress(void *, double, double);
extern "Python" void headrace_log(void *, const char *);
"""
# Conversions of half, which NumPy has, and the language of kernels.
LEFT_OUT = ("half.h", "dialect.h")


def declarations(compiler, include):
    """What the headers declare, without what only compilers understand."""
    text = subprocess.run(
        [compiler, "-std=c99", "-E", "-I" + include,
         include + "/headrace/headrace.h"],
        capture_output=True, text=True, check=True).stdout
    ours, lines = False, []
    for line in text.splitlines():
        marker = re.match(r'# \d+ "([^"]+)"', line)
        if marker:
            path = marker[1]
            ours = "/headrace/" in path and not path.endswith(LEFT_OUT)
        elif ours:
            lines.append(line)
    return re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "",
                  "\n".join(lines))


def main():
    compiler, include, output = sys.argv[1:]
    builder = cffi.FFI()
    builder.cdef(declarations(compiler, include) + CALLBACKS)
    builder.set_source("headrace._native", "#include <headrace/headrace.h>\n")
    builder.emit_c_code(output)


if __name__ == "__main__":
    main()
