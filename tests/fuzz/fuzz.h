/* SPDX-License-Identifier: MIT */
/* A fuzzer is a function that takes any bytes and aborts when a promise is
 * broken. libFuzzer drives it, or replay.c. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "files/files.h"

/* libFuzzer's name for it. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static inline void fuzz_promise(int kept, const char *what)
{
    if (!kept) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

/* That the last error is one sentence of fewer than so many bytes, which any
 * terminal can show. */
void fuzz_check_sentence(size_t bytes);

/* The bytes up to the first zero as a text of exactly that size; the caller
 * frees it. */
char *fuzz_text(const uint8_t *bytes, size_t size);

/* Make the bytes the file of this name in a cache folder of the process's own,
 * which HEADRACE_CACHE names from the first call on. */
void fuzz_cache_file(const char *name, const uint8_t *bytes, size_t size);

#endif
