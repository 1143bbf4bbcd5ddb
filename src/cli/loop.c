/* SPDX-License-Identifier: MIT */
#include "loop.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "signals.h"

enum { THREADS_MAX = 64 };

typedef struct loop {
    int64_t count;
    cli_loop_function function;
    void *data;
    double unit;
    atomic_int_fast64_t next;
} loop;

static void work(loop *l, cli_progress *progress)
{
    while (!cli_cancelled()) {
        int64_t index = atomic_fetch_add(&l->next, 1);
        if (index >= l->count) {
            return;
        }
        l->function(l->data, index);
        if (progress != NULL) {
            cli_progress_update(progress, (double)(index + 1) * l->unit,
                                (double)l->count * l->unit);
        }
    }
}

static void *thread_main(void *data)
{
    work(data, NULL);
    return NULL;
}

bool cli_loop(int64_t count, cli_loop_function function, void *data,
              cli_progress *progress, double unit)
{
    loop l = {.count = count, .function = function, .data = data, .unit = unit};
    pthread_t threads[THREADS_MAX];
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int started = 0;
    while (started < THREADS_MAX - 1 && started + 1 < cpus &&
           started + 1 < count &&
           pthread_create(&threads[started], NULL, thread_main, &l) == 0) {
        started++; /* with fewer threads it only takes longer */
    }
    work(&l, progress);
    for (int i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    return !cli_cancelled();
}
