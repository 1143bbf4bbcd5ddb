/* SPDX-License-Identifier: MIT */
#include "mpi/count.h"

#include <math.h>

/* ---- bytes */

static int64_t size_of(const hri_mpi_operand *o, hri_mpi_part part)
{
    return hri_mpi_part_rows(o, part) * hri_mpi_part_cols(o, part);
}

/* The bytes of a part that come from other processes, or go to them. */
static uint64_t foreign(const hri_mpi_plan *plan, const hri_mpi_operand *o,
                        hri_mpi_part part, int rank, size_t element_bytes)
{
    return (uint64_t)(size_of(o, part) - hri_mpi_part_elements(o, part, rank) -
                      hri_mpi_part_elements(o, part, plan->process_count)) *
           element_bytes;
}

uint64_t hri_count_panel(const hri_mpi_plan *plan, const hri_mpi_product *p,
                         int64_t place, int64_t n)
{
    const int rank = plan->rank[place];
    return foreign(plan, &p->a, hri_mpi_part_of_a(plan, place, n), rank,
                   p->a.element_bytes) +
           foreign(plan, &p->b, hri_mpi_part_of_b(plan, place, n), rank,
                   p->b.element_bytes);
}

static hri_traffic count_own(const hri_mpi_plan *plan, const hri_mpi_product *p,
                             int place)
{
    uint64_t panels = 0, sums = 0;
    for (int64_t n = 0; n < plan->panels; n++) {
        panels += hri_count_panel(plan, p, place, n);
    }
    for (int64_t s = 0; !plan->in_place && s < plan->strips; s++) {
        sums += foreign(plan, &p->c, hri_mpi_part_of_c(plan, place, s),
                        plan->rank[place], hr_type_size(p->sum_type));
    }
    return (hri_traffic){(double)panels, (double)sums};
}

uint64_t hri_count_sent(const hri_mpi_plan *plan, const hri_mpi_product *p,
                        hri_traffic *most)
{
    uint64_t sent = 0;
    *most = (hri_traffic){0.0, 0.0};
    for (int i = 0; i < plan->rows * plan->cols * plan->depth; i++) {
        const hri_traffic own = count_own(plan, p, i);
        sent += (uint64_t)own.panels + (uint64_t)own.sums;
        *most = own.panels + own.sums > most->panels + most->sums ? own : *most;
    }
    return sent;
}

/* ---- messages */

/* The messages that bring parts of an operand: each process gets one from every
 * other that has elements of a part. Processes at `count` places, `stride` from
 * each other, need the same parts. */
static uint64_t messages_of(const hri_mpi_plan *plan, const hri_mpi_operand *o,
                            hri_mpi_part (*part_of)(const hri_mpi_plan *plan,
                                                    int64_t place,
                                                    int64_t number),
                            int64_t parts, int count, int stride)
{
    const int places = plan->rows * plan->cols * plan->depth;
    uint64_t messages = 0;
    for (int i = 0; i < places; i++) {
        if (i / stride % count > 0) {
            continue; /* its parts are those of an earlier place */
        }
        for (int64_t t = 0; t < parts; t++) {
            const hri_mpi_part part = part_of(plan, i, t);
            int owners = 0;
            for (int rank = 0; rank < plan->process_count; rank++) {
                owners += hri_mpi_part_elements(o, part, rank) > 0;
            }
            for (int s = 0; s < count; s++) {
                const int rank = plan->rank[i + s * stride];
                messages +=
                    (uint64_t)(owners -
                               (hri_mpi_part_elements(o, part, rank) > 0));
            }
        }
    }
    return messages;
}

uint64_t hri_count_messages(const hri_mpi_plan *plan, const hri_mpi_product *p)
{
    return messages_of(plan, &p->a, hri_mpi_part_of_a, plan->panels, plan->cols,
                       1) +
           messages_of(plan, &p->b, hri_mpi_part_of_b, plan->panels, plan->rows,
                       plan->cols) +
           messages_of(plan, &p->c, hri_mpi_part_of_c,
                       plan->in_place ? 0 : plan->strips, plan->depth,
                       plan->rows * plan->cols);
}

/* ---- the fewest bytes */

/* The sides of a box of `volume` products, none longer than `length`, with the
 * smallest faces: weight[d] is that of the face across side d. Such sides are
 * in proportion to these weights, but for those that are too long so. */
static void find_box(const double length[3], const double weight[3],
                     double volume, double side[3])
{
    bool full[3] = {false, false, false};
    bool changed = true;
    while (changed) {
        double left = volume;
        int free_sides = 0;
        changed = false;
        for (int d = 0; d < 3; d++) {
            left /= full[d] ? length[d] : weight[d];
            free_sides += !full[d];
        }
        const double scale = free_sides > 0 ? pow(left, 1.0 / free_sides) : 0.0;
        for (int d = 0; d < 3; d++) {
            side[d] = full[d] ? length[d] : weight[d] * scale;
            changed = changed || side[d] > length[d];
            full[d] = side[d] >= length[d];
        }
    }
}

/* The faces of a box of m n k / P products, no side longer than the matrix's,
 * less what a process has of equal shares. */
uint64_t hri_least_sent(const hri_mpi_product *p, int count)
{
    const double least = 1e-6; /* of what every process has */
    const double length[3] = {(double)p->m, (double)p->n, (double)p->k};
    const double width[3] = {hri_foreign_width(&p->b), hri_foreign_width(&p->a),
                             (double)hr_type_size(p->sum_type)};
    const double weight[3] = {fmax(width[0], least), fmax(width[1], least),
                              width[2]};
    const double all = length[0] * length[1] * length[2];
    double side[3], need = 0.0, have = 0.0;
    if (all <= 0.0 || count == 1) {
        return 0;
    }
    find_box(length, weight, all / count, side);
    for (int d = 0; d < 3; d++) {
        need += width[d] * all / count / side[d];
        have += width[d] * all / length[d] / count;
    }
    return need > have ? (uint64_t)((need - have) * count) : 0;
}

/* ---- memory */

/* What every process has stays where it is. */
static uint64_t memory_of_part(const hri_mpi_operand *o, hri_mpi_part part)
{
    return hri_mpi_operand_stays(o)
               ? 0
               : (uint64_t)size_of(o, part) * o->element_bytes;
}

/* Of panels what comes, goes and is multiplied, and the sum. */
uint64_t hri_count_memory(const hri_mpi_plan *plan, const hri_mpi_product *p,
                          int64_t place)
{
    uint64_t panel = 0, sum = 0, strip = 0;
    if (place < 0) {
        return 0;
    }
    for (int64_t t = 0; t < plan->panels; t++) {
        const uint64_t bytes =
            memory_of_part(&p->a, hri_mpi_part_of_a(plan, place, t)) +
            memory_of_part(&p->b, hri_mpi_part_of_b(plan, place, t));
        panel = bytes > panel ? bytes : panel;
    }
    for (int64_t s = 0; !plan->in_place && s < plan->strips; s++) {
        const uint64_t bytes =
            (uint64_t)size_of(&p->c, hri_mpi_part_of_c(plan, place, s)) *
            hr_type_size(p->sum_type);
        sum += bytes;
        strip = bytes > strip ? bytes : strip;
    }
    return (uint64_t)plan->buffers * 3 * panel + sum + 2 * strip;
}
