/* SPDX-License-Identifier: MIT */
/* Launches on queues, alone and after an operation that failed; lists of views
 * over strided memory; and grids of fields with components. */
#include "faults/groups.h"
#include "support/faults.h"

extern const hr_kernel axpy, lists1, flow1;

enum { N = 64, ARRAYS = 3, QUEUES = 3 };

typedef struct bed {
    hr_context *context;
    hr_queue *queues[QUEUES]; /* of accelerators 0, 1 and 0 */
    hr_array *arrays[ARRAYS];
    float data[ARRAYS][N], want[ARRAYS][N];
} bed;

typedef struct kind {
    bool timed; /* launches are */
    bool early; /* queues go before arrays are read. They may have a pending
                   fence, which cannot be recorded then */
} kind;

static hr_status create_all(bed *b, bool timed)
{
    for (int i = 0; i < ARRAYS * N; i++) {
        b->data[i / N][i % N] = b->want[i / N][i % N] = (float)(i % 7);
    }
    for (uint32_t i = 0; i < QUEUES; i++) {
        HRI_TRY(hr_queue_create(b->context, i % 2, &b->queues[i]));
    }
    if (timed) {
        HRI_TRY(hr_profile_kernel(b->context, &axpy, 2.0));
    }
    for (int i = 0; i < ARRAYS; i++) {
        HRI_TRY(hr_array_wrap(b->context, b->data[i], sizeof(float),
                              hr_extent1(N), 0, &b->arrays[i]));
    }
    return HR_OK;
}

/* y += 2 x + 1, there and in what is wanted. */
static hr_status launch_axpy(bed *b, int queue, int x, int y)
{
    static const float a = 2.0f;
    static const struct {
        float x;
        int n;
    } p = {0.5f, 2};
    const hr_argument arguments[] = {
        hr_in(hr_view_of(b->arrays[x])), hr_inout(hr_view_of(b->arrays[y])),
        hr_value(&a, sizeof a), hr_value(&p, sizeof p)};
    for (int i = 0; i < N; i++) {
        b->want[y][i] += 2.0f * b->want[x][i] + 1.0f;
    }
    return hr_launch(b->queues[queue], &axpy, hr_extent1(N), NULL, arguments,
                     4);
}

static hr_status launch_all(bed *b, bool timed)
{
    static const int each[][3] = {{0, 0, 1}, {0, 0, 2}, {2, 1, 2}, {1, 2, 1}};
    HRI_TRY(create_all(b, timed));
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++) {
        HRI_TRY(launch_axpy(b, each[i][0], each[i][1], each[i][2]));
    }
    return HR_OK;
}

static void destroy_queues(bed *b)
{
    for (int i = 0; i < QUEUES; i++) {
        hr_queue_destroy(b->queues[i]);
        b->queues[i] = NULL;
    }
}

static hr_status launch_chain(hr_context *context, const void *with)
{
    const kind *k = with;
    bed b = {.context = context};
    hr_status status = launch_all(&b, k->timed);
    if (k->early) {
        destroy_queues(&b);
    }
    if (status == HR_OK) {
        status = faults_synchronize(b.arrays, ARRAYS, b.data, b.want,
                                    sizeof b.data[0]);
    }
    for (int i = 0; i < ARRAYS; i++) {
        hr_array_destroy(b.arrays[i]);
    }
    destroy_queues(&b);
    return status;
}

static const kind plain = {false, false}, early = {false, true},
                  timed = {true, false}, timed_early = {true, true};

/* ---- lists: views of every other element, the last one first */

enum { POINTS = 24, INPUTS = 3, OUTPUTS = 2, STEP = 2, SHIFT = 5 };
enum { UNTOUCHED = -7 };

typedef struct memory {
    int from[INPUTS][POINTS * STEP], to[OUTPUTS][POINTS * STEP];
} memory;

/* Element i of view q. */
static int *at_of(int *view, int i)
{
    return &view[(POINTS - 1 - i) * STEP];
}

static void set_up_memory(memory *m)
{
    for (int i = 0; i < POINTS * STEP; i++) {
        for (int p = 0; p < INPUTS; p++) {
            m->from[p][i] = 10 * p + i;
        }
        for (int q = 0; q < OUTPUTS; q++) {
            m->to[q][i] = UNTOUCHED;
        }
    }
}

/* Gaps never change. Nor does anything else, unless the results are there. */
static bool is_right(memory *m, bool done)
{
    bool right = true;
    for (int q = 0; q < OUTPUTS; q++) {
        for (int i = 0; i < POINTS; i++) {
            int want = SHIFT;
            for (int p = 0; p < INPUTS; p++) {
                want += (p + 1) * (q + 2) * *at_of(m->from[p], i);
            }
            right = right && at_of(m->to[q], i)[1] == UNTOUCHED &&
                    (!done || *at_of(m->to[q], i) == want);
        }
    }
    return right;
}

static hr_status wrap_list(hr_context *context, int *first, int64_t views,
                           hr_array **array)
{
    const int64_t stride[] = {(int64_t)sizeof(int) * POINTS * STEP,
                              -(int64_t)sizeof(int) * STEP};
    return hr_array_wrap_strided(context, first, "int", sizeof(int),
                                 hr_extent2(views, POINTS), stride, array);
}

