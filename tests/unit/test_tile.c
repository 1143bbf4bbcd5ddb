/* SPDX-License-Identifier: MIT */
/* The tile of a launch that names none, on a device that is not the host: 256
 * items, in rows as long as the domain has use for. */
#include <headrace/headrace.h>

#include "arrays/launch.h"
#include "test.h"

static const struct {
    hr_extent domain;
    int64_t step[3], tile[3];
} cases[] = {
    {{1, {7}}, {1, 1, 1}, {256, 1, 1}},
    {{2, {9, 5000}}, {1, 1, 1}, {8, 32, 1}},
    {{3, {64, 64, 64}}, {1, 1, 1}, {1, 8, 32}},
    {{3, {64, 64, 17}}, {1, 1, 1}, {1, 8, 32}},
    {{3, {64, 64, 16}}, {1, 1, 1}, {1, 16, 16}},
    {{3, {64, 640, 3}}, {1, 1, 1}, {1, 64, 4}},
    {{3, {64, 5, 3}}, {1, 1, 1}, {8, 8, 4}},
    {{3, {640, 1, 1}}, {1, 1, 1}, {64, 4, 1}},
    {{3, {64, 38, 64}}, {1, 19, 1}, {4, 2, 32}},
};

static void choose(void)
{
    const hr_kernel kernel = {.name = "none"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hri_launch launch = {.kernel = &kernel};
        hri_part part = hri_part_of(cases[i].domain);
        for (uint32_t d = 0; d < cases[i].domain.rank; d++) {
            part.step[d] = cases[i].step[d];
        }
        CHECK(hri_tile_choose(&launch, &part, false) == HR_OK);
        for (int d = 0; d < 3; d++) {
            if (!CHECK(launch.domain.tile[d] == cases[i].tile[d])) {
                fprintf(stderr, "  case %zu: %lld in dimension %d\n", i,
                        (long long)launch.domain.tile[d], d);
            }
        }
    }
}

int main(void)
{
    TEST(choose());
    return test_end();
}
