/* SPDX-License-Identifier: MIT */
/* Launching kernels: the rules, and how arguments are passed at a place. */
#include "arrays/launch.h"

#include "arrays/array.h"
#include "arrays/profile.h"
#include "base/arithmetic.h"
#include "base/size.h"
#include "kernels/kernels.h"

hr_argument hr_in(hr_view view)
{
    return (hr_argument){
        .kind = HR_PARAMETER_VIEW, .access = HR_IN, .view = view};
}

hr_argument hr_out(hr_view view)
{
    return (hr_argument){
        .kind = HR_PARAMETER_VIEW, .access = HR_OUT, .view = view};
}

hr_argument hr_inout(hr_view view)
{
    return (hr_argument){
        .kind = HR_PARAMETER_VIEW, .access = HR_INOUT, .view = view};
}

hr_argument(hr_value)(const void *value, size_t bytes)
{
    return hr_value_typed(value, NULL, bytes);
}

hr_argument hr_value_typed(const void *value, const char *type, size_t bytes)
{
    return (hr_argument){.kind = HR_PARAMETER_VALUE,
                         .value = value,
                         .bytes = bytes,
                         .type = hri_element_name(type, bytes)};
}

hr_argument hr_tile_bytes(size_t bytes)
{
    return (hr_argument){.kind = HR_PARAMETER_TILE, .bytes = bytes};
}

/* A launch while it is checked and enqueued. */
typedef struct launching {
    hr_context *context;
    hr_queue *queue; /* NULL: check only */
    const hr_kernel *kernel;
    const hr_parameter *parameters;
    const hr_argument *arguments;
    hri_boxes boxes[HR_MAX_PARAMETERS];
    hri_kernel_argument passed[HR_MAX_PARAMETERS];
    hri_launch launch;
    const hri_launch_box *box;
    hri_profile *profile; /* NULL: the launch is not timed */
    hri_fence *start;     /* right before the kernel; NULL: nobody wants it */
} launching;

/* ---- ranks */

/* Dimensions of the view before those that the kernel indexes: that of the
 * list. */
static uint32_t lead_of(const hr_parameter *p)
{
    return p->list ? 1 : 0;
}

/* Whether an argument is a view of a higher rank than the parameter has. */
static bool is_higher(const hr_parameter *p, const hr_argument *a)
{
    return p->kind == HR_PARAMETER_VIEW && a->kind == HR_PARAMETER_VIEW &&
           a->view.extent.rank > p->rank + lead_of(p) &&
           a->view.extent.rank <= HR_MAX_RANK;
}

void hri_argument_flatten(const hr_parameter *p, hr_argument *a)
{
    if (is_higher(p, a)) {
        (void)hri_view_flatten(&a->view, lead_of(p), p->rank + lead_of(p));
    }
}

/* Copy the arguments to `flat` if there are views to flatten. */
static const hr_argument *flatten_all(const hr_kernel *kernel,
                                      const hr_argument *arguments,
                                      hr_argument *flat)
{
    const hr_parameter *p = kernel->parameters(kernel);
    bool any = false;
    for (uint32_t i = 0; i < kernel->parameter_count; i++) {
        any = any || is_higher(&p[i], &arguments[i]);
    }
    for (uint32_t i = 0; i < kernel->parameter_count && any; i++) {
        flat[i] = arguments[i];
        hri_argument_flatten(&p[i], &flat[i]);
    }
    return any ? flat : arguments;
}

/* ---- rules */

static const char *kind_name(hr_parameter_kind kind)
{
    return kind == HR_PARAMETER_VIEW    ? "a view"
           : kind == HR_PARAMETER_VALUE ? "a value"
           : kind == HR_PARAMETER_TILE  ? "memory of the tile"
                                        : "nothing that is known";
}

static const char *access_name(hr_access access)
{
    return access == HR_IN ? "IN" : access == HR_OUT ? "OUT" : "INOUT";
}

static hr_status refuse_rank(const launching *l, const hr_parameter *p,
                             const hr_argument *a)
{
    const char *name = l->kernel->name;
    const uint32_t rank = a->view.extent.rank;
    if (rank > p->rank + lead_of(p) && a->field == 0) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %s has rank %u, but the view has %u, and gaps "
                        "between its first dimensions",
                        name, p->name, p->rank, rank);
    }
    return p->list
               ? hri_fail(HR_ERROR_INVALID,
                          "%s: %s is a list of views of rank %u, given as a "
                          "view of rank %u, but the view has %u",
                          name, p->name, p->rank, p->rank + 1, rank)
               : hri_fail(HR_ERROR_INVALID,
                          "%s: %s has rank %u, but the view has %u", name,
                          p->name, p->rank, rank);
}

