/* SPDX-License-Identifier: MIT */
/* What hr_launch_split takes, and what of it each band needs. */
#include "arrays/launch.h"
#include "base/size.h"
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

/* ---- bands */

hr_status hri_split_cut(hri_splitting *s, const double *weights)
{
    const int64_t rows = s->domain.size[0];
    const int64_t step = s->options.tile != NULL ? s->options.tile->size[0] : 1;
    int64_t before = 0, after = 0;
    for (uint32_t i = 0; i < s->kernel->parameter_count; i++) {
        if (hri_split_is_view(s, i)) {
            const hr_argument *a = &s->arguments[i];
            before = hri_max(before, a->whole ? rows : a->before);
            after = hri_max(after, a->whole ? rows : a->after);
        }
    }
    hr_status status =
        hr_split(hri_ceil_div(rows, step), weights, s->count, 0, 0, s->bands);
    for (uint32_t i = 0; i < s->count && status == HR_OK; i++) {
        hr_band *b = &s->bands[i];
        const int64_t end = hri_min(rows, (b->first + b->count) * step);
        b->first = hri_min(rows, b->first * step);
        b->count = end - b->first;
        b->accelerator = hri_split_index(s, i);
        hri_band_reach(rows, before, after, b);
    }
    return status;
}

hr_status hri_split_argument(const hri_splitting *s, uint32_t i,
                             const hr_band *band, hr_view *view, int64_t *first)
{
    const hr_argument *a = &s->arguments[i];
    int64_t origin[HR_MOST_RANK] = {0};
    hr_extent extent = a->view.extent;
    if (!a->whole) {
        hr_band own = *band;
        hri_band_reach(extent.size[0], a->before, a->after, &own);
        origin[0] = own.read_first;
        extent.size[0] = own.read_count;
    }
    *first = origin[0];
    return hr_view_section(a->view, origin, extent, view);
}
