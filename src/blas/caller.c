/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* RTLD_NEXT, dladdr, dl_iterate_phdr */
#include "blas/caller.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the system calls its BLAS, by the width of integers. */
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

/* Whether it is ours, of whatever name the file was loaded by. */
static bool is_own(const void *function)
{
    Dl_info own, other;
    return dladdr((const void *)names, &own) != 0 &&
           dladdr(function, &other) != 0 && own.dli_fbase == other.dli_fbase;
}

static void *look_in(void *library, const char *name)
{
    void *found = library != NULL ? dlsym(library, name) : NULL;
    return found != NULL && !is_own(found) ? found : NULL;
}

/* ---- what is loaded */

typedef struct files {
    char **names; /* in the order of loading */
    size_t count, room;
} files;

/* The loader's lock is held, so that nothing may be opened. */
static int note_file(struct dl_phdr_info *info, size_t bytes, void *data)
{
    files *f = data;
    (void)bytes;
    if (info->dlpi_name == NULL || info->dlpi_name[0] == '\0') {
        return 0;
    }
    if (f->count == f->room) {
        const size_t room = f->room * 2 + 64;
        char **more = realloc(f->names, room * sizeof *more);
        if (more == NULL) {
            return 1;
        }
        f->names = more;
        f->room = room;
    }
    f->names[f->count] = strdup(info->dlpi_name);
    f->count += f->names[f->count] != NULL;
    return 0;
}

/* Libraries of a plug-in are in nobody's scope but its own. */
static void *look_in_loaded(const char *name)
{
    files f = {NULL, 0, 0};
    void *found = NULL;
    (void)dl_iterate_phdr(note_file, &f);
    for (size_t i = 0; i < f.count; i++) {
        void *library =
            found == NULL
                ? dlopen(f.names[i], RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD)
                : NULL;
        if (library != NULL) {
            found = look_in(library, name);
            dlclose(library); /* it was there before, and stays */
        }
        free(f.names[i]);
    }
    free(f.names);
    return found;
}

static void *look_in_program(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    return found != NULL && !is_own(found) ? found : look_in_loaded(name);
}

/* ---- what the system has */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *chosen, *systems[8];

/* Beside the C library is where Debian has the reference BLAS, which is found
 * there also when we stand in the place of libblas.so.3. */
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

static void open_systems(void)
{
    const char *library = getenv("HEADRACE_BLAS_LIBRARY");
    size_t count = 0;
    if (library != NULL && library[0] != '\0') {
        chosen = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
        return;
    }
    for (const char *const *name = names; *name != NULL; name++) {
        systems[count] = dlopen(*name, RTLD_LAZY | RTLD_LOCAL);
        count += systems[count] != NULL;
    }
    systems[count] = open_beside_libc();
}

void *blas_find_used(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    return found != NULL && !is_own(found) ? found : NULL;
}

void *blas_find(const char *name)
{
    const char *library = getenv("HEADRACE_BLAS_LIBRARY");
    void *found = NULL;
    if (library == NULL || library[0] == '\0') {
        found = look_in_program(name);
    }
    if (found == NULL) {
        pthread_once(&once, open_systems);
        found = look_in(chosen, name);
    }
    for (size_t i = 0; found == NULL && i < sizeof systems / sizeof systems[0];
         i++) {
        found = look_in(systems[i], name);
    }
    return found;
}
