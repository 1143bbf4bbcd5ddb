/* SPDX-License-Identifier: MIT */
/* Ranges of NVTX on the accelerators of argv[1], as a profiler sees them: each
 * that begins ends on its thread, also where a call fails, and what a timeline
 * shows as calls and packing is there by the same names. */
#include <sys/stat.h>
#include <sys/types.h>

#include "support/bed.h"
#include "support/child.h"
#include "support/files.h"

extern const hr_kernel run1, progress_next;

enum { N = 96, ELEMENTS = 3000000, ROWS = 40, COLS = 30, REACH = 2 };
enum { MAX_THREADS = 64, MAX_DEPTH = 4, NAME = 64, MAX_CALLS = 64 };

static char ranges_path[96], trace_path[96];
static float x[ELEMENTS], y[ELEMENTS];

/* ---- what the profiler has written */

typedef struct thread {
    long id;
    int depth;
    char open[MAX_DEPTH][NAME];
} thread;

typedef struct ranges {
    thread threads[MAX_THREADS]; /* the first is this one */
    int thread_count, wrong;
    int up, down;                /* to and from pinned memory */
    int calls;                   /* the rest */
    char names[MAX_CALLS][NAME]; /* of them, in the order of their ends */
} ranges;

static thread *thread_of(ranges *r, long id)
{
    int i = 0;
    while (i < r->thread_count && r->threads[i].id != id) {
        i++;
    }
    if (i == r->thread_count && i < MAX_THREADS - 1) {
        r->threads[r->thread_count++] = (thread){.id = id};
    }
    return &r->threads[i];
}

static void push_range(ranges *r, thread *t, const char *domain,
                       const char *name)
{
    if (strcmp(domain, "headrace") != 0 || t->depth >= MAX_DEPTH) {
        r->wrong++;
    } else {
        snprintf(t->open[t->depth++], NAME, "%s", name);
    }
}

static void pop_range(ranges *r, thread *t, const char *domain)
{
    if (strcmp(domain, "headrace") != 0 || t->depth == 0) {
        r->wrong++;
        return;
    }
    const char *name = t->open[--t->depth];
    if (strcmp(name, "to pinned") == 0) {
        r->up++;
    } else if (strcmp(name, "from pinned") == 0) {
        r->down++;
    } else if (r->calls < MAX_CALLS) {
        r->wrong += t->depth > 0 || t != r->threads; /* on the caller's */
        memcpy(r->names[r->calls++], name, NAME);
    }
}

static void read_line(ranges *r, const char *line)
{
    long id = 0;
    char what[8] = "", domain[NAME] = "", name[NAME] = "";
    const int fields =
        sscanf(line, "%ld %7s %63s %63[^\n]", &id, what, domain, name);
    if (fields >= 3 && strcmp(what, "push") == 0) {
        push_range(r, thread_of(r, id), domain, name);
    } else if (fields >= 3 && strcmp(what, "pop") == 0) {
        pop_range(r, thread_of(r, id), domain);
    } else {
        printf("the profiler says: %s", line);
        r->wrong++;
    }
}

/* The ranges from that place of the file on, which begin and end there. */
static ranges read_ranges(long from)
{
    static ranges r;
    char line[256];
    FILE *file = fopen(ranges_path, "r");
    r = (ranges){.threads = {{.id = (long)getpid()}}, .thread_count = 1};
    CHECK(file != NULL && fseek(file, from, SEEK_SET) == 0);
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        read_line(&r, line);
    }
    if (file != NULL) {
        fclose(file);
    }
    for (int i = 0; i < r.thread_count; i++) {
        r.wrong += r.threads[i].depth != 0;
    }
    CHECK(r.wrong == 0);
    return r;
}

static long size_of_ranges(void)
{
    struct stat s = {0};
    return stat(ranges_path, &s) == 0 ? (long)s.st_size : 0;
}

