/* SPDX-License-Identifier: MIT */
/* Which accelerators take part: the set is chosen as its contract says,
 * whatever the order of the candidates. */
#include <math.h>
#include <string.h>

#include "distribute/distribute.h"
#include "model/pays.h"
#include "support/random.h"
#include "test.h"

enum { MAX_CANDIDATES = 12 };

/* Each takes its part of the work, and costs something; siblings gain
 * nothing. */
typedef struct machine {
    double each, seconds[MAX_CANDIDATES + 1];
} machine;

static hr_status predict(void *data, const hri_candidate *set, uint32_t count,
                         double *seconds)
{
    machine *m = data;
    double speed = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool first = true;
        for (uint32_t j = 0; j < i; j++) {
            first = first && set[j].device != set[i].device;
        }
        speed += first ? 1 / set[i].seconds : 0;
    }
    *seconds = 1 / speed + m->each * count;
    m->seconds[count] = *seconds;
    return HR_OK;
}

static bool is_sorted(const hri_candidate *c, uint32_t count)
{
    bool good = true;
    for (uint32_t i = 1; i < count; i++) {
        const hri_candidate *a = &c[i - 1], *b = &c[i];
        good = good && (a->ahead < b->ahead ||
                        (a->ahead == b->ahead &&
                         (a->seconds < b->seconds ||
                          (a->seconds == b->seconds && a->index < b->index))));
    }
    return good;
}

static void shuffle(random_source *r, hri_candidate *c, uint32_t count)
{
    for (uint32_t i = count; i-- > 1;) {
        const uint32_t j = (uint32_t)random_between(r, 0, i);
        const hri_candidate old = c[i];
        c[i] = c[j];
        c[j] = old;
    }
}

/* Of a set that is larger than another, and one that is not taken. */
static void check_set(const machine *m, uint32_t count, uint32_t now,
                      const hri_set *set)
{
    CHECK(set->count >= 1 && set->count <= count);
    CHECK(set->seconds == m->seconds[set->count]);
    for (uint32_t n = 1; n <= count; n++) {
        const double other = m->seconds[n];
        CHECK(n <= set->count || !hri_model_pays(other, set->seconds));
        CHECK(n >= set->count || n == now || now == set->count ||
              set->seconds < other);
        CHECK(now == 0 || now == set->count ||
              hri_model_pays(set->seconds, m->seconds[now]));
        CHECK(now > 0 || set->count == 1 ||
              hri_model_pays(set->seconds, m->seconds[1]));
    }
}

static void sets(int count)
{
    random_source r = {8};
    int sizes[MAX_CANDIDATES + 1] = {0};
    TEST_CASE("sets that pay");
    for (int i = 0; i < count && test_state.failures == 0; i++) {
        const uint32_t n = (uint32_t)random_between(&r, 1, MAX_CANDIDATES);
        machine m = {.each = fabs(random_unit(&r)) / 20};
        hri_candidate c[MAX_CANDIDATES], d[MAX_CANDIDATES];
        for (uint32_t k = 0; k < n; k++) {
            c[k] = (hri_candidate){.index = k,
                                   .device =
                                       (uint32_t)random_between(&r, 0, n - 1),
                                   .seconds = (double)random_between(&r, 1, 4)};
        }
        memcpy(d, c, sizeof d);
        hri_set a = {0}, b = {0};
        CHECK(hri_choose_set(c, n, predict, &m, &a) == HR_OK);
        CHECK(is_sorted(c, n));
        check_set(&m, n, 0, &a);
        sizes[a.count]++;
        shuffle(&r, d, n);
        CHECK(hri_choose_set(d, n, predict, &m, &b) == HR_OK);
        CHECK(a.count == b.count && a.seconds == b.seconds);
        for (uint32_t k = 0; k < n; k++) {
            CHECK(c[k].index == d[k].index);
        }
        b.count = (uint32_t)random_between(&r, 1, n);
        const uint32_t now = b.count;
        CHECK(hri_choose_set(d, n, predict, &m, &b) == HR_OK);
        check_set(&m, n, now, &b);
    }
    CHECK(sizes[1] > 0 && sizes[2] > 0 && sizes[4] > 0);
}

static hr_status never(void *data, const hri_candidate *set, uint32_t count,
                       double *seconds)
{
    (void)set;
    *seconds = INFINITY;
    return count < *(const uint32_t *)data ? HR_OK : HR_ERROR_LOST;
}

static void no_sets(void)
{
    hri_candidate c[3] = {{.index = 0}, {.index = 1}, {.index = 2}};
    hri_set set = {0};
    uint32_t good = 4;
    TEST_CASE("no set can");
    CHECK(hri_choose_set(c, 3, never, &good, &set) == HR_OK);
    CHECK(set.count == 0 && isinf(set.seconds));
    good = 2;
    CHECK(hri_choose_set(c, 3, never, &good, &set) == HR_ERROR_LOST);
}

int main(void)
{
    TEST(sets(5000));
    TEST(no_sets());
    return test_end();
}
