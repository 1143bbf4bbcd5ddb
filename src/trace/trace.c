/* SPDX-License-Identifier: MIT */
/* Bars are kept as numbers until the file is completed or there are many: what
 * is traced does not wait for text. Text is written in large pieces, and not by
 * stdio, which would write it twice where a child of fork() ends. The file gets
 * its name when it is complete: until then it is a draft beside it, where the
 * folder may be written. */
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/draft.h"
#include "base/format.h"
#include "base/status.h"

enum { BUFFER = 64 << 10, MAX_BAR = 1024, BARS = 1 << 16 };

/* A bar that is not text yet. */
typedef struct bar {
    uint32_t process, thread;
    hri_span span; /* with a copy of `more` */
} bar;

struct hri_trace {
    hri_trace *next;
    char *path;
    char *draft, *target; /* its name so far and later; NULL: it has its name */
    dev_t device;         /* with inode: the file that was completed */
    ino_t inode;
    int file;      /* -1: nobody holds it */
    off_t end;     /* where the next piece goes */
    bool any;      /* there is a bar or a name before */
    pid_t process; /* a child of fork() has a file of its own */
    uint32_t holders, processes;
    uint64_t start_ns;
    int error; /* errno of the first failure; 0: none */
    bar *bars; /* [BARS] */
    uint32_t count;
    size_t used;
    char buffer[BUFFER];
};

/* Guards the list and all files. It blocks. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static hri_trace *traces;

/* ---- the file */

static void flush_buffer(hri_trace *t)
{
    size_t done = 0;
    while (done < t->used && t->error == 0) {
        const ssize_t n =
            pwrite(t->file, t->buffer + done, t->used - done, t->end);
        if (n > 0) {
            done += (size_t)n;
            t->end += n;
        } else if (n == 0 || errno != EINTR) {
            t->error = n == 0 ? EIO : errno;
        }
    }
    t->used = 0;
}

static void put_text(hri_trace *t, const char *text)
{
    const size_t length = strlen(text);
    if (t->used + length > BUFFER) {
        flush_buffer(t);
    }
    memcpy(t->buffer + t->used, text, length);
    t->used += length;
}

/* Put one object of the list of events. */
static void put_event(hri_trace *t, const char *text)
{
    put_text(t, t->any ? ",\n"
                       : "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    put_text(t, text);
    t->any = true;
}

/* Copy text as it stands in a string of JSON, as far as there is room. */
static const char *escape_text(const char *text, char *to, size_t bytes)
{
    size_t at = 0;
    for (; *text != '\0' && at + 3 < bytes; text++) {
        const char c = *text;
        if (c == '"' || c == '\\') {
            to[at++] = '\\';
        }
        to[at++] = (unsigned char)c < 0x20 ? ' ' : c;
    }
    to[at] = '\0';
    return to;
}

static void put_name(hri_trace *t, const char *what, uint32_t process,
                     uint32_t thread, const char *name)
{
    char text[MAX_BAR], escaped[256];
    hri_format(text, sizeof text,
               "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,"
               "\"args\":{\"name\":\"%s\"}}",
               what, process, thread,
               escape_text(name, escaped, sizeof escaped));
    put_event(t, text);
}

static void put_bar(hri_trace *t, const bar *b)
{
    static const char *const kinds[] = {
        [HRI_TRACE_CALL] = "call",      [HRI_TRACE_COMPUTE] = "compute",
        [HRI_TRACE_UP] = "up",          [HRI_TRACE_DOWN] = "down",
        [HRI_TRACE_PEER] = "peer",      [HRI_TRACE_INSIDE] = "inside",
        [HRI_TRACE_PACK] = "pack",      [HRI_TRACE_WAIT] = "wait",
        [HRI_TRACE_MEASURE] = "measure"};
    const hri_span *s = &b->span;
    const double seconds = (double)(s->end_ns - s->begin_ns) * 1e-9;
    const double per = seconds > 0 ? 1e-9 / seconds : 0.0;
    char text[MAX_BAR], name[2 * HRI_TRACE_NAME];
    char bytes[96] = "", flops[96] = "", to[32] = "";
    if (s->bytes > 0) {
        hri_format(bytes, sizeof bytes, ",\"bytes\":%llu,\"GB/s\":%.4g",
                   (unsigned long long)s->bytes, (double)s->bytes * per);
    }
    if (s->flops > 0) {
        hri_format(flops, sizeof flops, ",\"flop\":%.17g,\"GFLOP/s\":%.4g",
                   s->flops, s->flops * per);
    }
    if (s->to > 0) {
        hri_format(to, sizeof to, ",\"to\":%u", s->to);
    }
    hri_format(text, sizeof text,
               "{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%u,"
               "\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"seconds\":"
               "%.9f%s%s%s%s}}",
               escape_text(s->name, name, sizeof name), kinds[s->kind],
               b->process, b->thread,
               (double)(int64_t)(s->begin_ns - t->start_ns) * 1e-3,
               seconds * 1e6, seconds, bytes, flops, to,
               s->more != NULL ? s->more : "");
    put_event(t, text);
}

static void put_bars(hri_trace *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        put_bar(t, &t->bars[i]);
        free((char *)t->bars[i].span.more);
    }
    t->count = 0;
}

