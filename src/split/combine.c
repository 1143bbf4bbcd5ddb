/* SPDX-License-Identifier: MIT */
/* Views that bands combine. The first band works on the view itself. Each other
 * one works on a copy of the whole view, which begins with the neutral element
 * and is folded into the view at the end. */
#include <math.h>
#include <string.h>

#include "arrays/array.h"
#include "split/split.h"

extern const hr_kernel hri_combine_i32, hri_combine_u32, hri_combine_i64,
    hri_combine_u64, hri_combine_f32, hri_combine_f64;
extern const hr_kernel hri_fill32_line, hri_fill64_line;

typedef union number {
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    float f32;
    double f64;
} number;

/* Elements that can be combined. */
typedef struct combinable {
    const hr_kernel *fold, *fill;
    bool fraction;
    number neutral[HR_COMBINE_MAX + 1];
} combinable;

/* NULL: they cannot. */
static const combinable *find_type(const char *type)
{
#define NUMBER(kind, width, is_fraction, least, most)                          \
    {                                                                          \
        &hri_combine_##kind, &hri_fill##width##_line, is_fraction,             \
        {                                                                      \
            [HR_COMBINE_SUM] = {.kind = 0}, [HR_COMBINE_MIN] = {.kind = most}, \
            [HR_COMBINE_MAX] = {                                               \
                .kind = least                                                  \
            }                                                                  \
        }                                                                      \
    }
    enum { I32, U32, I64, U64, F32, F64 };
    static const combinable numbers[] = {
        [I32] = NUMBER(i32, 32, false, INT32_MIN, INT32_MAX),
        [U32] = NUMBER(u32, 32, false, 0, UINT32_MAX),
        [I64] = NUMBER(i64, 64, false, INT64_MIN, INT64_MAX),
        [U64] = NUMBER(u64, 64, false, 0, UINT64_MAX),
        [F32] = NUMBER(f32, 32, true, -INFINITY, INFINITY),
        [F64] = NUMBER(f64, 64, true, -INFINITY, INFINITY)};
#undef NUMBER
    static const struct {
        const char *name;
        int number;
    } names[] = {{"int", I32},           {"unsigned", U32},
                 {"unsigned int", U32},  {"long", I64},
                 {"long long", I64},     {"hr_index", I64},
                 {"unsigned long", U64}, {"unsigned long long", U64},
                 {"float", F32},         {"double", F64}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(type, names[i].name) == 0) {
            return &numbers[names[i].number];
        }
    }
    return NULL;
}

hr_argument hr_combined(hr_argument argument, hr_combine how)
{
    argument.combine = how;
    return argument;
}

/* ---- rules */

/* Another argument that is a view of the same array. */
static bool has_other(const hri_splitting *s, uint32_t k, uint32_t *other)
{
    uint32_t j = 0;
    while (j < s->kernel->parameter_count &&
           (j == k || !hri_split_is_view(s, j) ||
            s->arguments[j].view.array != s->arguments[k].view.array)) {
        j++;
    }
    *other = j;
    return j < s->kernel->parameter_count;
}

static hr_status check_type(const hri_splitting *s, uint32_t k)
{
    const hr_argument *a = &s->arguments[k];
    const hr_parameter *p = &s->parameters[k];
    const combinable *type = find_type(p->type);
    if (type == NULL) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %s has elements of %s; only numbers of 32 and 64 "
                        "bits can be combined",
                        hri_split_name(s), p->name, p->type);
    }
    if (s->context->reproducible && type->fraction &&
        a->combine == HR_COMBINE_SUM) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "%s: %s has sums of fractions, which depend on the "
                        "bands; the context is reproducible",
                        hri_split_name(s), p->name);
    }
    return HR_OK;
}

