/* SPDX-License-Identifier: MIT */
/* What was predicted beside what came of it. */
#ifndef HRI_MODEL_PREDICTIONS_H
#define HRI_MODEL_PREDICTIONS_H

#include "runtime/runtime.h"

enum { HRI_ENGINES = HR_ENGINE_GRID + 1 };

/* Of an engine's runs. */
typedef struct hri_outcomes {
    uint64_t runs, within_1_1, within_1_3, within_2;
    double predicted, seen; /* seconds, of the last run */
} hri_outcomes;

/* An engine's work was predicted to take so many seconds, and took others.
 * Any thread. */
void hri_model_saw(hri_model *model, hr_engine engine, double predicted,
                   double seen);

/* Work whose plans are off in the same way: what is common to it, as a number.
 * Seconds that such work is expected to take when its plan adds up to
 * `planned`, by what came of earlier plans; and one more that has been seen.
 * Any thread. */
double hri_model_expect(hri_model *model, uint64_t like, double planned);
void hri_model_correct(hri_model *model, uint64_t like, double planned,
                       double seen);

/* Add what this context has seen to what is in the tuning cache. */
void hri_predictions_keep(hr_context *context);

#endif
