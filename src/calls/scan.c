/* SPDX-License-Identifier: MIT */
/* Scans of views. Long rows are cut into units: accelerators join the elements
 * of each, the host scans what they give, and accelerators scan each unit from
 * there. One accelerator whose tiles may wait for others does it in one
 * launch.
 *
 * The order is that of blocks of 1024 elements within units of 4096, so bits do
 * not depend on the way. In rank 2 and more a tile scans a whole row, in one
 * launch. The way of one launch (kernels/dialect/scan_once.inc) is for one GPU
 * of CUDA, where a tile goes on while others wait for it
 * (hri_device_info.proceeds). */
#include <headrace/scan.h>

#include <math.h>
#include <string.h>

#include "arrays/array.h"
#include "base/arithmetic.h"
#include "base/matrix.h"
#include "base/size.h"
#include "calls/reduction.h"
#include "calls/scan.h"
#include "calls/views.h"
#include "kernels/kernels.h"
#include "split/split.h"

/* As in kernels/dialect/scan_numbers.inc and scan_once.inc. */
enum {
    ITEMS = HRI_REDUCE_ITEMS, /* LANES there */
    EACH = 16,                /* elements of a lane */
    UNIT = 4096,              /* elements of a unit */
    ONCE_ITEMS = 128,         /* TILE there */
    GROUP = 32,               /* WARP there */
    LEVELS = 10,
    SECTION = 1 << LEVELS /* units */
};

static const char call[] = "scan";

#define KERNELS(name)                                                          \
    extern const hr_kernel hri_scan_##name##_cells, hri_scan_##name##_lines,   \
        hri_scan_##name##_short_lines
#define KERNELS_IN_PLACE(name)                                                 \
    extern const hr_kernel hri_scan_##name##_cells_in_place,                   \
        hri_scan_##name##_lines_in_place, hri_scan_##name##_short_in_place,    \
        hri_scan_##name##_totals
#define KERNELS_AND_ONCE(name)                                                 \
    KERNELS(name);                                                             \
    extern const hr_kernel hri_scan_##name##_once
#define KERNELS_IN_PLACE_AND_ONCE(name)                                        \
    KERNELS_IN_PLACE(name);                                                    \
    extern const hr_kernel hri_scan_##name##_once_in_place
KERNELS_AND_ONCE(f32);
KERNELS_AND_ONCE(f32_f64);
KERNELS_AND_ONCE(f64);
KERNELS_AND_ONCE(i8);
KERNELS_AND_ONCE(i8_i32);
KERNELS_AND_ONCE(i32);
KERNELS_AND_ONCE(i32_i64);
KERNELS_IN_PLACE_AND_ONCE(f32);
KERNELS_IN_PLACE_AND_ONCE(f64);
KERNELS_IN_PLACE_AND_ONCE(i8);
KERNELS_IN_PLACE_AND_ONCE(i32);
KERNELS(f32_product);
KERNELS(f32_f64_product);
KERNELS(f64_product);
KERNELS_IN_PLACE(f32_product);
KERNELS_IN_PLACE(f64_product);

/* Views of rank 3, with long or short lines, or of rank 1: in two passes or in
 * one. */
enum { LINES, SHORT_LINES, CELLS, ONCE, SHAPES };

/* The kernels of a type. */
typedef struct scan_kernels {
    const char *wide_element; /* NULL: there are no wider ones */
    const hr_kernel *same[SHAPES], *wide[SHAPES], *in_place[SHAPES];
    const hr_kernel *totals; /* of units */
} scan_kernels;

/* A number that is joined: a double for fractions, and hri_scaled of
 * kernels/dialect/scan_numbers.inc for their products. */
typedef struct number {
    union {
        double fraction;
        int64_t integer;
        uint64_t exact;
    };
    double exponent; /* 0 but of products of fractions */
} number;

/* A scan under way. */
typedef struct scanning {
    hr_context *context;
    const hr_split_options *options;
    hri_progress progress;
    const scan_kernels *kernels;
    hr_reduction operation;
    hr_type type;
    bool integers, exclusive, in_place;
    bool dry; /* nothing was computed */
    number start;
    size_t number_bytes; /* of a number in `before` */
    hr_view a, b;        /* of rank 1 or 3 */
    int64_t units;       /* of rank 1 */
    hr_array *before;    /* units x 1 or 2: what comes before each unit */
} scanning;

