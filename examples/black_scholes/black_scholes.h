/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_BLACK_SCHOLES_H
#define EXAMPLES_BLACK_SCHOLES_H

typedef struct option {
    float price, strike, rate, volatility, years;
} option;

/* checks.c: what the call option is worth [Black1973]. */
double black_scholes(option o);

#endif
