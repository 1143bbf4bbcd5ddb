/* SPDX-License-Identifier: MIT */
/* What calls took, and where the next ones go therefore. The caller guards what
 * several threads change. */
#ifndef BLAS_RATES_H
#define BLAS_RATES_H

#include <stdatomic.h>

#include "blas/blas.h"
#include "model/learn.h"

/* ---- the two targets, for calls of one type */

typedef struct blas_rates {
    hri_learned own;    /* seconds for a flop in the fallback BLAS */
    hri_learned factor; /* seconds of calls on accelerators over those of their
                           plans; 0: none yet, taken as 1 */
} blas_rates;

/* The target of the last call. */
enum { BLAS_LAST_NONE, BLAS_LAST_OWN, BLAS_LAST_ACCELERATORS };

/* Whether the last call went to the same target. The threads of a BLAS look for
 * more work for some 0.1 s after a call, on CPUs that the other target needs.
 * Any thread. */
bool blas_is_settled(atomic_int *last, bool accelerators);

/* Learn from a call in the fallback BLAS. flops and seconds are positive. One
 * that is not settled counts only while nothing is known. */
void blas_learn_own(blas_rates *rates, double flops, double seconds,
                    bool settled);

/* The seconds that it takes there. guess: seconds for a flop, where nothing is
 * known. */
double blas_own_seconds(const blas_rates *rates, double flops, double guess);

/* Compare the plan with what the call took. `planned` is what
 * blas_planned_seconds gave. Until the first call has been timed the factor is
 * 1. Calls that are not settled do not count after that. */
void blas_learn_factor(blas_rates *rates, double seconds, double planned,
                       bool settled);

/* The plan's seconds, corrected by how earlier plans turned out. */
double blas_planned_seconds(const blas_rates *rates, double planned);

/* ---- deciding: accelerators or the fallback BLAS */

typedef struct blas_target {
    bool accelerators;
    bool retry; /* the slower target is tried again */
} blas_target;

/* Choose a target by the ratio of a call's time on accelerators to its time in
 * the fallback BLAS. Accelerators must promise to be faster by 3 per cent. A
 * target that was slow at one busy moment must get another chance. So where
 * neither target is twice as fast as the other, two calls in a row go to the
 * slower one now and then. They come once in at least 32 calls, and in so many
 * that they cost at most 1.6 per cent. `number` counts the calls that ask, from
 * 0. */
blas_target blas_target_of(double ratio, unsigned number);

/* A call's time on accelerators over that in the fallback BLAS. It waits there
 * for `ahead` calls like itself. */
double blas_ratio(double planned, double own, int ahead);

/* The number that blas_target_of gets. Nothing is tried again while others are
 * ahead. Any thread. */
unsigned blas_next_number(atomic_uint *chosen, int ahead);

/* When the accelerators are opened. */
typedef enum blas_opening {
    BLAS_OPEN_LATER,
    BLAS_OPEN,         /* begin now, and do not wait */
    BLAS_OPEN_AND_WAIT /* the call is worth that */
} blas_opening;

/* own: seconds of the call in the fallback BLAS; passed: of those before it. */
blas_opening blas_opening_for(double own, double passed);

/* ---- plans that were made, the latest ones */

enum { BLAS_PLANS = 64 };

/* What the plan predicted for calls of one shape. */
typedef struct blas_planned {
    hr_type type;
    blas_op op_a, op_b;
    blas_uplo uplo;
    int64_t m, n, k;
    int64_t count; /* of a batch; 0: a product alone */
    bool reads;    /* the old C */
    double seconds;
} blas_planned;

typedef struct blas_plans {
    blas_planned list[BLAS_PLANS];
    size_t count; /* of plans that were kept */
} blas_plans;

/* Set planned->seconds to those of the same shape. False: there is none. */
bool blas_plans_find(const blas_plans *plans, blas_planned *planned);
void blas_plans_keep(blas_plans *plans, const blas_planned *planned);

#endif
