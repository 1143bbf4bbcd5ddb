/* SPDX-License-Identifier: MIT */
/* The checker of a context. A checked launch copies the views to packed memory,
 * runs the kernel on the copies, and compares what the runs left. */
#include <stdlib.h>
#include <string.h>

#include <headrace/check.h>

#include "base/size.h"
#include "checker/watch.h"
#include "hal/backend.h"
#include "kernels/kernels.h"

enum { ALIGNMENT = 64 };

/* ---- views in packed memory */

/* Lay out the elements of an argument without gaps. */
static void lay_out(hri_watched *v, const hri_kernel_argument *a)
{
    const hr_parameter *p = v->parameter;
    const uint32_t lead = p->list ? 1 : 0;
    v->shape = a->shape;
    v->shape.start = 0;
    v->rank = p->rank + lead;
    v->extent[0] = v->held[0] = a->shape.count; /* of a list */
    v->count = 1;
    for (uint32_t d = p->rank; d-- > 0;) {
        v->extent[d + lead] = a->shape.extent[d];
        v->held_first[d + lead] = a->held_first[d];
        v->held[d + lead] = a->held[d];
        v->stride[d + lead] = v->shape.stride[d] = v->count;
        v->shape.start -= a->held_first[d] * v->count;
        v->count *= a->held[d];
    }
    if (lead > 0) {
        v->stride[0] = v->shape.step = v->count;
        v->count *= a->shape.count;
    }
}

/* Copy a view to packed memory, or back. It is view q of its list, or the only
 * one. */
static hr_status copy_one(const hri_watched *v, const hri_kernel_argument *a,
                          hri_stream *stream, int64_t q, unsigned char *packed,
                          bool back)
{
    const uint32_t rank = v->parameter->rank;
    const size_t bytes = v->parameter->bytes;
    const int64_t *size = a->held, *stride = a->shape.stride;
    const int64_t behind = q * a->shape.step * (int64_t)bytes;
    hri_place place = a->place;
    if (place.buffer != NULL) {
        place.offset += (size_t)behind;
    } else {
        place.host = (unsigned char *)place.host + behind;
    }
    packed += (size_t)(q * v->stride[0]) * bytes;
    hri_copy box = {.width = (size_t)size[rank - 1] * bytes,
                    .height = rank > 1 ? (size_t)size[rank - 2] : 1,
                    .depth = rank > 2 ? (size_t)size[0] : 1};
    const size_t pitch = rank > 1 ? (size_t)stride[rank - 2] * bytes : 0;
    const size_t slice = rank > 2 ? (size_t)stride[0] * bytes : 0;
    const hri_place here = {.host = packed};
    box.from = back ? here : place;
    box.to = back ? place : here;
    box.from_pitch = back ? box.width : pitch;
    box.to_pitch = back ? pitch : box.width;
    box.from_slice = back ? box.width * box.height : slice;
    box.to_slice = back ? slice : box.width * box.height;
    if (place.buffer == NULL) {
        hri_copy_rows(&box);
        return HR_OK;
    }
    HRI_TRY(hri_stream_copy(stream, &box));
    return hri_stream_finish(stream);
}

/* Copy the elements of an argument to packed memory, or back. */
static hr_status copy_packed(const hri_watched *v, const hri_kernel_argument *a,
                             hri_stream *stream, void *packed, bool back)
{
    const int64_t count = v->parameter->list ? v->held[0] : 1;
    for (int64_t q = 0; q < count; q++) {
        HRI_TRY(copy_one(v, a, stream, q, packed, back));
    }
    return HR_OK;
}

/* ---- poison */