static hr_status check_view(const launching *l, uint32_t i)
{
    const hr_parameter *p = &l->parameters[i];
    const hr_argument *a = &l->arguments[i];
    if (a->data) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %s is host memory, which hr_run alone takes",
                        l->kernel->name, p->name);
    }
    if (a->view.array == NULL || a->view.array->context != l->context) {
        return hri_fail(HR_ERROR_INVALID, "%s: the view for %s belongs to %s",
                        l->kernel->name, p->name,
                        a->view.array == NULL ? "no array" : "another context");
    }
    if (a->access != p->access) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %s is declared %s, but given as %s",
                        l->kernel->name, p->name, access_name(p->access),
                        access_name(a->access));
    }
    if (a->view.extent.rank != p->rank + lead_of(p)) {
        return refuse_rank(l, p, a);
    }
    if (a->view.element_bytes != p->bytes && p->bytes != 0) {
        return hri_fail(
            HR_ERROR_INVALID,
            "%s: %s has elements of %s, %zu byte%s, but the view has %zu",
            l->kernel->name, p->name, p->type, p->bytes, hri_plural(p->bytes),
            a->view.element_bytes);
    }
    if (!hri_element_agrees(p->type, a->view.type)) {
        return hri_fail(
            HR_ERROR_INVALID,
            "%s: %s has elements of %s, but those of the view are %s",
            l->kernel->name, p->name, p->type, a->view.type);
    }
    return HR_OK;
}

static hr_status check_value(const launching *l, const hr_parameter *p,
                             const hr_argument *a)
{
    if (a->value == NULL) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %s is a %s, but its pointer is NULL",
                        l->kernel->name, p->name, p->type);
    }
    if ((a->bytes != p->bytes && p->bytes != 0) || a->bytes == 0) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %s is a %s of %zu byte%s, but %zu were given",
                        l->kernel->name, p->name, p->type, p->bytes,
                        hri_plural(p->bytes), a->bytes);
    }
    if (!hri_element_agrees(p->type, a->type)) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %s is a %s, but the value's type is %s",
                        l->kernel->name, p->name, p->type, a->type);
    }
    return HR_OK;
}

static hr_status check_argument(const launching *l, uint32_t i)
{
    const hr_parameter *p = &l->parameters[i];
    const hr_argument *a = &l->arguments[i];
    if (a->kind != p->kind) {
        return hri_fail(HR_ERROR_INVALID, "%s: %s is %s, but %s was given",
                        l->kernel->name, p->name, kind_name(p->kind),
                        kind_name(a->kind));
    }
    if (p->kind == HR_PARAMETER_VIEW) {
        return check_view(l, i);
    }
    if (p->kind == HR_PARAMETER_VALUE) {
        return check_value(l, p, a);
    }
    if (p->kind == HR_PARAMETER_TILE &&
        (a->bytes == 0 || a->bytes > HRI_MAX_TILE_BYTES)) {
        return hri_fail(HR_ERROR_INVALID, "%s: %s has %zu bytes, not 1 to %d",
                        l->kernel->name, p->name, a->bytes, HRI_MAX_TILE_BYTES);
    }
    return HR_OK;
}

/* Two views of one array must not overlap if the kernel writes one of them. */
static hr_status check_overlap(const launching *l, uint32_t i, uint32_t j)
{
    const hr_argument *a = &l->arguments[i], *b = &l->arguments[j];
    if (a->kind != HR_PARAMETER_VIEW || b->kind != HR_PARAMETER_VIEW ||
        a->view.array != b->view.array ||
        (a->access == HR_IN && b->access == HR_IN)) {
        return HR_OK;
    }
    hri_box box;
    if (hri_boxes_meet(&l->boxes[i], &l->boxes[j], &box)) {
        return hri_fail(HR_ERROR_INVALID, "%s: %s overlaps %s", l->kernel->name,
                        l->parameters[i].name, l->parameters[j].name);
    }
    return HR_OK;
}

static hr_status find_boxes(launching *l)
{
    for (uint32_t i = 0; i < l->kernel->parameter_count; i++) {
        if (l->arguments[i].kind == HR_PARAMETER_VIEW) {
            HRI_TRY(hri_view_boxes(&l->arguments[i].view, &l->boxes[i]));
        }
        for (uint32_t j = 0; j < i; j++) {
            HRI_TRY(check_overlap(l, i, j));
        }
    }
    return HR_OK;
}

