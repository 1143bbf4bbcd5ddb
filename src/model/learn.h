/* SPDX-License-Identifier: MIT */
/* The one rule of learning from what runs took. It stands in a file of its own,
 * so that programs that use the library can include it, too. */
#ifndef HRI_MODEL_LEARN_H
#define HRI_MODEL_LEARN_H

#include <stdbool.h>

/* Seconds for a unit of work. */
typedef struct hri_learned {
    double value; /* what is planned with; 0: not known */
    double last;  /* the last one seen; 0: none */
} hri_learned;

/* Learn from a run. It may have met new pages, cold caches or other programs.
 * So the smaller of two values in a row counts, and the very first is
 * provisional. Small differences are ignored, since a new figure moves work,
 * and its data with it. A single step changes the figure at most by a factor of
 * four. Returns whether it changed. */
static inline bool hri_learn(hri_learned *f, double seen)
{
    const double least_difference = 0.1, most_step = 4.0;
    const double before = f->last;
    double lesser = seen < before ? seen : before;
    f->last = seen;
    if (f->value > 0.0) {
        lesser = lesser > most_step * f->value ? most_step * f->value : lesser;
        lesser = lesser < f->value / most_step ? f->value / most_step : lesser;
    }
    const double difference =
        lesser > f->value ? lesser - f->value : f->value - lesser;
    if (before <= 0.0 || difference <= least_difference * f->value) {
        return false;
    }
    f->value = lesser;
    return true;
}

/* The same where `value` was measured on purpose, with nothing else at work. A
 * run that took longer was disturbed, or was different work. */
static inline bool hri_learn_measured(hri_learned *f, double seen)
{
    f->last = f->value;
    return hri_learn(f, seen);
}

/* What is known, even if provisional. 0: nothing. */
static inline double hri_learned_by_now(const hri_learned *f)
{
    return f->value > 0.0 ? f->value : f->last;
}

/* Seconds for a flop of a BLAS on one CPU, assumed until it is measured: 32
 * flops in each clock of 2 GHz in single precision, half of that in double. */
static inline double hri_guess_processor(bool single)
{
    return single ? 1.0 / 64e9 : 1.0 / 32e9;
}

#endif
