/* SPDX-License-Identifier: MIT */
/* A checked launch: it copies the views, runs the kernel on the copies, and
 * compares what the runs left. */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "checker/watch.h"
#include "hal/backend.h"

enum { ALIGNMENT = 64 };

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

/* Of the elements from `from` on that are filled or compared at once. */
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
        hri_poison(v, run, v->poison[run]);
    }
    return true;
}

static hr_status make_view(checking *c, uint32_t i)
{
    hri_watched *v = &c->watch.views[i];
    const hr_parameter *p =
        &c->launch->kernel->parameters(c->launch->kernel)[i];
    const hri_kernel_argument *a = &c->launch->arguments[i];
    const hri_pieces *pieces = c->watch.pieces;
    v->parameter = p;
    v->reach =
        pieces != NULL && !pieces->reach[i].any ? &pieces->reach[i] : NULL;
    hri_watched_lay_out(v, a);
    const size_t count = (size_t)v->count;
    const size_t bytes = hri_round_up_bytes(bytes_of(v), ALIGNMENT);
    v->now = aligned_alloc(ALIGNMENT, bytes);
    v->before = aligned_alloc(ALIGNMENT, bytes);
    bool made = v->now != NULL && v->before != NULL;
    if (p->access == HR_IN) {
        v->seen = calloc(count, sizeof *v->seen);
        made = made && v->seen != NULL;
    } else {
        v->kept = pieces != NULL && pieces->reach[i].any;
        v->elements = v->kept ? hri_kept_elements(pieces->kept, i, count)
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
    hr_status status = HR_OK;
    c->argument_bytes = hri_arguments_bytes(k, c->launch->arguments);
    for (uint32_t i = 0; i < k->parameter_count && status == HR_OK; i++) {
        if (p[i].kind == HR_PARAMETER_VIEW) {
            status = make_view(c, i);
        }
    }
    if (status == HR_OK) {
        c->arguments =
            aligned_alloc(HRI_ARGUMENTS_ALIGNMENT, c->argument_bytes);
        if (c->arguments == NULL) {
            status = hri_fail(HR_ERROR_OUT_OF_MEMORY,
                              "%s: no memory for the check", k->name);
        }
    }
    return status;
}

static void finish(checking *c)
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
    hr_status status = HR_OK;
    for (uint32_t i = 0; i < HR_MAX_PARAMETERS && status == HR_OK; i++) {
        const hri_watched *v = &c->watch.views[i];
        if (!back && v->now != NULL) {
            status = hri_watched_copy(v, &c->launch->arguments[i], c->stream,
                                      v->before, false);
        } else if (back && v->elements != NULL) {
            status = hri_watched_copy(v, &c->launch->arguments[i], c->stream,
                                      v->now, true);
        }
    }
    return status;
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

/* Whether the first run and this one left different values in an element. Its
 * poison is that of an OUT view, else NULL. Bytes that no run wrote have the
 * poison of both runs: they get their values from before the launch. */
static bool differs(const hri_watched *v, size_t first,
                    const unsigned char *poison, const unsigned char *again)
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
static void report(checking *c, const hri_watched *v, int64_t element,
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
    for (uint32_t i = 0; i < HR_MAX_PARAMETERS && c->watch.status == HR_OK;
         i++) {
        const hri_watched *v = &c->watch.views[i];
        if (v->seen == NULL || memcmp(v->now, v->before, bytes_of(v)) == 0) {
            continue;
        }
        const size_t bytes = v->parameter->bytes;
        for (int64_t e = 0; e < v->count; e++) {
            const size_t at = (size_t)e * bytes;
            if (memcmp(v->now + at, v->before + at, bytes) != 0) {
                report(c, v, e, HRI_CONST);
            }
        }
    }
    return c->watch.status;
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
        if (differs(v, start + at, out ? v->poison[0] + at : NULL,
                    out ? v->poison[run] + at : NULL)) {
            report(c, v, from + (int64_t)(at / bytes), HRI_DEPENDS);
        }
    }
}

/* Find elements of other views that differ between runs. */
static hr_status find_different(checking *c)
{
    for (uint32_t i = 0; i < HR_MAX_PARAMETERS; i++) {
        const hri_watched *v = &c->watch.views[i];
        for (int64_t e = 0;
             v->elements != NULL && e < v->count && c->watch.status == HR_OK;
             e += HRI_POISONED) {
            compare_chunk(c, v, e);
        }
    }
    return c->watch.status;
}

static hr_status run_once(checking *c)
{
    fill_views(c);
    fill_arguments(c);
    hr_status status = hri_watch_run(&c->watch, c->arguments);
    return status == HR_OK ? find_written(c) : status;
}

static void keep_first(checking *c)
{
    for (uint32_t i = 0; i < HR_MAX_PARAMETERS; i++) {
        const hri_watched *v = &c->watch.views[i];
        if (v->first != NULL) {
            memcpy(v->first, v->now, bytes_of(v));
        }
    }
}

/* The last run takes long where a loop has an OUT element as its bound. The
 * others find that nearly always. */
static hr_status run_all(checking *c)
{
    hr_status status = run_once(c);
    if (status == HR_OK && c->runs > 1) {
        keep_first(c);
    }
    while (status == HR_OK && ++c->watch.run < c->runs &&
           (c->watch.run + 1 < HRI_RUNS || !c->watch.found_unset)) {
        status = run_once(c);
        status = status == HR_OK ? find_different(c) : status;
    }
    return status;
}

/* ---- the launch */

hr_status hri_check_launch(hr_context *context, hri_stream *stream,
                           const hri_launch *launch, hri_pieces *pieces)
{
    const int64_t *tiles = launch->domain.tiles;
    checking c = {.watch = {.findings = context->findings,
                            .kernel = launch->kernel,
                            .rank = launch->rank,
                            .domain = launch->domain,
                            .pieces = pieces,
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
    hr_status status = hri_stream_finish(stream);
    if (status == HR_OK && pieces != NULL) {
        status = hri_kept_begin(pieces, &launch->domain, &c.watch.first_tile);
    }
    if (status == HR_OK) {
        status = make_views(&c);
    }
    if (status == HR_OK) {
        status = copy_views(&c, false);
    }
    if (status == HR_OK) {
        status = run_all(&c);
    }
    if (status == HR_OK) {
        status = copy_views(&c, true);
    }
    finish(&c);
    return status;
}
