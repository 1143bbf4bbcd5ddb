/* SPDX-License-Identifier: MIT */
/* A fuzzer is a function that takes any bytes and aborts when a promise is
 * broken. libFuzzer drives it, or replay.c. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* libFuzzer's name for it. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static inline void fuzz_promise(int kept, const char *what)
{
    if (!kept) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

#endif
