/* SPDX-License-Identifier: MIT */
/* The checker on the accelerators of argv[1]: launches in pieces, and grids. It
 * finds that points use other rows than the call says, and conflicts between
 * pieces, however many there are. In whatever band of a grid, it finds a kernel
 * that reads further than the halo of its field, or writes another cell than
 * its own. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "test.h"

extern const hr_kernel adds_rows, turns_rows, follows_rows, first_of_each,
    turns_in_tiles, looks_behind_tile, counts_plainly, counts_atomically,
    last_one_looks, writes_own, reads_beyond, writes_beyond1, writes_in;

enum { N = 12, LONG = 1000, MAX_ACCELERATORS = 3, WAYS = 3 };

static int a[LONG], c[LONG];

static bool goes_on(void *data, double done, double total)
{
    (void)data;
    (void)done;
    (void)total;
    return true;
}

/* As the library chooses; on all accelerators; in pieces. */
static hr_status run_row(hr_context *context, int way, const hr_kernel *kernel,
                         hr_extent domain, const hr_argument *arguments)
{
    static const double weights[MAX_ACCELERATORS] = {1, 1, 1};
    const hr_extent tile = hr_extent1(256);
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    options.weights = way == 1 ? weights : NULL;
    options.progress = way == 2 ? goes_on : NULL;
    options.tile = domain.size[0] == LONG ? &tile : NULL;
    return hr_run(context, kernel, domain, arguments, kernel->parameter_count,
                  &options);
}

/* Whether the last error is the expected sentence. It begins with `at`, which
 * names items and elements, and `what`. Pieces run in any order, so of those
 * only the line counts, and of `what` its first words. */
static bool is_told(int way, const char *at, const char *what)
{
    const char *told = hr_last_error();
    const size_t line = (size_t)(strstr(at, ": item") - at);
    char words[16] = "";
    if (way < 2) {
        return strncmp(told, at, strlen(at)) == 0 &&
               strncmp(told + strlen(at), what, strlen(what)) == 0;
    }
    strncat(words, what, 12);
    return strncmp(told, at, line) == 0 && strstr(told, words) != NULL;
}

typedef struct row {
    const char *name;
    const hr_kernel *kernel;
    hr_extent domain;
    hr_argument arguments[2];
    const char *at, *what; /* NULL: nothing is found */
} row;

/* Each way has a context of its own, since a finding is told once. */
static void check_row(const char *accelerators, const row *r)
{
    TEST_CASE(r->name);
    for (int way = 0; way < WAYS; way++) {
        hr_context *context = test_context(accelerators, 0);
        const hr_status status =
            run_row(context, way, r->kernel, r->domain, r->arguments);
        const bool ok = r->at == NULL ? status == HR_OK
                                      : status == HR_ERROR_INVALID &&
                                            is_told(way, r->at, r->what);
        if (!CHECK(ok)) {
            printf("way %d: want %s%s\n        got  %s\n", way,
                   r->at != NULL ? r->at : "", r->at != NULL ? r->what : "",
                   status != HR_OK ? hr_last_error() : "");
        }
        hr_context_destroy(context);
    }
}

static void find_rows(const char *accelerators)
{
    static const char own[] = ", but a point uses its own row alone of what is "
                              "written";
    static const char given[] =
        ", but is given its own row alone; say hr_near or hr_whole";
    const hr_extent n = hr_extent1(N);
    const hr_argument in = hr_in(a, N), out = hr_out(c, N);
    const row table[] = {
        {"as hr_near says",
         &adds_rows,
         n,
         {hr_near(in, 2, 1), out},
         NULL,
         NULL},
        {"any row", &adds_rows, n, {in, out}, NULL, NULL},
        {"more rows before",
         &adds_rows,
         n,
         {hr_near(in, 1, 1), out},
         "rows.c:11: adds_rows: item (2) reads a[0]",
         ", but hr_near gives it 1 row before its own and 1 after"},
        {"more rows after",
         &adds_rows,
         n,
         {hr_near(in, 2, 0), out},
         "rows.c:12: adds_rows: item (0) reads a[1]",
         ", but hr_near gives it 2 rows before its own and 0 after"},
        {"not its own row",
         &adds_rows,
         n,
         {hr_near(in, 0, 0), out},
         "rows.c:12: adds_rows: item (0) reads a[1]",
         given},
        {"writes another row",
         &turns_rows,
         hr_extent2(N / 2, 2),
         {hr_out(c, N / 2, 2)},
         "rows.c:21: turns_rows: item (0, 0) writes c[5, 0]",
         own},
        {"reads another row of what is written",
         &follows_rows,
         n,
         {hr_inout(c, N)},
         "rows.c:29: follows_rows: item (1) reads c[0]",
         own},
        {"of a list",
         &first_of_each,
         n,
         {hr_near(hr_in(a, 2, N), 0, 0), out},
         "rows.c:39: first_of_each: item (1) reads f[1, 0]",
         given}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        check_row(accelerators, &table[i]);
    }
}