static bool is_scaled(hr_type type, hr_reduction operation)
{
    return (type == HR_F32 || type == HR_F64) && operation == HR_REDUCE_PRODUCT;
}

/* NULL: there are none. */
static const scan_kernels *find_kernels(hr_type type, hr_reduction operation)
{
#define OF(name, once)                                                         \
    {                                                                          \
        &hri_scan_##name##_lines, &hri_scan_##name##_short_lines,              \
            &hri_scan_##name##_cells, once                                     \
    }
#define IN_PLACE(name, once)                                                   \
    {&hri_scan_##name##_lines_in_place, &hri_scan_##name##_short_in_place,     \
     &hri_scan_##name##_cells_in_place, once},                                 \
        &hri_scan_##name##_totals
#define ALL(name)    OF(name, &hri_scan_##name##_once)
#define ALL_IN(name) IN_PLACE(name, &hri_scan_##name##_once_in_place)
    static const scan_kernels kernels[] = {
        [HR_F32] = {"double", ALL(f32), ALL(f32_f64), ALL_IN(f32)},
        [HR_F64] = {NULL, ALL(f64), {NULL}, ALL_IN(f64)},
        [HR_I8] = {"int", ALL(i8), ALL(i8_i32), ALL_IN(i8)},
        [HR_I32] = {"long", ALL(i32), ALL(i32_i64), ALL_IN(i32)}};
    static const scan_kernels products[] = {
        [HR_F32] = {"double", OF(f32_product, NULL), OF(f32_f64_product, NULL),
                    IN_PLACE(f32_product, NULL)},
        [HR_F64] = {
            NULL, OF(f64_product, NULL), {NULL}, IN_PLACE(f64_product, NULL)}};
#undef OF
#undef IN_PLACE
#undef ALL
#undef ALL_IN
    const size_t count = sizeof kernels / sizeof kernels[0];
    if ((size_t)type >= count || kernels[type].same[0] == NULL) {
        return NULL;
    }
    return is_scaled(type, operation) ? &products[type] : &kernels[type];
}

/* ---- rules */

static hr_status check_kind(const scanning *s, hr_scan_kind kind)
{
    const hr_reduction o = s->operation;
    if (o != HR_REDUCE_SUM && o != HR_REDUCE_PRODUCT && o != HR_REDUCE_MIN &&
        o != HR_REDUCE_MAX) {
        return hri_fail(HR_ERROR_INVALID,
                        "scan: operation %d is not SUM, PRODUCT, MIN or MAX",
                        (int)o);
    }
    if (kind != HR_SCAN_INCLUSIVE && kind != HR_SCAN_EXCLUSIVE) {
        return hri_fail(HR_ERROR_INVALID, "scan: unknown kind %d", (int)kind);
    }
    HRI_TRY(hri_type_check(call, NULL, s->type));
    if (s->kernels == NULL) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "scan: only f32, f64, i8 and i32 are offered, not %s",
                        hr_type_name(s->type));
    }
    return HR_OK;
}

static hr_status check_b(const scanning *s)
{
    const size_t bytes = hr_type_size(s->type), given = s->b.element_bytes;
    const char *element = s->kernels->wide_element;
    if (given == bytes || element == NULL) {
        return hri_view_check(&s->b, s->context, s->type, call, "view b");
    }
    const size_t wide = hri_element_bytes(element);
    HRI_TRY(hri_view_check_owner(&s->b, s->context, call, "view b"));
    if (given != wide) {
        return hri_fail(HR_ERROR_INVALID,
                        "scan: view b has elements of %zu byte%s; scans of %s "
                        "write %zu or %zu",
                        given, hri_plural(given), hr_type_name(s->type), bytes,
                        wide);
    }
    if (!hri_element_agrees(element, s->b.type)) {
        return hri_fail(HR_ERROR_INVALID,
                        "scan: view b has elements of %s, not of %s", s->b.type,
                        element);
    }
    return HR_OK;
}

static hr_status check_views(const scanning *s, hr_scan_kind kind)
{
    HRI_TRY(check_kind(s, kind));
    HRI_TRY(hri_view_check(&s->a, s->context, s->type, call, "view a"));
    HRI_TRY(check_b(s));
    HRI_TRY(hri_views_check_extents(&s->a, "view a", &s->b, "view b", call));
    if (hri_view_is_same(&s->a, &s->b)) {
        return HR_OK;
    }
    return hri_views_check_apart(&s->b, "view b", &s->a, "view a", call);
}

