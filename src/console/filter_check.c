/* SPDX-License-Identifier: MIT */
#include "filter_check.h"

#include <float.h>
#include <math.h>

#include "args.h"
#include "base/size.h"
#include "random.h"

/* The window at one place: the exact sum, and the terms of its bounds. */
typedef struct sample {
    double sum, sizes, most; /* sum of |w x|, and the largest |x| */
    double weights, squares; /* sums of |w| and w^2 */
    bool finite;             /* each x */
} sample;

/* What the windows cover. */
typedef struct range {
    double most; /* the largest finite |x| */
    bool finite; /* each x */
} range;

typedef enum verdict { RIGHT, WRONG, UNKNOWN } verdict;

double cli_filter_element(const hr_matrix *m, int64_t row, int64_t col)
{
    const int64_t at = row * m->row_stride + col * m->col_stride;
    return m->type == HR_F32 ? (double)((const float *)m->data)[at]
                             : ((const double *)m->data)[at];
}

static int64_t stand_in(int64_t i, int64_t count, hr_edges edges)
{
    const int64_t twice = 2 * count;
    if (i >= 0 && i < count) {
        return i;
    }
    switch (edges) {
    case HR_EDGES_CLAMPED:
        return i < 0 ? 0 : count - 1;
    case HR_EDGES_PERIODIC:
        return (i % count + count) % count;
    case HR_EDGES_MIRRORED:
        i = (i % twice + twice) % twice;
        return i < count ? i : twice - 1 - i;
    default:
        return -1;
    }
}

static sample take(const cli_filtered *f, int64_t row, int64_t col)
{
    const int64_t reach = hr_window_reach(f->window);
    const double *w = hr_window_values(f->window);
    sample s = {.finite = true};
    for (int64_t i = -reach; i <= reach; i++) {
        const int64_t r = stand_in(row + i, f->in.rows, f->edges);
        for (int64_t j = -reach; j <= reach; j++, w++) {
            const int64_t c = stand_in(col + j, f->in.cols, f->edges);
            const double x =
                r < 0 || c < 0 ? f->constant : cli_filter_element(&f->in, r, c);
            const double weight = f->scale * *w;
            s.sum += weight * x;
            s.sizes += fabs(weight * x);
            s.most = fmax(s.most, fabs(x));
            s.weights += fabs(weight);
            s.squares += weight * weight;
            s.finite = s.finite && isfinite(x);
        }
    }
    return s;
}

static range find_range(const cli_filtered *f)
{
    const hr_matrix m = f->in.row_stride < f->in.col_stride
                            ? hr_matrix_transpose(f->in)
                            : f->in;
    range r = {.most = fabs(f->constant), .finite = true};
    for (int64_t row = 0; row < m.rows; row++) {
        for (int64_t col = 0; col < m.cols; col++) {
            const double size = fabs(cli_filter_element(&m, row, col));
            const bool finite = isfinite(size);
            r.most = finite && size > r.most ? size : r.most;
            r.finite = r.finite && finite;
        }
    }
    return r;
}

/* Transforms are of blocks with at most so many rows and columns. */
static const double block_edge = 4096.0;

/* What may get lost where n^2 terms are so small that they underflow. */
static double underflow(const cli_filtered *f, double n)
{
    const double least = f->in.type == HR_F32 ? FLT_TRUE_MIN : DBL_TRUE_MIN;
    return 2.0 * (n * n + 3.0) * fmax(fabs(f->scale), 1.0) * least;
}

/* Whether sums on the way to the element may be too large for the type. The
 * scale may come last, and transforms add up whole blocks. */
static bool may_overflow(const cli_filtered *f, const hr_filter_report *r,
                         const range *all, const sample *s)
{
    const double scale = fabs(f->scale);
    const double weights =
        s->weights * (scale > 0.0 && scale < 1.0 ? 1.0 / scale : 1.0);
    const double most = r->method == HR_FILTER_FFT
                            ? all->most * block_edge * block_edge
                            : s->most;
    return weights * most >= (f->in.type == HR_F32 ? FLT_MAX : DBL_MAX);
}

