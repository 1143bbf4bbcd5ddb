/* SPDX-License-Identifier: MIT */
/* The one rule for whether a change is worth it, such as using one more
 * accelerator. */
#ifndef HRI_MODEL_PAYS_H
#define HRI_MODEL_PAYS_H

#include <stdbool.h>

/* Whether `with` seconds are clearly fewer than `without`: by a tenth, since
 * predictions are about as good as that. */
static inline bool hri_model_pays(double with, double without)
{
    const double clearly_less = 0.9;
    return with < clearly_less * without;
}

/* Whether to prefer one way to another that uses no less of the machine, if the
 * next call may choose again: by 3 per cent. */
static inline bool hri_model_prefers(double with, double without)
{
    const double less = 0.97;
    return with < less * without;
}

#endif
