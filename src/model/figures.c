/* SPDX-License-Identifier: MIT */
#include "model/figures.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/tuning.h"

hr_status hri_model_create(hr_context *context)
{
    context->model = calloc(1, sizeof *context->model);
    if (context->model == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "context: out of memory");
    }
    pthread_mutex_init(&context->model->lock, NULL);
    return HR_OK;
}

void hri_model_destroy(hr_context *context)
{
    if (context->model != NULL) {
        pthread_mutex_destroy(&context->model->lock);
        free(context->model->figures);
        free(context->model);
        context->model = NULL;
    }
}

/* ---- assumptions where nothing is known */

double hri_guess(hri_guessed what)
{
    static const double guesses[HRI_GUESSES] = {
        [HRI_GUESS_PRODUCT] = 5e10,
        [HRI_GUESS_PRODUCT_ON_GPU] = 5e12,
        [HRI_GUESS_PRODUCT_WITHOUT_ROOM] = 1e10,
        [HRI_GUESS_FILTER] = 1e10,
        [HRI_GUESS_TRANSFORM] = 1e8,
        [HRI_GUESS_LINK] = 1e10,
        [HRI_GUESS_MEMORY] = 2e10,
    };
    return guesses[what];
}

bool hri_model_skips_measuring(double operations)
{
    return operations < 1e9;
}

/* ---- the store; the caller holds the model's lock */

static bool is_same(const hri_figure *f, uint32_t device, const hri_kind *kind)
{
    return f->device == device && f->kind.shape == kind->shape &&
           f->kind.what == kind->what &&
           (f->kind.name == kind->name ||
            strcmp(f->kind.name, kind->name) == 0);
}

/* Find a figure, or make a new one. NULL: there is no memory. */
static hri_figure *take(hri_model *m, uint32_t device, const hri_kind *kind)
{
    for (uint32_t i = 0; i < m->count; i++) {
        if (is_same(&m->figures[i], device, kind)) {
            return &m->figures[i];
        }
    }
    if (m->count == m->capacity) {
        const uint32_t capacity = m->capacity > 0 ? 2 * m->capacity : 32;
        hri_figure *figures =
            realloc(m->figures, capacity * sizeof *m->figures);
        if (figures == NULL) {
            return NULL;
        }
        m->figures = figures;
        m->capacity = capacity;
    }
    m->figures[m->count] = (hri_figure){.device = device, .kind = *kind};
    return &m->figures[m->count++];
}

/* Write the word for a kind in the tuning cache. */
static void name_kind(const hri_kind *kind, char name[64])
{
    if (kind->shape != 0) {
        snprintf(name, 64, "%s-%lld", kind->name, (long long)kind->shape);
    } else {
        snprintf(name, 64, "%s", kind->name);
    }
}

double hri_figure_find(hri_subject of, hri_kind kind)
{
    char name[64];
    double value = 0.0;
    pthread_mutex_lock(&of.model->lock);
    hri_figure *f = take(of.model, of.device, &kind);
    if (f != NULL && f->rate == 0.0 && !f->looked && of.key[0] != '\0') {
        name_kind(&kind, name);
        f->looked = true;
        if (hri_tuning_find(name, of.key, &value)) {
            f->rate = value;
        }
    }
    value = f != NULL ? f->rate : 0.0;
    pthread_mutex_unlock(&of.model->lock);
    return value;
}

void hri_figure_set(hri_subject of, hri_kind kind, double value)
{
    pthread_mutex_lock(&of.model->lock);
    hri_figure *f = take(of.model, of.device, &kind);
    if (f != NULL) {
        f->rate = value;
        f->looked = true;
    }
    atomic_fetch_add(&of.model->version, 1);
    pthread_mutex_unlock(&of.model->lock);
}

uint64_t hri_model_version(const hr_context *context)
{
    return atomic_load(&context->model->version);
}

void hri_figure_keep(hri_subject of, hri_kind kind, double value)
{
    char name[64];
    name_kind(&kind, name);
    hri_figure_set(of, kind, value);
    hri_tuning_keep(name, of.key, value);
}

void hri_figure_note(hri_subject of, hri_kind kind, bool settled, double value)
{
    (settled ? hri_figure_keep : hri_figure_set)(of, kind, value);
}

void hri_figure_learn(hri_subject of, hri_kind kind, double seconds)
{
    pthread_mutex_lock(&of.model->lock);
    hri_figure *f = take(of.model, of.device, &kind);
    if (f != NULL) {
        (void)hri_learn(&f->seconds, seconds);
    }
    pthread_mutex_unlock(&of.model->lock);
}

double hri_figure_learned(hri_subject of, hri_kind kind)
{
    pthread_mutex_lock(&of.model->lock);
    const hri_figure *f = take(of.model, of.device, &kind);
    const double seconds = f != NULL ? f->seconds.value : 0.0;
    pthread_mutex_unlock(&of.model->lock);
    return seconds;
}

/* ---- figures of engines */

/* Answering a question. */
typedef struct answer {
    hri_question question;
    hri_trial trial;
    hri_probed found;
    double figure;
    _Alignas(max_align_t) char data[]; /* a copy of the question's */
} answer;

static hr_status find_answer(void *job)
{
    answer *x = job;
    const hri_question *q = &x->question;
    hr_status status = hri_probe(&x->trial, x->data, &x->found);
    x->figure = x->found.size > 0
                    ? q->units(x->data, x->found.size) / x->found.seconds
                    : q->guess;
    if (q->release != NULL) {
        q->release(x->data);
    }
    return status;
}

static hr_status measure(hri_accelerator *accelerator, const hri_question *q,
                         hri_kind kind, double *figure)
{
    const size_t bytes = sizeof(answer) + q->bytes;
    answer *x = calloc(1, bytes);
    if (x == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "measuring: out of memory");
    }
    x->question = *q;
    x->trial = *q->trial;
    memcpy(x->data, q->data, q->bytes);
    hr_status status = hri_measure(&accelerator, 1, find_answer, x, bytes);
    memcpy(q->data, x->data, q->bytes);
    if (status == HR_OK) {
        *figure = x->figure;
        hri_figure_note(hri_subject_of(accelerator), kind,
                        x->found.settled && q->keep, *figure);
    }
    free(x);
    return status;
}

hr_status hri_model_ask(hri_accelerator *accelerator, const hri_question *q,
                        double *figure)
{
    const hri_subject of = hri_subject_of(accelerator);
    const hri_kind kind = {.name = q->name, .shape = q->shape};
    const bool small = hri_model_skips_measuring(q->operations);
    double known = hri_figure_find(of, kind);
    if (known <= 0.0 && small && q->shape != 0) {
        known = hri_figure_find(of, (hri_kind){.name = q->name});
    }
    if (known > 0.0 || small) {
        *figure = known > 0.0 ? known : q->guess;
        return HR_OK;
    }
    return measure(accelerator, q, kind, figure);
}