/* Open a complete file again, where its last bar ended. False: there is none,
 * or another one has its name by now. */
static bool reopen(hri_trace *t)
{
    struct stat s;
    if (!t->any || t->error != 0) {
        return false;
    }
    t->file =
        open(t->target != NULL ? t->target : t->path, O_WRONLY | O_CLOEXEC);
    if (t->file >= 0 && (fstat(t->file, &s) != 0 || s.st_dev != t->device ||
                         s.st_ino != t->inode)) {
        close(t->file);
        t->file = -1;
    }
    return t->file >= 0;
}

/* Begin a file. Returns 0, or an error number. */
static int begin_file(hri_trace *t)
{
    struct stat s;
    t->any = false;
    t->end = 0;
    t->error = 0;
    free(t->target);
    t->target = NULL;
    if (stat(t->path, &s) == 0 && !S_ISREG(s.st_mode)) { /* a device */
        t->file = open(t->path, O_WRONLY | O_CLOEXEC);
        return t->file >= 0 ? 0 : errno;
    }
    const int error =
        hri_draft_replace(t->path, &t->file, &t->draft, &t->target);
    const bool refused = error == EACCES || error == EPERM || error == EROFS;
    if (refused && t->target != NULL) { /* the folder refuses a draft, but not
                                           an earlier file */
        t->file = open(t->target, O_WRONLY | O_TRUNC | O_CLOEXEC);
    }
    return t->file >= 0 ? 0 : error;
}

static int open_file(hri_trace *t)
{
    if (reopen(t)) {
        return 0;
    }
    const int error = begin_file(t);
    if (error == 0) {
        put_name(t, "process_name", 0, 0, "host");
    }
    return error;
}

/* Give the draft its name, or remove what could not be written. */
static void name_draft(hri_trace *t)
{
    if (t->error == 0 && rename(t->draft, t->target) != 0) {
        t->error = errno;
    }
    if (t->error != 0) {
        unlink(t->draft);
    }
    free(t->draft);
    t->draft = NULL;
}

static void close_file(hri_trace *t)
{
    struct stat s = {0};
    put_bars(t);
    flush_buffer(t);
    const off_t end = t->end;
    put_text(t, "\n]}\n");
    flush_buffer(t);
    t->end = end; /* what comes later takes the place of the brackets */
    if (fstat(t->file, &s) != 0 && t->error == 0) {
        t->error = errno;
    }
    t->device = s.st_dev;
    t->inode = s.st_ino;
    if (t->draft != NULL) {
        name_draft(t);
    }
    if (close(t->file) != 0 && t->error == 0) {
        t->error = errno;
    }
    t->file = -1;
}

/* ---- the list of files */

/* The path with the number of the process for %p. A child of fork() that has
 * none there gets it as an ending, since its parent writes to the path. NULL:
 * there is no memory. */
static char *path_of(const char *path, bool child)
{
    const char *place = strstr(path, "%p");
    const size_t bytes = strlen(path) + 32;
    char *made = malloc(bytes);
    if (made != NULL && place != NULL) {
        hri_format(made, bytes, "%.*s%ld%s", (int)(place - path), path,
                   (long)getpid(), place + 2);
    } else if (made != NULL) {
        hri_format(made, bytes, child ? "%s.%ld" : "%s", path, (long)getpid());
    }
    return made;
}

/* NULL: there is no memory. */
static hri_trace *make_trace(void)
{
    hri_trace *t = calloc(1, sizeof *t);
    bar *bars = malloc(BARS * sizeof *bars);
    if (t == NULL || bars == NULL) {
        free(t);
        free(bars);
        return NULL;
    }
    t->bars = bars;
    t->file = -1;
    t->process = getpid();
    t->start_ns = hri_clock_ns();
    return t;
}

/* The trace of a path in this process. It stays until the process ends. NULL:
 * there is no memory. */
