/* SPDX-License-Identifier: MIT */
#include "operands.h"

#include <stdlib.h>
#include <string.h>

#include "random.h"

enum { ALIGNMENT = 4096 };

static bool allocate(hr_matrix *m, hr_context *pinned, hr_type type,
                     int64_t rows, int64_t cols)
{
    size_t bytes = (size_t)rows * (size_t)cols * hr_type_size(type);
    void *data = NULL;
    bool good = pinned != NULL
                    ? hr_allocate_pinned(pinned, bytes, &data) == HR_OK
                    : posix_memalign(&data, ALIGNMENT, bytes) == 0;
    if (good) {
        *m = hr_matrix_row_major(data, type, rows, cols, 0);
    }
    return good;
}

bool cli_operands_create(cli_operands *operands, const cli_operands_wish *wish)
{
    cli_operands o;
    memset(&o, 0, sizeof o);
    o.pinned = wish->pinned;
    if (!allocate(&o.a, o.pinned, wish->type, wish->m, wish->k) ||
        !allocate(&o.b, o.pinned, wish->type, wish->k, wish->n) ||
        !allocate(&o.c, o.pinned, wish->c_type, wish->m, wish->n) ||
        !cli_random_fill(o.a, 1, NULL) || !cli_random_fill(o.b, 2, NULL) ||
        !cli_random_fill(o.c, 3, NULL)) { /* so that its pages exist */
        cli_operands_free(&o);
        return false;
    }
    *operands = o;
    return true;
}

bool cli_operands_spoil(cli_operands *operands)
{
    return cli_random_fill(operands->c, 4, NULL);
}

static void release(void *data, hr_context *pinned)
{
    if (pinned != NULL) {
        hr_free_pinned(pinned, data);
    } else {
        free(data);
    }
}

void cli_operands_free(cli_operands *operands)
{
    release(operands->a.data, operands->pinned);
    release(operands->b.data, operands->pinned);
    release(operands->c.data, operands->pinned);
    memset(operands, 0, sizeof *operands);
}
