/* SPDX-License-Identifier: MIT */
/* Sorts of views: the rules, the kernels, and which way is taken.
 *
 * Short rows are one split launch: a tile sorts some of them in its memory.
 * Longer rows are planned as such a launch, but sort_run.c carries it out
 * (carry_out of hri_splitting). Each accelerator finds the bytes in which its
 * keys differ, and sorts by each of them, lowest first: by counts, a scan of
 * the counts and a move, or by sweeps where tiles proceed while others wait.
 * Accelerators that share a row then have a sorted run each. Runs are cut at
 * the begins of bands, and each accelerator copies its shares of all runs and
 * merges them (sort_merge.c). A band has a queue of its own: after a failure
 * that queue skips what follows, and its end tells the error. */
#include "calls/sort.h"

#include "arrays/array.h"
#include "base/arithmetic.h"
#include "base/matrix.h"
#include "base/size.h"
#include "calls/views.h"

static const char call[] = "sort";

enum {
    MAX_PLANNED = 4, /* arguments of a plan's kernel */
    TOGETHER = 16,   /* rows that the host sorts at once, as in
                        kernels/dialect/sort.inc */
    TILES = 256,     /* that keep a device busy */
    SHORT = 4096     /* elements of a short row, of 8 bytes half of them: as
                        BLOCK in kernels/dialect/sort.inc */
};

#define BY_SIZE(make) make(u8) make(u16) make(u32) make(u64)
#define KEYS(name)                                                             \
    extern const hr_kernel hri_sort_##name##_differ, hri_sort_##name##_count,  \
        hri_sort_##name##_ranks, hri_sort_##name##_scatter,                    \
        hri_sort_##name##_merge, hri_sort_##name##_short,                      \
        hri_sort_##name##_short_in_place, hri_sort_##name##_tally,             \
        hri_sort_##name##_sweep, hri_sort_##name##_sweep_in_place,             \
        hri_sort_##name##_settle;
#define PAIRS(name)                                                            \
    extern const hr_kernel hri_sort_##name##_scatter, hri_sort_##name##_merge, \
        hri_sort_##name##_short_in_place, hri_sort_##name##_sweep_in_place,    \
        hri_sort_##name##_settle;
#define BOTH_PAIRS(name) PAIRS(name##_u32) PAIRS(name##_u64)
BY_SIZE(KEYS)
BY_SIZE(BOTH_PAIRS)
#define PLANS(shape)                                                           \
    extern const hr_kernel hri_sort_plan_##shape,                              \
        hri_sort_plan_##shape##_in_place, hri_sort_plan_##shape##_by_key
PLANS(cells);
PLANS(rows);

/* A type of keys: its kernels without values and with values of 4 and 8 bytes,
 * and how its numbers are compared. */
typedef struct key_kind {
    hri_sort_kernels kernels[3];
    hri_sort_form form;
} key_kind;

