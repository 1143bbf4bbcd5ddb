/* SPDX-License-Identifier: MIT */
/* Checked mappings: copies of elements, and uses of them after hr_unmap. */
#define _GNU_SOURCE /* MAP_ANONYMOUS, the names of registers, dladdr */
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/size.h"
#include "checker/check.h"
#include "hal/backend.h"

enum { GUARDS = 1024 }; /* how many the process watches at a time */

/* A use after hr_unmap: the address, and the instruction (0: not known). */
typedef struct use_after {
    atomic_uintptr_t address, code; /* address 0: no use; code is written
                                       first */
    bool told;
} use_after;

/* Memory for a mapping, which is watched after hr_unmap. The first read and the
 * first write after that are noted, and go on harmlessly. The first guard of
 * the process installs a handler of SIGSEGV for this. */
typedef struct hri_guard {
    struct hri_guard *next; /* the next guard of the context */
    hr_context *context;
    void *memory; /* that the program uses */
    size_t bytes;
    hr_extent extent; /* of the mapped elements */
    size_t element_bytes;
    const char *file; /* where hr_map was called; NULL: not known */
    int line;
    bool retired;
    bool released; /* no longer watched; any context may set this, under the
                      lock */
    use_after read, written;
} hri_guard;

/* The guards that the handler looks at without a lock. Adding and removing
 * takes the lock. */
