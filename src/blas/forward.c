/* SPDX-License-Identifier: MIT */
/* Everything else of the BLAS (forward.S): what a name is in the caller's own
 * one is found out when the first is called. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "blas/call.h"
#include "blas/caller.h"

#ifdef __x86_64__

/* Variables of the reference CBLAS, which its test programs read. */
BLAS_API int CBLAS_CallFromC, RowMajorStrg;

enum {
#define NAME(name) PLACE_##name,
#include "blas/forwarded.inc"
#undef NAME
    PLACES
};

static const char *const names[PLACES] = {
#define NAME(name) #name,
#include "blas/forwarded.inc"
#undef NAME
};

#define HIDDEN __attribute__((visibility("hidden")))

/* Of forward.S: where each name goes on; blas_first as long as that is not
 * known, which asks here and goes on there. */
extern void *blas_places[PLACES] HIDDEN;
void *blas_find_place(uint64_t place) HIDDEN;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *found[PLACES];

static void find_all(void)
{
    for (int i = 0; i < PLACES; i++) {
        found[i] = blas_find(names[i]);
        if (found[i] != NULL) { /* whoever reads the old one comes here, too */
            __atomic_store_n(&blas_places[i], found[i], __ATOMIC_RELEASE);
        }
    }
}

void *blas_find_place(uint64_t place)
{
    pthread_once(&once, find_all);
    if (found[place] == NULL) { /* as the loader would have said */
        fprintf(stderr, "headrace: there is no BLAS that has %s\n",
                names[place]);
        abort();
    }
    return found[place];
}

#endif
