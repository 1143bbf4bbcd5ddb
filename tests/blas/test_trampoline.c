/* SPDX-License-Identifier: MIT */
/* test_trampoline TRAMPOLINE BEHIND LIBRARY: a program that multiplies through
 * a trampoline. LIBRARY (libheadrace_blas64.so) was put behind the trampoline,
 * in place of the library that was there. That library must be the fallback
 * BLAS, and not the trampoline, which has the same names. */
#include <dlfcn.h>
#include <stdint.h>

#include "test.h"

typedef int64_t isamax_function(const int64_t *, const float *,
                                const int64_t *);
typedef void dgemm_function(const char *, const char *, const int64_t *,
                            const int64_t *, const int64_t *, const double *,
                            const double *, const int64_t *, const double *,
                            const int64_t *, const double *, double *,
                            const int64_t *, size_t, size_t);

static void *load_library(const char *file, int flags)
{
    void *handle = dlopen(file, RTLD_NOW | flags);
    if (handle == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return handle;
}

/* Set the function pointer *function to the address of `name`. */
static void find_function(void *handle, const char *name, void *function)
{
    void *found = dlsym(handle, name);
    CHECK(found != NULL);
    memcpy(function, &found, sizeof found);
}

static void check_product(dgemm_function *dgemm)
{
    const int64_t two = 2;
    const double one = 1, none = 0;
    const double a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
    double c[4] = {-1, -1, -1, -1};
    dgemm("N", "N", &two, &two, &two, &one, a, &two, b, &two, &none, c, &two, 1,
          1);
    CHECK(c[0] == 23 && c[1] == 34 && c[2] == 31 && c[3] == 46);
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        return 2;
    }
    void *board = load_library(argv[1], RTLD_GLOBAL);
    void *behind = load_library(argv[2], RTLD_LOCAL);
    void *ours = load_library(argv[3], RTLD_LOCAL);
    find_function(ours, "isamax_", dlsym(board, "next_isamax"));
    find_function(ours, "dgemm_", dlsym(board, "next_dgemm"));
    isamax_function *isamax = NULL;
    dgemm_function *dgemm = NULL;
    find_function(board, "isamax_64_", &isamax);
    find_function(board, "dgemm_64_", &dgemm);
    const int *calls = dlsym(behind, "dgemm_calls");

    const char *force = getenv("HEADRACE_BLAS_FORCE");
    const bool forced = force != NULL && strcmp(force, "1") == 0;
    test_case(forced ? "forced" : "small calls stay");
    TEST(check_product(dgemm));
    CHECK(*calls == (forced ? 0 : 1));

    /* after forced products another BLAS, of 32 bits, is loaded, too */
    test_case("64-bit integers reach the names with 64");
    const float x[] = {1, 2, 1};
    const int64_t length = 3, negative = -0xfffffffdLL, step = 1;
    CHECK(isamax(&length, x, &step) == 2);
    CHECK(isamax(&negative, x, &step) == 0); /* 3, were it of 32 bits */
    return test_end();
}