/* Whether a view has the indices that the items index it with. */
static hr_status check_indexing(const launching *l, const hri_indexing *x)
{
    const hr_domain *domain = &l->launch.domain;
    const hr_argument *a = &l->arguments[x->parameter];
    const int64_t size =
        a->view.extent
            .size[x->dimension + lead_of(&l->parameters[x->parameter])];
    const int64_t step = domain->step[x->index];
    const int64_t first = domain->first[x->index];
    const int64_t held = l->box->windows != NULL
                             ? l->box->windows[x->parameter].first[x->dimension]
                             : 0;
    int64_t items = hri_ceil_div(domain->end[x->index] - first, step);
    if (a->field != 0) { /* a grid has made its fields large enough */
        return HR_OK;
    }
    if (x->rank != l->launch.rank) {
        return hri_fail(HR_ERROR_COMPUTE_DOMAIN,
                        "%s:%d: %s: the block has rank %u, but the domain has "
                        "%u",
                        l->kernel->file, x->line, l->kernel->name, x->rank,
                        l->launch.rank);
    }
    const bool beyond = x->whole_tiles && l->box->tile != NULL && step == 1 &&
                        items <= INT64_MAX - HR_MAX_ITEMS;
    items = beyond ? domain->tiles[x->index] * domain->tile[x->index] : items;
    const int64_t last = first + (items - 1) * step;
    const char *file = l->kernel->file, *name = l->kernel->name;
    const char *view = l->parameters[x->parameter].name;
    if (first >= held && last - held < size) {
        return HR_OK;
    }
    return first == 0 && held == 0 && !beyond && step == 1
               ? hri_fail(HR_ERROR_COMPUTE_DOMAIN,
                          "%s:%d: %s: the domain has size %lld in dimension "
                          "%u, but %s, indexed with it, has %lld in dimension "
                          "%u",
                          file, x->line, name, (long long)items, x->index, view,
                          (long long)size, x->dimension)
               : hri_fail(HR_ERROR_COMPUTE_DOMAIN,
                          "%s:%d: %s: items have the indices %lld to %lld in "
                          "dimension %u, but %s has %lld to %lld in dimension "
                          "%u",
                          file, x->line, name, (long long)first,
                          (long long)last, x->index, view, (long long)held,
                          (long long)(held + size - 1), x->dimension);
}

static hr_status check_launch(launching *l, size_t count, bool host)
{
    const hri_indexings *indexings = NULL;
    if (count != l->kernel->parameter_count) {
        return hri_fail(
            HR_ERROR_INVALID,
            "%s: the kernel has %u parameter%s, but %zu argument%s given",
            l->kernel->name, l->kernel->parameter_count,
            hri_plural(l->kernel->parameter_count), count,
            count == 1 ? " was" : "s were");
    }
    HRI_TRY(hri_tile_choose(&l->launch, l->box, host));
    HRI_TRY(hri_kernel_check_context(l->kernel, l->context));
    for (uint32_t i = 0; i < count; i++) {
        HRI_TRY(check_argument(l, i));
    }
    HRI_TRY(hri_kernel_read(l->context, l->kernel, &indexings));
    for (uint32_t i = 0; i < indexings->count; i++) {
        HRI_TRY(check_indexing(l, &indexings->list[i]));
    }
    return find_boxes(l);
}

/* ---- arguments */

static int place_of(const launching *l, uint32_t i)
{
    const hr_argument *a = &l->arguments[i];
    return hri_place_for(a->view.array, l->queue->accelerator, a->access);
}

/* Pass the address of a view and its strides in elements to the kernel. False
 * when the elements are not a whole number of elements apart at this place. */
