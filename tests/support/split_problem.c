/* SPDX-License-Identifier: MIT */
#include "support/split_problem.h"

/* ---- arrays */

static void make_array(bed *b, split_side *s, split_memory memory,
                       hr_extent outer)
{
    hr_context *c = b->context;
    if (memory == SPLIT_ANYWHERE) {
        CHECK(hr_array_create_anywhere(c, sizeof(int), outer, &s->array) ==
              HR_OK);
        return;
    }
    if (memory == SPLIT_HOME) {
        hr_queue *queue = NULL;
        const int64_t home = random_between(&b->random, 0, b->count - 1);
        CHECK(hr_queue_create(c, (uint32_t)home, &queue) == HR_OK);
        CHECK(hr_array_create(queue, sizeof(int), outer, &s->array) == HR_OK);
        hr_queue_destroy(queue);
        return;
    }
    s->pinned = memory == SPLIT_PINNED;
    if (s->pinned) {
        CHECK(hr_allocate_pinned(c, s->bytes, (void **)&s->own) == HR_OK);
    } else {
        s->own = malloc(s->bytes);
    }
    CHECK(hr_array_wrap(c, s->own, sizeof(int), outer, 0, &s->array) == HR_OK);
}

static void make_side(const split_problem *p, split_side *s,
                      split_memory memory)
{
    random_source *random = &p->b->random;
    hr_extent outer = p->domain;
    hr_mapping m;
    s->bytes = sizeof(int);
    for (uint32_t d = 0; d < outer.rank; d++) {
        s->margin[d] = random_between(random, 0, 2);
        outer.size[d] += s->margin[d] + random_between(random, 0, 2);
        s->outer[d] = outer.size[d];
        s->bytes *= (size_t)outer.size[d];
    }
    s->want = malloc(s->bytes);
    make_array(p->b, s, memory, outer);
    CHECK(hr_view_section(hr_view_of(s->array), s->margin, p->domain,
                          &s->view) == HR_OK);
    for (size_t i = 0; i < s->bytes / sizeof(int); i++) {
        s->want[i] = (int)random_between(random, -9, 9);
    }
    CHECK(hr_map(hr_view_of(s->array), HR_OUT, &m) == HR_OK);
    memcpy(m.data, s->want, s->bytes);
    CHECK(hr_unmap(&m) == HR_OK);
}

void split_problem_init(split_problem *p, bed *b, int64_t most_rows,
                        const split_memory *memories, int count)
{
    *p = (split_problem){.b = b, .row_bytes = sizeof(int)};
    p->domain.rank = (uint32_t)random_between(&b->random, 1, 3);
    for (uint32_t d = 0; d < p->domain.rank; d++) {
        p->domain.size[d] =
            random_between(&b->random, 1, d == 0 ? most_rows : 9);
        p->row_bytes *= d > 0 ? (uint64_t)p->domain.size[d] : 1;
    }
    for (int i = 0; i < SPLIT_SIDES; i++) {
        make_side(p, &p->sides[i],
                  memories[random_between(&b->random, 0, count - 1)]);
    }
    const int64_t size = random_between(&b->random, 1, SPLIT_TABLE);
    p->table_bytes = (uint64_t)size * sizeof(int);
    for (int i = 0; i < SPLIT_TABLE; i++) {
        p->table[i] = i * i;
    }
    p->table_array = bed_wrap(b, p->table, sizeof(int), hr_extent1(size));
}

void split_problem_finish(split_problem *p)
{
    for (int i = 0; i < SPLIT_SIDES; i++) {
        split_side *s = &p->sides[i];
        hr_array_destroy(s->array);
        if (s->pinned) {
            hr_free_pinned(p->b->context, s->own);
        } else {
            free(s->own);
        }
        free(s->want);
    }
    hr_array_destroy(p->table_array);
}

/* ---- launches */

hr_status split_problem_launch(const split_problem *p, const reach *r,
                               split_side *const role[SPLIT_SIDES],
                               const hr_split_options *options)
{
    static const hr_kernel *const kernels[] = {&split1, &split2, &split3};
    const hr_argument arguments[] = {
        hr_near(hr_in(role[0]->view), r->before, r->after),
        hr_whole(hr_in(hr_view_of(p->table_array))), hr_inout(role[1]->view),
        hr_out(role[2]->view), hr_value(r, sizeof *r)};
    return hr_launch_split(p->b->context, kernels[p->domain.rank - 1],
                           p->domain, arguments, 5, options);
}

static int *wanted_at(const split_side *s, uint32_t rank, const int64_t *point)
{
    int64_t index = 0;
    for (uint32_t d = 0; d < rank; d++) {
        index = index * s->outer[d] + s->margin[d] + point[d];
    }
    return &s->want[index];
}

static void want_point(const split_problem *p, const reach *r,
                       split_side *const role[SPLIT_SIDES],
                       const int64_t *point)
{
    const uint32_t rank = p->domain.rank;
    const int64_t table_size = (int64_t)(p->table_bytes / sizeof(int));
    int64_t other[HR_MAX_RANK];
    int sum = 0;
    memcpy(other, point, sizeof other);
    for (int64_t j = point[0] - r->before; j <= point[0] + r->after; j++) {
        const bool inside = j >= 0 && j < p->domain.size[0];
        other[0] = j;
        sum += inside ? (int)(j - point[0] + 7) *
                            split_low(*wanted_at(role[0], rank, other))
                      : 1;
    }
    int *changed = wanted_at(role[1], rank, point);
    *changed = split_low(3 * split_low(*changed) + sum);
    *wanted_at(role[2], rank, point) =
        split_low(sum + p->table[point[0] % table_size]);
}

void split_problem_want(const split_problem *p, const reach *r,
                        split_side *const role[SPLIT_SIDES])
{
    int64_t size[HR_MAX_RANK] = {1, 1, 1}, i[HR_MAX_RANK] = {0};
    for (uint32_t d = 0; d < p->domain.rank; d++) {
        size[d] = p->domain.size[d];
    }
    for (i[0] = 0; i[0] < size[0]; i[0]++) {
        for (i[1] = 0; i[1] < size[1]; i[1]++) {
            for (i[2] = 0; i[2] < size[2]; i[2]++) {
                want_point(p, r, role, i);
            }
        }
    }
}

bool split_side_is_right(const split_side *s)
{
    hr_mapping m;
    CHECK(hr_map(hr_view_of(s->array), HR_IN, &m) == HR_OK);
    const bool right = memcmp(m.data, s->want, s->bytes) == 0;
    CHECK(hr_unmap(&m) == HR_OK);
    return right;
}