/* Bits that depend only on a number [Steele2014]. */
static uint64_t mixed(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static bool is_one_of(const char *type, const char *const *names)
{
    while (*names != NULL && strcmp(*names, type) != 0) {
        names++;
    }
    return *names != NULL;
}

static bool is_half(const hr_parameter *p)
{
    return strcmp(p->type, "hr_f16") == 0;
}

/* Whether an element is taken for an integer. If only the size of the type is
 * known, small elements are, and each second one of the others. */
static bool is_integer(const hr_parameter *p, size_t element)
{
    static const char *const fractions[] = {
        "hr_f16", "hr_bf16", "float", "double", "hr_c32", "hr_c64", NULL};
    return hri_element_name(p->type, p->bytes) != NULL
               ? !is_one_of(p->type, fractions)
               : p->bytes < 4 || element % 2 == 1;
}

/* Byte i of large negative numbers: integers as small as can be, or fractions
 * just above minus infinity. The latter suit both floats and doubles. */
static unsigned negative(const hr_parameter *p, size_t i, unsigned any)
{
    const size_t above = p->bytes - 1 - i % p->bytes;
    if (is_half(p)) {
        return above == 0 ? 0xfb : 0x80 | any;
    }
    if (is_integer(p, i / p->bytes)) {
        return above == 0 ? 0x80 : 0x80 | any;
    }
    return above % 4 == 0   ? 0xff
           : above % 4 == 1 ? 0x70 | (any & 7)
                            : 0x80 | any;
}

/* A byte of 0 or a number up to 100. */
static unsigned small(size_t b, uint64_t word)
{
    return b > 0 || (word & 1) == 0 ? 0 : (unsigned)((word >> 1) % 100 + 1);
}

/* What the elements of an OUT view hold before a run. In the first run they are
 * large negative numbers, in the second 0 and small positive ones, in the third
 * large positive ones. So sums and comparisons come out differently, whatever
 * they are compared with. The first two end loops, unless the bound is
 * unsigned. The third is left out if the first two have found such values. Each
 * byte differs between the first run and any other. */
static void fill_poison(const hri_watched *view, int run, unsigned char *to)
{
    const hr_parameter *p = view->parameter;
    const uint64_t seed = (uint64_t)p->at * 977;
    for (size_t i = 0; i < HRI_POISONED * p->bytes; i++) {
        const size_t b = i % p->bytes;
        const uint64_t word = mixed((run == 1 ? i / p->bytes : i / 8) + seed);
        const unsigned any = (unsigned)(word >> (i % 8 * 8)) & 0xff;
        to[i] = (unsigned char)(run == 0     ? negative(p, i, any)
                                : run == 1   ? small(b, word)
                                : is_half(p) ? 0x7b
                                             : 0x7f);
    }
}

/* ---- a checked launch */

typedef struct checking {
    hri_watch watch;
    hri_stream *stream;
    const hri_launch *launch;
    unsigned char *arguments; /* the kernel's */
    size_t argument_bytes;    /* tile memory included */
    int runs;                 /* 1, or with OUT views as many as there are
                                 kinds of values in them */
} checking;

/* ---- memory */

static size_t bytes_of(const hri_watched *v)
{
    return (size_t)v->count * v->parameter->bytes;
}

/* Bytes of the elements, from `from` on, that are filled or compared at
 * once. */
static size_t chunk_bytes(const hri_watched *v, int64_t from)
{
    const int64_t left = v->count - from;
    return (size_t)(left < HRI_POISONED ? left : HRI_POISONED) *
           v->parameter->bytes;
}

static bool make_poison(hri_watched *v)
{
    for (int run = 0; run < HRI_RUNS; run++) {
        v->poison[run] = malloc(HRI_POISONED * v->parameter->bytes);
        if (v->poison[run] == NULL) {
            return false;
        }
        fill_poison(v, run, v->poison[run]);
    }
    return true;
}

static hr_status make_view(checking *c, uint32_t i)
{
    hri_watched *v = &c->watch.views[i];
    const hr_parameter *p =
        &c->launch->kernel->parameters(c->launch->kernel)[i];
    const hri_kernel_argument *a = &c->launch->arguments[i];
    const hri_chunks *chunks = c->watch.chunks;
    v->parameter = p;
    v->reach =
        chunks != NULL && !chunks->reach[i].any ? &chunks->reach[i] : NULL;
    lay_out(v, a);
    const size_t count = (size_t)v->count;
    const size_t bytes = hri_round_up_bytes(bytes_of(v), ALIGNMENT);
    v->now = aligned_alloc(ALIGNMENT, bytes);
    v->before = aligned_alloc(ALIGNMENT, bytes);
    bool made = v->now != NULL && v->before != NULL;
    if (p->access == HR_IN) {
        v->seen = calloc(count, sizeof *v->seen);
        made = made && v->seen != NULL;
    } else {
        v->kept = chunks != NULL && chunks->reach[i].any;
        v->elements = v->kept ? hri_kept_elements(chunks->kept, i, count)
                              : calloc(count, sizeof *v->elements);
        v->first = aligned_alloc(ALIGNMENT, bytes);
        made = made && v->elements != NULL && v->first != NULL;
    }
    if (p->access == HR_OUT) {
        made = made && make_poison(v);
    }
    if (!made) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "%s: no memory to check %s, %zu elements of %zu bytes",
                        c->launch->kernel->name, p->name, count, p->bytes);
    }
    c->runs = p->access == HR_OUT ? HRI_RUNS : c->runs;
    c->watch.widest = c->watch.widest > p->bytes ? c->watch.widest : p->bytes;
    return HR_OK;
}

