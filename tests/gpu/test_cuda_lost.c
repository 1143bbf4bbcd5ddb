/* SPDX-License-Identifier: MIT */
/* A kernel of the program's faults on a GPU. What works afterwards in the same
 * process, and which sentence tells it. Each case has a process of its own,
 * since no GPU of NVIDIA's works in it any more. */
#include <headrace/headrace.h>

#include "support/child.h"

extern const hr_kernel write_far, add_one;

enum { EDGE = 96, CELLS = 4096, SKIP = 77 };

static const char *const cause =
    "lost, as a kernel on cuda:0 (the last was \"write_far\") read or wrote "
    "outside of its memory (CUDA error 700); only a new process can use "
    "NVIDIA's GPUs";

static hr_status open_context(const char *list, hr_context **context)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = list;
    *context = NULL;
    return hr_context_create(&options, context);
}

/* ---- the fault */

typedef struct bed {
    hr_context *context;
    hr_queue *queue; /* of cuda:0 */
    int data[2][CELLS];
    hr_array *arrays[2]; /* over them */
} bed;

/* Whether the list can be opened. Its first accelerator is cuda:0. */
static bool bed_init(bed *b, const char *list)
{
    if (open_context(list, &b->context) != HR_OK) {
        printf("skip: %s\n", hr_last_error());
        return false;
    }
    CHECK(hr_queue_create(b->context, 0, &b->queue) == HR_OK);
    for (int i = 0; i < 2; i++) {
        CHECK(hr_array_wrap(b->context, b->data[i], sizeof(int),
                            hr_extent1(CELLS), 0, &b->arrays[i]) == HR_OK);
    }
    return true;
}

static void bed_finish(bed *b)
{
    for (int i = 0; i < 2; i++) {
        hr_array_destroy(b->arrays[i]);
    }
    hr_queue_destroy(b->queue);
    hr_context_destroy(b->context);
}

static hr_status launch_far(const bed *b)
{
    const long long far = 1LL << 40;
    const hr_argument arguments[] = {hr_out(hr_view_of(b->arrays[1])),
                                     hr_value(&far, sizeof far)};
    return hr_launch(b->queue, &write_far, hr_extent1(CELLS), NULL, arguments,
                     2);
}

static void make_fault(const bed *b)
{
    CHECK(launch_far(b) == HR_OK);
    CHECK_FAILS(hr_queue_finish(b->queue), HR_ERROR_LOST,
                "failed with CUDA_ERROR_ILLEGAL_ADDRESS (700), as a kernel on "
                "cuda:0 (the last was \"write_far\") read or wrote outside of "
                "its memory; only a new process can use NVIDIA's GPUs");
    printf("%s\n", hr_last_error());
}

static void count_up(int *cells)
{
    for (int i = 0; i < CELLS; i++) {
        cells[i] = i;
    }
}

/* Whether they count up from there. */
static bool are_counting(const int *cells, int from)
{
    for (int i = 0; i < CELLS; i++) {
        if (cells[i] != from + i) {
            return false;
        }
    }
    return true;
}

/* ---- what engines do */

/* C := A B on these accelerators (NULL: all), with small integers. */
static hr_status multiply_square(hr_context *context, const uint32_t *list,
                                 bool *right)
{
    static float a[EDGE * EDGE], b[EDGE * EDGE], c[EDGE * EDGE];
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.accelerators = list;
    options.accelerator_count = list != NULL;
    for (int i = 0; i < EDGE * EDGE; i++) {
        a[i] = (float)(i % 5);
        b[i] = (float)(i % 7);
        c[i] = -1.0f;
    }
    hr_status status = hr_gemm(
        context, hr_real(1), hr_matrix_row_major(a, HR_F32, EDGE, EDGE, 0),
        hr_matrix_row_major(b, HR_F32, EDGE, EDGE, 0), hr_real(0),
        hr_matrix_row_major(c, HR_F32, EDGE, EDGE, 0), &options);
    *right = true;
    for (int i = 0; i < EDGE; i++) {
        for (int j = 0; j < EDGE; j++) {
            float sum = 0.0f;
            for (int p = 0; p < EDGE; p++) {
                sum += a[i * EDGE + p] * b[p * EDGE + j];
            }
            *right = *right && c[i * EDGE + j] == sum;
        }
    }
    return status;
}

