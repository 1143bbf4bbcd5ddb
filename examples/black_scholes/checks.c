/* SPDX-License-Identifier: MIT */
#include "black_scholes/black_scholes.h"

#include <math.h>

/* The normal distribution up to x. */
static double normal(double x)
{
    return 0.5 * erfc(-x / sqrt(2.0));
}

double black_scholes(option o)
{
    const double s = o.price, k = o.strike, r = o.rate, t = o.years;
    const double spread = o.volatility * sqrt(t);
    const double d = (log(s / k) + r * t) / spread + 0.5 * spread;
    return s * normal(d) - k * exp(-r * t) * normal(d - spread);
}
