/* SPDX-License-Identifier: MIT */
#include "support/precise.h"

#include <math.h>

#include "support/ordered.h"

enum {
    DEPTH = 1 << 15, /* numbers along k of which an exact sum is made */
    NEVER = 1000     /* more than any depth or sum that may pass */
};
__extension__ typedef __int128 integer;

/* A row of A or a column of B over one slice of k, as `count` numbers. A depth
 * counts binary orders below the largest number. */
typedef struct line {
    int top;                          /* floor(log2) of the largest |number| */
    int most, nearly_all, few, least; /* the depth that at least 3/4, 15/16 and
                                         1/8 of the numbers reach, and all that
                                         are not 0 */
    int sum;                          /* sum |number| <= 2^(top + sum) */
    bool zero, finite;
} line;

/* The arithmetic of a slice of k. */
typedef struct slice {
    bool wide;        /* f64 */
    int count;        /* of numbers */
    int bits;         /* of integers */
    int log2, digits; /* floor(log2 count); of the type's significand */
} slice;

static slice slice_of(bool wide, int count)
{
    slice p = {.wide = wide, .count = count, .digits = wide ? 53 : 24};
    while (2 << p.log2 <= count) {
        p.log2++;
    }
    const int up = p.log2 + (1 << p.log2 < count);
    const int room = wide ? (up >= 14 ? 116 : 124) : up >= 9 ? 62 : 70;
    p.bits = (room - up) / 2;
    return p;
}

enum { DEPTHS = 16 }; /* that are told apart */

static int depth_of(const int64_t *reach, int64_t least)
{
    int d = 0;
    while (d < DEPTHS && reach[d] < least) {
        d++;
    }
    return d < DEPTHS ? d : NEVER;
}

static line line_of(const slice *p, const double *x)
{
    int64_t reach[DEPTHS] = {0}, sum = 0;
    line l = {.top = -2 * NEVER, .zero = true, .finite = true};
    for (int i = 0; i < p->count; i++) {
        l.finite = l.finite && isfinite(x[i]);
        if (x[i] != 0.0 && isfinite(x[i])) {
            l.zero = false;
            l.top = ilogb(x[i]) > l.top ? ilogb(x[i]) : l.top;
        }
    }
    for (int i = 0; i < p->count; i++) {
        if (x[i] != 0.0 && l.finite) {
            const int depth = l.top - ilogb(x[i]);
            for (int d = depth; d < DEPTHS; d++) {
                reach[d]++;
            }
            l.least = depth > l.least ? depth : l.least;
            sum += (int64_t)ldexp(fabs(x[i]), 15 - l.top) + 1;
        }
    }
    l.most = depth_of(reach, (3 * p->count + 3) / 4);
    l.nearly_all = depth_of(reach, (15 * p->count + 15) / 16);
    l.few = depth_of(reach, (p->count + 7) / 8);
    for (l.sum = -15; ldexp(1.0, l.sum + 15) < (double)sum; l.sum++) {
    }
    return l;
}

/* Whether the error of rounding both lines to integers is at most count u / 2
 * times the sum of |a| |b|: since their large numbers meet in so many places,
 * or since each number alone keeps enough digits. */
static bool may_round(const slice *p, const line *a, const line *b)
{
    if (!a->finite || !b->finite || a->zero || b->zero) {
        return a->finite && b->finite;
    }
    const int error = 1 + (a->sum > b->sum ? a->sum : b->sum) - p->bits;
    const int alone = 1 + (a->least > b->least ? a->least : b->least) - p->bits;
    return error + a->most + b->most <= 2 * p->log2 - 2 - p->digits ||
           error + a->nearly_all + b->few <= 2 * p->log2 - 5 - p->digits ||
           error + a->few + b->nearly_all <= 2 * p->log2 - 5 - p->digits ||
           alone <= p->log2 - 1 - p->digits;
}

/* x 2^power, rounded once: to odd, so that the cast alone rounds. */
static double rounded(bool wide, integer x, int power)
{
    while (x >> 62 != 0 && x >> 62 != -1) {
        x = x >> 1 | (x & 1);
        power++;
    }
    const long double value = ldexpl((long double)(int64_t)x, power);
    return wide ? (double)value : (double)(float)value;
}

/* The sum of products of the integers that the numbers are rounded to. */
static double exact(const slice *p, const line *a, const double *x,
                    const line *b, const double *y)
{
    const int units[2] = {a->top + 1 - p->bits, b->top + 1 - p->bits};
    integer sum = 0;
    for (int i = 0; i < p->count && !a->zero && !b->zero; i++) {
        sum += (integer)rint(ldexp(x[i], -units[0])) *
               (integer)rint(ldexp(y[i], -units[1]));
    }
    return rounded(p->wide, sum, units[0] + units[1]);
}

/* Add the part of k from `first` on to element (i, j), of which t is so far. */
static bool add_slice(const reference_problem *g, const ordered *o, int64_t i,
                      int64_t j, int64_t first, int64_t end, double t[2])
{
    static double x[DEPTH], y[2][DEPTH]; /* y: for re, for im */
    static double xs[2 * DEPTH], ys[2 * DEPTH];
    const int parts = o->complex ? 2 : 1;
    for (int64_t p = first; p < end; p++) {
        double *a = xs + 2 * (p - first), *b = ys + 2 * (p - first);
        const int64_t at = parts * (p - first);
        reference_load(&g->a, i, p, &a[0], &a[1]);
        reference_load(&g->b, p, j, &b[0], &b[1]);
        x[at] = a[0], y[0][at] = b[0], y[1][at] = b[1];
        if (o->complex) {
            x[at + 1] = a[1], y[0][at + 1] = -b[1], y[1][at + 1] = b[0];
        }
    }
    const slice p = slice_of(o->wide, parts * (int)(end - first));
    const line a = line_of(&p, x), b = line_of(&p, y[0]);
    const bool rounds = may_round(&p, &a, &b);
    if (rounds) {
        const double s[2] = {exact(&p, &a, x, &b, y[0]),
                             o->complex ? exact(&p, &a, x, &b, y[1]) : 0.0};
        ordered_add(o, o->alpha, s, t);
    } else {
        ordered_add_slices(o, end - first, xs, ys, t);
    }
    return rounds;
}

int64_t precise_element(const reference_problem *g, int64_t i, int64_t j,
                        double c[2])
{
    const bool complex = g->a.type == HR_C32 || g->a.type == HR_C64;
    const ordered o = {.wide = g->a.type == HR_F64 || g->a.type == HR_C64,
                       .complex = complex,
                       .alpha = {g->alpha.re, g->alpha.im},
                       .beta = {g->beta.re, g->beta.im}};
    const int64_t depth = DEPTH / (complex ? 2 : 1);
    int64_t fallbacks = 0;
    double t[2];
    ordered_begin(&o, c, t);
    for (int64_t first = 0; first < g->a.cols; first += depth) {
        const int64_t left = g->a.cols - first;
        fallbacks += !add_slice(g, &o, i, j, first,
                                first + (left < depth ? left : depth), t);
    }
    c[0] = t[0], c[1] = t[1];
    return fallbacks;
}