static const key_kind *find_type(hr_type type)
{
#define ALONE(name)                                                            \
    {                                                                          \
        &hri_sort_##name##_differ, &hri_sort_##name##_count,                   \
            &hri_sort_##name##_ranks, &hri_sort_##name##_scatter,              \
            &hri_sort_##name##_merge, &hri_sort_##name##_short,                \
            &hri_sort_##name##_short_in_place, &hri_sort_##name##_tally,       \
            &hri_sort_##name##_sweep, &hri_sort_##name##_sweep_in_place,       \
            &hri_sort_##name##_settle                                          \
    }
#define WITH(name, value)                                                      \
    {                                                                          \
        &hri_sort_##name##_differ, &hri_sort_##name##_count,                   \
            &hri_sort_##name##_ranks, &hri_sort_##name##_##value##_scatter,    \
            &hri_sort_##name##_##value##_merge, NULL,                          \
            &hri_sort_##name##_##value##_short_in_place,                       \
            &hri_sort_##name##_tally, NULL,                                    \
            &hri_sort_##name##_##value##_sweep_in_place,                       \
            &hri_sort_##name##_##value##_settle                                \
    }
#define KERNELS(name)                                                          \
    {                                                                          \
        ALONE(name), WITH(name, u32), WITH(name, u64)                          \
    }
#define INTEGER(sign)                                                          \
    {                                                                          \
        UINT64_MAX, 0, sign, UINT64_MAX, 0                                     \
    }
#define FRACTION(sign, infinity)                                               \
    {                                                                          \
        (sign) - 1, (sign) + (infinity), infinity, 2 * (infinity) + 1, 0       \
    }
    static const key_kind types[] = {
        [HR_F32] = {KERNELS(u32), FRACTION(0x80000000U, 0x7f800000U)},
        [HR_F64] = {KERNELS(u64),
                    FRACTION(UINT64_C(1) << 63, UINT64_C(0x7ff0000000000000))},
        [HR_F16] = {KERNELS(u16), FRACTION(0x8000U, 0x7c00U)},
        [HR_BF16] = {KERNELS(u16), FRACTION(0x8000U, 0x7f80U)},
        [HR_I8] = {KERNELS(u8), INTEGER(0x80U)},
        [HR_I32] = {KERNELS(u32), INTEGER(0x80000000U)}};
#undef ALONE
#undef WITH
#undef KERNELS
#undef INTEGER
#undef FRACTION
    const size_t count = sizeof types / sizeof types[0];
    return (size_t)type < count && types[type].kernels[0].differ != NULL
               ? &types[type]
               : NULL;
}

/* ---- rules */

static hr_status check_type(hr_sort_order order, hr_type type)
{
    if (order != HR_SORT_ASCENDING && order != HR_SORT_DESCENDING) {
        return hri_fail(HR_ERROR_INVALID, "sort: unknown order %d", (int)order);
    }
    HRI_TRY(hri_type_check(call, NULL, type));
    if (find_type(type) == NULL) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "sort: only f32, f64, f16, bf16, i8 and i32 are "
                        "offered, not %s",
                        hr_type_name(type));
    }
    return HR_OK;
}

/* ---- views as kernels take them */

/* Make a view one of rows, of elements that are only bits. */
static hr_status lay_out(hr_view *view, const char *name)
{
    HRI_TRY(hri_view_for_kernels(view, 2, call, name));
    if (view->extent.rank == 1) {
        view->extent = hr_extent2(1, view->extent.size[0]);
        view->stride_bytes[1] = view->stride_bytes[0];
        view->stride_bytes[0] = view->extent.size[1] * view->stride_bytes[1];
    }
    view->type = NULL;
    return HR_OK;
}

/* ---- short rows: a split launch */

/* The most elements of a short row. */
static int64_t max_short_row(const hri_sorting *s)
{
    return s->key_bytes > 4 ? SHORT / 2 : SHORT;
}

/* Rows of a tile. The host compares the keys of several rows at once, if there
 * are enough for all processors. A device takes as many rows as its tile has
 * memory for. */
static int rows_of_tile(const hri_sorting *s)
{
    const hr_context *c = s->context;
    const int64_t rows = s->to.keys.extent.size[0];
    int64_t fit = max_short_row(s) / s->to.keys.extent.size[1];
    int64_t tiles = 0;
    for (uint32_t i = 0; i < c->accelerator_count; i++) {
        const hri_device_info *info = &c->accelerators[i].device->info;
        if (!info->host) {
            return (int)hri_max(hri_min(fit, rows / TILES), 1);
        }
        tiles += info->compute_units;
    }
    if (s->to.values.array == NULL) {
        fit = hri_max(fit, TOGETHER);
    }
    const int64_t each = hri_max(hri_min(fit, rows / hri_max(tiles, 1)), 1);
    return (int)(each < TOGETHER ? each : each / TOGETHER * TOGETHER);
}