static bool pass_view(launching *l, uint32_t i)
{
    const hr_view *v = &l->arguments[i].view;
    const hri_window *w = l->box->windows != NULL ? &l->box->windows[i] : NULL;
    const uint32_t lead = lead_of(&l->parameters[i]);
    const int64_t bytes = (int64_t)v->element_bytes;
    hri_kernel_argument *x = &l->passed[i];
    int64_t stride[HR_MAX_RANK] = {0};
    x->place = hri_view_at(v, l->boxes[i].linear, place_of(l, i), stride);
    x->shape = (hr_list_shape){.start = 0};
    bool whole =
        (int64_t)x->place.offset % bytes == 0 || x->place.buffer == NULL;
    for (uint32_t d = 0; d < v->extent.rank; d++) {
        whole = whole && (v->extent.size[d] == 1 || stride[d] % bytes == 0);
    }
    for (uint32_t d = 0; d + lead < v->extent.rank; d++) {
        x->held[d] = v->extent.size[d + lead];
        x->held_first[d] = w != NULL ? w->first[d] : 0;
        x->shape.extent[d] = w != NULL ? w->extent[d] : x->held[d];
        x->shape.stride[d] = stride[d + lead] / bytes;
        x->shape.start -= x->held_first[d] * x->shape.stride[d];
    }
    if (lead > 0) {
        x->shape.count = v->extent.size[0];
        x->shape.step = stride[0] / bytes;
    }
    return whole;
}

/* Bring all views before passing any address: bringing a later view may move
 * the memory of an earlier one of the same array. */
static hr_status begin_views(launching *l)
{
    for (uint32_t i = 0; i < l->kernel->parameter_count; i++) {
        const hr_argument *a = &l->arguments[i];
        if (a->kind == HR_PARAMETER_VIEW) {
            HRI_TRY(hri_array_begin_use(a->view.array, place_of(l, i),
                                        &l->boxes[i], a->access, l->queue));
        }
    }
    return HR_OK;
}

static hr_status pass_arguments(launching *l)
{
    for (uint32_t i = 0; i < l->kernel->parameter_count; i++) {
        const hr_argument *a = &l->arguments[i];
        if (a->kind != HR_PARAMETER_VIEW) {
            l->passed[i] =
                (hri_kernel_argument){.value = a->value, .bytes = a->bytes};
        } else if (!pass_view(l, i)) {
            return hri_fail(HR_ERROR_INVALID,
                            "%s: the row stride of %s is not a multiple of its "
                            "elements' %zu bytes",
                            l->kernel->name, l->parameters[i].name,
                            a->view.element_bytes);
        }
    }
    return HR_OK;
}

/* Whether this is the first argument of its array. Others must not count the
 * uses of that array again. */
static bool is_first(const launching *l, uint32_t i)
{
    bool first = true;
    for (uint32_t j = 0; j < i && first; j++) {
        first = l->arguments[j].kind != HR_PARAMETER_VIEW ||
                l->arguments[j].view.array != l->arguments[i].view.array;
    }
    return first;
}

/* Record the pending fence before this launch, so that its holders need not
 * wait for the launch. The record is left out when the launch makes all uses
 * superfluous that the fence is held for. */
static hr_status record_before(launching *l)
{
    hri_stream *stream = l->queue->stream;
    hri_fence *fence = stream->pending;
    uint32_t covered = 0;
    if (l->profile != NULL || l->box->start != NULL) {
        return hri_fence_create_recorded(stream, &l->start);
    }
    for (uint32_t i = 0; i < l->kernel->parameter_count && fence != NULL; i++) {
        const hr_argument *a = &l->arguments[i];
        if (a->kind == HR_PARAMETER_VIEW && is_first(l, i)) {
            covered +=
                hri_uses_covered(a->view.array, place_of(l, i), &l->boxes[i],
                                 (a->access & HR_OUT) != 0, fence);
        }
    }
    return fence != NULL && covered < atomic_load(&fence->holders)
               ? hri_fence_record(fence)
               : HR_OK;
}

static hr_status note_uses(const launching *l, hri_fence *fence)
{
    for (uint32_t i = 0; i < l->kernel->parameter_count; i++) {
        const hr_argument *a = &l->arguments[i];
        if (a->kind == HR_PARAMETER_VIEW) {
            HRI_TRY(hri_array_end_use(a->view.array, place_of(l, i),
                                      &l->boxes[i], a->access, fence));
        }
    }
    return HR_OK;
}

static hr_status end_views(const launching *l)
{
    hri_fence *fence = NULL;
    hr_status status = hri_fence_create(l->queue->stream, &fence);
    if (status == HR_OK) {
        status = note_uses(l, fence);
        hri_fence_drop(fence);
    }
    if (status != HR_OK) { /* no work may go on that no fence guards */
        hri_stream_settle(l->queue->stream);
    }
    return status;
}

/* ---- the call */

/* Find the module. Its compiler verifies the sizes of types that only the
 * arguments tell. */
