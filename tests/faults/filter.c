/* SPDX-License-Identifier: MIT */
/* Filters: an error, or the right result. */
#include "faults/groups.h"
#include "support/faults.h"
#include "support/random.h"

enum { EDGE = 151, REACH = 7 };

static float picture[EDGE * EDGE], want[EDGE * EDGE], got[EDGE * EDGE];
static const hr_filter_method direct = HR_FILTER_DIRECT,
                              separable = HR_FILTER_SEPARABLE;

static hr_status filter_to(float *to, hr_context *context,
                           hr_filter_method method)
{
    hr_window *window = NULL;
    hr_filter_options options = HR_FILTER_OPTIONS_INIT;
    options.method = method;
    options.edges = HR_EDGES_PERIODIC;
    options.one_thread = true;
    HRI_TRY(hr_window_radial(REACH, &window));
    const hr_status status =
        hr_filter(context, window, 0.01,
                  hr_matrix_row_major(picture, HR_F32, EDGE, EDGE, 0),
                  hr_matrix_row_major(to, HR_F32, EDGE, EDGE, 0), &options);
    hr_window_destroy(window);
    return status;
}

static hr_status filter_picture(hr_context *context, const void *with)
{
    const hr_status status =
        filter_to(got, context, *(const hr_filter_method *)with);
    CHECK(status != HR_OK || memcmp(got, want, sizeof got) == 0);
    return status;
}

static void set_wanted(hr_filter_method method)
{
    hr_context *context = test_context("host", 0);
    CHECK(filter_to(want, context, method) == HR_OK);
    hr_context_destroy(context);
}

void faults_filter(void)
{
    static const fault_case cases[] = {
        {"filter_direct", filter_picture, .with = &direct,
         .accelerators = "2xhost", .limit = 140000},
        {"filter_separable", filter_picture, .with = &separable,
         .accelerators = "2xhost", .limit = 140000},
    };
    random_source random = {60};
    for (int i = 0; i < EDGE * EDGE; i++) {
        picture[i] = (float)random_unit(&random);
    }
    for (int i = 0; i < 2; i++) {
        set_wanted(*(const hr_filter_method *)cases[i].with);
        faults_each(&cases[i], 1);
    }
}
