/* SPDX-License-Identifier: MIT */
#include "operands.h"

#include <stdlib.h>
#include <string.h>

#include "product.h"
#include "random.h"

enum { ALIGNMENT = 4096 };

static bool allocate(hr_matrix *m, hr_type type, int64_t rows, int64_t cols)
{
    size_t bytes = (size_t)rows * (size_t)cols * hr_type_size(type);
    void *data = NULL;
    if (posix_memalign(&data, ALIGNMENT, bytes) != 0) {
        return false;
    }
    *m = hr_matrix_row_major(data, type, rows, cols, 0);
    return true;
}

bool cli_operands_create(cli_operands *operands, hr_type type, int64_t m,
                         int64_t n, int64_t k)
{
    cli_operands o;
    memset(&o, 0, sizeof o);
    hr_type c_type = cli_default_type(type);
    if (!allocate(&o.a, type, m, k) || !allocate(&o.b, type, k, n) ||
        !allocate(&o.c, c_type, m, n) || !cli_random_fill(o.a, 1, NULL) ||
        !cli_random_fill(o.b, 2, NULL) ||
        !cli_random_fill(o.c, 3, NULL)) { /* so that its pages exist */
        cli_operands_free(&o);
        return false;
    }
    *operands = o;
    return true;
}

void cli_operands_free(cli_operands *operands)
{
    free(operands->a.data);
    free(operands->b.data);
    free(operands->c.data);
    memset(operands, 0, sizeof *operands);
}
