/* SPDX-License-Identifier: MIT */
/* Scans of views. Long rows are cut into units: accelerators reduce them, the
 * host scans what they give, and accelerators scan each unit from there. */
#include <headrace/scan.h>

#include <math.h>

#include "arrays/array.h"
#include "base/size.h"
#include "calls/reduction.h"
#include "calls/views.h"
#include "split/split.h"

enum { ITEMS = HRI_REDUCE_ITEMS }; /* LANES in kernels/dialect/scan.c */

static const char call[] = "scan";

#define KERNELS(name)                                                          \
    extern const hr_kernel hri_scan_##name##_cells, hri_scan_##name##_lines
#define KERNELS_IN_PLACE(name)                                                 \
    extern const hr_kernel hri_scan_##name##_cells_in_place,                   \
        hri_scan_##name##_lines_in_place
KERNELS(f32);
KERNELS(f32_f64);
KERNELS(f64);
KERNELS(i8);
KERNELS(i8_i32);
KERNELS(i32);
KERNELS(i32_i64);
KERNELS_IN_PLACE(f32);
KERNELS_IN_PLACE(f64);
KERNELS_IN_PLACE(i8);
KERNELS_IN_PLACE(i32);

/* The kernels of a type: [1] for views of rank 1. */
typedef struct scan_kernels {
    size_t wide_bytes; /* of the wider elements; 0: there are none */
    const hr_kernel *same[2], *wide[2], *in_place[2];
} scan_kernels;

/* A number that is joined: of fractions a double. */
typedef union number {
    double fraction;
    int64_t integer;
    uint64_t exact;
} number;

/* A scan under way. */
typedef struct scanning {
    hr_context *context;
    const hr_split_options *options;
    const scan_kernels *kernels;
    hr_reduction operation;
    hr_type type;
    bool integers, exclusive, in_place;
    bool dry; /* nothing was computed */
    number start;
    hr_view a, b;     /* of rank 1 or 3 */
    int64_t unit;     /* of rank 1: the elements of a unit, */
    int64_t units;    /* and how many there are */
    hr_array *before; /* units x 1: what comes before each unit */
} scanning;

/* NULL: there are none. */
static const scan_kernels *find_kernels(hr_type type)
{
#define OF(name)                                                               \
    {                                                                          \
        &hri_scan_##name##_lines, &hri_scan_##name##_cells                     \
    }
#define IN_PLACE(name)                                                         \
    {                                                                          \
        &hri_scan_##name##_lines_in_place, &hri_scan_##name##_cells_in_place   \
    }
    static const scan_kernels kernels[] = {
        [HR_F32] = {8, OF(f32), OF(f32_f64), IN_PLACE(f32)},
        [HR_F64] = {0, OF(f64), {NULL}, IN_PLACE(f64)},
        [HR_I8] = {4, OF(i8), OF(i8_i32), IN_PLACE(i8)},
        [HR_I32] = {8, OF(i32), OF(i32_i64), IN_PLACE(i32)}};
#undef OF
#undef IN_PLACE
    const size_t count = sizeof kernels / sizeof kernels[0];
    return (size_t)type < count && kernels[type].same[0] != NULL
               ? &kernels[type]
               : NULL;
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
    if (hr_type_size(s->type) == 0) {
        return hri_fail(HR_ERROR_UNSUPPORTED, "scan: unknown type %d",
                        (int)s->type);
    }
    return s->kernels != NULL
               ? HR_OK
               : hri_fail(HR_ERROR_UNSUPPORTED,
                          "scan: only f32, f64, i8 and i32 are offered, not %s",
                          hr_type_name(s->type));
}

static hr_status check_b(const scanning *s)
{
    const size_t bytes = hr_type_size(s->type), wide = s->kernels->wide_bytes;
    const size_t given = s->b.element_bytes;
    if (given == bytes || wide == 0) {
        return hri_view_check(&s->b, s->context, s->type, call, "view b");
    }
    const hr_status status =
        hri_view_check_owner(&s->b, s->context, call, "view b");
    return status != HR_OK || given == wide
               ? status
               : hri_fail(HR_ERROR_INVALID,
                          "scan: view b has elements of %zu byte%s; scans of "
                          "%s write %zu or %zu",
                          given, hri_plural(given), hr_type_name(s->type),
                          bytes, wide);
}

