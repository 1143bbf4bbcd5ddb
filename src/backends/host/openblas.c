/* SPDX-License-Identifier: MIT */
/* OpenBLAS with the core type that suits this CPU.
 *
 * Only the environment variable OPENBLAS_CORETYPE changes the core type, and
 * only while the library is loaded. So we load it and ask which core type it
 * took. If the CPU can do better and the user has not chosen, we unload it and
 * load it again with another. Unloading is safe just then. The pthreads build
 * joins its threads and removes its fork handlers. The OpenMP build has no
 * threads before its first product (after one, unloading it crashes). Seen with
 * both builds of 0.3.21, loaded a dozen times over.
 *
 * A library that the program loaded before stays as it is. So does one with a
 * core type that suits one type of elements and not another. Then a copy of the
 * file is loaded beside it, with a core type and threads of its own. */
#define _GNU_SOURCE /* RTLD_DEEPBIND, memfd_create, dladdr */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "backends/host/cblas.h"
#include "base/cpus.h"
#include "base/environment.h"
#include "base/library.h"

/* ---- core types */

/* A build of OpenBLAS for many CPUs picks its kernels, the core type, from a
 * list of models. A CPU newer than the list gets kernels of an older one
 * (0.3.21, Debian 12: Haswell's), although it runs all of AVX-512: half the
 * speed where vector units are 512 bits wide, 160 against 350 GFLOP/s in f32 on
 * two cores.
 *
 * Both kinds of kernels can keep units of 256 bits busy, which a Zen 4 has.
 * Which kind does better depends on the type. GFLOP/s of two of its cores
 * (an EPYC), 0.3.21, best of five products in two runs, November 2026; 0.3.31
 * the same within noise:
 *
 *                 f32, 4096^3  f64, 3072^3  c32, 2560^3  c64, 2048^3
 *     Haswell        217 212      101 100      220 217      109 106
 *     Zen            214 217       98  99      216 213      109 105
 *     SkylakeX       211 205      108 103      211 208       99  99
 *     Cooperlake     206 206      106 103      213 207       99 100 */

/* The instructions that OpenBLAS's core types need. A name that is not in this
 * list is newer than the list, and so is the library that uses it. Such a
 * choice is trusted. */
typedef enum level { BASELINE, AVX2, AVX512, TRUSTED } level;

static const struct {
    level level;
    const char *names[24]; /* ended by NULL */
} core_levels[] = {
    {BASELINE,
     {"Katmai", "Coppermine",  "Northwood", "Prescott",     "Banias",
      "Atom",   "Core2",       "Penryn",    "Dunnington",   "Nehalem",
      "Athlon", "Opteron",     "Barcelona", "Opteron_SSE3", "Nano",
      "Bobcat", "Sandybridge", "Bulldozer", "Piledriver",   "Steamroller"}},
    {AVX2, {"Excavator", "Haswell", "Zen"}},
    {AVX512, {"SkylakeX", "Cooperlake", "SapphireRapids"}},
};

static level level_of(const char *core)
{
    for (size_t i = 0; i < sizeof core_levels / sizeof core_levels[0]; i++) {
        for (const char *const *n = core_levels[i].names; *n != NULL; n++) {
            if (strcasecmp(core, *n) == 0) {
                return core_levels[i].level;
            }
        }
    }
    return TRUSTED;
}

/* AMD's family 25. The next one, 26, has units of 512 bits. */
static bool is_family_25(void)
{
#ifdef __x86_64__
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(0, &a, &b, &c, &d) != 0 && b == signature_AMD_ebx &&
           __get_cpuid(1, &a, &b, &c, &d) != 0 &&
           (a >> 8 & 0xf) + (a >> 20 & 0xff) == 25;
#else
    return false;
#endif
}

hri_cpu hri_cpu_here(void)
{
    const hri_simd simd = hri_simd_here();
    if (simd == HRI_SIMD_AVX512) {
        return is_family_25() ? HRI_CPU_AVX512_256 : HRI_CPU_AVX512;
    }
    return simd == HRI_SIMD_AVX2 ? HRI_CPU_AVX2 : HRI_CPU_BASELINE;
}