static hr_status make_views(checking *c)
{
    const hr_kernel *k = c->launch->kernel;
    const hr_parameter *p = k->parameters(k);
    c->argument_bytes = hri_arguments_bytes(k, c->launch->arguments);
    for (uint32_t i = 0; i < k->parameter_count; i++) {
        if (p[i].kind == HR_PARAMETER_VIEW) {
            HRI_TRY(make_view(c, i));
        }
    }
    c->arguments = aligned_alloc(HRI_ARGUMENTS_ALIGNMENT, c->argument_bytes);
    if (c->arguments == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory for the check",
                        k->name);
    }
    return HR_OK;
}

static void finish_checking(checking *c)
{
    for (uint32_t i = 0; i < HR_MAX_PARAMETERS; i++) {
        hri_watched *v = &c->watch.views[i];
        free(v->now);
        free(v->before);
        free(v->first);
        for (int run = 0; run < HRI_RUNS; run++) {
            free(v->poison[run]);
        }
        free(v->seen);
        if (!v->kept) {
            free(v->elements);
        }
        free(v->touched);
    }
    hri_watch_finish(&c->watch);
    free(c->arguments);
}

/* Set tile memory to 0, so that it makes no difference between runs. */
static void fill_arguments(checking *c)
{
    const hr_kernel *k = c->launch->kernel;
    hri_kernel_argument packed[HR_MAX_PARAMETERS];
    void *views[HR_MAX_PARAMETERS];
    for (uint32_t i = 0; i < k->parameter_count; i++) {
        packed[i] = c->launch->arguments[i];
        packed[i].shape = c->watch.views[i].shape;
        views[i] = c->watch.views[i].now;
    }
    memset(c->arguments, 0, c->argument_bytes);
    hri_arguments_fill(k, packed, views, c->arguments);
}

/* ---- elements */

static hr_status copy_views(checking *c, bool back)
{
    for (uint32_t i = 0; i < HR_MAX_PARAMETERS; i++) {
        const hri_watched *v = &c->watch.views[i];
        const hri_kernel_argument *a = &c->launch->arguments[i];
        if (!back && v->now != NULL) {
            HRI_TRY(copy_packed(v, a, c->stream, v->before, false));
        } else if (back && v->elements != NULL) {
            HRI_TRY(copy_packed(v, a, c->stream, v->now, true));
        }
    }
    return HR_OK;
}

/* Fill the copies before a run. OUT views get poison. */
static void fill_views(checking *c)
{
    for (uint32_t i = 0; i < HR_MAX_PARAMETERS; i++) {
        const hri_watched *v = &c->watch.views[i];
        if (v->now == NULL) {
            continue;
        }
        if (v->parameter->access != HR_OUT) {
            memcpy(v->now, v->before, bytes_of(v));
            continue;
        }
        for (int64_t e = 0; e < v->count; e += HRI_POISONED) {
            memcpy(v->now + (size_t)e * v->parameter->bytes,
                   v->poison[c->watch.run], chunk_bytes(v, e));
        }
    }
}

