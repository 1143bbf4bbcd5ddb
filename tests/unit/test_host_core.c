/* SPDX-License-Identifier: MIT */
/* Which core type of OpenBLAS suits which CPU. */
#include "backends/host/cblas.h"

#include "test.h"

/* What to ask for instead of what was chosen, in float and in double; NULL: the
 * choice stands. */
static const struct {
    hri_cpu cpu;
    const char *chosen, *single, *real_double;
} rows[] = {
    {HRI_CPU_BASELINE, "Prescott", NULL, NULL},
    {HRI_CPU_BASELINE, "Unheard", NULL, NULL},
    {HRI_CPU_AVX2, "Prescott", "Haswell", "Haswell"},
    {HRI_CPU_AVX2, "Sandybridge", "Haswell", "Haswell"},
    {HRI_CPU_AVX2, "Haswell", NULL, NULL},
    {HRI_CPU_AVX2, "Zen", NULL, NULL},
    {HRI_CPU_AVX2, "Unheard", NULL, NULL},
    {HRI_CPU_AVX512, "Nehalem", "SkylakeX", "SkylakeX"},
    {HRI_CPU_AVX512, "Haswell", "SkylakeX", "SkylakeX"},
    {HRI_CPU_AVX512, "SkylakeX", NULL, NULL},
    {HRI_CPU_AVX512, "Sapphirerapids", NULL, NULL},
    {HRI_CPU_AVX512_256, "Prescott", "Haswell", "SkylakeX"},
    {HRI_CPU_AVX512_256, "Zen", NULL, "SkylakeX"},
    {HRI_CPU_AVX512_256, "Haswell", NULL, "SkylakeX"},
    {HRI_CPU_AVX512_256, "SkylakeX", "Haswell", NULL},
    {HRI_CPU_AVX512_256, "Cooperlake", "Haswell", NULL},
    {HRI_CPU_AVX512_256, "Unheard", NULL, NULL},
};

static bool is(const char *wish, const char *wanted)
{
    return wanted == NULL ? wish == NULL
                          : wish != NULL && strcmp(wish, wanted) == 0;
}

static void core_types(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const hri_cpu cpu = rows[i].cpu;
        const char *chosen = rows[i].chosen;
        TEST_CASE(chosen);
        CHECK(
            is(hri_openblas_better_core(cpu, HR_F32, chosen), rows[i].single));
        CHECK(
            is(hri_openblas_better_core(cpu, HR_C32, chosen), rows[i].single));
        CHECK(
            is(hri_openblas_better_core(cpu, HR_C64, chosen), rows[i].single));
        CHECK(is(hri_openblas_better_core(cpu, HR_F64, chosen),
                 rows[i].real_double));
    }
}

int main(void)
{
    TEST(core_types());
    return test_end();
}