static hr_status check(const scanning *s, hr_scan_kind kind)
{
    hr_status status = check_kind(s, kind);
    if (status == HR_OK) {
        status = hri_view_check(&s->a, s->context, s->type, call, "view a");
    }
    if (status == HR_OK) {
        status = check_b(s);
    }
    return status == HR_OK
               ? hri_views_check_extents(&s->a, "view a", &s->b, "view b", call)
               : status;
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

/* Whether units are reduced in integers of 64 bits, not in double. */
static bool is_exact(const scanning *s)
{
    return s->integers &&
           (s->operation == HR_REDUCE_SUM || s->operation == HR_REDUCE_PRODUCT);
}

/* Join what comes before a unit with what reducing the unit gave. */
static number join(const scanning *s, number before, number unit)
{
    const double pair[2] = {
        s->integers ? (double)before.integer : before.fraction, unit.fraction};
    const uint64_t exact[2] = {before.exact, unit.exact};
    number x = {0};
    if (is_exact(s)) {
        x.exact = hri_reduction_join_exact(s->operation, exact, 2);
    } else if (s->integers) {
        x.integer = (int64_t)hri_reduction_join(s->operation, pair, 2);
    } else {
        x.fraction = hri_reduction_join(s->operation, pair, 2);
    }
    return x;
}

/* ---- launches */

static hr_status launch(scanning *s, hri_splitting *split, size_t count)
{
    static const hr_extent tile = {2, {1, ITEMS}};
    split->context = s->context;
    split->own_kernel = true;
    split->tile = &tile;
    split->usable = hri_accelerator_check_double;
    hr_status status = hri_split_run(split, count, s->options);
    s->dry = split->options.dry_run;
    return status;
}

/* Reduce each unit to a number. */
static hr_status reduce_units(scanning *s)
{
    const int64_t unit = s->unit;
    const int64_t rows[] = {unit, 1, 1};
    const hri_units units = {.kind = (int64_t)s->operation,
                             .unit = {.rows = unit, .lines = 1, .cols = unit},
                             .scale = 1};
    const hr_argument arguments[] = {hr_in(s->a), hr_out(hr_view_of(s->before)),
                                     hr_value(&units, sizeof units)};
    hri_splitting split = {.kernel = hri_reduction_kernel(s->operation, s->type,
                                                          is_exact(s), true),
                           .domain = hr_extent2(s->units, ITEMS),
                           .arguments = arguments,
                           .rows = rows};
    return launch(s, &split, 3);
}

/* Put what comes before each unit in the place of what the unit gave. */
static hr_status scan_units(const scanning *s, bool reduced)
{
    hr_mapping m = {0};
    hr_status status =
        hr_map(hr_view_of(s->before), reduced ? HR_INOUT : HR_OUT, &m);
    if (status != HR_OK) {
        return status;
    }
    number *units = m.data, before = s->start;
    for (int64_t i = 0; i < s->units; i++) {
        const number unit = reduced ? units[i] : before;
        units[i] = before;
        before = reduced ? join(s, before, unit) : before;
    }
    return hr_unmap(&m);
}

/* Scan each unit, or the lines of a view of rank 3. */
static hr_status scan_all(scanning *s)
{
    const bool cells = s->a.extent.rank == 1;
    const bool wide = s->b.element_bytes != s->a.element_bytes;
    const int kind = (int)s->operation, exclusive = s->exclusive;
    const int64_t cols = s->unit, unit = cells ? cols : 1;
    const int64_t rows[6] = {unit, s->in_place ? 1 : unit, 1, 1, 1, 1};
    hr_argument arguments[6];
    size_t n = 0;
    if (!s->in_place) {
        arguments[n++] = hr_in(s->a);
    }
    arguments[n++] = s->in_place ? hr_inout(s->b) : hr_out(s->b);
    if (cells) {
        arguments[n++] = hr_in(hr_view_of(s->before));
        arguments[n++] = hr_value(&cols, sizeof cols);
    } else {
        arguments[n++] = hr_value(&s->start, sizeof s->start);
    }
    arguments[n++] = hr_value(&kind, sizeof kind);
    arguments[n++] = hr_value(&exclusive, sizeof exclusive);
    const int64_t *size = s->a.extent.size;
    hri_splitting split = {.kernel = (s->in_place ? s->kernels->in_place
                                      : wide      ? s->kernels->wide
                                                  : s->kernels->same)[cells],
                           .domain = cells
                                         ? hr_extent2(s->units, ITEMS)
                                         : hr_extent2(size[0], size[1] * ITEMS),
                           .arguments = arguments,
                           .rows = rows};
    return launch(s, &split, n);
}

/* ---- the call */

static hr_status scan_cells(scanning *s)
{
    s->unit = hri_unit_elements(s->a.extent.size[0]);
    s->units = hri_ceil_div(s->a.extent.size[0], s->unit);
    hr_status status = hr_array_create_anywhere(
        s->context, sizeof(number), hr_extent2(s->units, 1), &s->before);
    const bool reduced = s->units > 1;
    if (status == HR_OK && reduced) {
        status = reduce_units(s);
    }
    if (status == HR_OK && !s->dry) {
        status = scan_units(s, reduced);
    }
    if (status == HR_OK) {
        status = scan_all(s);
    }
    hr_array_destroy(s->before);
    return status;
}

hr_status hr_scan(hr_context *context, hr_reduction operation,
                  hr_scan_kind kind, hr_type type, hr_view a, hr_view b,
                  const hr_split_options *options)
{
    if (context == NULL) {
        return hri_fail(HR_ERROR_INVALID, "scan: the context is NULL");
    }
    scanning s = {.context = context,
                  .options = options,
                  .kernels = find_kernels(type),
                  .operation = operation,
                  .type = type,
                  .integers = type == HR_I8 || type == HR_I32,
                  .exclusive = kind == HR_SCAN_EXCLUSIVE,
                  .a = a,
                  .b = b};
    hr_status status = check(&s, kind);
    if (status != HR_OK) {
        return status;
    }
    s.in_place = hri_view_is_same(&a, &b);
    s.start = find_start(&s);
    status = hri_view_for_kernels(&s.a, HR_MAX_KERNEL_RANK, call, "view a");
    if (status == HR_OK) {
        status = hri_view_for_kernels(&s.b, HR_MAX_KERNEL_RANK, call, "view b");
    }
    if (status != HR_OK) {
        return status;
    }
    s.a = hri_view_in_space(s.a);
    s.b = hri_view_in_space(s.b);
    return s.a.extent.rank == 1 ? scan_cells(&s) : scan_all(&s);
}
