/* SPDX-License-Identifier: MIT */
/* What multiplies on the host: the CBLAS if there is one and it offers the
 * product, else the built-in kernel. The CBLAS is chosen once. */
#include "backends/host/arithmetic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/host/builtin.h"
#include "backends/host/cblas.h"
#include "base/environment.h"
#include "hal/backend.h"

/* Written once, by choose. */
static struct {
    bool use_cblas;
    hri_cblas cblas;
    char name[128];
} chosen;

/* Use the CBLAS that the user names, and no other in its place. */
static hr_status choose_wish(const char *wish)
{
    if (hri_cblas_open(wish, true, &chosen.cblas) == HR_OK) {
        chosen.use_cblas = true;
        return HR_OK;
    }
    /* the loader's words begin with the name */
    char why[HRI_MESSAGE_BYTES];
    snprintf(why, sizeof why, "%s", hr_last_error());
    size_t length = strlen(wish);
    bool named = strncmp(why, wish, length) == 0 && why[length] == ':';
    return hri_fail(HR_ERROR_UNAVAILABLE,
                    "HEADRACE_CBLAS is \"%.128s\", not a usable CBLAS%s%.256s",
                    wish, named ? "" : ": ", why + (named ? length : 0));
}

static hr_status choose(void)
{
    const char *wish = hri_environment("HEADRACE_CBLAS");
    hr_status status = HR_OK;
    if (wish == NULL || wish[0] == '\0') {
        chosen.use_cblas = hri_cblas_find(&chosen.cblas);
    } else if (strcmp(wish, "builtin") != 0) {
        status = choose_wish(wish);
    }
    if (status != HR_OK) {
        snprintf(chosen.name, sizeof chosen.name, "none");
    } else if (chosen.use_cblas) {
        snprintf(chosen.name, sizeof chosen.name, "%s", chosen.cblas.name);
    } else {
        snprintf(chosen.name, sizeof chosen.name, "built-in (%s)",
                 hri_builtin_variant_at(0)->name);
    }
    return status;
}

hr_status hri_host_arithmetic_load(void)
{
    static hri_once once = HRI_ONCE_INIT;
    return hri_once_run(&once, choose);
}

const char *hri_host_arithmetic_name(void)
{
    (void)hri_host_arithmetic_load();
    return chosen.name;
}

bool hri_host_gemm_is_personal(void)
{
    return chosen.use_cblas && hri_cblas_is_personal(&chosen.cblas);
}

bool hri_host_gemm_is_ordered(void)
{
    return hri_builtin_is_ordered(hri_builtin_variant_at(0));
}

hr_status hri_host_gemm(hri_pool *pool, uint32_t threads, const hri_gemm *gemm)
{
    hr_status status = hri_host_arithmetic_load();
    if (status != HR_OK) {
        return status;
    }
    const bool ours = gemm->m == 0 || gemm->n == 0 ||
                      hri_gemm_only_scales(gemm) ||
                      gemm->compute == HR_COMPUTE_REPRODUCIBLE;
    return chosen.use_cblas && !ours &&
                   hri_cblas_gemm(&chosen.cblas, threads, gemm)
               ? HR_OK
               : hri_host_gemm_builtin(pool, gemm);
}
