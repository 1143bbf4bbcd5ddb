/* SPDX-License-Identifier: MIT */
#include "support/placed.h"

#include <stdlib.h>
#include <string.h>

const char *placed_layout_name(placed_layout layout)
{
    static const char *const names[PLACED_LAYOUTS] = {
        [PLACED_PACKED] = "packed",
        [PLACED_PADDED] = "padded",
        [PLACED_TRANSPOSED] = "transposed",
        [PLACED_SECTION] = "section",
        [PLACED_TRANSPOSED_SECTION] = "transposed section",
    };
    return layout < PLACED_LAYOUTS ? names[layout] : "?";
}

bool placed_init(placed *p, random_source *source, placed_layout layout,
                 const hr_matrix *shape)
{
    bool packed =
        layout == PLACED_TRANSPOSED || layout == PLACED_TRANSPOSED_SECTION;
    bool section =
        layout == PLACED_SECTION || layout == PLACED_TRANSPOSED_SECTION;
    int64_t lines = packed ? shape->cols : shape->rows;
    int64_t width = packed ? shape->rows : shape->cols;
    int64_t above = section ? random_between(source, 1, 3) : 0;
    int64_t left = section ? random_between(source, 1, 9) : 0;
    int64_t right =
        layout == PLACED_PADDED || section ? random_between(source, 1, 9) : 0;
    int64_t stride = left + width + right, size;
    if (stride == 0) {
        stride = 1; /* strides of an empty matrix are valid too */
    }
    size = (int64_t)hr_type_size(shape->type);
    /* One spare element at the end, so that something is always there. */
    *p = (placed){.bytes = (size_t)(((lines + 2 * above) * stride + 1) * size),
                  .lines = lines,
                  .width = width,
                  .stride = stride};
    p->memory = malloc(p->bytes);
    p->before = malloc(p->bytes);
    if (p->memory == NULL || p->before == NULL) {
        return false;
    }
    random_fill_bytes(source, p->memory, p->bytes);
    p->matrix = hr_matrix_row_major(p->memory + (above * stride + left) * size,
                                    shape->type, lines, width, stride);
    p->matrix = packed ? hr_matrix_transpose(p->matrix) : p->matrix;
    p->matrix = shape->conjugate ? hr_matrix_conjugate(p->matrix) : p->matrix;
    random_fill_matrix(source, &p->matrix);
    placed_remember(p);
    return true;
}

void placed_finish(placed *p)
{
    free(p->memory);
    free(p->before);
    *p = (placed){.memory = NULL};
}

void placed_remember(placed *p)
{
    memcpy(p->before, p->memory, p->bytes);
}

void placed_restore(placed *p)
{
    memcpy(p->memory, p->before, p->bytes);
}

/* Whether byte `at` of the memory belongs to an element. */
static bool is_element(const placed *p, size_t at)
{
    const hr_matrix *m = &p->matrix;
    int64_t size = (int64_t)hr_type_size(m->type);
    int64_t from = (int64_t)at - ((unsigned char *)m->data - p->memory);
    int64_t pitch = p->stride * size;
    return from >= 0 && from / pitch < p->lines &&
           from % pitch < p->width * size;
}

size_t placed_changes(const placed *p, bool everything)
{
    size_t changes = 0;
    for (size_t at = 0; at < p->bytes; at++) {
        if (p->memory[at] != p->before[at]) {
            changes += everything || !is_element(p, at);
        }
    }
    return changes;
}
