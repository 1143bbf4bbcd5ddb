# SPDX-License-Identifier: MIT
"""The code of docs/python.md and docs/cupy.md runs as it stands."""

import pathlib
import re

import pytest

DOCS = pathlib.Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name, least, printed", [
    ("python.md", 6, "the least working set is"), ("cupy.md", 2, "")])
def test_page(name, least, printed, tmp_path, monkeypatch, capsys):
    page = DOCS / name
    if not page.exists():
        pytest.skip(f"no docs/{name} beside the package")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(),
                        re.DOTALL | re.MULTILINE)
    assert len(blocks) >= least
    exec("".join(blocks), {"__name__": "page"})
    assert printed in capsys.readouterr().out
