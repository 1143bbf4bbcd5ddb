# SPDX-License-Identifier: MIT
"""What the tests with NumPy share: counted checks, and an end."""
import sys

try:
    import numpy as np
except ImportError as error:
    print(f"skip: {error}")
    sys.exit(77)

checks = 0
failures = 0


def check(ok, what):
    global checks, failures
    checks += 1
    if not ok:
        failures += 1
        print(f"failed: {what}", file=sys.stderr)


def finish():
    """The exit status."""
    print(f"NumPy {np.__version__}: {checks} checks, {failures} failures")
    return 1 if failures else 0
