/* SPDX-License-Identifier: MIT */
/* The checker on grids of the accelerators of argv[1]: a kernel that reads
 * further than the halo of its field, or writes another cell than its own, is
 * found in whatever band. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <stdlib.h>

#include <headrace/headrace.h>

#include "test.h"

extern const hr_kernel reads_beyond, writes_beyond1, writes_in;

enum { CELLS = 640 };

static hr_grid *create(hr_context *context, hr_extent extent, int64_t halo)
{
    const hr_field fields[] = {hr_field_of(4, halo, HR_BOUNDARY_CLAMP, NULL),
                               hr_field_of(4, 0, HR_BOUNDARY_CLAMP, NULL)};
    hr_grid *grid = NULL;
    CHECK(hr_grid_create(context, extent, fields, 2, NULL, &grid) == HR_OK);
    return grid;
}

static void right(hr_context *context)
{
    TEST_CASE("a kernel that reads as far as the halo");
    static int data[CELLS], seen[CELLS];
    const hr_argument arguments[] = {hr_field_in(0), hr_field_out(1)};
    const hr_phase phase = hr_phase_of(&reads_beyond, arguments, 2);
    hr_grid *grid = create(context, hr_extent1(CELLS), 1);
    bool ok = true;
    for (int i = 0; i < CELLS; i++) {
        data[i] = i;
    }
    CHECK(hr_grid_scatter(grid, 0, data) == HR_OK);
    CHECK(hr_grid_step(grid, &phase, 1, 2) == HR_OK);
    CHECK(hr_grid_gather(grid, 1, seen) == HR_OK);
    for (int i = 0; i < CELLS; i++) {
        ok = ok && seen[i] == (i + 1 < CELLS ? i + 1 : i);
    }
    CHECK(ok);
    CHECK(hr_check_count(context) == 0);
    hr_grid_destroy(grid);
}

/* The finding stops the grid, and is told once: the next grid works on. */
static void find(hr_context *context, hr_extent extent, int64_t halo,
                 const hr_kernel *kernel, hr_argument *arguments, size_t count,
                 const char *word)
{
    TEST_CASE(kernel->name);
    const size_t before = hr_check_count(context);
    const hr_phase phase = hr_phase_of(kernel, arguments, count);
    static int data[CELLS];
    hr_grid *grid = create(context, extent, halo);
    CHECK(hr_grid_scatter(grid, 0, data) == HR_OK);
    CHECK_FAILS(hr_grid_step(grid, &phase, 1, 1), HR_ERROR_INVALID, word);
    CHECK_FAILS(hr_grid_finish(grid), HR_ERROR_INVALID, word);
    CHECK(hr_check_count(context) > before);
    const char *finding = hr_check_finding(context, before);
    CHECK(finding != NULL && strstr(finding, word) != NULL);
    CHECK(hr_grid_scatter(grid, 0, data) == HR_OK);
    CHECK(hr_grid_step(grid, &phase, 1, 1) == HR_OK);
    CHECK(hr_grid_finish(grid) == HR_OK);
    hr_grid_destroy(grid);
}

int main(int argc, char **argv)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    CHECK(setenv("HEADRACE_CHECK", "1", 1) == 0);
    options.accelerators = argc > 1 ? argv[1] : "2xhost";
    if (!test_open(&options, &context)) {
        return test_end();
    }
    TEST(right(context));
    hr_argument near[] = {hr_field_in(0), hr_field_out(1)};
    TEST(find(context, hr_extent1(CELLS), 0, &reads_beyond, near, 2,
              "faulty.c:12: reads_beyond: item ("));
    TEST(find(context, hr_extent1(CELLS), 0, &writes_beyond1, &near[1], 1,
              "faulty.c:20: writes_beyond1: item ("));
    TEST(find(context, hr_extent2(20, 32), 1, &writes_in, near, 2,
              "writes_in: item ("));
    hr_context_destroy(context);
    return test_end();
}
