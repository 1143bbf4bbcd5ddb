/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* MAP_ANONYMOUS, the names of registers */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/size.h"
#include "checker/check.h"

/* The guards that the handler looks at without a lock. Adding and removing
 * takes the lock. */
static _Atomic(hri_guard *) watched[HRI_GUARDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t next_slot;
static struct sigaction former;

/* ---- the handler */

static uintptr_t code_of(const void *context)
{
    const ucontext_t *c = context;
#if defined(__x86_64__)
    return (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)c->uc_mcontext.pc;
#else
    (void)c;
    return 0;
#endif
}

/* Note a fault. Not every machine tells whether a read or a write failed. So
 * the first fault allows reading. If an instruction fails again after that, it
 * is a write. False: the memory cannot be unlocked. */
static bool note(hri_guard *g, uintptr_t address, uintptr_t code)
{
    uintptr_t none = 0;
    hri_use_after *use = &g->read;
    int protection = PROT_READ;
    if (atomic_load(&g->read.address) != 0) {
        use = &g->written;
        protection = PROT_READ | PROT_WRITE;
    }
    atomic_store(&use->code, code);
    (void)atomic_compare_exchange_strong(&use->address, &none, address);
    return mprotect(g->memory, g->bytes, protection) == 0;
}

/* Do what would be done without our handler. A signal that was sent, unlike a
 * fault, does not come again by itself. */
static void pass_on(int signal, siginfo_t *info, void *context)
{
    const struct sigaction theirs = former;
    const bool sent = info->si_code <= 0;
    const unsigned flags = (unsigned)theirs.sa_flags;
    if ((flags & SA_RESETHAND) != 0) { /* so that it is reset, as the program
                                          asked */
        former = (struct sigaction){.sa_handler = SIG_DFL};
    }
    if ((flags & SA_SIGINFO) != 0) {
        theirs.sa_sigaction(signal, info, context);
    } else if (theirs.sa_handler == SIG_IGN && sent) {
        return;
    } else if (theirs.sa_handler == SIG_DFL || theirs.sa_handler == SIG_IGN) {
        (void)sigaction(signal, &theirs, NULL);
        if (sent) {
            (void)raise(signal); /* delivered when this handler returns */
        }
    } else {
        theirs.sa_handler(signal);
    }
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    const uintptr_t address = (uintptr_t)info->si_addr;
    for (size_t i = 0; i < HRI_GUARDS && info->si_code > 0; i++) {
        hri_guard *g = atomic_load(&watched[i]);
        if (g != NULL && address - (uintptr_t)g->memory < g->bytes) {
            if (note(g, address, code_of(context))) {
                return;
            }
            break;
        }
    }
    pass_on(signal, info, context);
}

/* Install the handler. It blocks the same signals as the handler before it. A
 * child that was forked in the middle of this comes here once more, and may
 * have the handler already. */
static void install(void)
{
    struct sigaction present;
    (void)sigaction(SIGSEGV, NULL, &present);
    if ((present.sa_flags & SA_SIGINFO) != 0 &&
        present.sa_sigaction == on_fault) {
        return;
    }
    former = present;
    struct sigaction action = {.sa_sigaction = on_fault,
                               .sa_mask = former.sa_mask,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK |
                                           (former.sa_flags & SA_NODEFER)};
    (void)sigaction(SIGSEGV, &action, NULL);
}

/* The thread that held the lock may be missing in a child of fork(). */
static void renew_lock(void)
{
    pthread_mutex_init(&lock, NULL);
}

__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, renew_lock);
}

/* ---- guards */

hr_status hri_guard_create(hr_context *context, size_t bytes, hri_guard **guard)
{
    static atomic_bool installed;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    hri_guard *g = calloc(1, sizeof *g);
    const size_t whole = hri_round_up_bytes(bytes, page);
    void *memory = g == NULL ? MAP_FAILED
                             : mmap(NULL, whole, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        free(g);
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "map: no memory for a copy of %zu bytes", bytes);
    }
    hri_call_once(&installed, install);
    g->context = context;
    g->memory = memory;
    g->bytes = whole;
    g->next = context->guards;
    context->guards = g;
    *guard = g;
    return HR_OK;
}

static void release(hri_guard *g)
{
    if (!g->released) {
        (void)munmap(g->memory, g->bytes);
    }
    g->released = true;
}

void hri_guard_retire(hri_guard *guard)
{
    pthread_mutex_lock(&lock);
    hri_guard *oldest = atomic_exchange(&watched[next_slot], guard);
    next_slot = (next_slot + 1) % HRI_GUARDS;
    if (oldest != NULL) {
        release(oldest);
    }
    guard->retired = true;
    /* keep the addresses and give the memory back */
    (void)mmap(guard->memory, guard->bytes, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    pthread_mutex_unlock(&lock);
}

void hri_guards_drop(hr_context *context)
{
    hri_guard **link = &context->guards;
    pthread_mutex_lock(&lock);
    while (*link != NULL) {
        hri_guard *g = *link;
        if (g->released) {
            *link = g->next;
            free(g);
        } else {
            link = &g->next;
        }
    }
    pthread_mutex_unlock(&lock);
}

void hri_guards_close(hr_context *context)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < HRI_GUARDS && context->guards != NULL; i++) {
        const hri_guard *g = atomic_load(&watched[i]);
        if (g != NULL && g->context == context) {
            atomic_store(&watched[i], NULL);
        }
    }
    for (hri_guard *g = context->guards; g != NULL; g = g->next) {
        release(g);
    }
    pthread_mutex_unlock(&lock);
    hri_guards_drop(context);
}