static void check_product(hr_context *context)
{
    bool right;
    CHECK(multiply_square(context, NULL, &right) == HR_OK && right);
}

static const uint32_t first = 0;

static void check_products(hr_context *context)
{
    bool right;
    TEST_CASE("products go on with the host");
    check_product(context);
    TEST_CASE("and are refused where only a lost GPU may take part");
    CHECK_FAILS(multiply_square(context, &first, &right), HR_ERROR_LOST, cause);
}

static hr_status filter_square(hr_context *context, const uint32_t *list)
{
    static float in[EDGE * EDGE], out[EDGE * EDGE];
    const double weights[] = {0, 0, 0, 0, 2, 0, 0, 0, 0};
    hr_filter_options options = HR_FILTER_OPTIONS_INIT;
    hr_window *window = NULL;
    options.accelerators = list;
    options.accelerator_count = list != NULL;
    options.edges = HR_EDGES_CLAMPED;
    options.method = HR_FILTER_DIRECT; /* it is exact */
    for (int i = 0; i < EDGE * EDGE; i++) {
        in[i] = (float)i;
    }
    CHECK(hr_window_create(1, weights, &window) == HR_OK);
    hr_status status = hr_filter(
        context, window, 1.0, hr_matrix_row_major(in, HR_F32, EDGE, EDGE, 0),
        hr_matrix_row_major(out, HR_F32, EDGE, EDGE, 0), &options);
    hr_window_destroy(window);
    bool right = true;
    for (int i = 0; i < EDGE * EDGE; i++) {
        right = right && out[i] == 2.0f * (float)i;
    }
    CHECK(status != HR_OK || right);
    return status;
}

static void check_filters(hr_context *context)
{
    TEST_CASE("filters go on, and are refused, likewise");
    CHECK(filter_square(context, NULL) == HR_OK);
    CHECK_FAILS(filter_square(context, &first), HR_ERROR_LOST, cause);
}

static void check_split_launches(hr_context *context)
{
    static int x[CELLS], y[CELLS];
    static const double weights[64] = {1, 1};
    hr_array *from = NULL, *to = NULL;
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    count_up(x);
    CHECK(hr_array_wrap(context, x, sizeof(int), hr_extent1(CELLS), 0, &from) ==
          HR_OK);
    CHECK(hr_array_wrap(context, y, sizeof(int), hr_extent1(CELLS), 0, &to) ==
          HR_OK);
    const hr_argument arguments[] = {hr_in(hr_view_of(from)),
                                     hr_out(hr_view_of(to))};
    TEST_CASE("split launches leave lost GPUs out");
    CHECK(hr_launch_split(context, &add_one, hr_extent1(CELLS), arguments, 2,
                          NULL) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(to)) == HR_OK);
    CHECK(are_counting(y, 1));
    TEST_CASE("but not those with a weight");
    options.weights = weights;
    CHECK_FAILS(hr_launch_split(context, &add_one, hr_extent1(CELLS), arguments,
                                2, &options),
                HR_ERROR_LOST, cause);
    hr_array_destroy(from);
    hr_array_destroy(to);
}

