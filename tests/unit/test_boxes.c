/* SPDX-License-Identifier: MIT */
/* Sets of boxes compared with bitmaps. */
#include <stdlib.h>
#include <string.h>

#include "arrays/boxes.h"
#include "support/random.h"
#include "test.h"

enum { EDGE = 6, POINTS = EDGE * EDGE * EDGE };

static int point_at(int64_t z, int64_t y, int64_t x)
{
    return (int)((z * EDGE + y) * EDGE + x);
}

static hri_box random_box(random_source *random)
{
    hri_box box;
    for (int i = 0; i < HRI_DIMENSIONS; i++) {
        box.lo[i] = random_between(random, 0, EDGE - 1);
        box.hi[i] = random_between(random, box.lo[i], EDGE); /* may be empty */
    }
    return box;
}

static void paint_box(const hri_box *box, uint8_t *points, uint8_t value)
{
    for (int64_t z = box->lo[0]; z < box->hi[0]; z++) {
        for (int64_t y = box->lo[1]; y < box->hi[1]; y++) {
            for (int64_t x = box->lo[2]; x < box->hi[2]; x++) {
                points[point_at(z, y, x)] = value;
            }
        }
    }
}

/* The set has exactly these points, each in one box, and no empty box. */
static int is_painted(const hri_boxes *set, const uint8_t *points)
{
    uint8_t seen[POINTS] = {0};
    int64_t volume = 0;
    for (size_t i = 0; i < set->count; i++) {
        int64_t own = hri_box_volume(&set->of[i]);
        volume += own;
        paint_box(&set->of[i], seen, 1);
        if (own == 0) {
            return 0;
        }
    }
    int64_t wanted = 0;
    for (int i = 0; i < POINTS; i++) {
        wanted += points[i];
    }
    return volume == wanted && memcmp(seen, points, POINTS) == 0;
}

static void change_random_sets(long count)
{
    TEST_CASE("adding and removing");
    random_source random = {1};
    hri_boxes set = {0};
    uint8_t points[POINTS] = {0};
    for (long i = 0; i < count && test_state.failures == 0; i++) {
        hri_box box = random_box(&random);
        if (i % 1000 == 0) {
            hri_boxes_finish(&set);
            memset(points, 0, sizeof points);
        }
        bool add = random_between(&random, 0, 1) == 1;
        CHECK((add ? hri_boxes_add(&set, &box)
                   : hri_boxes_remove(&set, &box)) == HR_OK);
        paint_box(&box, points, add);
        CHECK(is_painted(&set, points));
    }
    hri_boxes_finish(&set);
}

static void compare_random_pairs(long count)
{
    TEST_CASE("two boxes");
    random_source random = {2};
    for (long i = 0; i < count && test_state.failures == 0; i++) {
        hri_box a = random_box(&random), b = random_box(&random);
        uint8_t in_a[POINTS] = {0}, in_b[POINTS] = {0}, in[POINTS] = {0};
        hri_box meet = hri_box_meet(&a, &b), around = hri_box_around(&a, &b);
        paint_box(&a, in_a, 1);
        paint_box(&b, in_b, 1);
        paint_box(&meet, in, 1);
        int common = 0, outside = 0, fits = 1;
        for (int p = 0; p < POINTS; p++) {
            common += in_a[p] && in_b[p];
            outside += in_b[p] && !in_a[p];
            fits = fits && (in_a[p] && in_b[p]) == in[p];
        }
        CHECK(fits);
        CHECK(hri_boxes_touch(&a, &b) == (common > 0));
        CHECK(hri_box_contains(&a, &b) == (outside == 0));
        CHECK(hri_box_contains(&around, &a) && hri_box_contains(&around, &b));
        CHECK(hri_box_volume(&meet) == common);
    }
}

static void join_boxes(void)
{
    TEST_CASE("neighbours become one box");
    hri_boxes set = {0};
    for (int64_t y = 0; y < 4; y++) {
        for (int64_t x = 0; x < 4; x++) {
            int64_t to = (x * 3 + y * 2) % 4; /* in some order */
            hri_box box = {{0, y, to}, {1, y + 1, to + 1}};
            CHECK(hri_boxes_add(&set, &box) == HR_OK);
        }
    }
    CHECK(set.count == 1);
    hri_boxes_finish(&set);
}

int main(void)
{
    TEST(change_random_sets(100000));
    TEST(compare_random_pairs(20000));
    TEST(join_boxes());
    return test_end();
}