hr_status hri_split_check_combined(const hri_splitting *s, uint32_t k)
{
    const hr_argument *a = &s->arguments[k];
    const char *kernel = hri_split_name(s), *name = s->parameters[k].name;
    uint32_t other = 0;
    if (a->combine < HR_COMBINE_SUM || a->combine > HR_COMBINE_MAX) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %s is combined in the unknown way %d", kernel,
                        name, (int)a->combine);
    }
    if (a->access != HR_INOUT || s->parameters[k].list) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %s is %s; only INOUT views can be combined",
                        kernel, name,
                        s->parameters[k].list ? "a list of views"
                        : a->access == HR_IN  ? "IN"
                                              : "OUT");
    }
    if (a->whole || a->before != 0 || a->after != 0) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %s is combined, so it takes neither hr_whole nor "
                        "hr_near",
                        kernel, name);
    }
    if (has_other(s, k, &other)) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %s is combined, but %s is a view of its array",
                        kernel, name, s->parameters[other].name);
    }
    return check_type(s, k);
}

/* ---- launches of our own */

/* Launch a kernel on participant i's default queue. The band's launch there is
 * no longer timed, but its time is kept if it is done. */
static hr_status launch_own(const hri_splitting *s, uint32_t i,
                            const hr_kernel *kernel, const hr_extent *domain,
                            const hr_argument *arguments, size_t count)
{
    hri_accelerator *a = s->participants[i].accelerator;
    const hri_launch_box box = hri_launch_box_of(*domain);
    hr_queue queue = {.context = s->context, .accelerator = a};
    HRI_TRY(hri_accelerator_default_queue(a, &queue.stream));
    (void)hri_model_kernel(a, s->kernel, hri_split_row_points(s));
    a->default_queue.kernel = NULL;
    return hri_launch_in_box(s->context, &queue, kernel, &box, arguments,
                             count);
}

/* Wait for what has written to a view. The context's lock is held, but other
 * threads may use the context meanwhile. */
static hr_status wait_for_view(const hr_view *view)
{
    hri_boxes boxes = {0};
    hri_fences fences = {0};
    hr_status status = hri_view_boxes(view, &boxes);
    if (status != HR_OK) {
        goto done;
    }
    status = hri_uses_collect(view->array, HRI_NOWHERE, &boxes, true, &fences);
    if (status != HR_OK) {
        goto done;
    }
    status = hri_array_wait(view->array, NULL, &fences);
done:
    hri_fences_finish(&fences);
    hri_boxes_finish(&boxes);
    return status;
}

/* ---- copies */

/* Enqueue setting a view of rank 1, argument k or a copy of it, to the neutral
 * element. */
static hr_status neutralize(const hri_splitting *s, uint32_t i, uint32_t k,
                            hr_view view)
{
    const combinable *type = find_type(s->parameters[k].type);
    const number *neutral = &type->neutral[s->arguments[k].combine];
    view.type = NULL; /* the kernel is for bits */
    const hr_argument arguments[] = {hr_out(view),
                                     hr_value(neutral, view.element_bytes)};
    pthread_mutex_lock(&s->context->lock);
    hr_status status = launch_own(s, i, type->fill, &view.extent, arguments, 2);
    pthread_mutex_unlock(&s->context->lock);
    return status;
}

static hr_status make_copy(const hri_splitting *s, uint32_t i, uint32_t k)
{
    const hr_view *view = &s->arguments[k].view;
    hri_participant *p = &s->participants[i];
    hr_queue queue = {.context = s->context, .accelerator = p->accelerator};
    const hr_extent line = hr_extent1(hr_extent_count(view->extent));
    hr_view all = *view;
    HRI_TRY(hr_array_create(&queue, view->element_bytes, view->extent,
                            &p->copies[k]));
    HRI_TRY(hr_view_reshape(hr_view_of(p->copies[k]), line, &all));
    return neutralize(s, i, k, all);
}

/* What argument k needs before participant i's band runs. */
static hr_status begin_argument(const hri_splitting *s, uint32_t i, uint32_t k)
{
    const hr_band *band = &s->bands[i];
    if (band->count == 0 || !hri_split_is_combined(s, k)) {
        return HR_OK;
    }
    if (hri_split_is_copied(s, k, band)) {
        return make_copy(s, i, k);
    }
    return s->fresh ? neutralize(s, i, k, s->arguments[k].view) : HR_OK;
}

