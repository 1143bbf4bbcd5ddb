/* SPDX-License-Identifier: MIT */
/* The one rule for whether one more accelerator, or any other change, is worth
 * it. */
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

/* Whether one way is to be preferred to another that takes no less of the
 * machine, and to which the next call may go back: by 3 per cent. */
static inline bool hri_model_prefers(double with, double without)
{
    const double less = 0.97;
    return with < less * without;
}

#endif
