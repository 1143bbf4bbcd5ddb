/* SPDX-License-Identifier: MIT */
/* How long a plan will take: its schedule walked through with the rates of the
 * facts. What planning cannot see in sums shows here: arithmetic that waits for
 * the first panels, links that are busy one way while they could be both ways,
 * tiles that are still going home at the end. */
#ifndef HRI_GEMM_FORECAST_H
#define HRI_GEMM_FORECAST_H

#include "gemm/plan.h"

/* Plans for more accelerators are not walked through. */
enum { HRI_FORECAST_PARTS = 16 };

/* Whether walking through the plan takes a small part of its time only. */
bool hri_forecast_pays(const hri_plan *plan);

/* Seconds from the call to its end, into plan->seconds. HR_ERROR_OUT_OF_MEMORY.
 */
hr_status hri_forecast(hri_plan *plan,
                       const hri_plan_accelerator *accelerators);

#endif
