/* SPDX-License-Identifier: MIT */
/* Profiles of kernels on the accelerators of argv[1]: what launches of each
 * kind add, and what is refused. */
#include <math.h>

#include "support/bed.h"

typedef struct point {
    float x;
    int n;
} point;

extern const hr_kernel axpy, transpose, spread;

enum { N = 1000, EDGE = 40, LAUNCHES = 5 };

static hr_profile read_profile(const bed *b, const hr_kernel *kernel,
                               uint32_t accelerator)
{
    hr_profile profile = HR_PROFILE_INIT;
    CHECK(hr_profile_read(b->context, kernel, accelerator, &profile) == HR_OK);
    return profile;
}

/* The profiles of all accelerators. */
static hr_profile sum_of(const bed *b, const hr_kernel *kernel)
{
    hr_profile sum = HR_PROFILE_INIT;
    for (uint32_t i = 0; i < b->count; i++) {
        const hr_profile p = read_profile(b, kernel, i);
        sum.launches += p.launches;
        sum.running += p.running;
        sum.seconds += p.seconds;
        sum.points += p.points;
        sum.bytes += p.bytes;
        sum.flops += p.flops;
    }
    return sum;
}

static bool is_profile(const hr_profile *p, double launches, double points,
                       double bytes, double flops)
{
    return (double)p->launches == launches && p->running == 0 &&
           p->points == points && p->bytes == bytes && p->flops == flops &&
           isfinite(p->seconds) && p->seconds >= 0;
}

static hr_status launch_axpy(const bed *b, uint32_t queue, hr_array *x,
                             hr_array *y)
{
    static const float a = 2.0f;
    static const point p = {0.5f, 2};
    const hr_argument arguments[] = {
        hr_in(hr_view_of(x)), hr_inout(hr_view_of(y)), (hr_value)(&a, sizeof a),
        (hr_value)(&p, sizeof p)};
    return queue < b->count ? hr_launch(b->queues[queue], &axpy, hr_extent1(N),
                                        NULL, arguments, 4)
                            : hr_launch_split(b->context, &axpy, hr_extent1(N),
                                              arguments, 4, NULL);
}

/* An element takes 4 bytes read of x, and 4 read and 4 written of y. */
static void launches_add_up(bed *b)
{
    static float x[N], y[N];
    hr_array *arrays[] = {bed_wrap(b, x, sizeof *x, hr_extent1(N)),
                          bed_wrap(b, y, sizeof *y, hr_extent1(N))};
    TEST_CASE("launches");
    CHECK(launch_axpy(b, 0, arrays[0], arrays[1]) == HR_OK); /* not counted */
    CHECK(hr_profile_kernel(b->context, &axpy, 4.0) == HR_OK);
    for (uint32_t i = 0; i < b->count; i++) {
        for (int n = 0; n < LAUNCHES; n++) {
            CHECK(launch_axpy(b, i, arrays[0], arrays[1]) == HR_OK);
        }
    }
    CHECK(hr_synchronize(hr_view_of(arrays[1])) == HR_OK);
    for (uint32_t i = 0; i < b->count; i++) {
        const hr_profile p = read_profile(b, &axpy, i);
        CHECK(is_profile(&p, LAUNCHES, LAUNCHES * N, 12.0 * LAUNCHES * N,
                         4.0 * LAUNCHES * N));
    }
    TEST_CASE("a split launch");
    CHECK(hr_profile_kernel(b->context, &axpy, 0.0) == HR_OK);
    CHECK(launch_axpy(b, b->count, arrays[0], arrays[1]) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(arrays[1])) == HR_OK);
    const hr_profile p = sum_of(b, &axpy);
    CHECK(p.launches >= 1 && p.launches <= b->count);
    CHECK(is_profile(&p, (double)p.launches, N, 12.0 * N, 0.0));
    /* the clock of a GPU that is none may stand still */
    CHECK(p.seconds > 0 || getenv("HEADRACE_CUDA") != NULL);
    hr_array_destroy(arrays[0]);
    hr_array_destroy(arrays[1]);
}

