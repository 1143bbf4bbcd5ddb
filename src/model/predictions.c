/* SPDX-License-Identifier: MIT */
/* Predictions, and what came of them. */
#include <stdio.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/structs.h"
#include "model/figures.h"
#include "model/model.h"
#include "model/tuning.h"

enum { VALUES = 6, NAME = 40 };

/* The kinds of lines for an engine in the tuning cache. Times are in
 * nanoseconds. */
static const char *const engines[HRI_ENGINES] = {
    [HR_ENGINE_GEMM] = "gemm",
    [HR_ENGINE_FILTER] = "filter",
    [HR_ENGINE_SPLIT] = "split",
    [HR_ENGINE_GRID] = "grid",
};
static const char *const values[VALUES] = {
    "runs", "within-1.1", "within-1.3", "within-2", "predicted", "seen"};

void hri_model_saw(hri_model *model, hr_engine engine, double predicted,
                   double seen)
{
    if (!(predicted > 0.0) || !(seen > 0.0)) {
        return;
    }
    const double off = predicted > seen ? predicted / seen : seen / predicted;
    hr_predictions *o = &model->outcomes[engine];
    pthread_mutex_lock(&model->lock);
    o->runs++;
    o->within_1_1 += off <= 1.1;
    o->within_1_3 += off <= 1.3;
    o->within_2 += off <= 2.0;
    o->predicted = predicted;
    o->seen = seen;
    pthread_mutex_unlock(&model->lock);
}

/* The subject of the factors between plans and results. */
static hri_subject factors(hri_model *model)
{
    return (hri_subject){model, HRI_ALL_DEVICES, ""};
}

static hri_kind factor_of(uint64_t like)
{
    return (hri_kind){.name = "over-plan", .shape = (int64_t)like};
}

double hri_model_expect(hri_model *model, uint64_t like, double planned)
{
    const double factor = hri_figure_learned(factors(model), factor_of(like));
    return factor > 0.0 ? factor * planned : planned;
}

void hri_model_correct(hri_model *model, uint64_t like, double planned,
                       double seen)
{
    if (planned > 0.0 && seen > 0.0) {
        hri_figure_learn(factors(model), factor_of(like), seen / planned);
    }
}

/* Name all accelerators of the context together. Each virtual one counts. */
static bool name_context(hr_context *context, char key[64])
{
    hri_accelerator **all =
        calloc(context->accelerator_count + 1, sizeof(hri_accelerator *));
    key[0] = '\0';
    for (uint32_t i = 0; all != NULL && i < context->accelerator_count; i++) {
        all[i] = &context->accelerators[i];
    }
    if (all != NULL) {
        hri_devices_name(all, context->accelerator_count, key, 64);
    }
    free(all);
    return key[0] != '\0';
}

static void name_value(hr_engine engine, int value, char name[NAME])
{
    snprintf(name, NAME, "prediction-%s-%s", engines[engine], values[value]);
}

/* Add what earlier contexts kept to what this one saw. */
static hr_predictions sum(hr_context *context, hr_engine engine,
                          const char *key)
{
    char name[NAME];
    double kept[VALUES] = {0};
    for (int i = 0; i < VALUES && key[0] != '\0'; i++) {
        name_value(engine, i, name);
        (void)hri_tuning_find(name, key, &kept[i]);
    }
    pthread_mutex_lock(&context->model->lock);
    hr_predictions o = context->model->outcomes[engine];
    pthread_mutex_unlock(&context->model->lock);
    if (o.runs == 0) {
        o.predicted = kept[4] * 1e-9;
        o.seen = kept[5] * 1e-9;
    }
    o.runs += (uint64_t)kept[0];
    o.within_1_1 += (uint64_t)kept[1];
    o.within_1_3 += (uint64_t)kept[2];
    o.within_2 += (uint64_t)kept[3];
    return o;
}

void hri_predictions_keep(hr_context *context)
{
    char key[64], names[HRI_ENGINES * VALUES][NAME];
    hri_tuning_line lines[HRI_ENGINES * VALUES];
    size_t count = 0;
    if (context->model == NULL || !name_context(context, key)) {
        return;
    }
    for (int e = 0; e < HRI_ENGINES; e++) {
        if (context->model->outcomes[e].runs == 0) {
            continue;
        }
        const hr_predictions o = sum(context, (hr_engine)e, key);
        const double all[VALUES] = {(double)o.runs,       (double)o.within_1_1,
                                    (double)o.within_1_3, (double)o.within_2,
                                    o.predicted * 1e9,    o.seen * 1e9};
        for (int i = 0; i < VALUES; i++) {
            name_value((hr_engine)e, i, names[count]);
            lines[count] = (hri_tuning_line){names[count], key, all[i]};
            count++;
        }
    }
    hri_tuning_keep_all(lines, count);
}

static const hri_struct predictions_struct = HRI_STRUCT(
    hr_predictions, "predictions", "HR_PREDICTIONS_INIT", within_1_1);

hr_status hr_predictions_describe(hr_context *context, hr_engine engine,
                                  hr_predictions *predictions)
{
    HRI_USUAL_ARITHMETIC;
    if (context == NULL || predictions == NULL) {
        return hri_fail(HR_ERROR_INVALID, "predictions: %s is NULL",
                        context == NULL ? "context" : "predictions");
    }
    hr_status status = hri_struct_check(&predictions_struct, predictions);
    if (status != HR_OK) {
        return status;
    }
    if ((int)engine < 0 || (int)engine >= HRI_ENGINES) {
        return hri_fail(HR_ERROR_INVALID, "predictions: unknown engine %d",
                        (int)engine);
    }
    char key[64];
    (void)name_context(context, key);
    const hr_predictions known = sum(context, engine, key);
    hri_struct_write(&predictions_struct, &known, predictions);
    return HR_OK;
}
