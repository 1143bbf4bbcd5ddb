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


def declarations(compiler, include, header, wanted):
    """What headers with wanted paths declare, without what only compilers
    understand."""
    text = subprocess.run(
        [compiler, "-std=c99", "-E", "-I" + include, "-I" + include + "/mpi",
         "-include", header, "-x", "c", "/dev/null"],
        capture_output=True, text=True, check=True).stdout
    ours, lines = False, []
    for line in text.splitlines():
        marker = re.match(r'# \d+ "([^"]+)"', line)
        if marker:
            ours = wanted(marker[1])
        elif ours:
            lines.append(line)
    return re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "",
                  "\n".join(lines))


def function_types(text):
    """Declarations with types of functions in place of the functions: those of
    a library that is loaded at run time. hr_mpi_rank has hr_mpi_rank_type."""
    return re.sub(r"([\w ]+?[\s*]+)(hr_mpi_\w+)\s*(\([^;{}]*\));",
                  r"typedef \1(*\2_type)\3;", text)


def main():
    compiler, include, output = sys.argv[1:]
    builder = cffi.FFI()
    public = declarations(
        compiler, include, include + "/headrace/headrace.h",
        lambda path: "/headrace/" in path and not path.endswith(LEFT_OUT))
    processes = function_types(declarations(
        compiler, include, include + "/mpi/headrace/processes.h",
        lambda path: path.endswith("/processes.h")))
    builder.cdef(public + CALLBACKS + processes)
    types = "\n".join(re.findall(r"^typedef [^{}]*\(\*hr_mpi_\w+_type\)[^;]*;",
                                 processes, re.M))
    builder.set_source("headrace._native", "#include <headrace/headrace.h>\n"
                       "#include <headrace/processes.h>\n" + types + "\n")
    builder.emit_c_code(output)


if __name__ == "__main__":
    main()
