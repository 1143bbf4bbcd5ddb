/* SPDX-License-Identifier: MIT */
/* Units for accelerators of different speeds and memories, and rectangles of
 * tiles, compared with models that are as simple as possible. Which
 * accelerators take part: the set is chosen as its contract says, whatever the
 * order of the candidates. */
#include <math.h>

#include "distribute/distribute.h"
#include "model/pays.h"
#include "support/random.h"
#include "test.h"

enum { MAX_SHARES = 12, MANY = 1000, COSTS = 4000 };

/* ---- what must hold of every distribution */

static hri_distribution distribution_of(int64_t units, int64_t grain,
                                        hri_share *p, uint32_t count)
{
    return (hri_distribution){.caller = "test",
                              .units = units,
                              .grain = grain,
                              .shares = p,
                              .count = count};
}

/* All units are given out once, in order and in whole grains. A share that
 * takes no part gets none. */
static bool is_whole(const hri_distribution *d)
{
    int64_t next = 0;
    bool good = true;
    for (uint32_t i = 0; i < d->count; i++) {
        const hri_share *p = &d->shares[i];
        good = good && p->first == next && p->count >= 0;
        next += p->count;
        good = good && (p->count % d->grain == 0 || next == d->units);
        good = good && (p->weight > 0 || p->count == 0);
    }
    return good && next == d->units;
}

/* No share has more whole grains than it holds. */
static bool is_held(const hri_distribution *d, const int64_t *most)
{
    bool good = true;
    for (uint32_t i = 0; i < d->count; i++) {
        const int64_t grains = most[i] / d->grain;
        const int64_t count = d->shares[i].count;
        good = good && (count == 0 || (count - 1) / d->grain < grains);
    }
    return good;
}

static bool distribute_units(const hri_distribution *d)
{
    bool held = false;
    CHECK(hri_distribute(d, &held) == HR_OK);
    return held;
}

/* ---- the model: whole weights, and products that 64 bits hold */

typedef struct model {
    int64_t weight[MAX_SHARES], most[MAX_SHARES]; /* in grains */
    int64_t want[MAX_SHARES];
    uint32_t count;
} model;

/* The share that is full first when all grow by their weights. */
static int find_soonest(const model *m, const bool *full)
{
    int found = -1;
    for (uint32_t i = 0; i < m->count; i++) {
        if (!full[i] && m->weight[i] > 0 &&
            (found < 0 ||
             m->most[i] * m->weight[found] < m->most[found] * m->weight[i])) {
            found = (int)i;
        }
    }
    return found;
}

/* The largest rest among those that are not full. */
static uint32_t find_neediest(const model *m, const bool *full,
                              const int64_t *rest)
{
    uint32_t found = 0;
    int64_t most = -1;
    for (uint32_t i = 0; i < m->count; i++) {
        if (!full[i] && rest[i] > most) {
            most = rest[i];
            found = i;
        }
    }
    return found;
}

/* False: together they do not hold so many grains. */
static bool solve_model(model *m, int64_t grains)
{
    bool full[MAX_SHARES] = {false};
    int64_t sum = 0, rest[MAX_SHARES] = {0};
    for (uint32_t i = 0; i < m->count; i++) {
        sum += m->weight[i];
        full[i] = m->weight[i] == 0;
        m->want[i] = 0;
    }
    for (int i = find_soonest(m, full); i >= 0; i = find_soonest(m, full)) {
        if (m->most[i] * sum > grains * m->weight[i]) {
            break;
        }
        full[i] = true;
        m->want[i] = m->most[i];
        grains -= m->most[i];
        sum -= m->weight[i];
    }
    int64_t left = grains;
    for (uint32_t i = 0; i < m->count && sum > 0; i++) {
        if (!full[i]) {
            m->want[i] = grains * m->weight[i] / sum;
            rest[i] = grains * m->weight[i] % sum;
            left -= m->want[i];
        }
    }
    for (; left > 0 && sum > 0; left--) {
        const uint32_t i = find_neediest(m, full, rest);
        m->want[i]++;
        rest[i] = -1;
    }
    return left == 0;
}

typedef struct random_case {
    model m;
    int64_t units, grain, most[MAX_SHARES]; /* in units */
    hri_share shares[MAX_SHARES];
} random_case;

