/* SPDX-License-Identifier: MIT */
/* How reductions cut their views into units. */
#include "calls/reduction.h"

#include "arrays/array.h"
#include "base/size.h"
#include "calls/views.h"

enum {
    MIN_UNIT = 4096,       /* elements of a unit: not less, */
    MAX_UNIT = 131072,     /* and not more, since units stream whole */
    GRAIN = 1024,          /* whole turns of the items */
    ENOUGH_ITEMS = 1 << 18 /* they keep several GPUs busy, and results of more
                              tiles would take the host longer to join */
};

int64_t hri_unit_elements(int64_t all, int64_t items)
{
    const int64_t share = hri_ceil_div(all, ENOUGH_ITEMS / items);
    return hri_round_up(hri_min(hri_max(share, MIN_UNIT), MAX_UNIT), GRAIN);
}

/* Whether the call takes all elements as one line. */
static bool as_cells(const hri_layout *l)
{
    bool narrow = true;
    for (uint32_t i = 0; i < l->count; i++) {
        narrow = narrow && hri_view_is_narrow(&l->views[i]);
    }
    return narrow || l->views[0].extent.rank == 1;
}

/* Columns of a unit: all, or equal parts of about so many elements that end
 * between turns of the items. */
static int64_t columns(int64_t cols, int64_t elements)
{
    const int64_t share = hri_ceil_div(cols, hri_ceil_div(cols, elements));
    return cols <= elements ? cols : hri_round_up(share, HRI_REDUCE_ITEMS);
}

hr_status hri_lay_out(hri_layout *l, const char *call, int64_t of_cells,
                      int64_t of_lines)
{
    hr_status status = HR_OK;
    for (uint32_t i = 0; i < l->count && status == HR_OK; i++) {
        status = hri_view_for_kernels(&l->views[i], HR_MAX_KERNEL_RANK, call,
                                      i == 0 ? "view a" : "view b");
    }
    if (status == HR_OK && as_cells(l)) {
        const int64_t all = hr_extent_count(l->views[0].extent);
        for (uint32_t i = 0; i < l->count; i++) {
            hri_view_flatten(&l->views[i], 0, 1);
        }
        l->unit = (hri_unit){.rows = of_cells, .lines = 1, .cols = of_cells};
        l->rows = hri_ceil_div(all, of_cells);
        l->pieces = 1;
    }
    if (status != HR_OK || l->views[0].extent.rank == 1) {
        return status;
    }
    for (uint32_t i = 0; i < l->count; i++) {
        l->views[i] = hri_view_in_space(l->views[i]);
    }
    const int64_t *n = l->views[0].extent.size;
    l->unit.cols = columns(n[2], of_lines);
    l->unit.lines = hri_min(hri_max(of_lines / n[2], 1), n[1]);
    l->unit.rows = hri_min(hri_max(of_lines / n[2] / n[1], 1), n[0]);
    l->rows = hri_ceil_div(n[0], l->unit.rows);
    l->pieces =
        hri_ceil_div(n[1], l->unit.lines) * hri_ceil_div(n[2], l->unit.cols);
    return HR_OK;
}