/* ---- numbers */

/* The largest or the least number of the type. */
static number extreme(const scanning *s, bool least)
{
    number x = {0};
    if (!s->integers) {
        x.fraction = least ? -INFINITY : INFINITY;
    } else if (s->type == HR_I8) {
        x.integer = least ? INT8_MIN : INT8_MAX;
    } else {
        x.integer = least ? INT32_MIN : INT32_MAX;
    }
    return x;
}

/* What comes before the first element. */
static number find_start(const scanning *s)
{
    number x = {0};
    if (s->operation == HR_REDUCE_MIN || s->operation == HR_REDUCE_MAX) {
        x = extreme(s, s->operation == HR_REDUCE_MAX);
    } else if (s->integers) {
        x.integer = s->operation == HR_REDUCE_PRODUCT;
    } else if (s->operation == HR_REDUCE_PRODUCT) {
        x.fraction = 1;
    } else { /* -0 and an element is that element, also if it is -0 */
        x.fraction = s->exclusive ? 0.0 : -0.0;
    }
    return x;
}

/* As hri_scaled_fit of kernels. */
static number fit(number x)
{
    const double size = fabs(x.fraction);
    if (size >= 0x1p256) {
        x.fraction *= 0x1p-512;
        x.exponent++;
    } else if (size < 0x1p-256) {
        x.fraction *= 0x1p512;
        x.exponent--;
    }
    return x;
}

/* Join as kernels do. */
static number join(const scanning *s, number x, number y)
{
    const hr_reduction o = s->operation;
    number z = y;
    if (o == HR_REDUCE_SUM) {
        if (s->integers) {
            z.exact = x.exact + y.exact;
        } else {
            z.fraction = x.fraction + y.fraction;
        }
    } else if (o == HR_REDUCE_PRODUCT) {
        if (s->integers) {
            z.exact = x.exact * y.exact;
        } else {
            z.fraction = x.fraction * y.fraction;
            z.exponent = x.exponent + y.exponent;
            z = fit(z);
        }
    } else if (s->integers) {
        const bool less = y.integer<x.integer, more = y.integer> x.integer;
        z = (o == HR_REDUCE_MIN ? less : more) ? y : x;
    } else {
        const bool less = y.fraction<x.fraction, more = y.fraction> x.fraction;
        z = isnan(y.fraction) || (o == HR_REDUCE_MIN ? less : more) ? y : x;
    }
    return z;
}

/* ---- launches */

enum { MAX_ARGUMENTS = 7 };

static const hr_extent tile = {2, {1, ITEMS}}, once_tile = {2, {1, ONCE_ITEMS}};

static hr_status launch_split(scanning *s, hri_splitting *split, size_t count)
{
    split->context = s->context;
    split->call = call;
    split->usable = hri_accelerator_check_double;
    split->progress = &s->progress;
    hr_status status = hri_split_run(split, count, s->options);
    s->dry = split->options.dry_run;
    return status;
}

/* Bytes that scan_each takes of an accelerator beside the elements that
 * find_totals has brought there: slots for units of b, and what comes before
 * each unit. find_totals leaves room for these. In place, some of the slots are
 * those of find_totals. */
static uint64_t bytes_to_scan(const hri_splitting *split, uint32_t i,
                              const hr_band *band)
{
    const scanning *s = split->data;
    const int64_t most = hri_split_slots(s->in_place ? HR_INOUT : HR_OUT);
    const int64_t had = s->in_place ? hri_split_slots(HR_IN) : 0;
    const int64_t units = hri_max(hri_min(band->count, most) - had, 0);
    (void)i;
    return (uint64_t)units * UNIT * s->b.element_bytes +
           (uint64_t)s->units * s->number_bytes;
}

/* Join the elements of each unit. */
static hr_status find_totals(scanning *s)
{
    static const int64_t rows[] = {UNIT, 1, 1};
    const int kind = (int)s->operation;
    const hr_argument arguments[] = {hr_in(s->a), hr_out(hr_view_of(s->before)),
                                     hr_value(&kind, sizeof kind)};
    hri_splitting split = {.kernel = s->kernels->totals,
                           .domain = hr_extent2(s->units, ITEMS),
                           .arguments = arguments,
                           .rows = rows,
                           .tile = &tile,
                           .extra_bytes = bytes_to_scan,
                           .data = s};
    return launch_split(s, &split, 3);
}

