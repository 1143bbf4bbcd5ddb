/* SPDX-License-Identifier: MIT */
#include "base/environment.h"
#include "bench/bench.h"
#include "console/context.h"
#include "trace/trace.h"

static hri_trace *timeline;

int bench_timeline_begin(void)
{
    const char *path = hri_environment("HEADRACE_TRACE");
    return path != NULL && *path != '\0'
               ? cli_called(hri_trace_hold(path, &timeline))
               : CLI_OK;
}

int bench_timeline_end(int status)
{
    const bool written = hri_trace_drop(timeline) == HR_OK;
    timeline = NULL;
    return status == CLI_OK && !written ? cli_failed_call() : status;
}
