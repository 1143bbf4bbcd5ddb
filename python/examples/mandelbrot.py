# SPDX-License-Identifier: MIT
"""A picture of the Mandelbrot set: one kernel, one call.

    mandelbrot.py [SIZE [PICTURE.ppm]]
"""
import sys

import numpy as np

import headrace

TEXT = """
HR_KERNEL5(inside, (VALUE, float, 0, left), (VALUE, float, 0, top),
           (VALUE, float, 0, width), (VALUE, int, 0, steps),
           (OUT, int, 2, count))
{
    HR_EACH2(row, col)
    {
        const float step = width / (float)HR_EXTENT(count, 1);
        const float re = left + step * (float)col;
        const float im = top - step * (float)row;
        float x = 0.0f, y = 0.0f;
        int inside = 0;
        for (int k = 0; k < steps; k++) {
            const float next = x * x - y * y + re;
            y = 2.0f * x * y + im;
            x = next;
            inside += x * x + y * y <= 4.0f;
        }
        HR_AT2(count, row, col) = inside;
    }
}"""
KERNEL = headrace.kernel(TEXT)


def inside(size, left=-2.2, top=1.5, width=3.0, steps=200):
    """How many of so many steps each pixel's z stays near 0."""
    return KERNEL(left, top, width, steps, None, domain=(size, size))


def pixels(count, steps=200):
    """Red, green and blue of each pixel."""
    light = np.where(count < steps, count, 0)
    return np.stack([light * 3, light * 5, light * 11], -1).astype(np.uint8)


def main():
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 480
    picture = pixels(inside(size))
    if len(sys.argv) > 2:
        with open(sys.argv[2], "wb") as file:
            file.write(b"P6 %d %d 255\n" % (size, size) + picture.tobytes())


if __name__ == "__main__":
    main()