static _Atomic(hri_guard *) watched[GUARDS];
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
static bool note_fault(hri_guard *g, uintptr_t address, uintptr_t code)
{
    uintptr_t none = 0;
    use_after *use = &g->read;
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
    for (size_t i = 0; i < GUARDS && info->si_code > 0; i++) {
        hri_guard *g = atomic_load(&watched[i]);
        if (g != NULL && address - (uintptr_t)g->memory < g->bytes) {
            if (note_fault(g, address, code_of(context))) {
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

/* New memory, zeroed. The context holds it. */
static hr_status create_guard(hr_context *context, size_t bytes,
                              hri_guard **guard)
{
    static atomic_bool installed;
    hri_findings *findings = hri_findings_of(context);
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
    g->next = findings->guards;
    findings->guards = g;
    *guard = g;
    return HR_OK;
}

static void release_guard(hri_guard *g)
{
    if (!g->released) {
        (void)munmap(g->memory, g->bytes);
    }
    g->released = true;
}

static void retire_guard(hri_guard *guard)
{
    pthread_mutex_lock(&lock);
    hri_guard *oldest = atomic_exchange(&watched[next_slot], guard);
    next_slot = (next_slot + 1) % GUARDS;
    if (oldest != NULL) {
        release_guard(oldest);
    }
    guard->retired = true;
    /* keep the addresses and give the memory back */
    (void)mmap(guard->memory, guard->bytes, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    pthread_mutex_unlock(&lock);
}

/* Free the guards of a context that are no longer watched. */
static void drop_guards(hr_context *context)
{
    hri_guard **link = &hri_findings_of(context)->guards;
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

void hri_mapped_close(hr_context *context)
{
    hri_guard *first = hri_findings_of(context)->guards;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < GUARDS && first != NULL; i++) {
        const hri_guard *g = atomic_load(&watched[i]);
        if (g != NULL && g->context == context) {
            atomic_store(&watched[i], NULL);
        }
    }
    for (hri_guard *g = first; g != NULL; g = g->next) {
        release_guard(g);
    }
    pthread_mutex_unlock(&lock);
    drop_guards(context);
}

/* ---- mappings */

/* Copy row number n of the elements, which counts all dimensions but the
 * last. */
static void copy_row(const hr_mapping *from, const hr_mapping *to, int64_t n)
{
    const uint32_t last = from->view.extent.rank - 1;
    const int64_t *size = from->view.extent.size;
    int64_t f = 0, t = 0;
    for (uint32_t d = last; d-- > 0;) {
        f += n % size[d] * from->stride_bytes[d];
        t += n % size[d] * to->stride_bytes[d];
        n /= size[d];
    }
    memcpy((char *)to->data + t, (const char *)from->data + f,
           (size_t)size[last] * from->view.element_bytes);
}

static void copy_elements(const hr_mapping *from, const hr_mapping *to)
{
    const hr_extent *extent = &from->view.extent;
    const int64_t rows =
        hr_extent_count(*extent) / extent->size[extent->rank - 1];
    for (int64_t n = 0; n < rows; n++) {
        copy_row(from, to, n);
    }
}

hr_status hri_mapped_map(hr_mapping *mapping, const char *file, int line)
{
    const hr_view *v = &mapping->view;
    const size_t bytes = (size_t)hr_extent_count(v->extent) * v->element_bytes;
    hri_guard *guard = NULL;
    HRI_TRY(create_guard(v->array->context, bytes, &guard));
    guard->extent = v->extent;
    guard->element_bytes = v->element_bytes;
    guard->file = file;
    guard->line = line;
    const hr_mapping home = *mapping;
    mapping->data = guard->memory;
    (void)hri_packed_strides(v->extent, v->element_bytes,
                             mapping->stride_bytes);
    copy_elements(&home, mapping);
    return HR_OK;
}

hr_status hri_mapped_unmap(const hr_mapping *mapping, const hr_mapping *home)
{
    hri_guard *guard = hri_findings_of(mapping->view.array->context)->guards;
    while (guard != NULL &&
           (guard->memory != mapping->data || guard->retired)) {
        guard = guard->next;
    }
    if (guard == NULL) {
        return hri_fail(HR_ERROR_INVALID, "unmap: nothing is mapped there");
    }
    if (mapping->access != HR_IN) {
        copy_elements(mapping, home);
    }
    retire_guard(guard);
    return HR_OK;
}

/* ---- uses after hr_unmap */

/* Write the indices of the element at byte `at`: "(2, 3)". */
static void name_element(char *text, size_t room, const hri_guard *g, size_t at)
{
    int64_t element = (int64_t)(at / g->element_bytes);
    int64_t index[HR_MAX_RANK] = {0};
    for (uint32_t d = g->extent.rank; d-- > 0;) {
        index[d] = element % g->extent.size[d];
        element /= g->extent.size[d];
    }
    size_t length = 0;
    for (uint32_t d = 0; d < g->extent.rank; d++) {
        int count = snprintf(text + length, room - length, "%s%lld",
                             d > 0 ? ", " : "", (long long)index[d]);
        length += count > 0 ? (size_t)count : 0;
    }
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Write ", by program+0x1234", which addr2line understands. */
static void name_code(char *text, size_t room, uintptr_t code)
{
    Dl_info info;
    text[0] = '\0';
    if (code != 0 && dladdr((void *)code, &info) != 0 &&
        info.dli_fname != NULL) {
        snprintf(text, room, ", by %s+0x%llx", name_of(info.dli_fname),
                 (unsigned long long)(code - (uintptr_t)info.dli_fbase));
    }
}

static hr_status collect_use(hri_findings *findings, const hri_guard *guard,
                             use_after *use, const char *done)
{
    const uintptr_t address = atomic_load(&use->address);
    if (address == 0 || use->told) {
        return HR_OK;
    }
    use->told = true;
    char key[320], sentence[HRI_MESSAGE_BYTES], element[160], code[160];
    const char *file = guard->file != NULL ? name_of(guard->file) : "map";
    name_element(element, sizeof element, guard,
                 address - (uintptr_t)guard->memory);
    name_code(code, sizeof code, atomic_load(&use->code));
    snprintf(key, sizeof key, "%s:%d:%s", file, guard->line, done);
    snprintf(sentence, sizeof sentence,
             "%s:%d: element (%s) of the view mapped here was %s after "
             "hr_unmap%s",
             file, guard->line, element, done, code);
    return hri_findings_add(findings, key, sentence);
}

/* A write without an earlier read is noted as a read of the same address, too
 * (note_fault). */
hr_status hri_mapped_collect(hr_context *context)
{
    hri_findings *findings = hri_findings_of(context);
    for (hri_guard *g = findings->guards; g != NULL; g = g->next) {
        const uintptr_t written = atomic_load(&g->written.address);
        if (written == 0 || written != atomic_load(&g->read.address)) {
            HRI_TRY(collect_use(findings, g, &g->read, "read"));
        }
        HRI_TRY(collect_use(findings, g, &g->written, "written"));
    }
    drop_guards(context);
    return HR_OK;
}
