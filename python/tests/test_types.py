# SPDX-License-Identifier: MIT
"""Types of arguments and results, by mypy where that is installed."""

import os
import pathlib
import runpy
import shutil
import subprocess

import pytest

import headrace

PROGRAM = pathlib.Path(__file__).with_name("typed.py")
PACKAGE = pathlib.Path(headrace.__file__).parent


def mypy(tmp_path, *arguments):
    """What mypy finds."""
    found = os.environ.get("MYPY") or shutil.which("mypy")
    if found is None:
        pytest.skip("no mypy: types are not checked (MYPY names one)")
    done = subprocess.run(
        [found, "--cache-dir", str(tmp_path / "cache"), *arguments],
        env=dict(os.environ, MYPYPATH=str(PACKAGE.parent)), cwd=tmp_path,
        capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_the_program_runs(capsys):
    runpy.run_path(str(PROGRAM))
    assert "HR_ERROR_INVALID" in capsys.readouterr().out


def test_the_program_is_typed(tmp_path):
    status, said = mypy(tmp_path, "--strict", "--follow-imports=silent",
                        str(PROGRAM))
    assert status == 0, said
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import headrace\nheadrace.random(3, seed='7')\n"
                     "x: str = headrace.sum([1.0])\n")
    status, said = mypy(tmp_path, "--strict", "--follow-imports=silent",
                        str(wrong))
    assert status == 1 and "Found 2 errors" in said, said


def test_the_package_is_typed(tmp_path):
    status, said = mypy(tmp_path, "--ignore-missing-imports", str(PACKAGE))
    assert status == 0, said