/* Limits matter in most cases, and in some there is too little memory. */
static random_case draw_case(random_source *r)
{
    random_case c = {.m.count = (uint32_t)random_between(r, 1, MAX_SHARES)};
    const int64_t sizes = random_between(r, 1, 40);
    c.grain = random_between(r, 0, 1) != 0 ? 1 : random_between(r, 2, 70);
    c.units = random_between(r, 1, 60 * sizes);
    c.grain = c.grain < c.units ? c.grain : c.units;
    for (uint32_t i = 0; i < c.m.count; i++) {
        const int64_t kind = random_between(r, 0, 5);
        c.m.weight[i] = kind == 0  ? 0
                        : kind < 3 ? random_between(r, 1, 3)
                                   : random_between(r, 1, 100000);
        c.most[i] = random_between(r, 0, 3) == 0
                        ? INT64_MAX
                        : random_between(r, 0, 4 * c.units / c.m.count + 3);
        c.m.most[i] = c.most[i] / c.grain;
        c.m.most[i] = c.m.most[i] < c.units ? c.m.most[i] : c.units;
    }
    if (c.m.weight[0] == 0) {
        c.m.weight[0] = 7;
    }
    for (uint32_t i = 0; i < c.m.count; i++) {
        c.shares[i] =
            (hri_share){.weight = (double)c.m.weight[i], .most = c.most[i]};
    }
    return c;
}

static void tell_failed_case(int number)
{
    if (test_state.failures > 0) {
        printf("case %d\n", number);
    }
}

static bool is_wanted(const random_case *c)
{
    int64_t first = 0;
    bool good = true;
    for (uint32_t i = 0; i < c->m.count; i++) {
        int64_t count = c->m.want[i] * c->grain;
        count = count < c->units - first ? count : c->units - first;
        good = good && c->shares[i].count == count;
        first += count;
    }
    return good;
}

static void distribute_random_limits(int count)
{
    random_source r = {1};
    int refused = 0, limited = 0;
    TEST_CASE("limits as numbers");
    for (int i = 0; i < count && test_state.failures == 0; i++) {
        random_case c = draw_case(&r);
        const int64_t grains = (c.units + c.grain - 1) / c.grain;
        const hri_distribution d =
            distribution_of(c.units, c.grain, c.shares, c.m.count);
        const bool held = distribute_units(&d);
        CHECK(held == solve_model(&c.m, grains));
        if (held) {
            CHECK(is_whole(&d) && is_held(&d, c.most) && is_wanted(&c));
        }
        refused += !held;
        for (uint32_t k = 0; held && k < c.m.count; k++) {
            limited += c.m.want[k] == c.m.most[k] && c.m.want[k] > 0;
        }
        tell_failed_case(i);
    }
    CHECK(refused > count / 20 && refused < count / 2 && limited > count / 2);
}

/* A share that gets more weight never has fewer units than before. */
static void add_weight(int count)
{
    random_source r = {2};
    TEST_CASE("more weight, no fewer units");
    for (int i = 0; i < count && test_state.failures == 0; i++) {
        random_case c = draw_case(&r);
        const hri_distribution d =
            distribution_of(c.units, c.grain, c.shares, c.m.count);
        hri_share *p = &c.shares[random_between(&r, 0, c.m.count - 1)];
        if (!distribute_units(&d)) {
            continue;
        }
        const int64_t before = p->count;
        p->weight += (double)(random_between(&r, 0, 1) != 0
                                  ? random_between(&r, 1, 3)
                                  : random_between(&r, 1, 100000));
        CHECK(distribute_units(&d) && p->count >= before);
        tell_failed_case(i);
    }
}

/* ---- limits that are asked for */

typedef struct memory {
    const int64_t *most; /* units, wherever they lie */
    const int64_t *cost; /* of each unit; NULL: 1 */
    int64_t units;
    int questions;
} memory;

static hr_status fits_memory(void *data, uint32_t index, int64_t first,
                             int64_t count, bool *fits)
{
    memory *m = data;
    int64_t sum = m->cost != NULL ? 0 : count;
    CHECK(first >= 0 && count > 0 && first + count <= m->units);
    for (int64_t u = first; m->cost != NULL && u < first + count; u++) {
        sum += m->cost[u];
    }
    *fits = sum <= m->most[index];
    m->questions++;
    return HR_OK;
}

