# SPDX-License-Identifier: MIT
"""The cells of docs/first-product.ipynb run in their order."""

import ast
import json
import pathlib

import numpy as np
import pytest

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "first-product.ipynb"


def test_notebook(capsys):
    if not PAGE.exists():
        pytest.skip("no docs/first-product.ipynb beside the package")
    notebook = json.loads(PAGE.read_text())
    assert notebook["nbformat"] == 4
    names, shown = {"__name__": "__main__"}, []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert not cell["outputs"] and cell["execution_count"] is None
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, PAGE.name, "exec"), names)
        if last is not None:  # what a notebook shows below the cell
            shown.append(eval(compile(ast.Expression(last.value), PAGE.name,
                                      "eval"), names))
    report, check, ends = shown
    assert "host" in capsys.readouterr().out
    a, b = names["a"].astype(float), names["b"].astype(float)
    bound = 402 * 2**-24 / (1 - 402 * 2**-24) * (abs(a) @ abs(b))
    assert (abs(names["c"] - a @ b) <= bound).all()
    assert report.flops == 2 * 600 * 400 * 500 and report.host_to_device > 0
    table = report._repr_html_()
    assert table.startswith("<table>") and "host to device" in table
    assert check.suspects == 0 and check.unchecked == 0
    assert np.array_equal(names["clipped"], np.clip(names["c"], -10, 10))
    assert ends == (-10, 10)