/* Bars of a timeline that have these words. */
static int count_bars(const char *category, const char *name)
{
    char line[4096];
    int count = 0;
    FILE *file = fopen(trace_path, "r");
    CHECK(file != NULL);
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        count += strstr(line, category) != NULL && strstr(line, name) != NULL;
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

/* ---- calls */

static hr_status multiply_squares(bed *b)
{
    const hr_matrix m = hr_matrix_row_major(x, HR_F32, N, N, 0);
    const hr_matrix c = hr_matrix_row_major(y, HR_F32, N, N, 0);
    return hr_gemm(b->context, hr_real(1), m, m, hr_real(0), c, NULL);
}

static hr_status product_of_others(bed *b)
{
    const hr_matrix m = hr_matrix_row_major(x, HR_F32, N, N + 1, 0);
    const hr_matrix c = hr_matrix_row_major(y, HR_F32, N, N, 0);
    return hr_gemm(b->context, hr_real(1), m, m, hr_real(0), c, NULL);
}

static bool cancel_at_once(void *data, double done, double total)
{
    (void)data;
    (void)done;
    (void)total;
    return false;
}

static hr_status product_cancelled(bed *b)
{
    const hr_matrix m = hr_matrix_row_major(x, HR_F32, 4 * N, 4 * N, 0);
    const hr_matrix c = hr_matrix_row_major(y, HR_F32, 4 * N, 4 * N, 0);
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.progress = cancel_at_once;
    return hr_gemm(b->context, hr_real(1), m, m, hr_real(0), c, &options);
}

static hr_status multiply_batch(bed *b)
{
    enum { COUNT = 8, STEP = 16 * 16 };
    const hr_matrices m =
        hr_matrices_strided(hr_matrix_row_major(x, HR_F32, 16, 16, 0), STEP);
    const hr_matrices c =
        hr_matrices_strided(hr_matrix_row_major(y, HR_F32, 16, 16, 0), STEP);
    return hr_gemm_batch(b->context, COUNT, hr_real(1), m, m, hr_real(0), c,
                         NULL);
}

/* A launch over bands, of fewer arguments where it must fail. */
static hr_status launch_over(const bed *b, size_t count)
{
    hr_array *from = bed_wrap(b, x, sizeof *x, hr_extent1(ELEMENTS));
    hr_array *to = bed_wrap(b, y, sizeof *y, hr_extent1(ELEMENTS));
    const hr_argument arguments[] = {hr_value(1.0F), hr_in(hr_view_of(from)),
                                     hr_inout(hr_view_of(to))};
    const hr_status status = hr_launch_split(
        b->context, &run1, hr_extent1(ELEMENTS), arguments, count, NULL);
    CHECK(hr_synchronize(hr_view_of(to)) == HR_OK);
    hr_array_destroy(from);
    hr_array_destroy(to);
    return status;
}

static hr_status launch_split(bed *b)
{
    return launch_over(b, 3);
}

static hr_status split_refused(bed *b)
{
    return launch_over(b, 2);
}

static hr_status run_over(const bed *b, int64_t elements, size_t count)
{
    const hr_argument arguments[] = {hr_value(1.0F), hr_in(x, N),
                                     hr_inout(y, N)};
    return hr_run(b->context, &run1, hr_extent1(elements), arguments, count,
                  NULL);
}

static hr_status run_kernel(bed *b)
{
    return run_over(b, N, 3);
}

static hr_status run_too_far(bed *b)
{
    return run_over(b, 2 * N, 3);
}

static hr_status run_without_argument(bed *b)
{
    return run_over(b, N, 2);
}

static bool ends_after_two(void *data, hr_grid *grid, int64_t done)
{
    (void)data;
    (void)grid;
    return done < 2;
}

/* Four steps of a grid, or two of which the second is the last. */
static hr_status step_grid(const bed *b, bool run_it, int64_t steps)
{
    hr_grid *grid = NULL;
    const hr_field field = hr_field_of(sizeof(int), 0, HR_BOUNDARY_CLAMP, NULL);
    const hr_field fields[] = {field, field};
    const hr_argument arguments[] = {hr_field_here(0), hr_field_out(1)};
    const hr_phase phases[] = {hr_phase_of(&progress_next, arguments, 2),
                               hr_phase_swap(0, 1)};
    CHECK(hr_grid_create(b->context, hr_extent2(ROWS, COLS), fields, 2, NULL,
                         &grid) == HR_OK);
    const hr_status status =
        run_it ? hr_grid_run(grid, phases, 2, steps, 1, ends_after_two, NULL)
               : hr_grid_step(grid, phases, 2, steps);
    hr_grid_destroy(grid);
    return status;
}

static hr_status step_four(bed *b)
{
    return step_grid(b, false, 4);
}

static hr_status grid_run(bed *b)
{
    return step_grid(b, true, 4);
}

static hr_status grid_refused(bed *b)
{
    return step_grid(b, false, -1);
}

static hr_status filter_of(const bed *b, int64_t cols)
{
    hr_window *window = NULL;
    CHECK(hr_window_box(REACH, &window) == HR_OK);
    const hr_matrix in = hr_matrix_row_major(x, HR_F32, ROWS, COLS, 0);
    const hr_matrix out = hr_matrix_row_major(y, HR_F32, ROWS, cols, 0);
    const hr_status status = hr_filter(b->context, window, 1.0, in, out, NULL);
    hr_window_destroy(window);
    return status;
}

static hr_status filter_columns(bed *b)
{
    return filter_of(b, COLS);
}

static hr_status filter_refused(bed *b)
{
    return filter_of(b, COLS + 1);
}

static const struct {
    const char *name;
    hr_status (*call)(bed *b);
    hr_status want;
    const char *ranges; /* each followed by a space */
} calls[] = {
    {"a product", multiply_squares, HR_OK, "hr_gemm "},
    {"a product of others", product_of_others, HR_ERROR_INVALID, "hr_gemm "},
    {"a product that ends early", product_cancelled, HR_ERROR_CANCELLED,
     "hr_gemm "},
    {"a batch", multiply_batch, HR_OK, "hr_gemm_batch "},
    {"a split launch", launch_split, HR_OK, "run1 "},
    {"a split launch, refused", split_refused, HR_ERROR_INVALID, "run1 "},
    {"hr_run", run_kernel, HR_OK, "run1 "},
    {"hr_run beyond its memory", run_too_far, HR_ERROR_COMPUTE_DOMAIN, "run1 "},
    {"hr_run, an argument missing", run_without_argument, HR_ERROR_INVALID,
     "run1 "},
    {"steps of a grid", step_four, HR_OK, "hr_grid_step "},
    {"a run of a grid, ended", grid_run, HR_ERROR_CANCELLED,
     "hr_grid_step hr_grid_step "},
    {"steps, refused", grid_refused, HR_ERROR_INVALID, ""},
    {"a filter", filter_columns, HR_OK, "hr_filter "},
    {"a filter, refused", filter_refused, HR_ERROR_INVALID, "hr_filter "},
};

static void make_call(bed *b, size_t i)
{
    char names[256] = "";
    const long from = size_of_ranges();
    TEST_CASE(calls[i].name);
    CHECK(calls[i].call(b) == calls[i].want);
    const ranges r = read_ranges(from);
    for (int k = 0; k < r.calls; k++) {
        strncat(names, r.names[k], sizeof names - strlen(names) - 1);
        strncat(names, " ", sizeof names - strlen(names) - 1);
    }
    if (!CHECK(strcmp(names, calls[i].ranges) == 0)) {
        printf("ranges: %s\n", names);
    }
}

/* A timeline has no bar of a call that failed, but for steps of grids. */
static void same_as_timeline(bed *b)
{
    TEST_CASE("ranges and the bars of a timeline");
    int done = 0;
    const long from = size_of_ranges();
    CHECK(hr_context_trace(b->context, trace_path) == HR_OK);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (calls[i].want == HR_OK) {
            CHECK(calls[i].call(b) == HR_OK);
            done++;
        }
    }
    CHECK(hr_context_trace(b->context, NULL) == HR_OK);
    const ranges r = read_ranges(from);
    CHECK(r.calls == done && count_bars("\"cat\":\"call\"", "") == done);
    for (int i = 0; i < r.calls; i++) {
        char name[NAME + 16];
        snprintf(name, sizeof name, "\"name\":\"%s\"", r.names[i]);
        CHECK(count_bars("\"cat\":\"call\"", name) > 0);
    }
    CHECK(count_bars("\"cat\":\"pack\"", "\"to pinned\"") == r.up);
    CHECK(count_bars("\"cat\":\"pack\"", "\"from pinned\"") == r.down);
    test_note("%d and %d pieces of packing\n", r.up, r.down);
}

