/* SPDX-License-Identifier: MIT */
/* What hr_launch_split takes. */
#include "arrays/launch.h"
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

const hri_struct hri_split_report_struct = HRI_STRUCT(
    hr_split_report, "split report", "HR_SPLIT_REPORT_INIT", seconds);

hr_status hri_split_read(hri_splitting *s, const hr_split_options *options)
{
    static const hri_struct options_struct = HRI_STRUCT(
        hr_split_options, "split options", "HR_SPLIT_OPTIONS_INIT", weights);
    s->options = (hr_split_options)HR_SPLIT_OPTIONS_INIT;
    hr_status status = hri_struct_read(&options_struct, options, &s->options);
    if (status == HR_OK) {
        status = hri_struct_check(&hri_split_report_struct, s->options.report);
    }
    if (status == HR_OK) {
        status = hri_indices_read(
            s->context, s->kernel->name, s->options.accelerators,
            s->options.accelerator_count, &s->accelerators);
    }
    return status;
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
    hr_status status =
        hri_launch_check(s->context, s->kernel, &part, s->arguments, count);
    for (uint32_t i = 0; i < count && status == HR_OK; i++) {
        status = hri_split_is_view(s, i) ? check_argument(s, i) : HR_OK;
    }
    return status;
}
