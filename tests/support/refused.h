/* SPDX-License-Identifier: MIT */
/* A good call, and one change that breaks a rule: the status, words of the
 * sentence, and that nothing was touched. A program says what its calls are:
 *
 *     typedef struct request { ... } request;
 *     static request good(void);
 *     static hr_status call(request *r);
 *     static bool untouched(const request *r);
 *
 *     REFUSED(r.b.rows--, HR_ERROR_INVALID, "A is 20x30 but B is 29x40"); */
#ifndef REFUSED_H
#define REFUSED_H

#include "test.h"

#define REFUSED(change, status, words)                                         \
    do {                                                                       \
        request r = good();                                                    \
        TEST_CASE(#change);                                                    \
        change;                                                                \
        CHECK_FAILS(call(&r), status, words);                                  \
        CHECK(untouched(&r));                                                  \
    } while (0)

#endif