/* ---- after a run */

/* Whether the first run and this one left different values in an element.
 * poison and again: those of an OUT view in the two runs, else NULL. Bytes that
 * no run wrote still have them, and get their values from before the launch. */
static bool element_differs(const hri_watched *v, size_t first,
                            const unsigned char *poison,
                            const unsigned char *again)
{
    bool any = false;
    for (size_t b = 0; b < v->parameter->bytes; b++) {
        if (poison != NULL && v->first[first + b] == poison[b] &&
            v->now[first + b] == again[b]) {
            v->now[first + b] = v->before[first + b];
        } else {
            any = any || v->now[first + b] != v->first[first + b];
        }
    }
    return any;
}

/* What was written with the bits that were there has been seen as read. */
static void report_element(checking *c, const hri_watched *v, int64_t element,
                           hri_fault fault)
{
    hri_report r = {.fault = fault, .view = v, .writes = true};
    if (fault == HRI_CONST) {
        r.use = v->seen[element];
    } else {
        const hri_element *e = &v->elements[element];
        r.use = *hri_last_write(e);
        r.use = r.use.line != 0 ? r.use : e->last[HRI_READ];
    }
    hri_watch_report_element(&c->watch, element, &r);
}

/* Find elements of IN views that were written. */
static hr_status find_written(checking *c)
{
    for (uint32_t i = 0; i < HR_MAX_PARAMETERS; i++) {
        const hri_watched *v = &c->watch.views[i];
        if (v->seen == NULL || memcmp(v->now, v->before, bytes_of(v)) == 0) {
            continue;
        }
        const size_t bytes = v->parameter->bytes;
        for (int64_t e = 0; e < v->count; e++) {
            const size_t at = (size_t)e * bytes;
            if (memcmp(v->now + at, v->before + at, bytes) != 0) {
                report_element(c, v, e, HRI_CONST);
            }
        }
        HRI_TRY(c->watch.status);
    }
    return HR_OK;
}

/* Compare what this run and the first one left from element `from` on. Most of
 * a view has not been touched. */
static void compare_chunk(checking *c, const hri_watched *v, int64_t from)
{
    const size_t bytes = v->parameter->bytes, size = chunk_bytes(v, from);
    const size_t start = (size_t)from * bytes;
    const bool out = v->parameter->access == HR_OUT;
    const int run = c->watch.run;
    if (memcmp(v->first + start, out ? v->poison[0] : v->now + start, size) ==
            0 &&
        (!out || memcmp(v->now + start, v->poison[run], size) == 0)) {
        if (out) {
            memcpy(v->now + start, v->before + start, size);
        }
        return;
    }
    for (size_t at = 0; at < size; at += bytes) {
        if (element_differs(v, start + at, out ? v->poison[0] + at : NULL,
                            out ? v->poison[run] + at : NULL)) {
            report_element(c, v, from + (int64_t)(at / bytes), HRI_DEPENDS);
        }
    }
}

/* Find elements of other views that differ between runs. */
static hr_status find_different(checking *c)
{
    for (uint32_t i = 0; i < HR_MAX_PARAMETERS; i++) {
        const hri_watched *v = &c->watch.views[i];
        for (int64_t e = 0; v->elements != NULL && e < v->count;
             e += HRI_POISONED) {
            compare_chunk(c, v, e);
            HRI_TRY(c->watch.status);
        }
    }
    return HR_OK;
}

static hr_status run_once(checking *c)
{
    fill_views(c);
    fill_arguments(c);
    HRI_TRY(hri_watch_run(&c->watch, c->arguments));
    return find_written(c);
}

/* The last run takes long if a loop has an OUT element as its bound. The others
 * find that nearly always. */
static hr_status run_all(checking *c)
{
    HRI_TRY(run_once(c));
    for (uint32_t i = 0; i < HR_MAX_PARAMETERS && c->runs > 1; i++) {
        const hri_watched *v = &c->watch.views[i];
        if (v->first != NULL) {
            memcpy(v->first, v->now, bytes_of(v));
        }
    }
    while (++c->watch.run < c->runs &&
           (c->watch.run + 1 < HRI_RUNS || !c->watch.found_unset)) {
        HRI_TRY(run_once(c));
        HRI_TRY(find_different(c));
    }
    return HR_OK;
}

