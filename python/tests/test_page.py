# SPDX-License-Identifier: MIT
"""The code of docs/python.md runs as it stands."""

import pathlib
import re

import pytest

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python.md"


def test_page(tmp_path, monkeypatch, capsys):
    if not PAGE.exists():
        pytest.skip("no docs/python.md beside the package")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(),
                        re.DOTALL | re.MULTILINE)
    assert len(blocks) > 5
    exec("".join(blocks), {"__name__": "page"})
    assert "the least working set is" in capsys.readouterr().out