/* Put what comes before each unit in the place of what the unit gave. A section
 * is a tree of pairs: pair[k] is what the last 2^k units gave, where these are
 * one, and before[k] is what is before the units after it. */
static hr_status scan_units(const scanning *s, bool totals)
{
    hr_mapping m = {0};
    number pair[LEVELS + 1], before[LEVELS + 1];
    HRI_TRY(hr_map(hr_view_of(s->before), totals ? HR_INOUT : HR_OUT, &m));
    unsigned char *unit = m.data;
    for (int k = 0; k <= LEVELS; k++) {
        before[k] = s->start;
    }
    for (int64_t i = 0; i < s->units; i++, unit += s->number_bytes) {
        number x = s->start;
        int k = 0;
        if (totals) {
            memcpy(&x, unit, s->number_bytes);
        }
        memcpy(unit, &before[0], s->number_bytes);
        for (; (i % SECTION >> k & 1) != 0; k++) {
            x = join(s, pair[k], x);
        }
        pair[k] = x;
        x = join(s, before[k < LEVELS ? k + 1 : LEVELS], x);
        for (; k >= 0; k--) {
            before[k] = x;
        }
    }
    return hr_unmap(&m);
}

/* The kernel, and its arguments as far as all of them have the same: a and b
 * with so many rows, or b alone. */
static const hr_kernel *begin_arguments(const scanning *s, int shape,
                                        int64_t each, hr_argument *arguments,
                                        int64_t *rows, size_t *count)
{
    const bool wide = s->b.element_bytes != s->a.element_bytes;
    *count = 0;
    if (!s->in_place) {
        rows[*count] = each;
        arguments[(*count)++] = hr_in(s->a);
    }
    rows[*count] = each;
    arguments[(*count)++] = s->in_place ? hr_inout(s->b) : hr_out(s->b);
    return (s->in_place ? s->kernels->in_place
            : wide      ? s->kernels->wide
                        : s->kernels->same)[shape];
}

/* Scan each unit. */
static hr_status scan_each(scanning *s)
{
    const int kind = (int)s->operation, exclusive = s->exclusive;
    int64_t rows[MAX_ARGUMENTS] = {1, 1, 1, 1, 1, 1, 1};
    hr_argument arguments[MAX_ARGUMENTS];
    size_t n;
    const hr_kernel *kernel =
        begin_arguments(s, CELLS, UNIT, arguments, rows, &n);
    arguments[n++] = hr_in(hr_view_of(s->before));
    arguments[n++] = hr_value(&kind, sizeof kind);
    arguments[n++] = hr_value(&exclusive, sizeof exclusive);
    hri_splitting split = {.kernel = kernel,
                           .domain = hr_extent2(s->units, ITEMS),
                           .arguments = arguments,
                           .rows = rows,
                           .tile = &tile};
    return launch_split(s, &split, n);
}

/* ---- lines of a view of rank 3 */

/* How many rows of a tile, and lines of each. */
typedef struct tile_lines {
    int down, across;
} tile_lines;

static bool is_short(int64_t cols)
{
    return cols <= ITEMS * EACH;
}

/* A tile takes as many short lines as it has lanes for: lines of one row, if
 * the row has so many. */
static tile_lines lines_of_tile(hr_extent extent)
{
    const int64_t *size = extent.size;
    if (!is_short(size[2])) {
        return (tile_lines){1, 1};
    }
    const int64_t most = ITEMS / hri_ceil_div(size[2], EACH);
    const int64_t across = hri_ceil_div(size[1], hri_ceil_div(size[1], most));
    return (tile_lines){(int)hri_min(most / across, size[0]), (int)across};
}

static hr_extent domain_of(hr_extent extent, tile_lines t)
{
    return hr_extent2(hri_ceil_div(extent.size[0], t.down),
                      hri_ceil_div(extent.size[1], t.across) * ITEMS);
}

/* What a kernel of lines is told behind its views. */
typedef struct line_values {
    uint64_t start; /* the bits of a number */
    tile_lines tile;
    int kind, exclusive;
} line_values;

/* Add them, which stay where they are. short_lines: for such a kernel. */
static size_t add_values(const line_values *v, bool short_lines,
                         hr_argument *arguments, size_t count)
{
    arguments[count++] = hr_value(&v->start, sizeof v->start);
    if (short_lines) {
        arguments[count++] = hr_value(&v->tile.down, sizeof v->tile.down);
        arguments[count++] = hr_value(&v->tile.across, sizeof v->tile.across);
    }
    arguments[count++] = hr_value(&v->kind, sizeof v->kind);
    arguments[count++] = hr_value(&v->exclusive, sizeof v->exclusive);
    return count;
}

