/* SPDX-License-Identifier: MIT */
/* The fallback BLAS: the one of HEADRACE_BLAS_LIBRARY, else of the program,
 * else of the system. (backends/host/cblas.c finds the CBLAS of products on the
 * host.) */
#define _GNU_SOURCE /* RTLD_NEXT, dladdr, dl_iterate_phdr */
#include "blas/blas.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "blas/loaded.h"

/* The file names of the system's BLAS, for each width of integers. */
#ifdef BLAS_PLAIN_64
static const char *const names[] = {"libblas64.so.3", "libopenblas64.so.0",
                                    "libmkl_rt.so.2", NULL};
static const char folder_name[] = "blas64/libblas64.so.3";
#else
static const char *const names[] = {"libblas.so.3", "libopenblas.so.0",
                                    "libblis.so.4", "libmkl_rt.so.2", NULL};
static const char folder_name[] = "blas/libblas.so.3";
#endif

static const char *file_of(const void *function)
{
    Dl_info info;
    return function != NULL && dladdr(function, &info) != 0 &&
                   info.dli_fname != NULL
               ? info.dli_fname
               : "nobody";
}

/* A marker in both of our libraries, so that neither takes the other for a
 * BLAS. */
BLAS_API const char headrace_blas_is_here = 1;

static const void *base_of(const void *address)
{
    Dl_info info;
    return address != NULL && dladdr(address, &info) != 0 ? info.dli_fbase
                                                          : NULL;
}

/* Symbols by which to recognise libraries that are no BLAS of their own: ours,
 * of either width, and Julia's trampolines. The trampolines pass calls on to
 * another BLAS, which may be us. */
static const char *const markers[] = {"headrace_blas_is_here", "lbt_forward",
                                      NULL};

/* Whether it is in a library that passes calls on, whatever the name of its
 * file. */
static bool passes_on(const void *function)
{
    const void *base = base_of(function);
    if (base == base_of(&headrace_blas_is_here)) {
        return true;
    }
    void *library = base != NULL
                        ? dlopen(file_of(function), RTLD_LAZY | RTLD_NOLOAD)
                        : NULL;
    bool passes = false;
    for (const char *const *m = markers; library != NULL && *m != NULL; m++) {
        const void *marker = dlsym(library, *m);
        passes |= marker != NULL && base_of(marker) == base;
    }
    if (library != NULL) {
        dlclose(library); /* it was loaded before, and stays */
    }
    return passes;
}

static void *look_in(void *library, const char *name)
{
    void *found = library != NULL ? dlsym(library, name) : NULL;
    return found != NULL && !passes_on(found) ? found : NULL;
}

/* ---- libraries that are loaded */

/* Look in the program's own scope. */
static void *look_in_scope(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL || passes_on(found)) {
        return NULL;
    }
    (void)dlopen(file_of(found), RTLD_LAZY | RTLD_NOLOAD); /* keep it loaded */
    return found;
}

/* ---- libraries of the system */

/* Open a BLAS in the folder of the C library: Debian has the reference BLAS
 * there. It is found also when we take the place of libblas.so.3. */
static void *open_beside_libc(void)
{
    char path[4096];
    const char *libc = file_of((const void *)(size_t)&abort);
    const char *slash = strrchr(libc, '/');
    if (slash == NULL ||
        snprintf(path, sizeof path, "%.*s/%s", (int)(slash - libc), libc,
                 folder_name) >= (int)sizeof path) {
        return NULL;
    }
    return dlopen(path, RTLD_LAZY | RTLD_LOCAL);
}

/* Look in the system's libraries. This takes no lock: opening a library may
 * wait for another thread that is inside a constructor and calls us. */
static void *look_in_system(const char *name)
{
    void *found = NULL;
    for (const char *const *file = names; *file != NULL && found == NULL;
         file++) {
        found = look_in(dlopen(*file, RTLD_LAZY | RTLD_LOCAL), name);
    }
    return found != NULL ? found : look_in(open_beside_libc(), name);
}

void *blas_find_used(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    return found != NULL && !passes_on(found) ? found : NULL;
}

void *blas_find_loaded(const char *name)
{
    void *found = blas_find_used(name);
    return found != NULL ? found : blas_look_in_loaded(name, look_in);
}

/* OpenBLAS's unambiguous name, if names without a suffix have integers of 64
 * bits: "dgemm_64_" for "dgemm_". NULL: the name is unambiguous. */
static const char *longer_name(const char *name, char *room, size_t bytes)
{
#ifdef BLAS_PLAIN_64
    if (strstr(name, "64") == NULL &&
        snprintf(room, bytes, "%s64_", name) < (int)bytes) {
        return room;
    }
#else
    (void)name, (void)room, (void)bytes;
#endif
    return NULL;
}

static void *look_in_process(const char *name)
{
    void *found = look_in_scope(name);
    return found != NULL ? found : blas_look_in_loaded(name, look_in);
}

/* Look in the program. If the name is ambiguous, a loaded library mostly has
 * integers of 32 bits, even one that Headrace loaded for itself. So the
 * ambiguous name counts only in the program's own scope. */
static void *look_in_program(const char *name)
{
    char room[64];
    const char *longer = longer_name(name, room, sizeof room);
    if (longer == NULL) {
        return look_in_process(name);
    }
    void *found = look_in_process(longer);
    return found != NULL ? found : look_in_scope(name);
}

/* Look in the library that the user chose, which may be "none". */
static void *look_in_chosen(const char *file, const char *name)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    char room[64];
    const char *longer = longer_name(name, room, sizeof room);
    if (strcmp(file, "none") == 0) {
        return NULL;
    }
    void *library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL && !atomic_flag_test_and_set(&told)) {
        fprintf(stderr, "headrace: HEADRACE_BLAS_LIBRARY: %s\n", dlerror());
    }
    void *found = look_in(library, name);
    return found == NULL && longer != NULL ? look_in(library, longer) : found;
}

void *blas_find_fallback(const char *name)
{
    const char *library = hri_environment("HEADRACE_BLAS_LIBRARY");
    if (library != NULL && library[0] != '\0') {
        return look_in_chosen(library, name);
    }
    void *found = look_in_program(name);
    return found != NULL ? found : look_in_system(name);
}
