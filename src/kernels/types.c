/* SPDX-License-Identifier: MIT */
/* The types that the dialect defines. */
#include <string.h>

#include "kernels/kernels.h"

typedef enum kind { INTEGER = 1, FRACTION, COMPLEX } kind;

/* Halves are kept as bits, in integers. */
static const struct element {
    const char *name;
    size_t bytes;
    kind kind;
} elements[] = {
    {"char", 1, INTEGER},           {"signed char", 1, INTEGER},
    {"unsigned char", 1, INTEGER},  {"short", 2, INTEGER},
    {"unsigned short", 2, INTEGER}, {"int", 4, INTEGER},
    {"unsigned", 4, INTEGER},       {"unsigned int", 4, INTEGER},
    {"long", 8, INTEGER},           {"unsigned long", 8, INTEGER},
    {"long long", 8, INTEGER},      {"unsigned long long", 8, INTEGER},
    {"hr_index", 8, INTEGER},       {"hr_f16", 2, INTEGER},
    {"hr_bf16", 2, INTEGER},        {"float", 4, FRACTION},
    {"double", 8, FRACTION},        {"hr_c32", 8, COMPLEX},
    {"hr_c64", 16, COMPLEX}};

static const struct element *find_element(const char *type)
{
    for (size_t i = 0; type != NULL && i < sizeof elements / sizeof elements[0];
         i++) {
        if (strcmp(elements[i].name, type) == 0) {
            return &elements[i];
        }
    }
    return NULL;
}

size_t hri_element_bytes(const char *type)
{
    const struct element *e = find_element(type);
    return e != NULL ? e->bytes : 0;
}

const char *hri_element_name(const char *type, size_t bytes)
{
    const struct element *e = find_element(type);
    return e != NULL && e->bytes == bytes ? e->name : NULL;
}

bool hri_element_agrees(const char *a, const char *b)
{
    const struct element *x = find_element(a), *y = find_element(b);
    return x == NULL || y == NULL ||
           (x->kind == y->kind && x->bytes == y->bytes);
}
