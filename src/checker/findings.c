/* SPDX-License-Identifier: MIT */
/* What the checker of a context has found, in words. Each sentence is kept
 * once. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "checker/watch.h"

hr_status hri_findings_add(hri_findings *findings, const char *key,
                           const char *sentence)
{
    for (size_t i = 0; i < findings->count; i++) {
        if (strcmp(findings->of[i].key, key) == 0) {
            return HR_OK;
        }
    }
    hri_finding *of = realloc(findings->of, (findings->count + 1) * sizeof *of);
    findings->of = of != NULL ? of : findings->of;
    hri_finding new = {strdup(key), strdup(sentence)};
    if (of == NULL || new.key == NULL || new.sentence == NULL) {
        free(new.key);
        free(new.sentence);
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "check: out of memory");
    }
    findings->of[findings->count++] = new;
    return HR_OK;
}

typedef struct sentence {
    char text[HRI_MESSAGE_BYTES];
    size_t length;
} sentence;

static void __attribute__((format(printf, 2, 3)))
say(sentence *s, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const size_t room = sizeof s->text - s->length;
    int count = vsnprintf(s->text + s->length, room, format, arguments);
    va_end(arguments);
    if (count > 0) {
        s->length += (size_t)count < room ? (size_t)count : room - 1;
    }
}

static void say_numbers(sentence *s, const int64_t *numbers, uint32_t count,
                        const char *between)
{
    for (uint32_t d = 0; d < count; d++) {
        say(s, "%s%lld", d > 0 ? between : "", (long long)numbers[d]);
    }
}

static void say_item(sentence *s, const hri_watch *w, const hri_seen *use)
{
    uint32_t tile_of_chunk = use->tile;
    const hr_domain *d = w->chunks != NULL
                             ? hri_kept_domain(w->chunks->kept, &tile_of_chunk)
                             : &w->domain;
    const bool item = use->item >= 0;
    int64_t tile = tile_of_chunk, local = item ? use->item : 0;
    int64_t at[HR_MAX_KERNEL_RANK];
    for (int i = HR_MAX_KERNEL_RANK - 1; i >= 0; i--) {
        int64_t number = tile % d->tiles[i];
        at[i] = item
                    ? d->first[i] + (number * d->tile[i] + local % d->tile[i]) *
                                        d->step[i]
                    : number;
        tile /= d->tiles[i];
        local /= d->tile[i];
    }
    say(s, item ? "item (" : "every item of tile (");
    say_numbers(s, at, w->rank, ", ");
    say(s, ")");
}

static void say_element(sentence *s, const hri_report *r)
{
    say(s, "%s[", r->view->parameter->name);
    say_numbers(s, r->index, r->rank, ", ");
    say(s, "]");
}

static void say_conflict(sentence *s, const hri_watch *w, const hri_report *r)
{
    say(s, ", which ");
    say_item(s, w, &r->other);
    say(s, " %s in line %d", r->other_writes ? "writes" : "uses",
        (int)r->other.line);
    if (r->use.tile == r->other.tile) {
        say(s, ", without a barrier between");
    }
}

/* "item (3) writes c[5]", or "c[5] is written". */
static void say_access(sentence *s, const hri_watch *w, const hri_report *r)
{
    if (r->use.line == 0) {
        say_element(s, r);
        say(s, " is written");
        return;
    }
    say_item(s, w, &r->use);
    say(s, r->writes                  ? " writes "
           : r->fault == HRI_CONFLICT ? " uses "
                                      : " reads ");
    say_element(s, r);
}

/* Write which part of the extent is there, when that is not all of it. Chunks
 * of a call do not count. */
static void say_box(sentence *s, const hri_watch *w, const hri_watched *v)
{
    const uint32_t rank = v->rank;
    bool whole = true;
    for (uint32_t d = 0; d < rank; d++) {
        whole = whole && v->held_first[d] == 0 && v->held[d] == v->extent[d];
    }
    if (!whole && w->chunks == NULL) {
        say(s, ", of which this part holds ");
        say_numbers(s, v->held, rank, " x ");
        say(s, " from (");
        say_numbers(s, v->held_first, rank, ", ");
        say(s, ") on");
    }
}

static void say_reach(sentence *s, const hri_watch *w, const hri_report *r)
{
    const hri_reach *reach = r->view->reach;
    const bool one = w->chunks->grain == 1;
    const char *own = one ? "its own row" : "the rows of its tile";
    if (r->view->parameter->access != HR_IN) {
        say(s, ", but a point uses %s alone of what is written", own);
    } else if (reach->before == 0 && reach->after == 0) {
        say(s, ", but is given %s alone; say hr_near or hr_whole", own);
    } else {
        say(s, ", but hr_near gives it %lld row%s before %s and %lld after",
            (long long)reach->before, hri_plural((uint64_t)reach->before),
            one ? "its own" : "its tile", (long long)reach->after);
    }
}

static void say_fault(sentence *s, const hri_watch *w, const hri_report *r)
{
    const hr_parameter *p = r->view->parameter;
    switch (r->fault) {
    case HRI_OUTSIDE:
        say(s, ", outside its extent ");
        say_numbers(s, r->view->extent, r->view->rank, " x ");
        say_box(s, w, r->view);
        break;
    case HRI_FAR:
        say_reach(s, w, r);
        break;
    case HRI_RANK:
        say(s, ", but %s %s rank %u", p->name,
            p->list ? "is a list of views of" : "has", p->rank);
        break;
    case HRI_CONFLICT:
        say_conflict(s, w, r);
        break;
    case HRI_UNIFORM:
        break;
    case HRI_NO_VALUE:
        say(s, ", which is OUT and has no value yet");
        break;
    case HRI_DEPENDS:
        say(s, ", whose value depends on what an OUT view held before");
        break;
    case HRI_CONST:
        say(s, ", which is IN");
        break;
    }
}

void hri_watch_report(hri_watch *watch, const hri_report *report)
{
    const hr_kernel *k = watch->kernel;
    sentence key = {.length = 0}, told = {.length = 0};
    say(&key, "%s:%d:%s:%s:%d", k->file, (int)report->use.line, k->name,
        report->view->parameter->name, (int)report->fault);
    say(&told, "%s:", k->file);
    if (report->use.line != 0) {
        say(&told, "%d:", (int)report->use.line);
    }
    say(&told, " %s: ", k->name);
    say_access(&told, watch, report);
    say_fault(&told, watch, report);
    hr_status status = hri_findings_add(watch->findings, key.text, told.text);
    watch->status = watch->status == HR_OK ? status : watch->status;
    watch->found_unset = watch->found_unset || report->fault == HRI_NO_VALUE ||
                         report->fault == HRI_DEPENDS ||
                         report->fault == HRI_OUTSIDE;
}

void hri_watch_report_element(hri_watch *watch, int64_t element,
                              hri_report *report)
{
    const hri_watched *v = report->view;
    report->rank = v->rank;
    for (uint32_t d = 0; d < report->rank; d++) {
        report->index[d] = v->held_first[d] + element / v->stride[d];
        element %= v->stride[d];
    }
    hri_watch_report(watch, report);
}