/* ---- the launch */

static hr_status check_views(checking *c)
{
    HRI_TRY(make_views(c));
    HRI_TRY(copy_views(c, false));
    HRI_TRY(run_all(c));
    return copy_views(c, true);
}

static hr_status check_launch(hr_context *context, hri_stream *stream,
                              const hri_launch *launch, hri_chunks *chunks)
{
    const int64_t *tiles = launch->domain.tiles;
    checking c = {.watch = {.findings = hri_findings_of(context),
                            .kernel = launch->kernel,
                            .rank = launch->rank,
                            .domain = launch->domain,
                            .chunks = chunks,
                            .widest = 1},
                  .stream = stream,
                  .launch = launch,
                  .runs = 1};
    if (launch->kernel->checked == NULL) {
        return hri_fail(
            HR_ERROR_UNSUPPORTED,
            "%s: HEADRACE_CHECK=1 cannot check this kernel: build it "
            "with headrace_kernels, or run its text on the host",
            launch->kernel->name);
    }
    if (tiles[0] * tiles[1] * tiles[2] > UINT32_MAX) {
        return hri_fail(
            HR_ERROR_UNSUPPORTED,
            "%s: HEADRACE_CHECK=1 checks launches of fewer than 2^32 tiles",
            launch->kernel->name);
    }
    HRI_TRY(hri_stream_finish(stream));
    if (chunks != NULL) {
        HRI_TRY(hri_kept_begin(chunks, &launch->domain, &c.watch.first_tile));
    }
    const hr_status status = check_views(&c);
    finish_checking(&c);
    return status;
}

/* ---- findings */

size_t hr_check_count(hr_context *context)
{
    size_t count = 0;
    if (context != NULL && context->checker != NULL) {
        pthread_mutex_lock(&context->lock);
        (void)hri_mapped_collect(context);
        count = hri_findings_of(context)->count;
        pthread_mutex_unlock(&context->lock);
    }
    return count;
}

const char *hr_check_finding(hr_context *context, size_t index)
{
    const char *sentence = NULL;
    if (context != NULL && context->checker != NULL) {
        pthread_mutex_lock(&context->lock);
        const hri_findings *f = hri_findings_of(context);
        sentence = index < f->count ? f->of[index].sentence : NULL;
        pthread_mutex_unlock(&context->lock);
    }
    return sentence;
}

/* HR_ERROR_INVALID with the first sentence that was not told yet, and the
 * number of others. HR_OK when there is none. */
static hr_status tell_findings(hr_context *context)
{
    hri_findings *f = hri_findings_of(context);
    HRI_TRY(hri_mapped_collect(context));
    const size_t first = f->told, count = f->count - first;
    if (count == 0) {
        return HR_OK;
    }
    f->told = f->count;
    return count == 1 ? hri_fail(HR_ERROR_INVALID, "%s", f->of[first].sentence)
                      : hri_fail(HR_ERROR_INVALID, "%s, and %zu more",
                                 f->of[first].sentence, count - 1);
}

static void close_checker(hr_context *context)
{
    hri_findings *f = hri_findings_of(context);
    hri_mapped_close(context);
    for (size_t i = 0; i < f->count; i++) {
        free(f->of[i].key);
        free(f->of[i].sentence);
    }
    free(f->of);
    context->checker = NULL;
}

static const hri_checker checker = {
    .launch = check_launch,
    .forget = hri_kept_forget,
    .tell = tell_findings,
    .map = hri_mapped_map,
    .unmap = hri_mapped_unmap,
};

hr_status hri_checker_open(hr_context *context)
{
    static const hri_state_kind kind = {.bytes = sizeof(hri_findings),
                                        .destroy = close_checker};
    if (hri_state_make(context, HRI_STATE_CHECKER, &kind) == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "check: out of memory");
    }
    context->checker = &checker;
    return HR_OK;
}