static hr_status launch_on_lists(hr_context *context, memory *m,
                                 hr_array *arrays[2])
{
    const int shift = SHIFT;
    const hr_split_options shares = faults_shares();
    HRI_TRY(wrap_list(context, at_of(m->from[0], 0), INPUTS, &arrays[0]));
    HRI_TRY(wrap_list(context, at_of(m->to[0], 0), OUTPUTS, &arrays[1]));
    const hr_view to = hr_view_of(arrays[1]);
    HRI_TRY(
        hr_launch_split(context, &lists1, hr_extent1(POINTS),
                        HR_ARGUMENTS(hr_in(hr_view_of(arrays[0])), hr_out(to),
                                     hr_value(&shift, sizeof shift)),
                        &shares));
    return hr_synchronize(to);
}

static hr_status launch_lists(hr_context *context, const void *unused)
{
    memory m;
    hr_array *arrays[2] = {NULL};
    (void)unused;
    set_up_memory(&m);
    const hr_status status = launch_on_lists(context, &m, arrays);
    CHECK(is_right(&m, status == HR_OK));
    hr_array_destroy(arrays[0]);
    hr_array_destroy(arrays[1]);
    return status;
}

/* ---- a grid whose cells have several values */

/* Each component gets 3 times the next one of the cell behind, its own of the
 * cell before, and its number. All is periodic. */
static void flow_cells(int from[INPUTS][POINTS], int to[INPUTS][POINTS])
{
    for (int q = 0; q < INPUTS; q++) {
        for (int i = 0; i < POINTS; i++) {
            to[q][i] = 3 * from[(q + 1) % INPUTS][(i + 1) % POINTS] +
                       from[q][(i + POINTS - 1) % POINTS] + q;
        }
    }
}

static hr_status step_components(hr_context *context, const void *unused)
{
    static int cells[INPUTS][POINTS], seen[INPUTS][POINTS],
        once[INPUTS][POINTS], twice[INPUTS][POINTS];
    hr_field field = hr_field_of(sizeof(int), 1, HR_BOUNDARY_PERIODIC, NULL);
    hr_grid_options options = HR_GRID_OPTIONS_INIT;
    hr_grid *grid = NULL;
    const hr_argument arguments[] = {hr_field_in(0), hr_field_out(1)};
    const hr_phase phases[] = {hr_phase_of(&flow1, arguments, 2),
                               hr_phase_swap(0, 1)};
    (void)unused;
    field.components = INPUTS;
    options.weights = faults_shares().weights;
    for (int i = 0; i < INPUTS * POINTS; i++) {
        cells[i / POINTS][i % POINTS] = i * 7 % 50;
    }
    flow_cells(cells, once);
    flow_cells(once, twice);
    const hr_field fields[] = {field, field};
    HRI_TRY(hr_grid_create(context, hr_extent1(POINTS), fields, 2, &options,
                           &grid));
    hr_status status = hr_grid_scatter(grid, 0, cells);
    if (status != HR_OK) {
        goto done;
    }
    status = hr_grid_step(grid, phases, 2, 2);
    if (status != HR_OK) {
        goto done;
    }
    status = hr_grid_gather(grid, 0, seen);
    CHECK(status != HR_OK || memcmp(seen, twice, sizeof seen) == 0);
done:
    hr_grid_destroy(grid);
    return status;
}

static const fault_case cases[] = {
    {"launch", launch_chain, .with = &plain, .accelerators = "2xhost",
     .limit = 1 << 20, .status = HR_ERROR_OUT_OF_MEMORY, .beside = 8},
    {"launch_early", launch_chain, .with = &early, .accelerators = "2xhost",
     .limit = 1 << 20, .status = HR_ERROR_OUT_OF_MEMORY, .beside = 8},
    {"launch_timed", launch_chain, .with = &timed, .accelerators = "2xhost",
     .limit = 1 << 20, .status = HR_ERROR_OUT_OF_MEMORY, .beside = 8},
    {"launch_timed_early", launch_chain, .with = &timed_early,
     .accelerators = "2xhost", .limit = 1 << 20,
     .status = HR_ERROR_OUT_OF_MEMORY, .beside = 8},
    {"lists", launch_lists, .accelerators = "3xhost", .limit = 1 << 20},
    {"components", step_components, .accelerators = "3xhost", .limit = 1 << 20},
};

/* A launch fails later, and its fence cannot be recorded any more. */
static void tell_forgotten_error(void)
{
    TEST_CASE("the error of a queue that went is told");
    bed b = {0};
    fault_backend_reset();
    fault_backend_fail_operation(3, HR_ERROR_BACKEND); /* behind two copies */
    CHECK(faults_open(&cases[0], &b.context) == HR_OK);
    CHECK(create_all(&b, false) == HR_OK && launch_axpy(&b, 0, 0, 1) == HR_OK);
    CHECK(fault_backend_operations() == 3);
    fault_backend_fail_call(fault_backend_calls() + 1, HR_ERROR_OUT_OF_MEMORY);
    destroy_queues(&b);
    CHECK(hr_synchronize(hr_view_of(b.arrays[1])) == HR_ERROR_BACKEND);
    CHECK(hr_synchronize(hr_view_of(b.arrays[0])) == HR_OK);
    for (int i = 0; i < ARRAYS; i++) {
        hr_array_destroy(b.arrays[i]);
    }
    hr_context_destroy(b.context);
    faults_closed();
}

void faults_launch(void)
{
    TEST(tell_forgotten_error());
    FAULTS_EACH(cases);
}
