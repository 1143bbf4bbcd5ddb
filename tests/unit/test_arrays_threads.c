/* SPDX-License-Identifier: MIT */
/* Several threads on arrays of their own, and on one that they share. Each has
 * rows of its own in the shared one. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "runtime/runtime.h"
#include "support/fault_backend.h"
#include "support/random.h"
#include "test.h"

enum { THREADS = 4, ROWS = 16, COLS = 24, STEPS = 150 };

typedef struct user {
    pthread_t thread;
    hr_context *context;
    hr_array *shared;
    int number;
    int wrong;
} user;

/* Write numbers to a mapped view, or compare it with them. */
static bool stamp_elements(const hr_view *v, const hr_mapping *m,
                           uint32_t stamp, bool write)
{
    bool same = true;
    for (int64_t i = 0; i < v->extent.size[0]; i++) {
        for (int64_t j = 0; j < v->extent.size[1]; j++) {
            const uint32_t value = stamp + (uint32_t)(i * COLS + j);
            char *at = (char *)m->data + i * m->stride_bytes[0] +
                       j * m->stride_bytes[1];
            if (write) {
                memcpy(at, &value, sizeof value);
            }
            same = same && memcmp(at, &value, sizeof value) == 0;
        }
    }
    return same;
}

/* Write numbers through the host, let them move, and read them again. */
static bool move_view(hr_view v, hr_queue *const *queues, uint32_t count,
                      random_source *random)
{
    hr_mapping m;
    const uint32_t stamp = (uint32_t)random_next(random);
    if (hr_map(v, HR_OUT, &m) != HR_OK ||
        !stamp_elements(&v, &m, stamp, true) || hr_unmap(&m) != HR_OK) {
        return false;
    }
    for (int hops = 0; hops < 2; hops++) {
        const int64_t to = random_between(random, 0, (int64_t)count - 1);
        hr_event *event = NULL;
        const bool ok = hr_prefetch(v, queues[to]) == HR_OK &&
                        hr_queue_record(queues[to], &event) == HR_OK &&
                        hr_event_wait(event) == HR_OK;
        hr_event_destroy(event);
        if (!ok) {
            return false;
        }
    }
    return hr_map(v, HR_IN, &m) == HR_OK &&
           stamp_elements(&v, &m, stamp, false) && hr_unmap(&m) == HR_OK;
}

static void *user_main(void *argument)
{
    user *w = argument;
    random_source random = {(uint64_t)w->number};
    uint32_t count = hr_accelerator_count(w->context);
    hr_queue *queues[8] = {NULL};
    hr_array *own[2] = {NULL};
    int ok = hr_array_create_anywhere(w->context, 4, hr_extent2(ROWS, COLS),
                                      &own[0]) == HR_OK;
    for (uint32_t i = 0; i < count && ok; i++) {
        ok = hr_queue_create(w->context, i, &queues[i]) == HR_OK;
    }
    ok = ok && hr_array_create(queues[0], 4, hr_extent2(ROWS, COLS), &own[1]) ==
                   HR_OK;
    for (int step = 0; step < STEPS && ok; step++) {
        const int64_t origin[] = {w->number * (ROWS / THREADS), step % 7};
        hr_view mine;
        ok = hr_view_section(hr_view_of(w->shared), origin,
                             hr_extent2(ROWS / THREADS, COLS - 7),
                             &mine) == HR_OK &&
             move_view(mine, queues, count, &random) &&
             move_view(hr_view_of(own[0]), queues, count, &random) &&
             hr_copy(hr_view_of(own[0]), hr_view_of(own[1])) == HR_OK &&
             move_view(hr_view_of(own[1]), queues, count, &random);
    }
    w->wrong = !ok;
    if (!ok) {
        fprintf(stderr, "thread %d: %s\n", w->number, hr_last_error());
    }
    for (uint32_t i = 0; i < count; i++) {
        hr_queue_destroy(queues[i]);
    }
    hr_array_destroy(own[0]);
    hr_array_destroy(own[1]);
    return NULL;
}

/* On accelerators that copy ordinary memory slowly, or not. */
static void run_threads(bool staged)
{
    hr_array *shared = NULL;
    user users[THREADS];
    fault_backend_reset();
    fault_backend_pretend_staged(staged);
    TEST_CASE(staged ? "four threads, staged" : "four threads");
    hr_context *context = fault_backend_context("3xhost", 1 << 20);
    CHECK(hr_array_create_anywhere(context, 4, hr_extent2(ROWS, COLS),
                                   &shared) == HR_OK);
    for (int i = 0; i < THREADS; i++) {
        users[i] = (user){
            .context = context, .shared = shared, .number = i, .wrong = 1};
        CHECK(pthread_create(&users[i].thread, NULL, user_main, &users[i]) ==
              0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(users[i].thread, NULL);
        CHECK(!users[i].wrong);
    }
    hr_array_destroy(shared);
    fault_backend_close(context);
}

int main(void)
{
    TEST(run_threads(false));
    TEST(run_threads(true));
    return test_end();
}
