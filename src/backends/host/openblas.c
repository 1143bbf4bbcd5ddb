/* SPDX-License-Identifier: MIT */
/* OpenBLAS, opened so that it uses what this CPU has (core.h).
 *
 * Only the environment variable OPENBLAS_CORETYPE changes its core type, and
 * only while it is loaded. So: load, ask which core type it took, and if the
 * CPU can do better and the user has not chosen, unload it and load it again
 * with another. Unloading is safe just then: the pthreads build joins its
 * threads and takes back its fork handlers as it goes; the OpenMP build has no
 * threads before its first product (after one, unloading it crashes). Seen with
 * both builds of 0.3.21, loaded a dozen times over.
 *
 * What someone else has loaded stays as it is, and so does what suits one type
 * and not another: a copy of the file is loaded beside it, which has a core
 * type and threads of its own. */
#define _GNU_SOURCE /* RTLD_DEEPBIND, memfd_create, dladdr */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/host/cblas.h"
#include "backends/host/core.h"
#include "base/library.h"

/* Of OpenBLAS, used here and forgotten. */
typedef struct own_symbols {
    const char *(*core)(void);
    int (*get_threads)(void);
    void (*set_threads)(int);
} own_symbols;

static const hri_symbol own_table[] = {
    {"openblas_get_corename", offsetof(own_symbols, core), true},
    {"openblas_get_num_threads", offsetof(own_symbols, get_threads), true},
    {"openblas_set_num_threads", offsetof(own_symbols, set_threads), true},
};

static bool is_openblas(void *library, own_symbols *s)
{
    return hri_library_resolve(library, "", own_table, 3, s) == HR_OK;
}

/* ---- with another core type */

/* Variables with one more before them. Never freed: another thread may have
 * begun to read them. */
typedef struct environment {
    struct environment *older;
    char core[48];
    char *variables[];
} environment;

static environment *environments; /* so that they are not lost */

static environment *environment_with(const char *core)
{
    size_t count = 0;
    while (environ != NULL && environ[count] != NULL) {
        count++;
    }
    environment *e = malloc(sizeof *e + (count + 2) * sizeof(char *));
    if (e == NULL) {
        return NULL;
    }
    snprintf(e->core, sizeof e->core, "OPENBLAS_CORETYPE=%s", core);
    e->variables[0] = e->core;
    for (size_t i = 0; i < count; i++) {
        e->variables[i + 1] = environ[i];
    }
    e->variables[count + 1] = NULL;
    e->older = environments;
    environments = e;
    return e;
}

/* dlopen with OPENBLAS_CORETYPE. setenv would change, or free, what other
 * threads may be reading. */
static void *open_with(const char *path, int flags, const char *core)
{
    char **before = environ;
    environment *with = environment_with(core);
    if (with == NULL) {
        return NULL;
    }
    environ = with->variables;
    void *library = dlopen(path, flags);
    if (environ == with->variables) {
        environ = before;
    } else { /* someone has set a variable meanwhile, which is to stay */
        unsetenv("OPENBLAS_CORETYPE");
    }
    return library;
}

void *hri_openblas_open(const char *name)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (library != NULL) {
        return library; /* of someone else, who may be using it */
    }
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    own_symbols s;
    if (library == NULL || getenv("OPENBLAS_CORETYPE") != NULL ||
        !is_openblas(library, &s)) {
        return library;
    }
    /* What suits double is what suits most CPUs in all types. */
    const char *wish = hri_core_wish(hri_cpu_here(), HR_F64, s.core());
    if (wish == NULL) {
        return library;
    }
    dlclose(library);
    library = open_with(name, RTLD_NOW | RTLD_LOCAL, wish);
    return library != NULL ? library : dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

/* ---- a copy beside it */

/* Fill the file `to` with what is in `path`. */
static bool copy_file(const char *path, int to)
{
    const int from = open(path, O_RDONLY | O_CLOEXEC);
    struct stat s;
    bool whole = from >= 0 && fstat(from, &s) == 0;
    for (off_t left = whole ? s.st_size : 0; left > 0 && whole;) {
        const ssize_t moved = sendfile(to, from, NULL, (size_t)left);
        whole = moved > 0;
        left -= moved;
    }
    if (from >= 0) {
        close(from);
    }
    return whole;
}

/* The sanitizers end a process that asks for RTLD_DEEPBIND. */
static bool may_bind_to_itself(void)
{
    return dlsym(RTLD_DEFAULT, "__sanitizer_print_stack_trace") == NULL;
}

/* The library that `function` is in once more, from a file in memory, bound to
 * its own symbols. The file stays open, so that no later one gets its name;
 * NULL when there cannot be one, as where /proc is missing. */
static void *open_copy(const void *function, const char *core)
{
    Dl_info info;
    char path[32];
    own_symbols s;
    if (!may_bind_to_itself() || dladdr(function, &info) == 0) {
        return NULL;
    }
    const int file = memfd_create("openblas", MFD_CLOEXEC);
    void *library = NULL;
    if (file >= 0 && copy_file(info.dli_fname, file)) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        library = open_with(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND, core);
    }
    if (library != NULL &&
        (!is_openblas(library, &s) || strcmp(s.core(), core) != 0)) {
        dlclose(library); /* it does not know that core type */
        library = NULL;
    }
    if (library == NULL && file >= 0) {
        close(file);
    }
    return library;
}

/* Take the functions `gemms` from a copy with this core type; false: they stay.
 */
static bool take(const own_symbols *own, const char *core,
                 const hri_symbol *gemms, size_t count, hri_cblas *cblas)
{
    own_symbols s;
    void *function = NULL;
    memcpy(&function, &own->core, sizeof function);
    void *copy = core != NULL ? open_copy(function, core) : NULL;
    if (copy == NULL || !is_openblas(copy, &s) ||
        hri_library_resolve(copy, "", gemms, count, cblas) != HR_OK) {
        return false;
    }
    s.set_threads(own->get_threads());
    return true;
}

bool hri_openblas_suit(void *library, hri_cblas *cblas, char *cores,
                       size_t bytes)
{
    enum { BUT_DOUBLE = 3, ALL };
    static const hri_symbol gemms[ALL] = {
        {"cblas_sgemm", offsetof(hri_cblas, sgemm), true},
        {"cblas_cgemm", offsetof(hri_cblas, cgemm), true},
        {"cblas_zgemm", offsetof(hri_cblas, zgemm), true},
        {"cblas_dgemm", offsetof(hri_cblas, dgemm), true},
    };
    own_symbols own;
    if (!is_openblas(library, &own)) {
        return false;
    }
    const char *core = own.core();
    if (getenv("OPENBLAS_CORETYPE") != NULL) {
        snprintf(cores, bytes, "%s by OPENBLAS_CORETYPE", core);
        return true;
    }
    const hri_cpu cpu = hri_cpu_here();
    const char *most = hri_core_wish(cpu, HR_F32, core);
    const char *of_double = hri_core_wish(cpu, HR_F64, core);
    const bool alike =
        most != NULL && of_double != NULL && strcmp(most, of_double) == 0;
    if (!take(&own, most, gemms, alike ? ALL : BUT_DOUBLE, cblas)) {
        most = core;
    }
    if (alike) {
        of_double = most;
    } else if (!take(&own, of_double, gemms + BUT_DOUBLE, 1, cblas)) {
        of_double = core;
    }
    if (strcmp(most, of_double) == 0) {
        snprintf(cores, bytes, "%s", most);
    } else {
        snprintf(cores, bytes, "%s, %s for double", most, of_double);
    }
    return true;
}