static hr_status sort_short(const hri_sorting *s)
{
    static const hr_extent tile = {2, {1, HRI_SORT_ITEMS}};
    const bool pairs = s->to.values.array != NULL;
    const int bits = 8 * (int)s->key_bytes;
    const int each = rows_of_tile(s);
    const int64_t rows[] = {each, each, each, each, each};
    hr_argument arguments[5];
    size_t n = 0;
    if (!s->in_place) {
        arguments[n++] = hr_in(s->from.keys);
    }
    arguments[n++] = s->in_place ? hr_inout(s->to.keys) : hr_out(s->to.keys);
    if (pairs) {
        arguments[n++] = hr_inout(s->to.values);
    }
    arguments[n++] = hr_value(&s->form, sizeof s->form);
    arguments[n++] = hr_value(&bits, sizeof bits);
    arguments[n++] = hr_value(&each, sizeof each);
    hri_splitting split = {
        .context = s->context,
        .kernel = s->in_place ? s->kernels.brief_in_place : s->kernels.brief,
        .domain = hr_extent2(hri_ceil_div(s->to.keys.extent.size[0], each),
                             HRI_SORT_ITEMS),
        .arguments = arguments,
        .rows = rows,
        .call = call,
        .tile = &tile,
        .usable = hri_accelerator_check_double};
    return hri_split_run(&split, n, s->options);
}

/* ---- long rows: bands are planned as of a launch that touches all memory of
 * the sort */

/* Make a view one of bytes, the only row of one a view of rank 1. */
static hr_status bytes_of(hr_view *view)
{
    if (view->extent.rank == 2 && view->extent.size[0] == 1) {
        view->extent = hr_extent1(view->extent.size[1]);
        view->stride_bytes[0] = view->stride_bytes[1];
    }
    return hr_view_reinterpret(*view, 1, view);
}

static const hr_kernel *plan_kernel(const hri_sorting *s, bool one)
{
    static const hr_kernel *const kernels[2][3] = {
        {&hri_sort_plan_rows, &hri_sort_plan_rows_in_place,
         &hri_sort_plan_rows_by_key},
        {&hri_sort_plan_cells, &hri_sort_plan_cells_in_place,
         &hri_sort_plan_cells_by_key}};
    return kernels[one][s->to.values.array != NULL ? 2 : s->in_place];
}

/* A plan's arguments, and the bytes of each for a row of the domain. */
typedef struct planned {
    hr_argument arguments[MAX_PLANNED];
    int64_t rows[MAX_PLANNED];
    size_t count;
    hr_array *temporary[2];
} planned;

static hr_status add_view(planned *p, const hr_argument *argument)
{
    const size_t i = p->count++;
    p->arguments[i] = *argument;
    p->rows[i] = HRI_SORT_UNIT * (int64_t)argument->view.element_bytes;
    return bytes_of(&p->arguments[i].view);
}

/* Add an array that stands for a copy of a view. */
static hr_status add_temporary(planned *p, const hr_view *view,
                               hr_array **array)
{
    const int64_t *size = view->extent.size;
    const int64_t bytes = (int64_t)view->element_bytes;
    const hr_extent extent = size[0] == 1
                                 ? hr_extent1(size[1] * bytes)
                                 : hr_extent2(size[0], size[1] * bytes);
    HRI_TRY(hr_array_create_anywhere(view->array->context, 1, extent, array));
    p->rows[p->count] = HRI_SORT_UNIT * bytes;
    p->arguments[p->count++] = hr_out(hr_view_of(*array));
    return HR_OK;
}

static hr_status add_all(const hri_sorting *s, planned *p)
{
    const hri_sort_data *to = &s->to;
    const hr_argument from = hr_in(s->from.keys);
    const hr_argument keys =
        s->in_place ? hr_inout(to->keys) : hr_out(to->keys);
    const hr_argument values = hr_inout(to->values);
    if (!s->in_place) {
        HRI_TRY(add_view(p, &from));
    }
    HRI_TRY(add_view(p, &keys));
    HRI_TRY(add_temporary(p, &to->keys, &p->temporary[0]));
    if (to->values.array == NULL) {
        return HR_OK;
    }
    HRI_TRY(add_view(p, &values));
    return add_temporary(p, &to->values, &p->temporary[1]);
}