/* A question whose answer does not depend on where a share lies is refused by
 * numbers. A short grain may still fit where it lies. */
static void ask_for_limits(int count)
{
    random_source r = {3};
    int refused = 0;
    TEST_CASE("limits that are asked for");
    for (int i = 0; i < count && test_state.failures == 0; i++) {
        random_case c = draw_case(&r);
        memory m = {.most = c.most, .units = c.units};
        hri_distribution d =
            distribution_of(c.units, c.grain, c.shares, c.m.count);
        for (uint32_t k = 0; k < c.m.count; k++) {
            c.shares[k].most = INT64_MAX;
        }
        d.fits = fits_memory;
        d.data = &m;
        const bool held = distribute_units(&d);
        const bool could = solve_model(&c.m, (c.units + c.grain - 1) / c.grain);
        CHECK(held || !could);
        CHECK(could || !held || c.units % c.grain != 0);
        for (uint32_t k = 0; k < c.m.count && held; k++) {
            CHECK(c.shares[k].count <= c.most[k]);
        }
        CHECK(!held || is_whole(&d));
        refused += !held;
        tell_failed_case(i);
    }
    CHECK(refused > count / 20 && refused < count / 2);
}

/* Units that cost more than others: what fits depends on the band. */
static void ask_for_places(int count)
{
    static int64_t cost[COSTS];
    random_source r = {4};
    int refused = 0;
    TEST_CASE("limits that depend on the place");
    for (int i = 0; i < count && test_state.failures == 0; i++) {
        random_case c = draw_case(&r);
        int64_t all = 0;
        for (int64_t u = 0; u < c.units; u++) {
            all += cost[u] = random_between(&r, 0, 3) * (u / 16 % 3);
        }
        for (uint32_t k = 0; k < c.m.count; k++) {
            c.most[k] = random_between(&r, 0, 4 * all / c.m.count + 50);
            c.shares[k].most = INT64_MAX;
        }
        memory m = {.most = c.most, .cost = cost, .units = c.units};
        hri_distribution d =
            distribution_of(c.units, c.grain, c.shares, c.m.count);
        d.fits = fits_memory;
        d.data = &m;
        const bool held = distribute_units(&d);
        refused += !held;
        CHECK(!held || is_whole(&d));
        for (uint32_t k = 0; k < c.m.count && held; k++) {
            const hri_share *p = &c.shares[k];
            bool fits = true;
            if (p->count > 0) {
                CHECK(fits_memory(&m, k, p->first, p->count, &fits) == HR_OK);
            }
            CHECK(fits);
        }
        tell_failed_case(i);
    }
    CHECK(refused < count / 2);
}

static hr_status cannot_tell(void *data, uint32_t index, int64_t first,
                             int64_t count, bool *fits)
{
    (void)first;
    (void)count;
    *fits = index < *(const uint32_t *)data;
    return *fits ? HR_OK : HR_ERROR_LOST;
}

static void forward_errors(void)
{
    hri_share p[3] = {{.weight = 1, .most = INT64_MAX},
                      {.weight = 1, .most = INT64_MAX},
                      {.weight = 1, .most = INT64_MAX}};
    hri_distribution d = distribution_of(9, 1, p, 3);
    uint32_t good = 2;
    bool held;
    TEST_CASE("errors");
    d.fits = cannot_tell;
    d.data = &good;
    CHECK(hri_distribute(&d, &held) == HR_ERROR_LOST);
    good = 3;
    CHECK(hri_distribute(&d, &held) == HR_OK && held);
    p[1].weight = -1;
    CHECK_FAILS(hri_distribute(&d, &held), HR_ERROR_INVALID,
                "test: weight 1 is -1");
    p[0].weight = p[1].weight = p[2].weight = 0;
    CHECK_FAILS(hri_distribute(&d, &held), HR_ERROR_INVALID,
                "test: all 3 weights are 0");
}

/* ---- sizes and weights that are extreme */

static double extreme_weight(random_source *r, int64_t kind)
{
    const double spread = random_unit(r) * (kind == 0 ? 300 : 3);
    return random_between(r, 0, 3) == 0 ? 0 : pow(10, spread);
}

/* Shares of those that are not full are in proportion, as far as doubles know.
 */
