/* SPDX-License-Identifier: MIT */
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