static hr_status scan_lines(scanning *s)
{
    const hr_extent extent = s->a.extent;
    const bool short_lines = is_short(extent.size[2]);
    const line_values v = {.start = s->start.exact,
                           .tile = lines_of_tile(extent),
                           .kind = (int)s->operation,
                           .exclusive = s->exclusive};
    int64_t rows[MAX_ARGUMENTS] = {1, 1, 1, 1, 1, 1, 1};
    hr_argument arguments[MAX_ARGUMENTS];
    size_t n;
    const hr_kernel *kernel = begin_arguments(
        s, short_lines ? SHORT_LINES : LINES, v.tile.down, arguments, rows, &n);
    n = add_values(&v, short_lines, arguments, n);
    hri_splitting split = {.kernel = kernel,
                           .domain = domain_of(extent, v.tile),
                           .arguments = arguments,
                           .rows = rows,
                           .tile = &tile};
    return launch_split(s, &split, n);
}

hr_status hri_scan_counts(hr_queue *queue, hr_view counts, hr_view before)
{
    const hr_extent extent = counts.extent;
    const bool short_lines = is_short(extent.size[2]);
    const line_values v = {
        .tile = lines_of_tile(extent), .kind = HR_REDUCE_SUM, .exclusive = 1};
    hr_argument arguments[MAX_ARGUMENTS] = {hr_in(counts), hr_out(before)};
    const size_t n = add_values(&v, short_lines, arguments, 2);
    return hr_launch(queue,
                     short_lines ? &hri_scan_i32_i64_short_lines
                                 : &hri_scan_i32_i64_lines,
                     domain_of(extent, v.tile), &tile, arguments, n);
}

/* ---- in one launch */

/* Whether one launch can do: the context has one accelerator, whose tiles may
 * wait. The program cannot end such a launch early. */
static bool can_once(const scanning *s)
{
    const hr_context *c = s->context;
    return s->kernels->same[ONCE] != NULL && c->accelerator_count == 1 &&
           s->units > 1 && c->accelerators[0].device->info.proceeds &&
           !hri_progress_is_told(&s->progress);
}

static void init_words(void *data)
{
    hri_scan_words *w = data;
    pthread_mutex_init(&w->lock, NULL);
}

static void destroy_words(hr_context *context)
{
    hri_scan_words *w = hri_state_find(context, HRI_STATE_SCAN);
    hr_array_destroy(w->words);
    pthread_mutex_destroy(&w->lock);
}

/* The words of the context. NULL: no memory. */
static hri_scan_words *words_of(hr_context *context)
{
    static const hri_state_kind kind = {.bytes = sizeof(hri_scan_words),
                                        .init = init_words,
                                        .destroy = destroy_words};
    pthread_mutex_lock(&context->lock);
    hri_scan_words *w = hri_state_make(context, HRI_STATE_SCAN, &kind);
    pthread_mutex_unlock(&context->lock);
    return w;
}

/* Hold words for so many units, all 0. */
static hr_status hold_words(hr_context *context, hri_scan_words *w,
                            int64_t units)
{
    const int64_t groups = hri_ceil_div(units, GROUP);
    const int64_t count =
        2 * (1 + units + groups + hri_ceil_div(groups, GROUP) + 1);
    hr_mapping m = {0};
    if (w->words != NULL && w->scans < UINT32_MAX &&
        w->words->extent.size[0] >= count) {
        return HR_OK;
    }
    hr_array_destroy(w->words);
    w->words = NULL;
    w->scans = 0;
    HRI_TRY(hr_array_create_anywhere(context, sizeof(uint64_t),
                                     hr_extent1(count), &w->words));
    HRI_TRY(hr_map(hr_view_of(w->words), HR_OUT, &m));
    memset(m.data, 0, (size_t)count * sizeof(uint64_t));
    return hr_unmap(&m);
}

