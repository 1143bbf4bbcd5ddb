# SPDX-License-Identifier: MIT
"""Patterns of two substances that react [Pearson1993], in a square whose sides
meet: a grid with two fields and the room for their next values.

    gray_scott.py [CELLS [STEPS [PICTURE.pgm]]]
"""
import sys

import numpy as np

import headrace

TEXT = """
HR_KERNEL4(react, (IN, float, 2, u), (IN, float, 2, v), (OUT, float, 2, next_u),
           (OUT, float, 2, next_v))
{
    HR_EACH2(i, j)
    {
        const float a = HR_AT2(u, i, j), b = HR_AT2(v, i, j);
        const float around_a = HR_AT2(u, i - 1, j) + HR_AT2(u, i + 1, j) +
                               HR_AT2(u, i, j - 1) + HR_AT2(u, i, j + 1);
        const float around_b = HR_AT2(v, i - 1, j) + HR_AT2(v, i + 1, j) +
                               HR_AT2(v, i, j - 1) + HR_AT2(v, i, j + 1);
        const float made = a * b * b;
        HR_AT2(next_u, i, j) =
            a + 0.16f * (around_a - 4.0f * a) - made + 0.035f * (1.0f - a);
        HR_AT2(next_v, i, j) =
            b + 0.08f * (around_b - 4.0f * b) + made - 0.095f * b;
    }
}"""
KERNEL = headrace.kernel(TEXT)


def start(cells):
    """u and v: some v in the middle."""
    u = np.ones((cells, cells), np.float32)
    v = np.zeros((cells, cells), np.float32)
    middle = slice(cells // 2 - 5, cells // 2 + 5)
    u[middle, middle], v[middle, middle] = 0.5, 0.25
    return u, v


def run(cells, steps):
    """v after so many steps."""
    field = headrace.Field(halo=1, boundary="periodic")
    with headrace.Grid((cells, cells), u=field, v=field, next_u=field,
                       next_v=field) as grid:
        grid["u"], grid["v"] = start(cells)
        grid.step([headrace.phase(KERNEL, "u", "v", "next_u", "next_v"),
                   headrace.swap("u", "next_u"), headrace.swap("v", "next_v")],
                  steps)
        return grid["v"]


def main():
    cells = int(sys.argv[1]) if len(sys.argv) > 1 else 240
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 5000
    v = run(cells, steps)
    if len(sys.argv) > 3:
        with open(sys.argv[3], "wb") as file:
            file.write(b"P5 %d %d 255\n" % (cells, cells) +
                       (v * (255 / v.max())).astype(np.uint8).tobytes())


if __name__ == "__main__":
    main()