static void check_grids(hr_context *context)
{
    static int cells[CELLS];
    static const double weights[64] = {1, 1};
    const hr_field field = hr_field_of(sizeof(int), 0, HR_BOUNDARY_USER, NULL);
    const hr_field fields[] = {field, field};
    const hr_argument arguments[] = {hr_field_here(0), hr_field_out(1)};
    const hr_phase phases[] = {hr_phase_of(&add_one, arguments, 2),
                               hr_phase_swap(0, 1)};
    hr_grid_options options = HR_GRID_OPTIONS_INIT;
    hr_grid *grid = NULL;
    count_up(cells);
    TEST_CASE("new grids leave lost GPUs out");
    CHECK(hr_grid_create(context, hr_extent1(CELLS), fields, 2, NULL, &grid) ==
          HR_OK);
    CHECK(hr_grid_scatter(grid, 0, cells) == HR_OK);
    CHECK(hr_grid_step(grid, phases, 2, 3) == HR_OK);
    double shares[64] = {1}; /* the list's first accelerator is lost */
    CHECK(hr_grid_rebalance(grid, shares) == HR_ERROR_INVALID);
    shares[hr_accelerator_count(context) - 1] = 1; /* the host */
    CHECK(hr_grid_rebalance(grid, shares) == HR_OK);
    CHECK(hr_grid_gather(grid, 0, cells) == HR_OK);
    hr_grid_destroy(grid);
    CHECK(are_counting(cells, 3));
    TEST_CASE("but not those with a weight");
    options.weights = weights;
    CHECK_FAILS(
        hr_grid_create(context, hr_extent1(CELLS), fields, 2, &options, &grid),
        HR_ERROR_LOST, cause);
}

/* ---- what contexts do */

static void check_refused(const char *list)
{
    hr_context *context = NULL;
    CHECK_FAILS(open_context(list, &context), HR_ERROR_LOST, cause);
    CHECK(context == NULL);
}

/* Whether no entry of the machine is an open GPU of NVIDIA's, and those that
 * are there have the cause for their reason. */
static void check_machine(const hr_context *context)
{
    uint32_t gpus = 0;
    for (uint32_t i = 0; i < hr_machine_count(context); i++) {
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        CHECK(hr_machine_describe(context, i, &info) == HR_OK);
        if (strncmp(info.path, "cuda:", 5) == 0) {
            gpus++;
            CHECK(!info.chosen);
            CHECK(strncmp(info.reason, cause, strlen(info.reason)) == 0);
            printf("%s: %s\n", info.path, info.reason);
        }
    }
    CHECK(gpus > 0);
}

static void check_going_on(const char *list)
{
    hr_context *context = NULL;
    TEST_CASE(list != NULL ? list : "no list");
    if (CHECK(open_context(list, &context) == HR_OK)) {
        check_product(context);
        if (list == NULL || strcmp(list, "host") != 0) {
            check_machine(context);
        }
    }
    hr_context_destroy(context);
}

static void check_lists(void)
{
    static const char *const going_on[] = {"host", "all", NULL, "cuda,host",
                                           "2xcuda,2xhost"};
    for (size_t i = 0; i < sizeof going_on / sizeof going_on[0]; i++) {
        check_going_on(going_on[i]);
    }
    TEST_CASE("a GPU that is named");
    check_refused("cuda:0");
    check_refused("host,cuda:0");
    check_refused("2xcuda:0,host");
    TEST_CASE("nothing but what is lost");
    check_refused("cuda");
}

/* What OpenCL does in this process is up to NVIDIA's driver: it is only
 * printed. */
static void try_opencl(void)
{
    hr_context *context;
    bool right = false;
    if (open_context("opencl", &context) != HR_OK) {
        printf("opencl: %s\n", hr_last_error());
        return;
    }
    const hr_status status = multiply_square(context, NULL, &right);
    printf("opencl: a context opens, and %s\n", status != HR_OK
                                                    ? hr_last_error()
                                                : right ? "a product is right"
                                                        : "a product is WRONG");
    hr_context_destroy(context);
}

/* ---- cases */

static void work_afterwards(bed *b)
{
    const uint32_t gpus = hr_accelerator_count(b->context) - 1;
    TEST_CASE("a kernel that faults");
    make_fault(b);
    TEST_CASE("every GPU is lost");
    for (uint32_t i = 0; i < gpus; i++) {
        hr_queue *queue = NULL;
        CHECK_FAILS(hr_queue_create(b->context, i, &queue), HR_ERROR_LOST,
                    cause);
        printf("%s\n", hr_last_error());
    }
    check_products(b->context);
    check_filters(b->context);
    check_split_launches(b->context);
    check_grids(b->context);
    TEST_CASE("values that only the lost GPU had are gone, others are not");
    CHECK(hr_synchronize(hr_view_of(b->arrays[0])) == HR_OK);
    CHECK_FAILS(hr_synchronize(hr_view_of(b->arrays[1])), HR_ERROR_LOST,
                "CUDA");
    check_lists();
    try_opencl();
}