/* SkylakeX rather than a later core type. Every version with AVX-512 kernels
 * has it, any CPU with these five extensions runs it, and later ones differ
 * only in bfloat16. */
const char *hri_openblas_better_core(hri_cpu cpu, hr_type type,
                                     const char *chosen)
{
    const level here = level_of(chosen);
    if (cpu == HRI_CPU_BASELINE || here == TRUSTED) {
        return NULL;
    }
    if (cpu == HRI_CPU_AVX2 || (cpu == HRI_CPU_AVX512_256 && type != HR_F64)) {
        return here < AVX2 || (here > AVX2 && cpu == HRI_CPU_AVX512_256)
                   ? "Haswell"
                   : NULL;
    }
    return here < AVX512 ? "SkylakeX" : NULL;
}

/* ---- opening the library */

static const hri_symbol table[] = {
    {"openblas_get_config", offsetof(hri_openblas, config), true},
    {"openblas_get_corename", offsetof(hri_openblas, core), true},
    {"openblas_get_num_threads", offsetof(hri_openblas, get_threads), true},
    {"openblas_set_num_threads", offsetof(hri_openblas, set_threads), true},
};

bool hri_openblas_is(void *library, hri_openblas *openblas)
{
    return hri_library_resolve(library, "", table, 4, openblas) == HR_OK;
}

/* The core type to ask for. NULL: the present one is right, there is no other,
 * or the user has chosen. */
static const char *wish_for(const hri_openblas *openblas, hr_type type)
{
    return strstr(openblas->config(), "DYNAMIC_ARCH") != NULL &&
                   hri_environment("OPENBLAS_CORETYPE") == NULL
               ? hri_openblas_better_core(hri_cpu_here(), type,
                                          openblas->core())
               : NULL;
}

/* A copy of the environment with one more variable. It is never freed: another
 * thread may have begun to read it. */
typedef struct environment {
    struct environment *older;
    char core[48];
    char *variables[];
} environment;

static environment *environments; /* all copies, so that none is lost */

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
    for (size_t i = 0; i < count; i++) {
        e->variables[i] = environ[i];
    }
    e->variables[count] = e->core;
    e->variables[count + 1] = NULL;
    e->older = environments;
    environments = e;
    return e;
}

/* dlopen with OPENBLAS_CORETYPE. setenv would free memory that other threads
 * may be reading. The new array stays, with later changes in it. */
static void *open_with(const char *path, int flags, const char *core)
{
    environment *with = environment_with(core);
    if (with == NULL) {
        return NULL;
    }
    environ = with->variables;
    void *library = dlopen(path, flags);
    unsetenv("OPENBLAS_CORETYPE");
    return library;
}

void *hri_openblas_open(const char *name)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (library != NULL) {
        return library; /* loaded by the program, which may be using it */
    }
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    hri_openblas openblas;
    if (library == NULL || !hri_openblas_is(library, &openblas)) {
        return library;
    }
    /* The core type that suits f64 suits most CPUs in all types. */
    const char *core = wish_for(&openblas, HR_F64);
    if (core == NULL) {
        return library;
    }
    dlclose(library);
    library = open_with(name, RTLD_NOW | RTLD_LOCAL, core);
    return library != NULL ? library : dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

/* ---- a copy of the library */

/* Fill the file `to` with what is in `path`. */
static bool copy_file(const char *path, int to)
{
    bool whole = false;
    struct stat s;
    const int from = open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0) {
        return false;
    }
    if (fstat(from, &s) != 0) {
        goto done;
    }
    for (off_t left = s.st_size; left > 0;) {
        const ssize_t moved = sendfile(to, from, NULL, (size_t)left);
        if (moved <= 0) {
            goto done;
        }
        left -= moved;
    }
    whole = true;
done:
    close(from);
    return whole;
}

#ifndef RTLD_DEEPBIND /* musl has none */
#define RTLD_DEEPBIND 0
#endif

/* Whether RTLD_DEEPBIND may be used: the sanitizers end a process that does. */
static bool may_bind_to_itself(void)
{
    return RTLD_DEEPBIND != 0 &&
           dlsym(RTLD_DEFAULT, "__sanitizer_print_stack_trace") == NULL;
}