/* Where bands are cut between tiles. */
static void find_rows_of_tiles(const char *accelerators)
{
    const hr_extent all = hr_extent1(LONG);
    const hr_argument long_in = hr_in(a, LONG), long_out = hr_out(c, LONG);
    const row table[] = {
        {"rows of the tile",
         &turns_in_tiles,
         all,
         {hr_near(long_in, 0, 0), long_out},
         NULL,
         NULL},
        {"rows behind the tile",
         &looks_behind_tile,
         all,
         {hr_near(long_in, 0, 0), long_out},
         "rows.c:66: looks_behind_tile: item (0) reads a[256]",
         ", but is given the rows of its tile alone; say hr_near or hr_whole"},
        {"rows near the tile",
         &looks_behind_tile,
         all,
         {hr_near(long_in, 0, 1), long_out},
         NULL,
         NULL}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        check_row(accelerators, &table[i]);
    }
}

/* Accelerators work on copies of combined views, and on one after another. */
static void find_conflicts(const char *accelerators)
{
    const hr_argument bins = hr_combined(hr_inout(c, N), HR_COMBINE_SUM);
    for (int n = 2; n <= N; n += n < 4 ? 1 : 4) {
        char at[100];
        const row table[] = {
            {"plain changes",
             &counts_plainly,
             hr_extent1(n),
             {bins},
             "rows.c:80: counts_plainly: item (1) writes bins[0]",
             ", which item (0) writes in line 80"},
            {"a plain look",
             &last_one_looks,
             hr_extent1(n),
             {bins},
             at,
             ", which item ("},
            {"atomic changes",
             &counts_atomically,
             hr_extent1(n),
             {bins},
             NULL,
             NULL},
            {"elements of their own",
             &writes_own,
             hr_extent1(n),
             {bins},
             NULL,
             NULL}};
        snprintf(at, sizeof at,
                 "rows.c:98: last_one_looks: item (%d) uses bins[0]", n - 1);
        for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
            if (n > 2 || table[i].at != at) {
                check_row(accelerators, &table[i]);
            }
        }
    }
}

/* hr_launch runs as a whole. */
static void launch_any_row(const char *accelerators)
{
    TEST_CASE("any row in a launch on one accelerator");
    hr_context *context = test_context(accelerators, 0);
    hr_queue *queue = NULL;
    hr_array *array = NULL;
    const hr_extent extent = hr_extent2(N / 2, 2);
    CHECK(hr_queue_default(context, 0, &queue) == HR_OK);
    CHECK(hr_array_wrap(context, c, sizeof *c, extent, 0, &array) == HR_OK);
    const hr_argument argument = hr_out(hr_view_of(array));
    CHECK(hr_launch(queue, &turns_rows, extent, NULL, &argument, 1) == HR_OK);
    hr_array_destroy(array);
    hr_context_destroy(context);
}

/* ---- grids */

enum { CELLS = 640 };

static hr_grid *create_grid(hr_context *context, hr_extent extent, int64_t halo)
{
    const hr_field fields[] = {hr_field_of(4, halo, HR_BOUNDARY_CLAMP, NULL),
                               hr_field_of(4, 0, HR_BOUNDARY_CLAMP, NULL)};
    hr_grid *grid = NULL;
    CHECK(hr_grid_create(context, extent, fields, 2, NULL, &grid) == HR_OK);
    return grid;
}

static void step_right_grid(hr_context *context)
{
    TEST_CASE("a kernel that reads as far as the halo");
    static int data[CELLS], seen[CELLS];
    const hr_argument arguments[] = {hr_field_in(0), hr_field_out(1)};
    const hr_phase phase = hr_phase_of(&reads_beyond, arguments, 2);
    hr_grid *grid = create_grid(context, hr_extent1(CELLS), 1);
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
static void find_in_grid(hr_context *context, hr_extent extent, int64_t halo,
                         const hr_kernel *kernel, const char *word)
{
    const hr_argument both[] = {hr_field_in(0), hr_field_out(1)};
    const size_t count = kernel->parameter_count;
    TEST_CASE(kernel->name);
    const size_t before = hr_check_count(context);
    const hr_phase phase = hr_phase_of(kernel, &both[2 - count], count);
    static int data[CELLS];
    hr_grid *grid = create_grid(context, extent, halo);
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

int main(int count, char **arguments)
{
    const char *accelerators = count > 1 ? arguments[1] : "host";
    CHECK(setenv("HEADRACE_CHECK", "1", 1) == 0);
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    options.accelerators = accelerators;
    if (!test_open(&options, &context)) {
        return test_end();
    }
    TEST(find_rows(accelerators));
    TEST(find_rows_of_tiles(accelerators));
    TEST(find_conflicts(accelerators));
    TEST(launch_any_row(accelerators));
    TEST(step_right_grid(context));
    TEST(find_in_grid(context, hr_extent1(CELLS), 0, &reads_beyond,
                      "faulty.c:12: reads_beyond: item ("));
    TEST(find_in_grid(context, hr_extent1(CELLS), 0, &writes_beyond1,
                      "faulty.c:20: writes_beyond1: item ("));
    TEST(find_in_grid(context, hr_extent2(20, 32), 1, &writes_in,
                      "writes_in: item ("));
    hr_context_destroy(context);
    return test_end();
}
