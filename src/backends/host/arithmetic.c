/* SPDX-License-Identifier: MIT */
/* Which arithmetic the host uses: chosen once, then for each product the CBLAS
 * if it has words for it. */
#include "backends/host/arithmetic.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/host/builtin.h"
#include "backends/host/cblas.h"

/* Written once, under the pthread_once below. */
static struct {
    bool use_cblas;
    hri_cblas cblas;
    char name[128];
} chosen;

static void choose(void)
{
    const char *wish = getenv("HEADRACE_CBLAS");
    const char *complaint = "";
    if (wish == NULL || wish[0] == '\0') {
        chosen.use_cblas = hri_cblas_find(&chosen.cblas);
    } else if (strcmp(wish, "builtin") != 0) {
        chosen.use_cblas = hri_cblas_open(wish, true, &chosen.cblas);
        complaint = ", since HEADRACE_CBLAS names no CBLAS that can be loaded";
    }
    if (chosen.use_cblas) {
        snprintf(chosen.name, sizeof chosen.name, "%s", chosen.cblas.name);
    } else {
        snprintf(chosen.name, sizeof chosen.name, "built-in (%s)%s",
                 hri_builtin_variant_at(0)->name, complaint);
    }
}

void hri_host_arithmetic_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose);
}

const char *hri_host_arithmetic_name(void)
{
    hri_host_arithmetic_load();
    return chosen.name;
}

static bool nothing_to_multiply(const hri_gemm *gemm)
{
    return gemm->m == 0 || gemm->n == 0 || gemm->k == 0 ||
           (gemm->alpha.re == 0.0 && gemm->alpha.im == 0.0);
}

hr_status hri_host_gemm(hri_pool *pool, const hri_gemm *gemm)
{
    hri_host_arithmetic_load();
    if (chosen.use_cblas && !nothing_to_multiply(gemm) &&
        hri_cblas_gemm(&chosen.cblas, gemm)) {
        return HR_OK;
    }
    return hri_host_gemm_builtin(pool, gemm);
}
