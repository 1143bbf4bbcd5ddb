/* SPDX-License-Identifier: MIT */
/* All other functions of the BLAS (forward.S). The place of a name in the
 * fallback BLAS is found out when it is called first. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/environment.h"
#include "base/printable.h"
#include "blas/blas.h"

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

/* The place that each name goes to, for forward.S. It is blas_first until that
 * is known. blas_first asks blas_find_place and goes on there. */
extern void *blas_places[PLACES] HIDDEN;
void *blas_find_place(uint64_t place) HIDDEN;

/* The answer is always the same, so asking twice needs no lock. */
void *blas_find_place(uint64_t place)
{
    void *found = blas_find_fallback(names[place]);
    if (found == NULL) { /* end the program, as the loader would */
        const char *library = hri_environment("HEADRACE_BLAS_LIBRARY");
        const bool chosen = library != NULL && library[0] != '\0';
        char shown[512];
        fprintf(stderr, "headrace: no BLAS with %s was found%s%s\n",
                names[place], chosen ? ": HEADRACE_BLAS_LIBRARY is " : "",
                hri_printable(chosen ? library : "", shown, sizeof shown));
        abort();
    }
    __atomic_store_n(&blas_places[place], found, __ATOMIC_RELEASE);
    return found;
}

#endif