static hr_status sort_long(hri_sorting *s)
{
    static const hr_extent tile = {2, {1, HRI_SORT_ITEMS}};
    const int64_t *size = s->to.keys.extent.size;
    const bool one = size[0] == 1;
    planned p = {.count = 0};
    hr_status status = add_all(s, &p);
    hri_splitting split = {
        .context = s->context,
        .kernel = plan_kernel(s, one),
        .domain =
            hr_extent2(one ? hri_ceil_div(size[1], HRI_SORT_UNIT) : size[0],
                       HRI_SORT_ITEMS),
        .arguments = p.arguments,
        .call = call,
        .rows = one ? p.rows : NULL,
        .tile = &tile,
        .usable = hri_accelerator_check_double,
        .times = (double)s->key_bytes,
        .at_once = true,
        .extra_bytes = hri_sort_extra_bytes,
        .carry_out = hri_sort_run,
        .data = s};
    if (status == HR_OK) {
        status = hri_split_run(&split, p.count, s->options);
    }
    hr_array_destroy(p.temporary[0]);
    hr_array_destroy(p.temporary[1]);
    return status;
}

/* ---- the calls */

static hr_status sort_views(hr_context *context, hr_sort_order order,
                            hr_type type, hri_sort_data from, hri_sort_data to,
                            const hr_split_options *options)
{
    const key_kind *t = find_type(type);
    const bool pairs = to.values.array != NULL;
    hri_sorting s = {
        .context = context,
        .options = options,
        .kernels = t->kernels[pairs ? to.values.element_bytes / 4 : 0],
        .form = t->form,
        .key_bytes = hr_type_size(type),
        .in_place = pairs || hri_view_is_same(&from.keys, &to.keys),
        .from = from,
        .to = to};
    s.form.flip = order == HR_SORT_DESCENDING ? UINT64_MAX : 0;
    HRI_TRY(lay_out(&s.from.keys, pairs ? "view keys" : "view a"));
    HRI_TRY(lay_out(&s.to.keys, pairs ? "view keys" : "view b"));
    if (pairs) {
        HRI_TRY(lay_out(&s.to.values, "view values"));
    }
    s.from.values = s.to.values;
    return s.to.keys.extent.size[1] <= max_short_row(&s) ? sort_short(&s)
                                                         : sort_long(&s);
}

hr_status hr_sort(hr_context *context, hr_sort_order order, hr_type type,
                  hr_view a, hr_view b, const hr_split_options *options)
{
    HRI_USUAL_ARITHMETIC;
    HRI_TRY(hri_context_check(context, call));
    HRI_TRY(check_type(order, type));
    HRI_TRY(hri_view_check(&a, context, type, call, "view a"));
    HRI_TRY(hri_view_check(&b, context, type, call, "view b"));
    HRI_TRY(hri_views_check_extents(&a, "view a", &b, "view b", call));
    if (!hri_view_is_same(&a, &b)) {
        HRI_TRY(hri_views_check_apart(&b, "view b", &a, "view a", call));
    }
    const hri_sort_data from = {.keys = a}, to = {.keys = b};
    return sort_views(context, order, type, from, to, options);
}

static hr_status check_values(hr_type type)
{
    const size_t bytes = hr_type_size(type);
    if (bytes == 0 || bytes == 4 || bytes == 8) {
        return hri_type_check(call, "values", type);
    }
    return hri_fail(HR_ERROR_UNSUPPORTED,
                    "sort: values of %s have %zu byte%s; only those of 4 and 8 "
                    "bytes are moved",
                    hr_type_name(type), bytes, hri_plural(bytes));
}

hr_status hr_sort_by_key(hr_context *context, hr_sort_order order,
                         hr_type key_type, hr_view keys, hr_type value_type,
                         hr_view values, const hr_split_options *options)
{
    HRI_USUAL_ARITHMETIC;
    HRI_TRY(hri_context_check(context, call));
    HRI_TRY(check_type(order, key_type));
    HRI_TRY(check_values(value_type));
    HRI_TRY(hri_view_check(&keys, context, key_type, call, "view keys"));
    HRI_TRY(hri_view_check(&values, context, value_type, call, "view values"));
    HRI_TRY(hri_views_check_extents(&keys, "view keys", &values, "view values",
                                    call));
    HRI_TRY(hri_views_check_apart(&values, "view values", &keys, "view keys",
                                  call));
    const hri_sort_data data = {keys, values};
    return sort_views(context, order, key_type, data, data, options);
}