static hri_trace *find_trace(const char *path)
{
    bool child = false;
    for (hri_trace *t = traces; t != NULL; t = t->next) {
        child = child || t->process != getpid();
    }
    char *name = path_of(path, child);
    if (name == NULL) {
        return NULL;
    }
    for (hri_trace *t = traces; t != NULL; t = t->next) {
        if (t->process == getpid() && strcmp(t->path, name) == 0) {
            free(name);
            return t;
        }
    }
    hri_trace *t = make_trace();
    if (t == NULL) {
        free(name);
        return NULL;
    }
    t->path = name;
    t->next = traces;
    traces = t;
    return t;
}

/* In a child of fork() another thread of the parent may have had the lock. */
static void take_lock(void)
{
    static _Atomic pid_t owner;
    const pid_t process = getpid();
    pid_t before = atomic_load(&owner);
    if (before != process &&
        atomic_compare_exchange_strong(&owner, &before, process) &&
        before != 0) {
        pthread_mutex_init(&lock, NULL);
    }
    pthread_mutex_lock(&lock);
}

/* Contexts that are still there when the process ends, such as the default
 * one, leave complete files, too. Devices write what they have done before this
 * (traced.c). */
static void complete_files(void)
{
    if (pthread_mutex_trylock(&lock) != 0) {
        return;
    }
    for (hri_trace *t = traces; t != NULL; t = t->next) {
        if (t->file >= 0 && t->process == getpid()) {
            close_file(t);
            t->file = open("/dev/null", O_WRONLY | O_CLOEXEC);
        }
    }
    pthread_mutex_unlock(&lock);
}

/* The lock is held. */
static hr_status hold_file(const char *path, hri_trace **trace)
{
    static bool registered;
    registered = registered || atexit(complete_files) == 0;
    hri_trace *t = find_trace(path);
    if (t == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "trace: no memory");
    }
    const int error = t->file < 0 ? open_file(t) : 0;
    if (error != 0) {
        return hri_fail(HR_ERROR_IO, "trace: %s cannot be written: %s", t->path,
                        strerror(error));
    }
    t->holders++;
    *trace = t;
    return HR_OK;
}

hr_status hri_trace_hold(const char *path, hri_trace **trace)
{
    take_lock();
    const hr_status status = hold_file(path, trace);
    pthread_mutex_unlock(&lock);
    return status;
}

hr_status hri_trace_drop(hri_trace *t)
{
    if (t == NULL) {
        return HR_OK;
    }
    pthread_mutex_lock(&lock);
    if (--t->holders == 0) {
        close_file(t);
    }
    const int error = t->error;
    pthread_mutex_unlock(&lock);
    return error == 0 ? HR_OK
                      : hri_fail(HR_ERROR_IO, "trace: writing %s failed: %s",
                                 t->path, strerror(error));
}

/* ---- what is written */

uint32_t hri_trace_process(hri_trace *t, const char *name)
{
    pthread_mutex_lock(&lock);
    const uint32_t process = ++t->processes;
    put_name(t, "process_name", process, 0, name);
    pthread_mutex_unlock(&lock);
    return process;
}

/* A number that no other queue or thread has, in any file. */
static uint32_t new_number(void)
{
    static atomic_uint last;
    return atomic_fetch_add(&last, 1) + 1;
}

uint32_t hri_trace_thread(hri_trace *t, uint32_t process, const char *name)
{
    const uint32_t thread = new_number();
    pthread_mutex_lock(&lock);
    put_name(t, "thread_name", process, thread, name);
    pthread_mutex_unlock(&lock);
    return thread;
}

void hri_trace_write(hri_trace *t, uint32_t process, uint32_t thread,
                     const hri_span *span)
{
    bar b = {process, thread, *span};
    if (span->more != NULL) {
        b.span.more = strdup(span->more);
    }
    pthread_mutex_lock(&lock);
    if (t->count == BARS) {
        put_bars(t);
    }
    t->bars[t->count++] = b;
    pthread_mutex_unlock(&lock);
}

void hri_trace_write_here(hri_trace *t, const hri_span *span)
{
    static _Thread_local uint32_t thread;
    if (thread == 0) {
        thread = new_number();
    }
    hri_span ended = *span;
    ended.end_ns = hri_clock_ns();
    hri_trace_write(t, 0, thread, &ended);
}

void hri_trace_call(hri_trace *t, const char *name, uint64_t begin_ns,
                    double flops, const char *more)
{
    hri_span span = {.kind = HRI_TRACE_CALL,
                     .begin_ns = begin_ns,
                     .flops = flops,
                     .more = more};
    if (t == NULL) {
        return;
    }
    hri_format(span.name, sizeof span.name, "%.60s", name);
    hri_trace_write_here(t, &span);
}