static void all_cases(bed *b)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        TEST(make_call(b, i));
    }
    TEST(same_as_timeline(b));
}

/* ---- profilers that are none */

/* What a product in a process of its own does to the file. */
static int product_without_ranges(void)
{
    bed b = {.context = NULL};
    b.context = test_context("2xhost", 0);
    CHECK(multiply_squares(&b) == HR_OK &&
          product_of_others(&b) == HR_ERROR_INVALID);
    CHECK(strstr(hr_last_error(), "gemm") != NULL);
    hr_context_destroy(b.context);
    CHECK(size_of_ranges() == 0);
    return 0;
}

static const struct {
    const char *name, *path, *refuses;
} profilers[] = {
    {"no profiler", NULL, NULL},
    {"an empty path", "", NULL},
    {"no such file", "/nowhere/profiler.so", NULL},
    {"a library that is no profiler", "libm.so.6", NULL},
    {"a profiler that refuses", NVTX_TOOL, "1"},
};

static void without_profiler(size_t i)
{
    TEST_CASE(profilers[i].name);
    unsetenv("NVTX_INJECTION64_PATH");
    if (profilers[i].path != NULL) {
        setenv("NVTX_INJECTION64_PATH", profilers[i].path, 1);
    }
    if (profilers[i].refuses != NULL) {
        setenv("NVTX_TOOL_REFUSES", profilers[i].refuses, 1);
    }
    CHECK(test_in_child(product_without_ranges) == 0);
    unsetenv("NVTX_TOOL_REFUSES");
}

int main(int argc, char **argv)
{
    char folder[64];
    files_make_folder(folder, sizeof folder);
    snprintf(ranges_path, sizeof ranges_path, "%s/ranges", folder);
    snprintf(trace_path, sizeof trace_path, "%s/trace.json", folder);
    setenv("NVTX_TOOL_FILE", ranges_path, 1);
    for (size_t i = 0; i < sizeof profilers / sizeof *profilers; i++) {
        TEST(without_profiler(i));
    }
    setenv("NVTX_INJECTION64_PATH", NVTX_TOOL, 1);
    const int result = bed_main(argc > 1 ? argv[1] : "2xhost", all_cases);
    files_remove_folder(folder);
    return result;
}
