/* SPDX-License-Identifier: MIT */
/* What a call option pays, for examples/black_scholes.c. */
#include <headrace/dialect.h>

typedef struct option {
    float price, strike, rate, volatility, years;
} option;

/* Path i: the price at the end has a logarithm that is normal. */
HR_KERNEL2(payoffs, (VALUE, option, 0, o), (OUT, float, 1, payoff))
{
    HR_EACH1(i)
    {
        const hr_random4 r = hr_philox(42, 0, (unsigned long)i);
        const float spread = o.volatility * sqrt(o.years);
        const float drift = o.rate * o.years - 0.5f * spread * spread;
        const float end =
            o.price * exp(drift + spread * hr_normal_f32(r.word[0]));
        HR_AT1(payoff, i) =
            end > o.strike ? exp(-o.rate * o.years) * (end - o.strike) : 0.0f;
    }
}