static bool is_fair(const hri_distribution *d)
{
    const double grain = (double)d->grain, units = (double)d->units;
    const double off = 2 * grain + units * 0x1p-40;
    double level = 0;
    bool good = true;
    for (uint32_t i = 0; i < d->count; i++) {
        const hri_share *p = &d->shares[i];
        if (p->weight > 0 && !p->full) {
            level = fmax(level, ((double)p->count - off) / p->weight);
        }
    }
    for (uint32_t i = 0; i < d->count; i++) {
        const hri_share *p = &d->shares[i];
        if (p->weight > 0 && !p->full) {
            good = good && (double)p->count + off >= level * p->weight;
        }
    }
    return good;
}

static void distribute_extremes(int count)
{
    static hri_share p[MANY];
    static int64_t most[MANY];
    random_source r = {5};
    int held = 0;
    TEST_CASE("extreme sizes");
    for (int i = 0; i < count && test_state.failures == 0; i++) {
        const uint32_t n =
            (uint32_t)(i % 4 == 0 ? MANY : random_between(&r, 1, MANY));
        const int64_t units = i % 3 == 0
                                  ? INT64_C(1) << 62
                                  : INT64_C(1) << random_between(&r, 0, 62);
        const int64_t grain = INT64_C(1) << random_between(&r, 0, 62);
        const bool limits = random_between(&r, 0, 1) != 0;
        const int64_t kind = random_between(&r, 0, 1);
        const hri_distribution d = distribution_of(
            units, grain < units && i % 2 == 0 ? grain : 1, p, n);
        for (uint32_t k = 0; k < n; k++) {
            const int64_t share = units / n + 1;
            most[k] = limits && random_between(&r, 0, 9) > 0
                          ? random_between(&r, 0, 2) * (share / 2)
                          : INT64_MAX;
            p[k] = (hri_share){.weight = extreme_weight(&r, kind),
                               .most = most[k]};
        }
        p[random_between(&r, 0, n - 1)].weight = 3;
        if (distribute_units(&d)) {
            held++;
            CHECK(is_whole(&d) && is_held(&d, most) && is_fair(&d));
        }
        tell_failed_case(i);
    }
    CHECK(held > count / 2);
}

/* A grain that is larger than all units is all of them. */
static void distribute_known(void)
{
    hri_share p[3] = {{.weight = 1, .most = 100},
                      {.weight = 2, .most = 100},
                      {.weight = 1, .most = 100}};
    hri_distribution d = distribution_of(100, 64, p, 3);
    TEST_CASE("known ones");
    const hri_distribution more = distribution_of(300, 1, p, 2);
    CHECK(!distribute_units(&more));
    CHECK(distribute_units(&d) && p[0].count == 64 && p[1].count == 36);
    d.units = 10;
    CHECK(distribute_units(&d) && p[1].count == 10 && p[1].first == 0);
    p[1].most = 9;
    CHECK(distribute_units(&d) && p[0].count == 10);
    p[0].most = 10; /* which is all of it, though not 64 */
    CHECK(distribute_units(&d) && p[0].count == 10);
    p[0].most = 100;
    p[1].most = 25;
    d = distribution_of(100, 1, p, 3);
    CHECK(distribute_units(&d) && p[0].count == 38 && p[1].count == 25 &&
          p[2].count == 37 && p[1].full && !p[0].full);
}

/* ---- bisection */

static hr_status is_below(void *data, int64_t x, bool *holds)
{
    *holds = x < *(const int64_t *)data;
    return HR_OK;
}

static void bisect_ranges(int count)
{
    random_source r = {6};
    TEST_CASE("bisection");
    for (int i = 0; i < count; i++) {
        const int64_t low = random_between(&r, 0, 100);
        const int64_t high = low + random_between(&r, 0, 100);
        int64_t limit = random_between(&r, 0, 250), found = -1;
        const int64_t want = limit - 1 < low  ? low
                             : limit < high   ? limit - 1
                             : high - 1 < low ? low
                                              : high - 1;
        CHECK(hri_bisect(low, high, is_below, &limit, &found) == HR_OK);
        CHECK(found == want);
    }
}

/* ---- rectangles */

enum { SIDE = 48 };

