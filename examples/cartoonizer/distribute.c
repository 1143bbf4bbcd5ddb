/* SPDX-License-Identifier: MIT */
/* Whole pictures for accelerators, with a thread for each accelerator. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cartoonizer/cartoonizer.h"
#include "support/example.h"

typedef struct distribution {
    hr_context *context;
    style s;
    int count;
    const picture *from;
    picture *to;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t made;
    int next;
    bool *done, failed;
} distribution;

typedef struct user {
    distribution *d;
    uint32_t accelerator;
    pthread_t thread;
} user;

/* The number of the next picture to make. count: there is none. */
static int next_of(distribution *d)
{
    pthread_mutex_lock(&d->lock);
    const int n = d->failed || d->next == d->count ? d->count : d->next++;
    pthread_mutex_unlock(&d->lock);
    return n;
}

static void *work(void *data)
{
    const user *w = data;
    distribution *d = w->d;
    hr_grid_options one = HR_GRID_OPTIONS_INIT;
    one.accelerators = &w->accelerator;
    one.accelerator_count = 1;
    for (int n = next_of(d); n < d->count; n = next_of(d)) {
        const bool ok = cartoon_make(d->context, &one, d->s, &d->from[n],
                                     &d->to[n]) == HR_OK;
        if (!ok) {
            fprintf(stderr, "%s\n", hr_last_error());
        }
        pthread_mutex_lock(&d->lock);
        d->done[n] = ok;
        d->failed = d->failed || !ok;
        pthread_cond_signal(&d->made);
        pthread_mutex_unlock(&d->lock);
    }
    return NULL;
}

/* Wait until it is known whether picture n has been made. */
static bool wait_for(distribution *d, int n)
{
    pthread_mutex_lock(&d->lock);
    while (!d->done[n] && !d->failed) {
        pthread_cond_wait(&d->made, &d->lock);
    }
    const bool done = d->done[n];
    pthread_mutex_unlock(&d->lock);
    return done;
}

static void give_up(distribution *d)
{
    pthread_mutex_lock(&d->lock);
    d->failed = true;
    pthread_mutex_unlock(&d->lock);
}

bool cartoon_distribute(hr_context *context, style s, int count,
                        const picture *from, picture *to,
                        bool (*take)(void *data, int n), void *data)
{
    distribution d = {.context = context,
                      .s = s,
                      .count = count,
                      .from = from,
                      .to = to,
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .made = PTHREAD_COND_INITIALIZER,
                      .done = example_memory((size_t)count * sizeof(bool))};
    const uint32_t users = hr_accelerator_count(context);
    user *w = example_memory(users * sizeof *w);
    uint32_t started = 0;
    memset(d.done, 0, (size_t)count * sizeof(bool));
    for (; started < users; started++) {
        w[started] = (user){.d = &d, .accelerator = started};
        if (pthread_create(&w[started].thread, NULL, work, &w[started]) != 0) {
            break;
        }
    }
    bool ok = started > 0;
    for (int n = 0; n < count && ok; n++) {
        ok = wait_for(&d, n) && take(data, n);
    }
    if (!ok) {
        give_up(&d);
    }
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(w[i].thread, NULL);
    }
    free(w);
    free(d.done);
    return ok;
}
