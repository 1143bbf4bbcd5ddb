/* SPDX-License-Identifier: MIT */
/* Pools of threads that copy through pinned memory: jobs and their order. */
#include <sched.h>
#include <stdint.h>
#include <string.h>

#include "model/probe.h"
#include "runtime/staging.h"
#include "support/staged_machine.h"

/* A thread that puts a job may free the job as soon as it learns that the copy
 * pool has stopped. */
static void stop_copy_pool(void)
{
    TEST_CASE("a copy pool that has stopped keeps no job");
    machine m = open_machine();
    pthread_mutex_t queues = PTHREAD_MUTEX_INITIALIZER;
    char memory[64] = {0};
    hri_copy_pool copy_pool = {.accelerator = &m.context->accelerators[0],
                               .up = true,
                               .queues = &queues};
    CHECK(hri_copy_pool_init(&copy_pool) == HR_OK);
    hri_copy_pool_stop(&copy_pool);
    for (int urgent = 0; urgent < 2; urgent++) {
        hri_job job = {.copy = {.from = hri_at_host(memory, 0),
                                .width = sizeof memory,
                                .height = 1,
                                .depth = 1}};
        hri_copy_pool_put(&copy_pool, &job, urgent != 0);
        CHECK(!hri_copy_pool_wait(&copy_pool, &job));
        CHECK(copy_pool.first == NULL);
    }
    hri_copy_pool_join(&copy_pool);
    hri_copy_pool_finish(&copy_pool);
    close_machine(&m);
}

static void fail_no_job(void *data, hr_status status)
{
    (void)data;
    CHECK(status == HR_OK);
}

/* Memory of the accelerator with these bytes, and a queue. */
static hri_buffer *put_there(hri_accelerator *a, void *bytes, size_t count,
                             hri_queue **queue)
{
    hri_buffer *buffer = NULL;
    CHECK(hri_accelerator_allocate(a, count, &buffer) == HR_OK);
    CHECK(hri_accelerator_take_queue(a, HRI_QUEUE_UP, queue) == HR_OK);
    const hri_copy up =
        hri_flat_copy(hri_at(buffer, 0), hri_at_host(bytes, 0), count);
    CHECK((*queue)->ops->copy(*queue, &up) == HR_OK);
    return buffer;
}

/* Many small boxes come home through the few chunks of pinned memory that one
 * thread has. */
static void bring_many_boxes(void)
{
    enum { BOXES = 16, BOX_BYTES = 4096 };
    TEST_CASE("one thread brings many boxes");
    machine m = open_machine();
    hri_accelerator *a = &m.context->accelerators[0];
    pthread_mutex_t queues = PTHREAD_MUTEX_INITIALIZER;
    hri_copy_pool copy_pool = {.accelerator = a,
                               .bytes = BOXES * BOX_BYTES,
                               .queues = &queues,
                               .fail = fail_no_job};
    unsigned char *there = numbers(BOXES * BOX_BYTES, 5);
    unsigned char *here = calloc(BOXES, BOX_BYTES);
    hri_job jobs[BOXES];
    hri_queue *queue = NULL;
    hri_buffer *buffer = put_there(a, there, BOXES * BOX_BYTES, &queue);
    CHECK(hri_copy_pool_init(&copy_pool) == HR_OK);
    CHECK(copy_pool.thread_count == 1 && copy_pool.depth == HRI_THREAD_CHUNKS);
    for (size_t i = 0; i < BOXES; i++) {
        jobs[i] = (hri_job){
            .copy = hri_flat_copy(hri_at_host(here, i * BOX_BYTES),
                                  hri_at(buffer, i * BOX_BYTES), BOX_BYTES),
            .queue = queue};
        hri_copy_pool_put(&copy_pool, &jobs[i], false);
    }
    CHECK(hri_copy_pool_start(&copy_pool) == HR_OK);
    hri_copy_pool_join(&copy_pool);
    CHECK(memcmp(here, there, BOXES * BOX_BYTES) == 0);
    hri_accelerator_discard(a);
    hri_copy_pool_finish(&copy_pool);
    hri_accelerator_release(a, buffer);
    free(here);
    free(there);
    close_machine(&m);
}

/* The second copy comes to pinned memory during the first, and travels when it
 * may, or never. */