/* The bound of an element's error. For sums of n^2 products it is that of
 * [Higham2002]. For separable filters it is that of sums of |u v|, which are at
 * most n sqrt(rank) times the root of squares. For transforms of e x e
 * elements, the error is about u log2(e^2) of the norm of all results, which is
 * at most sum |w| times that of the block. It is spread over the block: so much
 * of each element, times a factor for chance. */
static double bound(const cli_filtered *f, const hr_filter_report *r,
                    const range *all, const sample *s)
{
    const double u = (f->in.type == HR_F32 ? FLT_EPSILON : DBL_EPSILON) / 2;
    const double n = 2.0 * (double)hr_window_reach(f->window) + 1.0;
    const double rank = (double)r->rank;
    if (r->method == HR_FILTER_DIRECT) {
        return 2.0 * (n * n + 3.0) * u * s->sizes + underflow(f, n);
    }
    if (r->method == HR_FILTER_FFT) {
        const double chance = 32.0, logarithm = 2.0 * log2(block_edge);
        return chance * logarithm * u * s->weights * all->most +
               block_edge * (1.0 + all->most) * underflow(f, n);
    }
    const double terms = n * rank + n + 4.0;
    return r->window_error * s->weights * s->most +
           2.0 * terms * u * n * sqrt(fmax(rank, 1.0) * s->squares) * s->most +
           fmax(rank, 1.0) * underflow(f, n);
}

/* If a window covers a value that is not finite, the result must not be finite
 * either. Transforms spread such values over blocks, and this function does not
 * know the blocks. */
static verdict judge(const cli_filtered *f, const hr_filter_report *r,
                     const range *all, const sample *s, double value)
{
    if (!s->finite) {
        return isfinite(value) ? WRONG : RIGHT;
    }
    if (!isfinite(s->sum) ||
        (!isfinite(value) && (!all->finite || may_overflow(f, r, all, s)))) {
        return UNKNOWN;
    }
    return fabs(value - s->sum) <= bound(f, r, all, s) ? RIGHT : WRONG;
}

/* A number from 0 to below `count`. */
static int64_t draw(uint64_t *drawn, int64_t count)
{
    return (int64_t)(cli_random_draw(1, (*drawn)++) % (uint64_t)count);
}

int cli_filter_check(const cli_filtered *f, const hr_filter_report *report,
                     cli_filter_error *e)
{
    enum { MAX_SAMPLES = 2000, MAX_PRODUCTS = 100000000 };
    const int64_t reach = hr_window_reach(f->window), n = 2 * reach + 1;
    const int64_t margin = f->edges == HR_EDGES_LEFT ? reach : 0;
    const int64_t rows = f->in.rows - 2 * margin,
                  cols = f->in.cols - 2 * margin;
    double largest = 0.0;
    uint64_t drawn = 0;
    *e = (cli_filter_error){0};
    if (rows <= 0 || cols <= 0) {
        return CLI_OK;
    }
    const int64_t wanted = hri_min(MAX_PRODUCTS / (n * n) + 1, MAX_SAMPLES);
    /* few elements: each once; many: some, drawn at random */
    const bool all_of_them = rows <= wanted / cols;
    const int64_t samples = all_of_them ? rows * cols : wanted;
    const range all = report->method == HR_FILTER_FFT ? find_range(f)
                                                      : (range){.finite = true};
    while (e->samples < samples) {
        const int64_t i = e->samples;
        const int64_t row =
            margin + (all_of_them ? i / cols : draw(&drawn, rows));
        const int64_t col =
            margin + (all_of_them ? i % cols : draw(&drawn, cols));
        const sample s = take(f, row, col);
        const double value = cli_filter_element(&f->out, row, col);
        const double off = fabs(value - s.sum);
        const verdict v = judge(f, report, &all, &s, value);
        if (v == WRONG) {
            return cli_fail("%s: element (%lld, %lld) is %.9g, not %.9g within "
                            "%.2g",
                            hr_filter_method_name(report->method),
                            (long long)row, (long long)col, value, s.sum,
                            bound(f, report, &all, &s));
        }
        if (isfinite(off)) {
            e->error = fmax(e->error, off);
            largest = fmax(largest, fabs(s.sum));
        }
        e->compared += v != UNKNOWN;
        e->samples++;
    }
    e->error = largest > 0.0 ? e->error / largest : e->error;
    return CLI_OK;
}
