/* SPDX-License-Identifier: MIT */
#include "blas/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "base/format.h"
#include "base/printable.h"

static struct {
    pthread_mutex_t lock; /* guards what follows */
    bool calls, summary;
    FILE *file; /* NULL: the standard error */
    struct {
        uint64_t count;
        double seconds, flops;
    } of[3]; /* by outcome */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Calls that were too small. */
static _Atomic uint64_t small;

static const char *const names[] = {"stays", "accelerators", "falls back"};

const char *blas_outcome_name(blas_outcome outcome)
{
    return names[outcome];
}

static FILE *log_file(void)
{
    return state.file != NULL ? state.file : stderr;
}

static void print_summary(void)
{
    const uint64_t small_calls = atomic_load(&small);
    pthread_mutex_lock(&state.lock);
    if (small_calls > 0) {
        fprintf(log_file(), "headrace: %-12s %8llu call%s, not looked at\n",
                "small", (unsigned long long)small_calls,
                small_calls == 1 ? "" : "s");
    }
    for (int i = 0; i < 3; i++) {
        const double seconds = state.of[i].seconds;
        char line[128], rate[64] = "";
        if (i != BLAS_FELL_BACK && seconds > 0.0) {
            hri_format(rate, sizeof rate, ", %.1f GFLOP/s",
                       1e-9 * state.of[i].flops / seconds);
        }
        if (state.of[i].count > 0) {
            hri_format(line, sizeof line, "%-12s %8llu call%s, %.3f s",
                       names[i], (unsigned long long)state.of[i].count,
                       state.of[i].count == 1 ? "" : "s", seconds);
            fprintf(log_file(), "headrace: %s%s\n", line, rate);
        }
    }
    (void)fflush(log_file());
    pthread_mutex_unlock(&state.lock);
}

static void open_file(const char *path)
{
    state.file = fopen(path, "ae");
    if (state.file == NULL) {
        const int error = errno;
        char shown[512];
        fprintf(stderr, "headrace: HEADRACE_LOG: %s: %s\n",
                hri_printable(path, shown, sizeof shown), strerror(error));
    }
}

/* Read a word of the user's list. A word that is not understood is reported. */
static void read_word(const char *word)
{
    static const char file[] = "file=";
    const bool all = strcmp(word, "1") == 0;
    const bool calls = all || strcmp(word, "calls") == 0;
    const bool summary = all || strcmp(word, "summary") == 0;
    state.calls |= calls;
    state.summary |= summary;
    if (strncmp(word, file, sizeof file - 1) == 0) {
        open_file(word + sizeof file - 1);
    } else if (!calls && !summary && strcmp(word, "0") != 0) {
        char shown[512];
        fprintf(stderr,
                "headrace: HEADRACE_LOG has \"%s\", not calls, summary, 1 for "
                "both, or file=PATH\n",
                hri_printable(word, shown, sizeof shown));
    }
}

static void read_setting(void)
{
    const char *setting = hri_environment("HEADRACE_LOG");
    char *list = setting != NULL ? strdup(setting) : NULL;
    char *rest = NULL;
    for (char *word = list != NULL ? strtok_r(list, ",", &rest) : NULL;
         word != NULL; word = strtok_r(NULL, ",", &rest)) {
        read_word(word);
    }
    free(list);
    if (state.summary) {
        (void)atexit(print_summary);
    }
}

void blas_log_renew(void)
{
    pthread_mutex_init(&state.lock, NULL);
    memset(state.of, 0, sizeof state.of);
    atomic_store(&small, 0);
}

bool blas_log_is_wanted(void)
{
    pthread_once(&once, read_setting);
    return state.calls || state.summary;
}

static void print_line(const char *format, va_list arguments)
{
    char text[1024], shown[1024];
    hri_format_list(text, sizeof text, format, arguments);
    pthread_mutex_lock(&state.lock);
    fprintf(log_file(), "headrace: %s\n",
            hri_printable(text, shown, sizeof shown));
    (void)fflush(log_file());
    pthread_mutex_unlock(&state.lock);
}

void blas_log(const char *format, ...)
{
    if (!blas_log_is_wanted() || !state.calls) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
}

void blas_log_setting(const char *format, ...)
{
    if (!blas_log_is_wanted()) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
}

void blas_log_count(blas_outcome outcome, double seconds, double flops)
{
    pthread_mutex_lock(&state.lock);
    state.of[outcome].count++;
    state.of[outcome].seconds += seconds;
    state.of[outcome].flops += flops;
    pthread_mutex_unlock(&state.lock);
}

/* Such calls may take less time than a lock. */
void blas_log_small(void)
{
    static atomic_int asked; /* 0: not asked yet, 1: nobody reads it, 2 */
    int reader = atomic_load_explicit(&asked, memory_order_relaxed);
    if (reader == 0) {
        reader = blas_log_is_wanted() ? 2 : 1;
        atomic_store_explicit(&asked, reader, memory_order_relaxed);
    }
    if (reader == 2) {
        atomic_fetch_add_explicit(&small, 1, memory_order_relaxed);
    }
}
