/* SPDX-License-Identifier: MIT */
#include "blas/rates.h"

#include "model/pays.h"

/* Opening accelerators takes up to a second or two. It begins when the calls
 * that were looked at have taken `soon` seconds. A call that takes `patience`
 * seconds or more waits until they are open. */
static const double soon = 1.0, patience = 2.0;

/* ---- the two targets */

bool blas_is_settled(atomic_int *last, bool accelerators)
{
    const int target = accelerators ? BLAS_LAST_ACCELERATORS : BLAS_LAST_OWN;
    return atomic_exchange(last, target) == target;
}

void blas_learn_own(blas_rates *rates, double flops, double seconds,
                    bool settled)
{
    if (settled || rates->own.last == 0.0) {
        (void)hri_learn(&rates->own, seconds / flops);
    }
}

double blas_own_seconds(const blas_rates *rates, double flops, double guess)
{
    const double own = hri_learned_by_now(&rates->own);
    return flops * (own > 0.0 ? own : guess);
}

static double factor_of(const blas_rates *rates)
{
    return rates->factor.value > 0.0 ? rates->factor.value : 1.0;
}

void blas_learn_factor(blas_rates *rates, double seconds, double planned,
                       bool settled)
{
    const double before = factor_of(rates);
    if (settled || rates->factor.last == 0.0) {
        rates->factor.value = before;
        (void)hri_learn(&rates->factor, seconds / planned * before);
    }
}

double blas_planned_seconds(const blas_rates *rates, double planned)
{
    return planned * factor_of(rates);
}

/* ---- deciding */

static bool is_retry(double ratio, unsigned number)
{
    const double loss = (ratio > 1.0 ? ratio : 1.0 / ratio) - 1.0;
    if (!(loss < 1.0)) {
        return false;
    }
    const unsigned some = loss < 0.25 ? 32 : (unsigned)(128.0 * loss) + 1;
    return number % some >= some - 2;
}

blas_target blas_target_of(double ratio, unsigned number)
{
    const bool retry = is_retry(ratio, number);
    return (blas_target){.accelerators = hri_model_prefers(ratio, 1.0) != retry,
                         .retry = retry};
}

double blas_ratio(double planned, double own, int ahead)
{
    return planned * (1.0 + (double)ahead) / own;
}

unsigned blas_next_number(atomic_uint *chosen, int ahead)
{
    return ahead > 0 ? 0 : atomic_fetch_add(chosen, 1);
}

blas_opening blas_opening_for(double own, double passed)
{
    return own >= patience        ? BLAS_OPEN_AND_WAIT
           : passed + own >= soon ? BLAS_OPEN
                                  : BLAS_OPEN_LATER;
}

/* ---- plans */

static bool is_same(const blas_planned *p, const blas_planned *other)
{
    return p->type == other->type && p->op_a == other->op_a &&
           p->op_b == other->op_b && p->uplo == other->uplo &&
           p->m == other->m && p->n == other->n && p->k == other->k &&
           p->count == other->count && p->reads == other->reads;
}

bool blas_plans_find(const blas_plans *plans, blas_planned *planned)
{
    for (size_t i = 0; i < plans->count && i < BLAS_PLANS; i++) {
        if (is_same(&plans->list[i], planned)) {
            planned->seconds = plans->list[i].seconds;
            return true;
        }
    }
    return false;
}

void blas_plans_keep(blas_plans *plans, const blas_planned *planned)
{
    plans->list[plans->count++ % BLAS_PLANS] = *planned;
}