/* One kernel's launches are not another's. */
static void kernels_have_their_own(bed *b)
{
    static int from[EDGE][EDGE], to[EDGE][EDGE];
    const hr_extent extent = hr_extent2(EDGE, EDGE);
    const double bytes = 2.0 * sizeof from;
    TEST_CASE("hr_run");
    CHECK(hr_profile_kernel(b->context, &transpose, 0.0) == HR_OK);
    const hr_profile before = sum_of(b, &axpy);
    const hr_status status = hr_run(
        b->context, &transpose, extent,
        HR_ARGUMENTS(hr_whole(hr_in_data(from, NULL, sizeof(int), extent, 0)),
                     hr_out_data(to, NULL, sizeof(int), extent, 0)),
        NULL);
    CHECK(status == HR_OK);
    const hr_profile p = sum_of(b, &transpose), after = sum_of(b, &axpy);
    const double more = (double)(p.launches - 1) * sizeof from;
    CHECK(p.launches >= 1 && p.launches <= b->count);
    CHECK(is_profile(&p, (double)p.launches, EDGE * EDGE, bytes + more, 0.0));
    CHECK(after.launches == before.launches);
}

/* Steps that would be a graph are launches here. */
static void steps_of_grids_count(bed *b)
{
    enum { STEPS = 100 };
    hr_grid_options options = HR_GRID_OPTIONS_INIT;
    const uint32_t first = 0;
    const hr_field field = hr_field_of(4, 1, HR_BOUNDARY_CLAMP, NULL);
    const hr_field fields[] = {field, field};
    const hr_argument arguments[] = {hr_field_in(0), hr_field_out(1)};
    const hr_phase phases[] = {hr_phase_of(&spread, arguments, 2),
                               hr_phase_swap(0, 1)};
    hr_grid *grid = NULL;
    TEST_CASE("grids");
    options.accelerators = &first;
    options.accelerator_count = 1;
    CHECK(hr_profile_kernel(b->context, &spread, 5.0) == HR_OK);
    CHECK(hr_grid_create(b->context, hr_extent2(EDGE, EDGE), fields, 2,
                         &options, &grid) == HR_OK);
    CHECK(hr_grid_step(grid, phases, 2, STEPS) == HR_OK);
    CHECK(hr_grid_finish(grid) == HR_OK);
    const hr_profile p = read_profile(b, &spread, 0);
    CHECK(p.launches == STEPS && p.running == 0);
    CHECK(p.points == (double)STEPS * EDGE * EDGE && p.flops == 5 * p.points);
    hr_grid_destroy(grid);
}

static void bad_calls_are_refused(bed *b)
{
    hr_profile profile = HR_PROFILE_INIT;
    hr_context *context = b->context;
    TEST_CASE("refusals");
    CHECK_FAILS(hr_profile_kernel(NULL, &axpy, 1), HR_ERROR_INVALID,
                "profile: the context is NULL");
    CHECK_FAILS(hr_profile_kernel(context, NULL, 1), HR_ERROR_INVALID,
                "profile: the kernel is NULL");
    CHECK_FAILS(hr_profile_kernel(context, &axpy, -1), HR_ERROR_INVALID,
                "profile of axpy: -1 operations of a point, not 0 or more");
    CHECK_FAILS(hr_profile_kernel(context, &axpy, (double)NAN),
                HR_ERROR_INVALID, "operations of a point, not 0 or more");
    CHECK_FAILS(hr_profile_kernel(context, &axpy, (double)INFINITY),
                HR_ERROR_INVALID, "inf operations");
    CHECK_FAILS(hr_profile_read(context, &axpy, 0, &profile), HR_ERROR_INVALID,
                "profile of axpy: hr_profile_kernel comes first");
    CHECK(hr_profile_kernel(context, &axpy, 1) == HR_OK);
    CHECK_FAILS(hr_profile_read(context, &axpy, b->count, &profile),
                HR_ERROR_INVALID, "profile of axpy: accelerator ");
    CHECK_FAILS(hr_profile_read(context, &axpy, 0, NULL), HR_ERROR_INVALID,
                "profile of axpy: the result is NULL");
    profile.size = 4;
    CHECK_FAILS(hr_profile_read(context, &axpy, 0, &profile), HR_ERROR_INVALID,
                "size");
    CHECK(profile.launches == 0);
}

static void all_cases(bed *b)
{
    TEST(bad_calls_are_refused(b));
    TEST(launches_add_up(b));
    TEST(kernels_have_their_own(b));
    TEST(steps_of_grids_count(b));
}

int main(int argc, char **argv)
{
    return bed_main(argc > 1 ? argv[1] : "host", all_cases);
}