/* Wait for what is under way on the copies, and destroy them. */
static void destroy_copies(const hri_splitting *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        for (uint32_t k = 0; k < HR_MAX_PARAMETERS; k++) {
            hr_array_destroy(s->participants[i].copies[k]);
            s->participants[i].copies[k] = NULL;
        }
    }
}

/* ---- folding */

/* The same elements as a view of rank 3. */
static hr_view in_space(hr_view view)
{
    const uint32_t rank = view.extent.rank;
    for (uint32_t d = HR_MAX_KERNEL_RANK; d-- > 0;) {
        const uint32_t before = HR_MAX_KERNEL_RANK - rank;
        view.extent.size[d] = d < before ? 1 : view.extent.size[d - before];
        view.stride_bytes[d] = view.stride_bytes[d < before ? 0 : d - before];
    }
    view.extent.rank = HR_MAX_KERNEL_RANK;
    view.type = NULL; /* the kernel's names are of its own */
    return view;
}

/* Fold the copy that participant i has of argument k into the view, and wait.
 * The context's lock is held. */
static hr_status fold_copy(const hri_splitting *s, uint32_t i, uint32_t k)
{
    const hr_view to = in_space(s->arguments[k].view);
    const hr_view from = in_space(hr_view_of(s->participants[i].copies[k]));
    const int how = (int)s->arguments[k].combine;
    const hr_argument arguments[] = {hr_inout(to), hr_in(from), hr_value(how)};
    HRI_TRY(wait_for_view(&from));
    HRI_TRY(wait_for_view(&to));
    HRI_TRY(launch_own(s, hri_split_first(s),
                       find_type(s->parameters[k].type)->fold, &to.extent,
                       arguments, 3));
    return wait_for_view(&to);
}

/* Fold the copies of argument k, in the order of the bands. Each is destroyed
 * to make room for the next one. */
static hr_status fold_copies(const hri_splitting *s, uint32_t k)
{
    for (uint32_t i = 0; i < s->count; i++) {
        hr_array **copy = &s->participants[i].copies[k];
        if (*copy == NULL) {
            continue;
        }
        pthread_mutex_lock(&s->context->lock);
        const hr_status status = fold_copy(s, i, k);
        pthread_mutex_unlock(&s->context->lock);
        if (status != HR_OK) {
            return status;
        }
        hr_array_destroy(*copy);
        *copy = NULL;
    }
    return HR_OK;
}

/* After an error of bands or folds, which the caller is told: combined views
 * have no values. */
static void give_up(const hri_splitting *s)
{
    const hr_band all = {.count = s->domain.size[0]};
    destroy_copies(s);
    pthread_mutex_lock(&s->context->lock);
    for (uint32_t k = 0; k < s->kernel->parameter_count; k++) {
        if (hri_split_is_combined(s, k)) {
            hri_uses_forget_failed(s->arguments[k].view.array);
            (void)hri_split_forget(s, k, &all);
        }
    }
    pthread_mutex_unlock(&s->context->lock);
}

static hr_status begin_all(const hri_splitting *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        for (uint32_t k = 0; k < s->kernel->parameter_count; k++) {
            HRI_TRY(begin_argument(s, i, k));
        }
    }
    return HR_OK;
}

hr_status hri_split_begin_combined(const hri_splitting *s)
{
    hri_error error = {0};
    hri_error_keep(&error, begin_all(s));
    if (error.status == HR_OK) {
        return HR_OK;
    }
    if (s->fresh) {
        give_up(s);
    } else {
        destroy_copies(s);
    }
    return hri_error_raise(&error);
}

static hr_status fold_views(const hri_splitting *s)
{
    for (uint32_t k = 0; k < s->kernel->parameter_count; k++) {
        HRI_TRY(fold_copies(s, k));
    }
    return HR_OK;
}

hr_status hri_split_end_combined(const hri_splitting *s, hr_status launched)
{
    hri_error error = {0};
    hri_error_keep(&error, launched == HR_OK ? fold_views(s) : launched);
    if (error.status == HR_OK) {
        return HR_OK;
    }
    give_up(s);
    return hri_error_raise(&error);
}
