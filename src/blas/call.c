/* SPDX-License-Identifier: MIT */
/* The rules of the BLAS. */
#include "blas/blas.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

double blas_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double blas_flops(const blas_call *call)
{
    const bool is_complex =
        call->symbol->type == HR_C32 || call->symbol->type == HR_C64;
    const double all =
        2.0 * (double)call->m * (double)call->n * (double)call->k;
    return all * (is_complex ? 4.0 : 1.0) *
           (call->part == BLAS_ALL ? 1.0 : 0.5);
}

static int64_t at_least_1(int64_t x)
{
    return x > 1 ? x : 1;
}

/* The rules, by the position that the reference gives each in dgemm, or dgemmt
 * where there is no m. */
static int wrong_argument(const blas_call *c)
{
    const bool part = c->part != BLAS_ALL;
    const struct {
        bool wrong;
        int of_all, of_part;
    } rules[] = {
        {c->part == BLAS_NO_PART, 0, 1},
        {c->op_a == BLAS_NO_OP, 1, 2},
        {c->op_b == BLAS_NO_OP, 2, 3},
        {!part && c->m < 0, 3, 0},
        {c->n < 0, 4, 4},
        {c->k < 0, 5, 5},
        {c->lda < at_least_1(blas_is_turned(c->op_a) ? c->k : c->m), 8, 8},
        {c->ldb < at_least_1(blas_is_turned(c->op_b) ? c->n : c->k), 10, 10},
        {c->ldc < at_least_1(c->m), 13, 13},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].wrong) {
            return part ? rules[i].of_part : rules[i].of_all;
        }
    }
    return 0;
}

bool blas_is_valid(const blas_call *call)
{
    return !call->no_order && wrong_argument(call) == 0;
}

/* The same argument as it was passed: by rows A and B have changed places, and
 * so have m and n; the CBLAS has the order before all. */
static int as_passed(int position, bool part, bool cblas, bool by_rows)
{
    static const int of_all[][2] = {{1, 2}, {3, 4}, {8, 10}};
    static const int of_part[][2] = {{2, 3}, {8, 10}};
    const size_t pairs = part ? 2 : 3;
    for (size_t i = 0; i < pairs && by_rows; i++) {
        const int *pair = part ? of_part[i] : of_all[i];
        if (position == pair[0] || position == pair[1]) {
            position = position == pair[0] ? pair[1] : pair[0];
            break;
        }
    }
    return position + cblas;
}

typedef void xerbla_function(const char *name, const blas_int *position,
                             size_t length);

void blas_complain(const blas_call *call, bool cblas, bool by_rows)
{
    char name[32];
    const char *symbol = call->symbol->name;
    const blas_int position =
        call->no_order ? 1
                       : as_passed(wrong_argument(call), call->part != BLAS_ALL,
                                   cblas, by_rows);
    xerbla_function *xerbla = NULL;
    void *found = blas_find_used("xerbla_");
    memcpy(&xerbla, &found, sizeof xerbla);
    size_t length = strlen(symbol);
    length = length < sizeof name ? length : sizeof name - 1;
    for (size_t i = 0; i < length; i++) {
        const char c = symbol[i];
        name[i] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    }
    while (!cblas && length > 0 && name[length - 1] == '_') {
        length--;
    }
    name[length] = '\0';
    if (xerbla != NULL) {
        xerbla(name, &position, length);
    } else {
        fprintf(stderr,
                " ** On entry to %s parameter number %d had an illegal value\n",
                name, (int)position);
    }
}
