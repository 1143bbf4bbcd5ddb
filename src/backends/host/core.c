/* SPDX-License-Identifier: MIT */
/* A build of OpenBLAS for many CPUs picks its kernels, the core type, from a
 * list of models. A CPU newer than the list gets kernels of an older one
 * (0.3.21, Debian 12: Haswell's), although it runs all of AVX-512: half the
 * speed where vector units are 512 bits wide, 160 against 350 GFLOP/s in f32 on
 * two cores.
 *
 * Where they are 256 bits wide, in a Zen 4, both kinds of kernels can keep them
 * busy, and which does better depends on the type. GFLOP/s of two of its cores
 * (an EPYC), 0.3.21, best of five products in two runs, November 2026; 0.3.31
 * the same within noise:
 *
 *                 f32, 4096^3  f64, 3072^3  c32, 2560^3  c64, 2048^3
 *     Haswell        217 212      101 100      220 217      109 106
 *     Zen            214 217       98  99      216 213      109 105
 *     SkylakeX       211 205      108 103      211 208       99  99
 *     Cooperlake     206 206      106 103      213 207       99 100 */
#include <stddef.h>
#include <strings.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "backends/host/cblas.h"
#include "base/cpus.h"

/* The instructions that OpenBLAS's core types need. A name that is not in this
 * list is newer than the list, and so is the library that uses it. Such a
 * choice is trusted. */
typedef enum level { BASELINE, AVX2, AVX512, TRUSTED } level;

static const struct {
    level level;
    const char *names[24]; /* ended by NULL */
} cores[] = {
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
    for (size_t i = 0; i < sizeof cores / sizeof cores[0]; i++) {
        for (const char *const *n = cores[i].names; *n != NULL; n++) {
            if (strcasecmp(core, *n) == 0) {
                return cores[i].level;
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
const char *hri_core_wish(hri_cpu cpu, hr_type type, const char *chosen)
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
