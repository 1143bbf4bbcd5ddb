/* SPDX-License-Identifier: MIT */
/* What hr_launch_split takes. */
#include <stddef.h>

#include "arrays/launch.h"
#include "runtime/structs.h"
#include "split/split.h"

hr_argument hr_near(hr_argument argument, int64_t before, int64_t after)
{
    argument.before = before;
    argument.after = after;
    return argument;
}

hr_argument hr_whole(hr_argument argument)
{
    argument.whole = true;
    return argument;
}

/* ---- rules */

hr_status hri_split_read(const hr_split_options *options,
                         hr_split_options *read)
{
    if (options == NULL) {
        return HR_OK;
    }
    if (options->size < offsetof(hr_split_options, weights)) {
        return hri_fail(HR_ERROR_INVALID,
                        "split options: size is %u, not %zu; start with "
                        "HR_SPLIT_OPTIONS_INIT",
                        options->size, sizeof *options);
    }
    hri_struct_read(read, sizeof *read, options, options->size);
    if (read->report != NULL &&
        read->report->size < offsetof(hr_split_report, seconds)) {
        return hri_fail(HR_ERROR_INVALID,
                        "split report: size is %u, not %zu; start with "
                        "HR_SPLIT_REPORT_INIT",
                        read->report->size, sizeof *read->report);
    }
    return HR_OK;
}

static hr_status check_accelerators(const hri_splitting *s)
{
    const uint32_t there = s->context->accelerator_count;
    if (s->count == 0) {
        return hri_fail(HR_ERROR_INVALID, "%s: a list of 0 accelerators",
                        s->kernel->name);
    }
    for (uint32_t i = 0; i < s->count; i++) {
        const uint32_t a = hri_split_index(s, i);
        if (a >= there) {
            return hri_fail(HR_ERROR_INVALID,
                            "%s: accelerator %u, but there are %u",
                            s->kernel->name, a, there);
        }
        for (uint32_t j = 0; j < i; j++) {
            if (hri_split_index(s, j) == a) {
                return hri_fail(HR_ERROR_INVALID,
                                "%s: accelerator %u is listed twice",
                                s->kernel->name, a);
            }
        }
    }
    return HR_OK;
}

/* Whether an argument can be given in bands. */
static hr_status check_argument(const hri_splitting *s, uint32_t i)
{
    const hr_argument *a = &s->arguments[i];
    const char *name = s->parameters[i].name;
    const bool alone = !a->whole && a->before == 0 && a->after == 0;
    if (a->before < 0 || a->after < 0) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %s near %lld rows before and %lld after, not 0 or "
                        "more",
                        s->kernel->name, name, (long long)a->before,
                        (long long)a->after);
    }
    if (a->access != HR_IN && !alone) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %s is written, so each accelerator has rows of "
                        "its own of it, not %s",
                        s->kernel->name, name,
                        a->whole ? "the whole" : "those near");
    }
    if (!a->whole && a->view.extent.size[0] != s->domain.size[0]) {
        return hri_fail(
            HR_ERROR_INVALID, "%s: %s has %lld rows, but the domain has %lld",
            s->kernel->name, name, (long long)a->view.extent.size[0],
            (long long)s->domain.size[0]);
    }
    return HR_OK;
}

hr_status hri_split_check(const hri_splitting *s, size_t count)
{
    hri_part part = hri_part_of(s->domain);
    part.tile = s->options.tile;
    hr_status status = check_accelerators(s);
    if (status == HR_OK) {
        status =
            hri_launch_check(s->context, s->kernel, &part, s->arguments, count);
    }
    for (uint32_t i = 0; i < count && status == HR_OK; i++) {
        status = hri_split_is_view(s, i) ? check_argument(s, i) : HR_OK;
    }
    return status;
}
