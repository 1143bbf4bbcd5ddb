/* SPDX-License-Identifier: MIT */
/* The arithmetic of a thread: how it rounds, whether it has subnormal numbers,
 * what traps. The caller of a call may have changed its own. */
#ifndef HRI_BASE_ARITHMETIC_H
#define HRI_BASE_ARITHMETIC_H

#if defined(__SSE__)
#include <xmmintrin.h>
#else
#include <fenv.h>
#endif

/* What it was, with the exceptions that had been raised. */
typedef struct hri_arithmetic {
#if defined(__SSE__)
    unsigned control; /* the register; fenv.h's functions take longer than a
                         small product */
#else
    fenv_t control;
#endif
} hri_arithmetic;

/* From now on the thread has the usual arithmetic: rounding to nearest,
 * subnormal numbers, no traps. */
static inline hri_arithmetic hri_arithmetic_usual(void)
{
    hri_arithmetic was;
#if defined(__SSE__)
    const unsigned usual = 0x1f80, raised = 0x3f;
    was.control = _mm_getcsr();
    if ((was.control & ~raised) != usual) {
        _mm_setcsr(usual);
    }
#else
    (void)fegetenv(&was.control);
    (void)fesetenv(FE_DFL_ENV);
#endif
    return was;
}

static inline void hri_arithmetic_restore(const hri_arithmetic *was)
{
#if defined(__SSE__)
    if (_mm_getcsr() != was->control) {
        _mm_setcsr(was->control);
    }
#else
    (void)fesetenv(&was->control);
#endif
}

/* Begins a call of the program that computes: it has the usual arithmetic, and
 * the program's is back when it returns. */
#define HRI_USUAL_ARITHMETIC                                                   \
    __attribute__((unused, cleanup(hri_arithmetic_restore)))                   \
    const hri_arithmetic hri_arithmetic_was = hri_arithmetic_usual()

#endif
