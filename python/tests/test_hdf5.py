# SPDX-License-Identifier: MIT
"""What docs/python.md says of HDF5 files, where h5py is there."""

import pathlib
import re

import numpy as np
import pytest

import headrace

h5py = pytest.importorskip("h5py")
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python.md"


def function_of_page():
    if not PAGE.exists():
        pytest.skip("no docs/python.md beside the package")
    block = re.search(r"^```python\n(def mapped\(.*?)^```$", PAGE.read_text(),
                      re.DOTALL | re.MULTILINE)
    names = {"np": np}
    exec(block[1], names)
    return names["mapped"]


def test_products_of_data_sets(tmp_path):
    mapped = function_of_page()
    rng = np.random.default_rng(1)
    a, b = rng.random((40, 30), "f4"), rng.random((30, 20), "f4")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["a"] = a
        file.create_dataset("b", data=b, compression="gzip")
    with h5py.File(tmp_path / "a.h5") as file:
        assert isinstance(mapped(file["a"]), np.memmap)
        assert not isinstance(mapped(file["b"]), np.memmap)
        c = headrace.matmul(mapped(file["a"]), mapped(file["b"]))
    assert np.allclose(c, a @ b)
