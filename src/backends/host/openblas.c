/* SPDX-License-Identifier: MIT */
/* OpenBLAS, opened so that it uses what this CPU has.
 *
 * A build for many CPUs picks its kernels, the core type, when it is loaded,
 * from a list of models. A CPU newer than the list gets kernels of an older one
 * (0.3.21, Debian 12: Haswell's), although it runs all of AVX-512: half the
 * speed where vector units are 512 bits wide, 160 against 350 GFLOP/s in f32 on
 * two cores. Only the environment variable OPENBLAS_CORETYPE changes that, and
 * only before loading. So: load, ask which core type it took, and if the CPU
 * can do better and the user has not chosen, unload, set the variable, load
 * again, unset it.
 *
 * Asking first, instead of setting the variable at once, leaves newer versions
 * to their better judgement, and the environment, which other threads may be
 * reading, mostly alone. Unloading is safe just then: the pthreads build joins
 * its threads and takes back its fork handlers as it goes; the OpenMP build has
 * no threads before its first product (after one, unloading it crashes); and
 * if someone else has opened the library meanwhile, it stays, as it is. Seen
 * with both builds of 0.3.21, loaded a dozen times over.
 *
 * Measured with 0.3.21 on an EPYC of the Zen 4 kind, which it knows (it takes
 * Cooperlake) and whose vector units are 256 bits wide, so that little depends
 * on it; one core, GFLOP/s, 2048^3 then 6144^3, November 2026:
 *
 *                  f32            f64
 *     SkylakeX     98.2  100.9    50.6  52.0
 *     Cooperlake  100.9  101.3    52.4  52.5
 *     Zen         100.9   99.6    49.3  49.2
 *     Haswell     106.0  101.6    49.8  48.8
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "backends/host/cblas.h"

/* What OpenBLAS's core types need of the CPU. A name that is not here is newer
 * than this list, and so is the library that uses it: it is trusted. */
typedef enum level { BASELINE, AVX2, AVX512, TRUSTED } level;

static const struct {
    const char *name;
    level level;
} cores[] = {
    {"Katmai", BASELINE},
    {"Coppermine", BASELINE},
    {"Northwood", BASELINE},
    {"Prescott", BASELINE},
    {"Banias", BASELINE},
    {"Atom", BASELINE},
    {"Core2", BASELINE},
    {"Penryn", BASELINE},
    {"Dunnington", BASELINE},
    {"Nehalem", BASELINE},
    {"Athlon", BASELINE},
    {"Opteron", BASELINE},
    {"Barcelona", BASELINE},
    {"Opteron_SSE3", BASELINE},
    {"Nano", BASELINE},
    {"Bobcat", BASELINE},
    {"Sandybridge", BASELINE},
    {"Bulldozer", BASELINE},
    {"Piledriver", BASELINE},
    {"Steamroller", BASELINE},
    {"Excavator", AVX2},
    {"Haswell", AVX2},
    {"Zen", AVX2},
    {"SkylakeX", AVX512},
};

static level level_of(const char *core)
{
    for (size_t i = 0; i < sizeof cores / sizeof cores[0]; i++) {
        if (strcmp(core, cores[i].name) == 0) {
            return cores[i].level;
        }
    }
    return TRUSTED;
}

static level cpu_level(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512cd")) {
        return AVX512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return AVX2;
    }
#endif
    return BASELINE;
}

/* The core type to ask for instead of the one that library chose; NULL when its
 * choice stands. SkylakeX, and not a later one: every version that has AVX-512
 * kernels knows it, any CPU with these five extensions runs it, and later ones
 * differ in bfloat16 alone. */
static const char *better_core(void *library)
{
    const char *(*corename)(void) = NULL;
    void *symbol = dlsym(library, "openblas_get_corename");
    memcpy(&corename, &symbol, sizeof corename);
    if (corename == NULL || getenv("OPENBLAS_CORETYPE") != NULL) {
        return NULL;
    }
    level cpu = cpu_level();
    if (level_of(corename()) >= cpu) {
        return NULL;
    }
    return cpu == AVX512 ? "SkylakeX" : "Haswell";
}

void *hri_openblas_open(const char *name)
{
    /* Loaded already by someone else, who may be using it: take it as it is. */
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (library != NULL) {
        return library;
    }
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return NULL;
    }
    const char *core = better_core(library);
    if (core == NULL) {
        return library;
    }
    dlclose(library);
    setenv("OPENBLAS_CORETYPE", core, 1);
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    unsetenv("OPENBLAS_CORETYPE");
    return library;
}
