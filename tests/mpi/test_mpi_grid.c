/* SPDX-License-Identifier: MIT */
/* Random grids over the processes that run this, beside whole ones in process
 * 0: each cell and each reduction has the same bits. argv[1]: how many grids.
 *
 *     mpirun -n 4 test_mpi_grid 40
 *
 * FROM_DEVICE=1 with a GPU for each process: MPI says that it sends from there.
 * Then halos have to be there, but not those of each third grid, for which
 * HEADRACE_MPI_DEVICE is 0. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <headrace/headrace.h>
#include <headrace/mpi.h>

#include "support/random.h"
#include "support/stencil.h"
#include "test.h"

enum { FIELDS = 4, COMPONENTS = 2, DOUBLES = 3 };

/* Fields 0 and 1 are mixed and swapped; field 2 follows, and has another halo.
 * Field 3 has doubles in two components, which are only reduced. */
typedef struct bed {
    hr_mpi_context *context;
    random_source random;
    uint64_t seed;
    int rank, count;
    hr_extent extent, box;
    int64_t origin[3];
    int64_t cells;
    hr_field fields[FIELDS];
    uint32_t values[FIELDS][2][3];
    reach reach[FIELDS];
    hr_grid *grid, *whole; /* the second one in process 0 alone */
} bed;

/* ---- MPI: what it says, and where the bytes of halos are */

#ifndef MPICH_VERSION /* which declares it */
int MPIX_GPU_query_support(int kind, int *supports);
#endif

int MPIX_GPU_query_support(int kind, int *supports)
{
    (void)kind;
    *supports = getenv("FROM_DEVICE") != NULL;
    return MPI_SUCCESS;
}

static struct {
    int (*attribute)(void *value, int attribute, uint64_t address);
    int64_t there, elsewhere; /* messages with bytes on a device, or not: of
                                 one grid */
    int64_t all_there;
} halos;

static void find_driver(void)
{
    const char *name = getenv("HEADRACE_CUDA");
    void *driver = dlopen(name != NULL ? name : "libcuda.so.1", RTLD_NOW);
    void *found =
        driver != NULL ? dlsym(driver, "cuPointerGetAttribute") : NULL;
    memcpy(&halos.attribute, &found, sizeof found);
}

static void note_message(const void *bytes, int tag)
{
    enum { FIRST_TAG = 16, MEMORY_TYPE = 2, DEVICE = 2 };
    unsigned kind = 0;
    if (tag >= FIRST_TAG) {
        const bool there = halos.attribute != NULL &&
                           halos.attribute(&kind, MEMORY_TYPE,
                                           (uint64_t)(uintptr_t)bytes) == 0 &&
                           kind == DEVICE;
        halos.there += there;
        halos.elsewhere += !there;
    }
}

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int to, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    note_message(bytes, tag);
    return PMPI_Isend(bytes, count, type, to, tag, comm, request);
}

int MPI_Irecv(void *bytes, int count, MPI_Datatype type, int from, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    note_message(bytes, tag);
    return PMPI_Irecv(bytes, count, type, from, tag, comm, request);
}

static int64_t between(bed *b, int64_t low, int64_t high)
{
    return random_between(&b->random, low, high);
}

/* ---- random grids, the same in all processes */

static void make_side(bed *b, int f, uint32_t d, bool after, int64_t most)
{
    hr_side *side = after ? &b->fields[f].after[d] : &b->fields[f].before[d];
    uint32_t *value = &b->values[f][after][d];
    *value = (uint32_t)random_next(&b->random);
    *side = (hr_side){.halo = between(b, 0, most),
                      .boundary = (hr_boundary)between(b, 0, f == 2 ? 4 : 3),
                      .value = between(b, 0, 1) != 0 ? value : NULL};
    (after ? b->reach[f].after : b->reach[f].before)[d] = (int)side->halo;
}

