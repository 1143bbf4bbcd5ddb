/* SPDX-License-Identifier: MIT */
#include "loop.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <headrace/context.h>

#include "base/size.h"
#include "signals.h"

/* Threads of these loops are made anew: docs/experiments.md has what the pool
 * of base/pool.h would save. */
enum { THREADS_MAX = 64 };

static int64_t wanted; /* of cli_loop_threads; 0: not said */

void cli_loop_threads(int64_t threads)
{
    wanted = threads;
}

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
        cli_progress_update(progress, (double)(index + 1) * l->unit,
                            (double)l->count * l->unit);
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
    const int64_t most = wanted > 0 ? wanted : hr_thread_count(NULL);
    int started = 0;
    while (started < THREADS_MAX - 1 && started + 1 < most &&
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

enum {
    BAR_MAX = 40 /* hashes */,
    TEXT_WIDTH = 60 /* columns beside the bar */
};

void cli_progress_start(cli_progress *progress, bool quiet, const char *what,
                        hri_quantity (*rate)(double))
{
    struct winsize size;
    const bool known =
        ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    *progress = (cli_progress){
        .shown = !quiet && isatty(STDERR_FILENO),
        .what = what,
        .rate = rate,
        .start = cli_clock(),
        .width = known ? size.ws_col : 80,
    };
}

static void draw(const cli_progress *progress, double share, double done,
                 double elapsed)
{
    static const char hashes[] = "########################################";
    const int room = (int)hri_max(progress->width - TEXT_WIDTH, 0);
    const int length = (int)hri_min(room, BAR_MAX);
    const int full = (int)(share * length);
    double left = done > 0.0 ? elapsed * (1.0 - share) / share : 0.0;
    /* The time left is not known before something is done. */
    hri_quantity rest = hri_seconds_text(left);
    fprintf(stderr, "\r%s %s%.*s%*s%s %3.0f%%  %s  %s%s\033[K", progress->what,
            length > 0 ? "[" : "", full, hashes, length - full, "",
            length > 0 ? "]" : "", 100.0 * share,
            progress->rate(done / elapsed).text, done > 0.0 ? rest.text : "",
            done > 0.0 ? " left" : "");
}

void cli_progress_update(cli_progress *progress, double done, double total)
{
    if (progress == NULL || !progress->shown) {
        return;
    }
    double now = cli_clock();
    if (now - progress->last < 0.1 || now <= progress->start ||
        !(total > 0.0)) {
        return;
    }
    progress->last = now;
    double share = done < total ? done / total : 1.0;
    draw(progress, share, done, now - progress->start);
}

bool cli_progress_told(void *progress, double done, double total)
{
    cli_progress_update(progress, done, total);
    return !cli_cancelled();
}

void cli_progress_end(cli_progress *progress)
{
    if (progress != NULL && progress->shown && progress->last > 0.0) {
        fputs("\r\033[K", stderr);
    }
}