static hr_status find_module(launching *l)
{
    bool learned[HR_MAX_PARAMETERS] = {false};
    for (uint32_t i = 0; i < l->kernel->parameter_count; i++) {
        const hr_argument *a = &l->arguments[i];
        learned[i] =
            l->parameters[i].bytes == 0 && a->kind != HR_PARAMETER_TILE;
        if (learned[i]) {
            hri_text_set_size(l->kernel, i,
                              a->kind == HR_PARAMETER_VIEW
                                  ? a->view.element_bytes
                                  : a->bytes);
        }
    }
    hr_status status = hri_accelerator_module(l->queue->accelerator, l->kernel,
                                              &l->launch.module);
    for (uint32_t i = 0; i < l->kernel->parameter_count; i++) {
        if (learned[i] && status != HR_OK) {
            hri_text_set_size(l->kernel, i, 0);
        }
    }
    if (l->launch.module != NULL && l->launch.module->kernel != NULL) {
        l->launch.kernel = l->launch.module->kernel;
    }
    return status;
}

/* Tell what the checker has found. A call of several chunks does that itself,
 * when all have run. */
static hr_status tell_findings(const launching *l)
{
    return l->box->chunks == NULL ? hri_check_tell(l->context) : HR_OK;
}

static hr_status enqueue_kernel(launching *l)
{
    const bool kept = l->box->kept;
    const hri_checker *checker = l->context->checker;
    HRI_TRY(tell_findings(l));
    HRI_TRY(find_module(l));
    HRI_TRY(hri_tile_fit(&l->launch, l->box->tile == NULL, l->arguments));
    if (!kept) {
        HRI_TRY(begin_views(l));
    }
    HRI_TRY(pass_arguments(l));
    if (!kept) {
        HRI_TRY(record_before(l));
    }
    HRI_TRY(checker == NULL ? hri_stream_launch(l->queue->stream, &l->launch)
                            : checker->launch(l->context, l->queue->stream,
                                              &l->launch, l->box->chunks));
    if (!kept) {
        HRI_TRY(end_views(l));
    }
    return l->profile != NULL
               ? hri_profile_launched(l->profile, l->queue, l->start, l->box,
                                      l->arguments)
               : HR_OK;
}

static hr_status enqueue(launching *l)
{
    const hr_status status = enqueue_kernel(l);
    if (l->box->start != NULL && l->start != NULL) {
        *l->box->start = l->start;
    } else {
        hri_fence_drop(l->start);
    }
    return status == HR_OK ? tell_findings(l) : status;
}

hr_status hri_launch_in_box(hr_context *context, hr_queue *queue,
                            const hr_kernel *kernel, const hri_launch_box *box,
                            const hr_argument *arguments, size_t count)
{
    launching l = {.context = context,
                   .queue = queue,
                   .kernel = kernel,
                   .parameters = kernel->parameters(kernel),
                   .arguments = arguments,
                   .launch = {.kernel = kernel,
                              .arguments = l.passed,
                              .epilogue = box->epilogue},
                   .box = box};
    hr_argument flat[HR_MAX_PARAMETERS];
    if (count == kernel->parameter_count && box->windows == NULL) {
        l.arguments = flatten_all(kernel, arguments, flat);
    }
    hri_accelerator *a = queue != NULL ? queue->accelerator : NULL;
    hr_status status =
        check_launch(&l, count, a == NULL || a->device->info.host);
    if (status == HR_OK && a != NULL) {
        l.profile = box->kept ? NULL : hri_profile_find(context, kernel);
        status = enqueue(&l);
    }
    for (uint32_t i = 0; i < kernel->parameter_count; i++) {
        hri_boxes_finish(&l.boxes[i]);
    }
    return status;
}

hr_status hr_launch(hr_queue *queue, const hr_kernel *kernel, hr_extent domain,
                    const hr_extent *tile, const hr_argument *arguments,
                    size_t count)
{
    HRI_USUAL_ARITHMETIC;
    if (queue == NULL || kernel == NULL || arguments == NULL) {
        return hri_fail(HR_ERROR_INVALID, "launch: %s is NULL",
                        queue == NULL    ? "the queue"
                        : kernel == NULL ? "the kernel"
                                         : "the list of arguments");
    }
    hri_launch_box box = hri_launch_box_of(domain);
    box.tile = tile;
    pthread_mutex_lock(&queue->context->lock);
    hr_status status = hri_queue_enter(queue, true);
    if (status == HR_OK) {
        status = hri_launch_in_box(queue->context, queue, kernel, &box,
                                   arguments, count);
    }
    pthread_mutex_unlock(&queue->context->lock);
    return status;
}