static void make_fields(bed *b)
{
    static const int most[] = {20, 3, 2}; /* by rank */
    for (int f = 0; f < FIELDS; f++) {
        b->fields[f] = (hr_field){.element_bytes = sizeof(uint32_t)};
        b->reach[f] = (reach){.place = {3, 5, 7}};
        for (uint32_t d = 0; d < b->extent.rank; d++) {
            make_side(b, f, d, false, most[b->extent.rank - 1]);
            make_side(b, f, d, true, most[b->extent.rank - 1]);
        }
    }
    b->fields[1] = b->fields[0];
    b->reach[1] = b->reach[0];
    b->fields[DOUBLES] =
        hr_field_of(sizeof(double), 0, HR_BOUNDARY_CONSTANT, NULL);
    b->fields[DOUBLES].components = COMPONENTS;
}

/* Cells of the box, which may reach one beyond an end where field 2 is the
 * user's and field 0 has a halo. */
static void make_box(bed *b)
{
    b->box.rank = b->extent.rank;
    for (uint32_t d = 0; d < b->extent.rank; d++) {
        const hr_field *f = b->fields;
        const int64_t n = b->extent.size[d];
        const bool before = f[2].before[d].boundary == HR_BOUNDARY_USER &&
                            f[2].before[d].halo > 0 && f[0].before[d].halo > 0;
        const bool after = f[2].after[d].boundary == HR_BOUNDARY_USER &&
                           f[2].after[d].halo > 0 && f[0].after[d].halo > 0;
        const int64_t lo =
            before && between(b, 0, 1) == 0 ? -1 : between(b, 0, n / 2);
        const int64_t hi =
            after && between(b, 0, 1) == 0 ? n + 1 : between(b, n / 2 + 1, n);
        b->origin[d] = lo;
        b->box.size[d] = hi - lo;
    }
}

static void make_extent(bed *b)
{
    static const int64_t least[3][3] = {{1300, 1, 1}, {60, 20, 1}, {40, 17, 5}};
    static const int64_t most[3][3] = {
        {3000, 1, 1}, {90, 60, 1}, {60, 90, 200}};
    b->extent.rank = (uint32_t)between(b, 1, 3);
    b->cells = 1;
    const bool long_rows = b->extent.rank == 2 && between(b, 0, 2) == 0;
    for (uint32_t d = 0; d < b->extent.rank; d++) {
        const uint32_t r = b->extent.rank - 1;
        b->extent.size[d] = between(b, least[r][d], most[r][d]);
        if (long_rows) {
            b->extent.size[d] =
                d == 0 ? between(b, 13, 20) : between(b, 3000, 9000);
        }
        b->cells *= b->extent.size[d];
    }
}

/* Parts in as many dimensions as a random order of factors gives; NULL: as the
 * library chooses. */
static const int *make_processes(bed *b, int *processes)
{
    int left = b->count;
    if (between(b, 0, 1) == 0) {
        return NULL;
    }
    for (int d = 0; d < 3; d++) {
        processes[d] = 1;
    }
    for (int p = 2; p <= left;) {
        if (left % p != 0) {
            p++;
            continue;
        }
        processes[between(b, 0, b->extent.rank - 1)] *= p;
        left /= p;
    }
    return processes;
}

/* ---- what is done to both grids */

static hr_status step_grid(bed *b, hr_grid *grid, int64_t steps)
{
    const uint32_t rank = b->extent.rank;
    const hr_argument first[] = {hr_field_in(0), hr_field_out(1),
                                 hr_value(&b->reach[0], sizeof(reach))};
    const hr_argument second[] = {hr_field_here(0), hr_field_inout(2)};
    const hr_argument third[] = {hr_field_in(2), hr_field_out(1),
                                 hr_value(&b->reach[2], sizeof(reach))};
    hr_phase phases[] = {
        hr_phase_of(mix_of(rank), first, 3), hr_phase_swap(0, 1),
        hr_phase_of(follow_of(rank), second, 2),
        hr_phase_of(mix_of(rank), third, 3), hr_phase_swap(0, 1)};
    phases[0].step[0] = rank == 2 ? 3 : 1;
    phases[2].extent = b->box;
    memcpy(phases[2].origin, b->origin, sizeof b->origin);
    return hr_grid_step(grid, phases, 5, steps);
}