/* Launch with the context's words. */
static hr_status scan_with_words(scanning *s, hri_scan_words *w)
{
    const int kind = (int)s->operation, exclusive = s->exclusive;
    const int64_t all = s->a.extent.size[0];
    int64_t rows[MAX_ARGUMENTS] = {1, 1, 1, 1, 1, 1, 1};
    hr_argument arguments[MAX_ARGUMENTS];
    size_t n;
    const hr_kernel *kernel =
        begin_arguments(s, ONCE, all, arguments, rows, &n);
    const uint32_t launch_number = ++w->scans;
    rows[n] = w->words->extent.size[0];
    arguments[n++] = hr_inout(hr_view_of(w->words));
    arguments[n++] = hr_value(&s->start.exact, sizeof s->start.exact);
    arguments[n++] = hr_value(&launch_number, sizeof launch_number);
    arguments[n++] = hr_value(&kind, sizeof kind);
    arguments[n++] = hr_value(&exclusive, sizeof exclusive);
    hri_splitting split = {.kernel = kernel,
                           .domain = hr_extent2(1, s->units * ONCE_ITEMS),
                           .arguments = arguments,
                           .rows = rows,
                           .tile = &once_tile};
    return launch_split(s, &split, n);
}

static hr_status scan_once(scanning *s)
{
    hri_scan_words *w = words_of(s->context);
    if (w == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: out of memory", call);
    }
    pthread_mutex_lock(&w->lock);
    hr_status status = hold_words(s->context, w, s->units);
    if (status == HR_OK) {
        status = scan_with_words(s, w);
    }
    if (status != HR_OK) { /* the words may hold anything */
        hr_array_destroy(w->words);
        w->words = NULL;
    }
    pthread_mutex_unlock(&w->lock);
    return status;
}

/* ---- the call */

static hr_status scan_in_passes(scanning *s)
{
    const bool totals = s->units > 1;
    if (totals) {
        HRI_TRY(find_totals(s));
    }
    if (!s->dry) {
        HRI_TRY(scan_units(s, totals));
    }
    return scan_each(s);
}

static hr_status scan_in_two(scanning *s)
{
    HRI_TRY(hr_array_create_anywhere(
        s->context, sizeof(double),
        hr_extent2(s->units, (int64_t)(s->number_bytes / sizeof(double))),
        &s->before));
    const hr_status status = scan_in_passes(s);
    hr_array_destroy(s->before);
    return status;
}

static hr_status scan_cells(scanning *s)
{
    if (can_once(s)) {
        const hr_status status = scan_once(s);
        if (status != HR_ERROR_OUT_OF_MEMORY) {
            return status;
        }
    }
    return scan_in_two(s); /* units can stream */
}

/* Points of all launches. */
static double points_of(const scanning *s)
{
    if (s->a.extent.rank == 1) {
        return (double)(s->units > 1 ? 2 * s->units : 1) * ITEMS;
    }
    const hr_extent domain = domain_of(s->a.extent, lines_of_tile(s->a.extent));
    return (double)domain.size[0] * (double)domain.size[1];
}

hr_status hr_scan(hr_context *context, hr_reduction operation,
                  hr_scan_kind kind, hr_type type, hr_view a, hr_view b,
                  const hr_split_options *options)
{
    HRI_USUAL_ARITHMETIC;
    HRI_TRY(hri_context_check(context, call));
    scanning s = {.context = context,
                  .options = options,
                  .kernels = find_kernels(type, operation),
                  .operation = operation,
                  .type = type,
                  .integers = type == HR_I8 || type == HR_I32,
                  .number_bytes = is_scaled(type, operation) ? sizeof(number)
                                                             : sizeof(double),
                  .exclusive = kind == HR_SCAN_EXCLUSIVE,
                  .a = a,
                  .b = b};
    HRI_TRY(check_views(&s, kind));
    s.in_place = hri_view_is_same(&a, &b);
    s.start = find_start(&s);
    HRI_TRY(hri_view_for_kernels(&s.a, HR_MAX_KERNEL_RANK, call, "view a"));
    HRI_TRY(hri_view_for_kernels(&s.b, HR_MAX_KERNEL_RANK, call, "view b"));
    s.a = hri_view_in_space(s.a);
    s.b = hri_view_in_space(s.b);
    s.units = hri_ceil_div(s.a.extent.size[0], UNIT); /* of rank 1 */
    hr_status status =
        hri_split_read_progress(options, call, points_of(&s), &s.progress);
    if (status == HR_OK) {
        status = s.a.extent.rank == 1 ? scan_cells(&s) : scan_lines(&s);
    }
    return hri_progress_end(&s.progress, status);
}