static void hold_copies(bool drop)
{
    enum { BYTES_EACH = 3 * MIB + 5 };
    TEST_CASE(drop ? "a held copy is dropped" : "a held copy waits");
    machine m = open_machine();
    hri_accelerator *a = &m.context->accelerators[0];
    unsigned char *there = numbers(2 * BYTES_EACH, 5);
    unsigned char *here = calloc(2, BYTES_EACH);
    hri_buffer *buffer = NULL;
    hri_queue *queue = NULL;
    hri_slices slices[2];
    hri_stager stager;
    CHECK(hri_accelerator_allocate(a, 2 * BYTES_EACH, &buffer) == HR_OK);
    CHECK(hri_accelerator_take_queue(a, HRI_QUEUE_UP, &queue) == HR_OK);
    hri_stager_begin(&stager, a, UINT64_MAX, queue, true);
    for (size_t i = 0; i < 2; i++) {
        const hri_copy up =
            hri_flat_copy(hri_at(buffer, i * BYTES_EACH),
                          hri_at_host(there, i * BYTES_EACH), BYTES_EACH);
        CHECK(hri_stager_put(&stager, &up, i == 1, &slices[i]) == HR_OK);
    }
    CHECK(hri_stager_wait(&stager, &slices[0]));
    CHECK(fault_backend_bytes(FAULT_UP) == BYTES_EACH);
    if (!drop) {
        hri_stager_release(&stager, &slices[1]);
        CHECK(hri_stager_wait(&stager, &slices[1]));
    }
    CHECK(hri_stager_end(&stager, drop) == HR_OK);
    CHECK(fault_backend_bytes(FAULT_UP) == (drop ? 1 : 2) * BYTES_EACH);
    CHECK(queue->ops->finish(queue) == HR_OK);
    const hri_copy down = hri_flat_copy(hri_at_host(here, 0), hri_at(buffer, 0),
                                        (drop ? 1 : 2) * BYTES_EACH);
    CHECK(queue->ops->copy(queue, &down) == HR_OK);
    CHECK(queue->ops->finish(queue) == HR_OK);
    CHECK(memcmp(here, there, (drop ? 1 : 2) * BYTES_EACH) == 0);
    for (int i = 0; i < 2; i++) {
        free(slices[i].jobs);
    }
    hri_accelerator_discard(a);
    hri_accelerator_release(a, buffer);
    free(here);
    free(there);
    close_machine(&m);
}

/* A copy home stops halfway, where the accelerator hangs. After let_go, which
 * ends the wait for it, no more of it may arrive. Returns whether a job was
 * left torn. */
static bool hang_on_way_home(uint64_t call)
{
    enum { BYTES = 4 * HRI_CHUNK_BYTES };
    machine m = open_machine();
    hri_accelerator *a = &m.context->accelerators[0];
    pthread_mutex_t queues = PTHREAD_MUTEX_INITIALIZER;
    hri_copy_pool copy_pool = {.accelerator = a,
                               .bytes = 1, /* so one thread */
                               .queues = &queues,
                               .fail = fail_no_job};
    unsigned char *there = numbers(BYTES, 5), *here = calloc(2, BYTES);
    unsigned char *left = here + BYTES;
    hri_queue *queue = NULL;
    hri_buffer *buffer = put_there(a, there, BYTES, &queue);
    CHECK(hri_copy_pool_init(&copy_pool) == HR_OK);
    CHECK(copy_pool.thread_count == 1);
    hri_job job = {
        .copy = hri_flat_copy(hri_at_host(here, 0), hri_at(buffer, 0), BYTES),
        .queue = queue};
    hri_copy_pool_put(&copy_pool, &job, false);
    fault_backend_stick(0, call);
    CHECK(hri_copy_pool_start(&copy_pool) == HR_OK);
    bool finished = false;
    while (!finished && !fault_backend_sticks()) {
        sched_yield();
        pthread_mutex_lock(&copy_pool.lock);
        finished = job.finished;
        pthread_mutex_unlock(&copy_pool.lock);
    }
    const bool gone = hri_copy_pool_wind_down(&copy_pool);
    hri_copy_pool_release_memory(&copy_pool);
    memcpy(left, here, BYTES);
    fault_backend_let_go();
    hri_copy_pool_join(&copy_pool);
    CHECK(memcmp(here, finished ? there : left, BYTES) == 0);
    hri_accelerator_discard(a);
    hri_copy_pool_finish(&copy_pool);
    hri_accelerator_release(a, buffer);
    free(here);
    free(there);
    close_machine(&m);
    return !gone;
}

static void let_copy_pool_go(void)
{
    TEST_CASE("nothing arrives once a copy pool was let go");
    int torn = 0;
    for (uint64_t call = 1; call <= 20; call++) {
        torn += hang_on_way_home(call);
    }
    CHECK(torn > 0);
}

int main(void)
{
    TEST(stop_copy_pool());
    TEST(bring_many_boxes());
    let_copy_pool_go();
    hold_copies(false);
    hold_copies(true);
    return test_end();
}