/* Write random values into a section of field 2. Over processes each writes
 * what of it lies in its part. */
static void write_section(bed *b, hr_grid *grid, const int64_t *origin,
                          hr_extent extent, const uint32_t *values)
{
    hr_mpi_grid_state state = HR_MPI_GRID_STATE_INIT;
    hr_context *context = hr_mpi_context_local(b->context);
    hr_array *array = NULL;
    int64_t first[3] = {0}, at[3] = {0};
    hr_extent size = extent;
    hr_view part;
    if (grid != b->whole) {
        CHECK(hr_mpi_grid_describe(grid, &state) == HR_OK);
    } else {
        state.extent = b->extent;
    }
    for (uint32_t d = 0; d < extent.rank; d++) {
        const int64_t begin = state.origin[d];
        const int64_t end = begin + state.extent.size[d];
        const int64_t lo = origin[d] > begin ? origin[d] : begin;
        const int64_t hi =
            origin[d] + extent.size[d] < end ? origin[d] + extent.size[d] : end;
        if (lo >= hi) {
            return;
        }
        first[d] = lo;
        at[d] = lo - origin[d];
        size.size[d] = hi - lo;
    }
    CHECK(hr_array_wrap(context, values, sizeof *values, extent, 0, &array) ==
          HR_OK);
    CHECK(hr_view_section(hr_view_of(array), at, size, &part) == HR_OK);
    CHECK(hr_grid_write(grid, 2, first, part) == HR_OK);
    hr_array_destroy(array);
}

/* ---- comparing */

static void print_grid(const bed *b, const char *when, uint32_t field)
{
    hr_mpi_grid_state state = HR_MPI_GRID_STATE_INIT;
    CHECK(hr_mpi_grid_describe(b->grid, &state) == HR_OK);
    fprintf(stderr,
            "  seed %llu, field %u, %s: %lld x %lld x %lld, rank %u, on %d x "
            "%d x %d\n",
            (unsigned long long)b->seed, field, when,
            (long long)b->extent.size[0], (long long)b->extent.size[1],
            (long long)b->extent.size[2], b->extent.rank, state.processes[0],
            state.processes[1], state.processes[2]);
}

