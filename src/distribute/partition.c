/* SPDX-License-Identifier: MIT */
#include "distribute/distribute.h"

#include <math.h>
#include <stdlib.h>

#include "base/size.h"

static int most_first(const void *x, const void *y)
{
    const hri_ranked *a = x, *b = y;
    if (a->worth != b->worth) {
        return a->worth > b->worth ? -1 : 1;
    }
    return a->index < b->index ? -1 : 1;
}

void hri_rank(hri_ranked *all, uint32_t count)
{
    qsort(all, count, sizeof *all, most_first);
}

/* Group `count` speeds into `columns` runs of about equal sums. first[] gets
 * where each run starts. Returns the cost: the sum of all half perimeters. */
static double group(const hri_ranked *speeds, uint32_t count, double total,
                    uint32_t columns, double height, double width,
                    uint32_t *first)
{
    double cost = 0.0, sum = 0.0, before = 0.0;
    uint32_t column = 0;
    first[0] = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += speeds[i].worth;
        uint32_t left = count - i - 1, wanted = columns - column - 1;
        bool full = sum >= total * (column + 1) / columns * (1 - 1e-9);
        if (left == 0 || left == wanted || (full && wanted > 0)) {
            cost += height +
                    (i + 1 - first[column]) * width * (sum - before) / total;
            before = sum;
            first[++column] = i + 1;
        }
    }
    return column == columns ? cost : HUGE_VAL;
}

static void set_edges(hri_partition *p, const hri_ranked *speeds, double total)
{
    double sum = 0.0;
    double *edge = p->edges;
    p->col_edges[0] = 0.0;
    for (uint32_t c = 0; c < p->columns; c++) {
        double column = 0.0, below = 0.0;
        for (uint32_t i = p->first[c]; i < p->first[c + 1]; i++) {
            column += speeds[i].worth;
        }
        *edge++ = 0.0;
        for (uint32_t i = p->first[c]; i < p->first[c + 1]; i++) {
            below += speeds[i].worth;
            *edge++ = below / column;
        }
        edge[-1] = 1.0;
        sum += column;
        p->col_edges[c + 1] = sum / total;
    }
    p->col_edges[p->columns] = 1.0;
}

static hri_partition *allocate(uint32_t count)
{
    hri_partition *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return NULL;
    }
    p->count = count;
    p->order = calloc(count, sizeof *p->order);
    p->first = calloc((size_t)count + 1, sizeof *p->first);
    p->edges = calloc(2 * (size_t)count, sizeof *p->edges);
    p->col_edges = calloc((size_t)count + 1, sizeof *p->col_edges);
    if (p->order == NULL || p->first == NULL || p->edges == NULL ||
        p->col_edges == NULL) {
        hri_partition_destroy(p);
        return NULL;
    }
    return p;
}

hr_status hri_partition_create(const double *speeds, uint32_t count,
                               double height, double width,
                               hri_partition **partition)
{
    hri_partition *p = allocate(count);
    hri_ranked *sorted = calloc(count, sizeof *sorted);
    if (p == NULL || sorted == NULL) {
        hri_partition_destroy(p);
        free(sorted);
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "gemm: no memory to plan for %u accelerator%s", count,
                        hri_plural(count));
    }
    double total = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = (hri_ranked){speeds[i], i};
        total += speeds[i];
    }
    hri_rank(sorted, count);
    /* the best column count is near sqrt(count * width / height) */
    uint32_t best = 1;
    double best_cost = HUGE_VAL;
    for (uint32_t c = 1; c <= count; c++) {
        double cost = group(sorted, count, total, c, height, width, p->first);
        if (cost < best_cost * (1 - 1e-9)) {
            best_cost = cost;
            best = c;
        } else if (cost > 2 * best_cost) {
            break;
        }
    }
    p->columns = best;
    group(sorted, count, total, best, height, width, p->first);
    for (uint32_t i = 0; i < count; i++) {
        p->order[i] = sorted[i].index;
    }
    set_edges(p, sorted, total);
    free(sorted);
    *partition = p;
    return HR_OK;
}

void hri_partition_destroy(hri_partition *partition)
{
    if (partition != NULL) {
        free(partition->order);
        free(partition->first);
        free(partition->edges);
        free(partition->col_edges);
        free(partition);
    }
}

static int64_t snap(double edge, int64_t tiles)
{
    return (int64_t)(edge * (double)tiles + 0.5);
}

/* The largest ratio of a box's share in tiles to its fair share. */
static double imbalance(const double *edges, uint32_t count, int64_t tiles)
{
    double worst = 1.0;
    int64_t start = snap(edges[0], tiles);
    for (uint32_t i = 0; i < count; i++) {
        int64_t end = snap(edges[i + 1], tiles);
        double got = (double)(end - start);
        double fair = (edges[i + 1] - edges[i]) * (double)tiles + 1e-9;
        if (got > worst * fair) {
            worst = got / fair;
        }
        start = end;
    }
    return worst;
}

static double row_imbalance(const hri_partition *p, int64_t tiles)
{
    double worst = 1.0;
    for (uint32_t c = 0; c < p->columns; c++) {
        worst = fmax(worst, imbalance(p->edges + p->first[c] + c,
                                      p->first[c + 1] - p->first[c], tiles));
    }
    return worst;
}

int64_t hri_partition_tiles(const hri_partition *p, bool rows, int64_t least,
                            int64_t most, double *balance)
{
    /* beyond so many, more tiles cost more than better balance gains */
    enum { TRIES = 32, MANY = 64, FEW_TRIES = 12 };
    double best_score = HUGE_VAL;
    int64_t best = least;
    int64_t last = hri_min(most, 2 * least + TRIES + 2 * p->columns);
    last = hri_min(last, least + 2 * TRIES + 2 * p->columns);
    /* with many boxes, neighbouring numbers are hardly better or worse, so
     * step over some */
    int64_t step = p->count > MANY ? hri_max((last - least) / FEW_TRIES, 1) : 1;
    for (int64_t t = least; t <= hri_max(last, least); t += step) {
        double even =
            rows ? row_imbalance(p, t) : imbalance(p->col_edges, p->columns, t);
        double more = (double)(t - least) / (double)least;
        double score = even * (1.0 + 0.03 * more);
        if (score < best_score * (1 - 1e-12)) {
            best_score = score;
            best = t;
            *balance = even;
        }
        if (even <= 1.0 + 1e-9) {
            break; /* more tiles cannot be better */
        }
    }
    return best;
}

void hri_partition_boxes(const hri_partition *p, int64_t rows, int64_t cols,
                         hri_tile_box *boxes)
{
    for (uint32_t c = 0; c < p->columns; c++) {
        const double *edges = p->edges + p->first[c] + c;
        for (uint32_t i = p->first[c]; i < p->first[c + 1]; i++) {
            uint32_t r = i - p->first[c];
            boxes[p->order[i]] = (hri_tile_box){
                .row0 = (int32_t)snap(edges[r], rows),
                .row1 = (int32_t)snap(edges[r + 1], rows),
                .col0 = (int32_t)snap(p->col_edges[c], cols),
                .col1 = (int32_t)snap(p->col_edges[c + 1], cols),
            };
        }
    }
}
