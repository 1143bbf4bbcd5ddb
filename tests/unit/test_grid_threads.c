/* SPDX-License-Identifier: MIT */
/* Several grids of one context, each used by a thread of its own. */
#include <pthread.h>
#include <stdlib.h>

#include <headrace/headrace.h>

#include "base/status.h"
#include "support/grid_model.h"
#include "test.h"

extern const hr_kernel stir2_4;

enum { GRIDS = 4, ROUNDS = 6, ROWS = 24, COLS = 10, CELLS = ROWS * COLS };

typedef struct user {
    hr_context *context;
    uint64_t seed;
    bool right;
} user;

static void swap_models(grid_model *models)
{
    const grid_model old = models[0];
    models[0] = models[1];
    models[1] = old;
}

static hr_status reduce_field(hr_grid *grid, const grid_model *m, bool *right)
{
    hr_reducing *reducing = NULL;
    int32_t cells[CELLS];
    double sum = 0, want = 0;
    grid_model_pack(m, cells);
    for (int i = 0; i < CELLS; i++) {
        want += cells[i];
    }
    HRI_TRY(hr_grid_reduce(grid, HR_REDUCE_SUM, HR_I32, 0, 0, &reducing));
    HRI_TRY(hr_grid_reduced(reducing, &sum));
    *right = *right && sum == want;
    return HR_OK;
}

static hr_status go_round(hr_grid *grid, grid_model *models,
                          random_source *random, bool *right)
{
    const double weights[] = {(double)random_between(random, 1, 9), 3,
                              (double)random_between(random, 1, 9)};
    const reach r = grid_model_reach(&models[0].field, 2);
    const hr_argument arguments[] = {hr_field_in(0), hr_field_out(1),
                                     hr_value(&r, sizeof r)};
    const hr_phase phases[] = {hr_phase_of(&stir2_4, arguments, 3),
                               hr_phase_swap(0, 1)};
    HRI_TRY(hr_grid_step(grid, phases, 2, 3));
    for (int i = 0; i < 3; i++) {
        grid_model_stir_all(&models[0], &models[1], &r);
        swap_models(models);
    }
    HRI_TRY(reduce_field(grid, &models[0], right));
    return hr_grid_rebalance(grid, weights);
}

static void *use_grid(void *data)
{
    user *w = data;
    random_source random = {w->seed};
    const hr_field field =
        hr_field_of(4, (int64_t)w->seed, HR_BOUNDARY_PERIODIC, NULL);
    const hr_field fields[] = {field, field};
    const hr_extent extent = hr_extent2(ROWS, COLS);
    uint32_t cells[CELLS];
    hr_grid_options options = HR_GRID_OPTIONS_INIT;
    hr_grid *grid = NULL;
    grid_model models[2];
    options.weights = (const double[]){1, 1, 1};
    w->right =
        grid_model_create(&models[0], extent, &field) &&
        grid_model_create(&models[1], extent, &field) &&
        hr_grid_create(w->context, extent, fields, 2, &options, &grid) == HR_OK;
    if (w->right) {
        grid_model_fill(&models[0], &random);
        grid_model_pack(&models[0], cells);
        w->right = hr_grid_scatter(grid, 0, cells) == HR_OK;
    }
    for (int i = 0; i < ROUNDS && w->right; i++) {
        w->right = go_round(grid, models, &random, &w->right) == HR_OK &&
                   w->right && grid_model_agrees(&models[0], grid, 0);
    }
    hr_grid_destroy(grid);
    grid_model_destroy(&models[0]);
    grid_model_destroy(&models[1]);
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[GRIDS];
    user users[GRIDS];
    hr_context *context = test_context("3xhost", 0);
    TEST_CASE("a thread for each grid");
    for (int i = 0; i < GRIDS; i++) {
        users[i] = (user){.context = context, .seed = (uint64_t)i + 1};
        CHECK(pthread_create(&threads[i], NULL, use_grid, &users[i]) == 0);
    }
    for (int i = 0; i < GRIDS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(users[i].right);
    }
    hr_context_destroy(context);
}

int main(void)
{
    TEST(run_threads());
    return test_end();
}