/* GPUs that were not open when it happened. */
static void open_others(bed *b)
{
    hr_context *context = NULL;
    make_fault(b);
    if (open_context("cuda:1", &context) != HR_ERROR_UNAVAILABLE) {
        check_refused("cuda:1");
        printf("%s\n", hr_last_error());
    } else {
        printf("one GPU: %s\n", hr_last_error());
    }
    check_going_on("all");
}

/* Nobody waits for the kernel. The fault may be found anywhere. */
static void find_by_product(bed *b)
{
    CHECK(launch_far(b) == HR_OK);
    check_product(b->context);
    CHECK(hr_queue_finish(b->queue) == HR_ERROR_LOST);
    check_product(b->context);
}

/* Planning a large product measures. Nothing of the matrices is touched. */
static void find_by_plan(bed *b)
{
    enum { LARGE = 4096 };
    hr_gemm_share shares[64];
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    void *data[3];
    hr_matrix m[3];
    report.shares = shares;
    report.share_capacity = 64;
    for (int i = 0; i < 3; i++) {
        data[i] = calloc((size_t)LARGE * LARGE, sizeof(float));
        m[i] = hr_matrix_row_major(data[i], HR_F32, LARGE, LARGE, 0);
    }
    CHECK(launch_far(b) == HR_OK);
    CHECK(hr_gemm_plan(b->context, hr_real(1), m[0], m[1], hr_real(0), m[2],
                       NULL, &report) == HR_OK);
    CHECK(report.share_count == 1 &&
          shares[0].accelerator == hr_accelerator_count(b->context) - 1);
    CHECK(hr_queue_finish(b->queue) == HR_ERROR_LOST);
    for (int i = 0; i < 3; i++) {
        free(data[i]);
    }
}

static void find_by_context(bed *b)
{
    hr_context *context = NULL;
    CHECK(launch_far(b) == HR_OK);
    CHECK(open_context("all", &context) == HR_OK);
    if (context != NULL) {
        printf("%u of %u accelerators are open\n",
               hr_accelerator_count(context), hr_accelerator_count(b->context));
        CHECK(hr_queue_finish(b->queue) == HR_ERROR_LOST);
        check_product(context);
    }
    hr_context_destroy(context);
}

/* What a child does: the work, on accelerators of this list. */
static const char *list_of_child;
static void (*work_of_child)(bed *b);

static int run_child(void)
{
    bed b = {.data = {{0}}};
    if (!bed_init(&b, list_of_child)) {
        return SKIP;
    }
    work_of_child(&b);
    bed_finish(&b);
    check_going_on("cuda,host"); /* no context is left */
    return 0;
}

static void run_in_child(const char *name, const char *list,
                         void (*work)(bed *b), int *skipped)
{
    TEST_CASE(name);
    list_of_child = list;
    work_of_child = work;
    const int status = test_in_child(run_child);
    *skipped += status == SKIP;
    CHECK(status == 0 || status == SKIP);
}

int main(void)
{
    int skipped = 0;
    if (getenv("HEADRACE_NO_FAULTS") != NULL) { /* under a memory checker */
        return test_skip("faults are not wanted");
    }
    TEST(run_in_child("afterwards", "cuda,host", work_afterwards, &skipped));
    TEST(run_in_child("GPUs that were not open", "cuda:0", open_others,
                      &skipped));
    TEST(run_in_child("a product finds it", "cuda,host", find_by_product,
                      &skipped));
    TEST(run_in_child("a plan finds it", "cuda,host", find_by_plan, &skipped));
    TEST(run_in_child("a context finds it", "cuda,host", find_by_context,
                      &skipped));
    return skipped > 0 && test_state.failures == 0 ? test_skip("no GPU")
                                                   : test_end();
}