static void compare_fields(bed *b, const char *when)
{
    const size_t bytes = (size_t)b->cells * sizeof(uint32_t);
    const int root = (int)between(b, 0, b->count - 1);
    uint32_t *seen = calloc(2, bytes);
    for (uint32_t f = 0; f < 3; f += 2) { /* 1 is of no use */
        memset(seen, 0xee, bytes);
        CHECK(hr_mpi_grid_gather(b->grid, f, seen, root) == HR_OK);
        if (root != 0 && b->rank == root) {
            CHECK(MPI_Send(seen, (int)bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD) ==
                  MPI_SUCCESS);
        }
        if (b->rank > 0) {
            continue;
        }
        if (root != 0) {
            CHECK(MPI_Recv(seen, (int)bytes, MPI_BYTE, root, 1, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS);
        }
        CHECK(hr_grid_gather(b->whole, f, seen + b->cells) == HR_OK);
        if (!CHECK(memcmp(seen, seen + b->cells, bytes) == 0)) {
            print_grid(b, when, f);
        }
    }
    free(seen);
}

static double reduce_grid(hr_grid *grid, hr_reduction reduction, hr_type type,
                          uint32_t a, uint32_t b)
{
    hr_reducing *reducing = NULL;
    double value = 0.5;
    if (CHECK(hr_grid_reduce(grid, reduction, type, a, b, &reducing) ==
              HR_OK)) {
        CHECK(hr_grid_reduced(reducing, &value) == HR_OK);
    }
    return value;
}

static void compare_reductions(bed *b)
{
    static const hr_reduction reductions[] = {
        HR_REDUCE_SUM,      HR_REDUCE_MIN,     HR_REDUCE_MAX,
        HR_REDUCE_DOT,      HR_REDUCE_SUM_ABS, HR_REDUCE_MAX_ABS_DIFF,
        HR_REDUCE_DISTANCE, HR_REDUCE_MAX_ABS};
    const uint32_t x = hr_field_component(DOUBLES, 0);
    const uint32_t y = hr_field_component(DOUBLES, 1);
    for (size_t i = 0; i < sizeof reductions / sizeof reductions[0]; i++) {
        const double all = reduce_grid(b->grid, reductions[i], HR_F64, x, y);
        if (b->rank == 0) {
            const double one =
                reduce_grid(b->whole, reductions[i], HR_F64, x, y);
            if (!CHECK(memcmp(&all, &one, sizeof all) == 0)) {
                fprintf(stderr, "  reduction %d: %a, not %a\n",
                        (int)reductions[i], all, one);
                print_grid(b, "reduced", DOUBLES);
            }
        }
    }
}

/* The file that all write is the field. */
static void save_field(bed *b)
{
    const char *path = "test_mpi_grid.npy";
    CHECK(hr_mpi_grid_save(b->grid, DOUBLES, HR_F64, path) == HR_OK);
    if (b->rank == 0) {
        hr_file *file = NULL;
        hr_file_array array;
        double *seen = malloc((size_t)b->cells * COMPONENTS * sizeof *seen);
        CHECK(hr_grid_gather(b->whole, DOUBLES, seen) == HR_OK);
        if (CHECK(hr_file_open_array(path, NULL, &file, &array) == HR_OK)) {
            CHECK(array.rank == (int32_t)b->extent.rank + 1 &&
                  array.extents[0] == COMPONENTS &&
                  array.extents[array.rank - 1] ==
                      b->extent.size[b->extent.rank - 1]);
            CHECK(memcmp(array.data, seen,
                         (size_t)b->cells * COMPONENTS * sizeof *seen) == 0);
            hr_file_close(file);
        }
        free(seen);
        (void)unlink(path);
    }
}

/* ---- one grid */

static void fill_grids(bed *b)
{
    const size_t bytes = (size_t)b->cells * sizeof(uint32_t);
    uint32_t *data = malloc(bytes);
    double *doubles = malloc(2 * (size_t)b->cells * sizeof *doubles);
    const int root = (int)between(b, 0, b->count - 1);
    for (uint32_t f = 0; f < DOUBLES; f++) {
        for (int64_t i = 0; i < b->cells; i++) {
            data[i] = (uint32_t)random_next(&b->random);
        }
        CHECK(hr_mpi_grid_scatter(b->grid, f, b->rank == root ? data : NULL,
                                  root) == HR_OK);
        if (b->rank == 0) {
            CHECK(hr_grid_scatter(b->whole, f, data) == HR_OK);
        }
    }
    for (int64_t i = 0; i < COMPONENTS * b->cells; i++) {
        doubles[i] = ((double)between(b, 0, 1 << 30) - 0x1p29) *
                     (between(b, 0, 9) == 0 ? 0x1p60 : 0x1p-7);
    }
    CHECK(hr_mpi_grid_scatter(b->grid, DOUBLES,
                              b->rank == root ? doubles : NULL, root) == HR_OK);
    if (b->rank == 0) {
        CHECK(hr_grid_scatter(b->whole, DOUBLES, doubles) == HR_OK);
    }
    free(data);
    free(doubles);
}

static void step_both(bed *b, int64_t steps)
{
    CHECK(step_grid(b, b->grid, steps) == HR_OK);
    if (b->rank == 0) {
        CHECK(step_grid(b, b->whole, steps) == HR_OK);
    }
}

static void write_sections(bed *b)
{
    hr_extent extent = b->extent;
    int64_t origin[3] = {0};
    for (uint32_t d = 0; d < extent.rank; d++) {
        extent.size[d] = between(b, 1, b->extent.size[d]);
        origin[d] = between(b, 0, b->extent.size[d] - extent.size[d]);
    }
    const size_t count = (size_t)hr_extent_count(extent);
    uint32_t *values = malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        values[i] = (uint32_t)random_next(&b->random);
    }
    write_section(b, b->grid, origin, extent, values);
    if (b->rank == 0) {
        write_section(b, b->whole, origin, extent, values);
        CHECK(hr_grid_finish(b->whole) == HR_OK);
    }
    CHECK(hr_grid_finish(b->grid) == HR_OK);
    free(values);
}

