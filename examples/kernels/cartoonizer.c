/* SPDX-License-Identifier: MIT */
/* Kernels that turn a picture into a cartoon, for examples/cartoonizer.c. */
#include <headrace/dialect.h>

typedef struct rgb {
    unsigned char r, g, b;
} rgb;

/* y goes from 0 to 1. u and v, the chroma, go to both sides of 0 [BT.601]. */
typedef struct yuv {
    float y, u, v;
} yuv;

HR_KERNEL3(to_yuv, (IN, rgb, 2, picture), (OUT, yuv, 2, original),
           (OUT, yuv, 2, now))
{
    HR_EACH2(i, j)
    {
        const rgb c = HR_AT2(picture, i, j);
        const float r = c.r / 255.0f, g = c.g / 255.0f, b = c.b / 255.0f;
        yuv p;
        p.y = 0.299f * r + 0.587f * g + 0.114f * b;
        p.u = 0.436f / 0.886f * (b - p.y);
        p.v = 0.615f / 0.701f * (r - p.y);
        HR_AT2(original, i, j) = p;
        HR_AT2(now, i, j) = p;
    }
}

/* The mean of all neighbours within `reach`. Each counts more the nearer its
 * chroma is: exp(-d^2 / (2 * 0.025^2)). Where all are so far that this is 0,
 * the pixel stays as it is. */
HR_KERNEL3(simplify, (IN, yuv, 2, now), (OUT, yuv, 2, next),
           (VALUE, int, 0, reach))
{
    HR_EACH2(i, j)
    {
        const yuv own = HR_AT2(now, i, j);
        float y = 0.0f, u = 0.0f, v = 0.0f, sum = 0.0f;
        for (int di = -reach; di <= reach; di++) {
            for (int dj = -reach; dj <= reach; dj++) {
                const yuv p = HR_AT2(now, i + di, j + dj);
                const float du = p.u - own.u, dv = p.v - own.v;
                const float near = HR_FAST_EXP(-800.0f * (du * du + dv * dv));
                const float weight = di == 0 && dj == 0 ? 0.0f : near;
                y += weight * p.y;
                u += weight * p.u;
                v += weight * p.v;
                sum += weight;
            }
        }
        yuv mean = own;
        if (sum > 0.0f) {
            mean.y = y / sum;
            mean.u = u / sum;
            mean.v = v / sum;
        }
        HR_AT2(next, i, j) = mean;
    }
}

/* The length of the gradient, by Sobel's two filters. */
HR_FUNCTION float slope(const float *x)
{
    const float down = x[6] + 2 * x[7] + x[8] - x[0] - 2 * x[1] - x[2];
    const float right = x[2] + 2 * x[5] + x[8] - x[0] - 2 * x[3] - x[6];
    return sqrt(down * down + right * right);
}

HR_FUNCTION float edge(const yuv *around)
{
    float y[9], u[9], v[9];
    for (int n = 0; n < 9; n++) {
        y[n] = around[n].y;
        u[n] = around[n].u;
        v[n] = around[n].v;
    }
    return 0.7f * slope(y) + 0.15f * (slope(u) + slope(v));
}

/* From 0 at a to 1 at b, smoothly. */
HR_FUNCTION float rise(float a, float b, float x)
{
    float t = (x - a) / (b - a);
    t = t < 0.0f ? 0.0f : t > 1.0f ? 1.0f : t;
    return t * t * (3.0f - 2.0f * t);
}

HR_FUNCTION unsigned char byte_of(float x)
{
    const float b = 255.0f * x + 0.5f;
    return (unsigned char)(b < 0.0f ? 0.0f : b > 255.0f ? 255.0f : b);
}

/* Edges of both pictures are drawn in black over the simplified one. */
HR_KERNEL3(outline, (IN, yuv, 2, now), (IN, yuv, 2, original),
           (OUT, rgb, 2, picture))
{
    HR_EACH2(i, j)
    {
        yuv simple[9], before[9];
        for (int n = 0; n < 9; n++) {
            simple[n] = HR_AT2(now, i + n / 3 - 1, j + n % 3 - 1);
            before[n] = HR_AT2(original, i + n / 3 - 1, j + n % 3 - 1);
        }
        const float light = 1.0f - 0.2f * rise(0.054f, 0.064f, edge(simple)) -
                            0.8f * rise(0.3f, 0.7f, edge(before));
        const yuv p = simple[4];
        const float r = p.y + 0.701f / 0.615f * p.v;
        const float b = p.y + 0.886f / 0.436f * p.u;
        rgb c;
        c.r = byte_of(light * r);
        c.g = byte_of(light * (p.y - 0.299f * r - 0.114f * b) / 0.587f);
        c.b = byte_of(light * b);
        HR_AT2(picture, i, j) = c;
    }
}