static void check_rectangles(random_source *r)
{
    double speeds[MAX_SHARES];
    hri_tile_box boxes[MAX_SHARES];
    int painted[SIDE][SIDE] = {{0}};
    hri_partition *p = NULL;
    const uint32_t n = (uint32_t)random_between(r, 1, MAX_SHARES);
    const int64_t rows = random_between(r, 1, SIDE);
    const int64_t cols = random_between(r, 1, SIDE);
    for (uint32_t i = 0; i < n; i++) {
        speeds[i] = pow(10, random_unit(r) * 2);
    }
    CHECK(hri_partition_create(speeds, n, (double)random_between(r, 1, 9),
                               (double)random_between(r, 1, 9), &p) == HR_OK);
    if (p == NULL) {
        return;
    }
    hri_partition_boxes(p, rows, cols, boxes);
    for (uint32_t i = 0; i < n; i++) {
        for (int32_t y = boxes[i].row0; y < boxes[i].row1; y++) {
            for (int32_t x = boxes[i].col0; x < boxes[i].col1; x++) {
                painted[y][x]++;
            }
        }
    }
    bool once = true;
    for (int y = 0; y < SIDE; y++) {
        for (int x = 0; x < SIDE; x++) {
            once = once && painted[y][x] == (y < rows && x < cols);
        }
    }
    CHECK(once);
    double balance = 0;
    const int64_t tiles = hri_partition_tiles(p, true, 3, 40, &balance);
    CHECK(tiles >= 3 && tiles <= 40 && balance >= 1);
    hri_partition_destroy(p);
}

static void cut_rectangles(int count)
{
    random_source r = {7};
    TEST_CASE("rectangles have each tile once");
    for (int i = 0; i < count && test_state.failures == 0; i++) {
        check_rectangles(&r);
    }
}

/* ---- sets of accelerators */

enum { MAX_CANDIDATES = 12 };

/* Each takes its part of the work, and costs something; siblings gain
 * nothing. */
typedef struct machine {
    double each, seconds[MAX_CANDIDATES + 1];
} machine;

static hr_status predict_set(void *data, const hri_candidate *set,
                             uint32_t count, double *seconds)
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

static void shuffle_candidates(random_source *r, hri_candidate *c,
                               uint32_t count)
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

static void choose_sets(int count)
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
        CHECK(hri_choose_set(c, n, predict_set, &m, &a) == HR_OK);
        CHECK(is_sorted(c, n));
        check_set(&m, n, 0, &a);
        sizes[a.count]++;
        shuffle_candidates(&r, d, n);
        CHECK(hri_choose_set(d, n, predict_set, &m, &b) == HR_OK);
        CHECK(a.count == b.count && a.seconds == b.seconds);
        for (uint32_t k = 0; k < n; k++) {
            CHECK(c[k].index == d[k].index);
        }
        b.count = (uint32_t)random_between(&r, 1, n);
        const uint32_t now = b.count;
        CHECK(hri_choose_set(d, n, predict_set, &m, &b) == HR_OK);
        check_set(&m, n, now, &b);
    }
    CHECK(sizes[1] > 0 && sizes[2] > 0 && sizes[4] > 0);
}

static hr_status predict_never(void *data, const hri_candidate *set,
                               uint32_t count, double *seconds)
{
    (void)set;
    *seconds = INFINITY;
    return count < *(const uint32_t *)data ? HR_OK : HR_ERROR_LOST;
}

static void choose_no_set(void)
{
    hri_candidate c[3] = {{.index = 0}, {.index = 1}, {.index = 2}};
    hri_set set = {0};
    uint32_t good = 4;
    TEST_CASE("no set can");
    CHECK(hri_choose_set(c, 3, predict_never, &good, &set) == HR_OK);
    CHECK(set.count == 0 && isinf(set.seconds));
    good = 2;
    CHECK(hri_choose_set(c, 3, predict_never, &good, &set) == HR_ERROR_LOST);
}

int main(void)
{
    TEST(distribute_known());
    TEST(distribute_random_limits(20000));
    TEST(add_weight(20000));
    TEST(ask_for_limits(10000));
    TEST(ask_for_places(3000));
    TEST(distribute_extremes(1500));
    TEST(forward_errors());
    TEST(bisect_ranges(5000));
    TEST(cut_rectangles(2000));
    TEST(choose_sets(5000));
    TEST(choose_no_set());
    return test_end();
}
