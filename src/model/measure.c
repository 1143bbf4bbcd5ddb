/* SPDX-License-Identifier: MIT */
/* Measuring an accelerator anew: its link, its products, and the links of all
 * accelerators together. */
#include "base/arithmetic.h"
#include "base/structs.h"
#include "model/figures.h"

static hr_status measure_all(hr_context *context, hri_accelerator *a,
                             hr_accelerator_rates *rates)
{
    if (!a->in_place) {
        HRI_TRY(hri_link_measure(a));
    }
    HRI_TRY(hri_products_measure(a, &rates->f32, &rates->f64));
    if (hri_links_lead(context, a)) {
        HRI_TRY(hri_links_learn(context));
    }
    const hri_link link = hri_link_alone(a);
    rates->up = link.up;
    rates->down = link.down;
    return HR_OK;
}

static const hri_struct rates_struct =
    HRI_STRUCT(hr_accelerator_rates, "accelerator rates",
               "HR_ACCELERATOR_RATES_INIT", f32);

hr_status hr_accelerator_measure(hr_context *context, uint32_t index,
                                 hr_accelerator_rates *rates)
{
    HRI_USUAL_ARITHMETIC;
    if (context == NULL || rates == NULL) {
        return hri_fail(HR_ERROR_INVALID, "measuring: %s is NULL",
                        context == NULL ? "context" : "rates");
    }
    HRI_TRY(hri_struct_check(&rates_struct, rates));
    if (index >= context->accelerator_count) {
        return hri_fail(HR_ERROR_INVALID,
                        "measuring: accelerator index %u is not below %u",
                        index, context->accelerator_count);
    }
    hr_accelerator_rates known = {0};
    pthread_mutex_lock(&context->lock);
    const hr_status status =
        measure_all(context, &context->accelerators[index], &known);
    pthread_mutex_unlock(&context->lock);
    HRI_TRY(status);
    hri_struct_write(&rates_struct, &known, rates);
    return HR_OK;
}