/* Whether the grid's messages went as it says. */
static void check_halos(const bed *b)
{
    hr_mpi_grid_state state = HR_MPI_GRID_STATE_INIT;
    CHECK(hr_mpi_grid_describe(b->grid, &state) == HR_OK);
    CHECK(state.from_device ? halos.elsewhere == 0 : halos.there == 0);
    CHECK(state.from_device ==
          (getenv("FROM_DEVICE") != NULL && b->seed % 3 != 0));
    halos.all_there += halos.there;
    halos.there = halos.elsewhere = 0;
}

static void try_grid(bed *b, uint64_t seed)
{
    int processes[3];
    CHECK(setenv("HEADRACE_MPI_DEVICE", seed % 3 == 0 ? "0" : "", 1) == 0);
    b->seed = seed;
    b->random.state = seed;
    make_extent(b);
    make_fields(b);
    make_box(b);
    const int *chosen = make_processes(b, processes);
    b->grid = b->whole = NULL;
    hr_status status = hr_mpi_grid_create(b->context, b->extent, b->fields,
                                          FIELDS, NULL, chosen, &b->grid);
    if (status != HR_OK) { /* too few cells for these processes */
        CHECK(status == HR_ERROR_INVALID &&
              strstr(hr_last_error(), "cannot be cut") != NULL);
        status = hr_mpi_grid_create(b->context, b->extent, b->fields, FIELDS,
                                    NULL, NULL, &b->grid);
    }
    if (!CHECK(status == HR_OK)) {
        fprintf(stderr, "  %s\n", hr_last_error());
        return;
    }
    if (b->rank == 0) {
        CHECK(hr_grid_create(hr_mpi_context_local(b->context), b->extent,
                             b->fields, FIELDS, NULL, &b->whole) == HR_OK);
    }
    fill_grids(b);
    compare_fields(b, "at first");
    step_both(b, between(b, 1, 6));
    compare_fields(b, "after steps");
    write_sections(b);
    compare_fields(b, "after a section");
    step_both(b, 2);
    compare_fields(b, "at the end");
    compare_reductions(b);
    if (seed % 4 == 0) {
        save_field(b);
    }
    check_halos(b);
    hr_grid_destroy(b->grid);
    hr_grid_destroy(b->whole);
}

int main(int argc, char **argv)
{
    bed b = {.context = NULL};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &b.count);
    uint64_t seed = 1, last = argc > 1 ? strtoull(argv[1], NULL, 10) : 40;
    if (test_seed(&seed)) {
        last = seed;
    }
    if (CHECK(hr_mpi_context_create(MPI_COMM_WORLD, NULL, &b.context) ==
              HR_OK)) {
        TEST_CASE("random grids");
        find_driver();
        for (; seed <= last; seed++) {
            TEST(try_grid(&b, seed));
        }
        CHECK(getenv("FROM_DEVICE") == NULL || b.count == 1 ||
              halos.all_there > 0);
    } else {
        fprintf(stderr, "%s\n", hr_last_error());
    }
    hr_mpi_context_destroy(b.context);
    MPI_Finalize();
    return test_end();
}