/* Load the file of a library once more, from memory, bound to its own symbols.
 * The file stays open, so that no later one gets its name. NULL when there
 * cannot be a copy, as where /proc is missing. */
static void *open_copy(const char *of, const char *core, hri_openblas *openblas)
{
    char path[32];
    if (!may_bind_to_itself()) {
        return NULL;
    }
    const int file = memfd_create("openblas", MFD_CLOEXEC);
    if (file < 0) {
        return NULL;
    }
    if (!copy_file(of, file)) {
        goto fail;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    void *library =
        open_with(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND, core);
    if (library == NULL) {
        goto fail;
    }
    if (!hri_openblas_is(library, openblas) ||
        strcmp(openblas->core(), core) != 0) {
        dlclose(library); /* it does not have that core type */
        goto fail;
    }
    return library;
fail:
    close(file);
    return NULL;
}

static const hri_symbol of_double[] = {
    {"cblas_dgemm", offsetof(hri_cblas, dgemm), true},
};
static const hri_symbol of_others[] = {
    {"cblas_sgemm", offsetof(hri_cblas, sgemm), true},
    {"cblas_cgemm", offsetof(hri_cblas, cgemm), true},
    {"cblas_zgemm", offsetof(hri_cblas, zgemm), true},
};

void hri_openblas_select_cores(const hri_openblas *own, hri_cblas *cblas,
                               char *cores, size_t bytes)
{
    void *function = NULL;
    Dl_info info;
    memcpy(&function, &own->core, sizeof function);
    const char *core = own->core();
    const char *others = wish_for(own, HR_F32),
               *doubles = wish_for(own, HR_F64);
    const bool same =
        others != NULL && doubles != NULL && strcmp(others, doubles) == 0;
    if (dladdr(function, &info) == 0) {
        others = doubles = NULL;
    }
    cblas->openblas = *own;
    void *copy = others != NULL
                     ? open_copy(info.dli_fname, others, &cblas->copies[0])
                     : NULL;
    if (copy == NULL ||
        hri_library_resolve(copy, "", of_others, 3, cblas) != HR_OK) {
        cblas->copies[0].set_threads = NULL;
        others = core;
    }
    if (!same) {
        copy = doubles != NULL
                   ? open_copy(info.dli_fname, doubles, &cblas->copies[1])
                   : NULL;
    }
    if (copy == NULL || doubles == NULL ||
        hri_library_resolve(copy, "", of_double, 1, cblas) != HR_OK) {
        cblas->copies[1].set_threads = NULL;
        doubles = core;
    }
    const bool chosen = hri_environment("OPENBLAS_CORETYPE") != NULL;
    const bool two = strcmp(others, doubles) != 0;
    snprintf(cores, bytes, "%s%s%s%s%s", others, two ? ", " : "",
             two ? doubles : "", two ? " for double" : "",
             chosen ? " by OPENBLAS_CORETYPE" : "");
}

static void set_threads(const hri_openblas *openblas, int threads)
{
    if (openblas->set_threads != NULL && openblas->get_threads() != threads) {
        openblas->set_threads(threads);
    }
}

int hri_openblas_limit(const hri_cblas *cblas, int threads)
{
    const int before = cblas->openblas.get_threads();
    const int limit = before < threads ? before : threads;
    set_threads(&cblas->openblas, limit);
    set_threads(&cblas->copies[0], limit);
    set_threads(&cblas->copies[1], limit);
    return before;
}

void hri_openblas_set(const hri_cblas *cblas, int threads)
{
    const hri_openblas *const all[] = {&cblas->openblas, &cblas->copies[0],
                                       &cblas->copies[1]};
    for (int i = 0; i < 3; i++) {
        if (all[i]->set_threads != NULL) {
            all[i]->set_threads(threads);
        }
    }
}

void hri_openblas_restore(const hri_cblas *cblas, int limit, int before)
{
    /* another number is the program's own, set meanwhile */
    if (cblas->openblas.get_threads() == limit) {
        set_threads(&cblas->openblas, before);
    }
}
