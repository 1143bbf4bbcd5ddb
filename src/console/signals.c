/* SPDX-License-Identifier: MIT */
#include "signals.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "args.h"
#include "base/printable.h"

enum {
    PATHS = 8,
    GUARDS = 8,
    STOPS = 4,
    GRACE_MS = 600 /* for work to end by itself: "within a second" */
};

typedef struct guard {
    char path[256]; /* as it is shown */
    uintptr_t start, end;
    bool output;
} guard;

/* Handlers run in any thread, so atomics publish what they read. */
static char paths[PATHS][PATH_MAX];
static atomic_int path_count;
static guard guards[GUARDS];
static atomic_int guard_count;
static atomic_int current_phase;
static atomic_bool cancelled;
static atomic_bool leaving;
static atomic_bool told; /* "cancelled" has been printed */
static const int stops[STOPS] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static bool ignored[STOPS]; /* since the program began, and for good */
static timer_t grace_timer;
static bool grace_timer_made;

static void say(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written; /* a failure cannot be reported here */
}

static void say_cancelled(void)
{
    if (!atomic_exchange(&told, true)) {
        say("headrace: cancelled\n");
    }
}

void cli_signals_say_nothing(void)
{
    atomic_store(&told, true);
}

/* Only one handler ends the program. Handlers on other threads wait here for
 * that. None interrupts another one on the same thread, as all signals are
 * masked. */
static void be_the_only_one(void)
{
    if (atomic_exchange(&leaving, true)) {
        for (;;) {
            pause();
        }
    }
}

/* This calls only functions that signal handlers may call. */
static void remove_all(void)
{
    for (int i = atomic_load(&path_count); i > 0; i--) {
        if (unlink(paths[i - 1]) != 0) {
            rmdir(paths[i - 1]);
        }
    }
}

/* Remove the file that is to become the result. False when it has become the
 * result. */
static bool take_back(void)
{
    int count = atomic_load(&path_count);
    return count > 0 && unlink(paths[count - 1]) == 0;
}

static void leave(void)
{
    remove_all();
    _exit(1);
}

/* Exit after a signal. This also handles the timer of the grace period. */
static void leave_cancelled(int number)
{
    (void)number;
    be_the_only_one();
    say_cancelled();
    leave();
}

static void on_stop(int number)
{
    const struct itimerspec grace = {.it_value = {0, GRACE_MS * 1000000L}};
    int error = errno; /* of the code that was interrupted */
    bool again = atomic_exchange(&cancelled, true);
    int phase = atomic_load(&current_phase);
    if (phase == CLI_AT_ONCE || (phase == CLI_POLLED && again) ||
        (phase == CLI_COMMITTING && take_back())) {
        leave_cancelled(number);
    }
    if (phase == CLI_POLLED && grace_timer_made) {
        timer_settime(grace_timer, 0, &grace, NULL);
    }
    errno = error;
}

static const guard *find_guard(uintptr_t address)
{
    for (int i = 0; i < atomic_load(&guard_count); i++) {
        if (address >= guards[i].start && address < guards[i].end) {
            return &guards[i];
        }
    }
    return NULL;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    const guard *hit = find_guard((uintptr_t)info->si_addr);
    if (hit == NULL) { /* a bug in the program: let it crash as such */
        remove_all();
        signal(number, SIG_DFL);
        return; /* return to the instruction, which fails again */
    }
    be_the_only_one();
    say("headrace: ");
    say(hit->path);
    say(hit->output ? " cannot be written: the disk is full or failing\n"
                    : " cannot be read: it was made shorter, or its disk is "
                      "failing\n");
    leave();
}

void cli_signals_init(void)
{
    /* A signal that was ignored when the program began stays ignored: shells
     * protect background jobs from signals in this way. */
    for (int i = 0; i < STOPS; i++) {
        struct sigaction old;
        ignored[i] =
            sigaction(stops[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN;
    }
    grace_timer_made = timer_create(CLOCK_MONOTONIC, NULL, &grace_timer) == 0;
    cli_signals_install();
}

static void handle(int number, struct sigaction action)
{
    sigfillset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

void cli_signals_install(void)
{
    for (int i = 0; i < STOPS; i++) {
        if (!ignored[i]) {
            handle(stops[i], (struct sigaction){.sa_handler = on_stop});
        }
    }
    handle(SIGALRM, (struct sigaction){.sa_handler = leave_cancelled});
    handle(SIGBUS, (struct sigaction){.sa_sigaction = on_bus_error,
                                      .sa_flags = SA_SIGINFO});
    /* The calls that cause these two signals also return errors. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

void cli_signals_phase(cli_phase phase)
{
    atomic_store(&current_phase, phase);
}

bool cli_cancelled(void)
{
    return atomic_load(&cancelled);
}

int cli_check_cancelled(void)
{
    if (!cli_cancelled()) {
        return CLI_OK;
    }
    say_cancelled();
    return CLI_FAILED;
}

bool cli_remember(const char *path)
{
    int count = atomic_load(&path_count);
    size_t bytes = strlen(path) + 1;
    if (count == PATHS || bytes > PATH_MAX) {
        return false;
    }
    memcpy(paths[count], path, bytes);
    atomic_store(&path_count, count + 1);
    return true;
}

void cli_forget(void)
{
    atomic_fetch_sub(&path_count, 1);
}

void cli_guard(const char *path, const void *start, size_t bytes, bool output)
{
    int count = atomic_load(&guard_count);
    if (count == GUARDS) {
        return;
    }
    guards[count] = (guard){.start = (uintptr_t)start,
                            .end = (uintptr_t)start + bytes,
                            .output = output};
    hri_printable(path, guards[count].path, sizeof guards[count].path);
    atomic_store(&guard_count, count + 1);
}

void cli_unguard(void)
{
    atomic_store(&guard_count, 0);
}
