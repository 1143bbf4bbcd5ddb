/* SPDX-License-Identifier: MIT */
/* A context that is destroyed before a queue with work waits for the work. */
#include "test.h"

enum { N = 3000000, LAUNCHES = 30, SETS = 2 };

extern const hr_kernel axpy;

/* What is not destroyed is kept here, so that it is no leak. */
static struct {
    float *x, *y;
    hr_array *in, *inout;
} kept[SETS];

static void destroyed_before_its_queue(int set, const char *list)
{
    static const struct {
        float x;
        int n;
    } point = {0.0F, 0};
    const float factor = 2.0F;
    const hr_extent extent = hr_extent1(N);
    hr_queue *queue = NULL, *idle = NULL;
    TEST_CASE(list);
    hr_context *context = test_context(list, 0);
    CHECK(hr_queue_create(context, 0, &queue) == HR_OK);
    CHECK(hr_queue_create(context, 0, &idle) == HR_OK);
    float *x = kept[set].x = malloc(N * sizeof *x);
    float *y = kept[set].y = calloc(N, sizeof *y);
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i % 100);
    }
    CHECK(hr_array_wrap(context, x, sizeof *x, extent, 0, &kept[set].in) ==
          HR_OK);
    CHECK(hr_array_wrap(context, y, sizeof *y, extent, 0, &kept[set].inout) ==
          HR_OK);
    const hr_argument arguments[] = {
        hr_in(hr_view_of(kept[set].in)), hr_inout(hr_view_of(kept[set].inout)),
        hr_value(&factor, sizeof factor), hr_value(&point, sizeof point)};
    for (int i = 0; i < LAUNCHES; i++) {
        CHECK(hr_launch(queue, &axpy, extent, NULL, arguments, 4) == HR_OK);
    }
    hr_context_destroy(context);
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        wrong += y[i] != 2.0F * LAUNCHES * x[i];
    }
    CHECK(wrong == (strcmp(list, "host") == 0 ? 0 : N - N / 100));
    hr_queue_destroy(idle);
    hr_queue_destroy(queue);
}

int main(void)
{
    TEST(destroyed_before_its_queue(0, "host"));
    TEST(destroyed_before_its_queue(1, "2xhost")); /* y is not brought home */
    return test_end();
}
