/* SPDX-License-Identifier: MIT */
#include "base/progress.h"

#include <math.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/threads.h"

uint32_t hri_progress_ms = 100;

void hri_progress_init(hri_progress *p, const char *call,
                       hr_progress_function function, void *data, double total)
{
    *p = (hri_progress){.call = call,
                        .function = total > 0.0 ? function : NULL,
                        .data = data,
                        .total = total,
                        .caller = pthread_self()};
}

bool hri_progress_tell(hri_progress *p, double done)
{
    if (!hri_progress_is_told(p) || p->stopped) {
        return !p->stopped;
    }
    p->told = done < p->total ? fmax(p->told, done) : p->told;
    const bool go_on = p->function(p->data, p->told, p->total);
    p->told_ns = hri_clock_ns();
    if (!go_on) {
        hri_error_keep(&p->error,
                       hri_fail(HR_ERROR_CANCELLED,
                                "%s: cancelled after %.0f per cent", p->call,
                                100.0 * p->told / p->total));
        p->stopped = true;
    }
    return go_on;
}

bool hri_progress_is_due(const hri_progress *p)
{
    return hri_progress_is_told(p) &&
           hri_clock_ns() - p->told_ns >= (uint64_t)hri_progress_ms * 1000000u;
}

static void tell_if_due(hri_progress *p)
{
    if (hri_progress_is_due(p)) {
        (void)hri_progress_tell(p, (double)p->done);
    }
}

hr_status hri_progress_call(hri_progress *p,
                            hr_status (*function)(void *argument),
                            void *arguments, size_t count, size_t bytes)
{
    hri_threads_begin_calls(function, arguments, count, bytes);
    return hri_progress_end_calls(p, arguments, count, bytes);
}

hr_status hri_progress_end_calls(hri_progress *p, void *arguments, size_t count,
                                 size_t bytes)
{
    for (size_t i = 0; i < count && hri_progress_is_told(p); i++) {
        const hri_call *call =
            (const void *)((const char *)arguments + i * bytes);
        while (call->thread != NULL &&
               !hri_thread_await(call->thread, hri_progress_ms)) {
            tell_if_due(p);
        }
    }
    return hri_threads_end_calls(arguments, count, bytes);
}

hr_status hri_progress_status(const hri_progress *p, hr_status status)
{
    return status == HR_OK && p->stopped ? hri_error_raise(&p->error) : status;
}

hr_status hri_progress_end(hri_progress *p, hr_status status)
{
    status = hri_progress_status(p, status);
    if (status == HR_OK && hri_progress_is_told(p)) {
        (void)p->function(p->data, p->total, p->total);
    }
    return status;
}

void hri_progress_add(hri_progress *p, uint64_t done)
{
    if (hri_progress_is_told(p)) {
        p->done += done;
        if (pthread_equal(pthread_self(), p->caller)) {
            tell_if_due(p);
        }
    }
}

int64_t hri_rounds_next(hri_rounds *r, int64_t most)
{
    const uint64_t now_ns = hri_clock_ns();
    const uint64_t round_ns = now_ns - r->start_ns;
    const uint64_t wanted_ns = (uint64_t)hri_progress_ms * 1000000u;
    if (r->start_ns == 0) {
        r->items = 1;
    } else if (round_ns < wanted_ns / 2) {
        r->items = hri_min(2 * r->items, INT64_MAX / 4);
    } else if (round_ns > wanted_ns) {
        r->items = hri_max(r->items / 2, 1);
    }
    r->start_ns = now_ns;
    return hri_min(r->items, most);
}
