/* SPDX-License-Identifier: MIT */
#include "support/random.h"

#include <string.h>

#include <headrace/half.h>

uint64_t random_next(random_source *source)
{
    source->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = source->state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

int64_t random_between(random_source *source, int64_t low, int64_t high)
{
    uint64_t span = (uint64_t)high - (uint64_t)low + 1;
    uint64_t bits = random_next(source);
    uint64_t step = span == 0 ? bits : bits % span; /* span 0 means 2^64 */
    return (int64_t)((uint64_t)low + step);
}

double random_unit(random_source *source)
{
    return (double)(int64_t)random_next(source) * 0x1p-63;
}

void random_fill_bytes(random_source *source, void *bytes, size_t count)
{
    unsigned char *next = bytes;
    for (size_t i = 0; i < count; i++) {
        next[i] = (unsigned char)(random_next(source) >> 56);
    }
}

/* Fill one element. All kinds of value are drawn, so that later numbers do not
 * depend on the type. */
static void fill_element(random_source *source, hr_type type, void *element)
{
    double parts[2] = {random_unit(source), random_unit(source)};
    float narrow[2] = {(float)parts[0], (float)parts[1]};
    uint16_t half =
        type == HR_F16 ? hr_f32_to_f16(narrow[0]) : hr_f32_to_bf16(narrow[0]);
    int8_t byte = (int8_t)random_between(source, INT8_MIN, INT8_MAX);
    int32_t word = (int32_t)random_between(source, -1000, 1000);
    const void *value = parts;
    switch (type) {
    case HR_F64:
    case HR_C64:
        break;
    case HR_F32:
    case HR_C32:
        value = narrow;
        break;
    case HR_F16:
    case HR_BF16:
        value = &half;
        break;
    case HR_I8:
        value = &byte;
        break;
    case HR_I32:
        value = &word;
        break;
    }
    memcpy(element, value, hr_type_size(type));
}

void random_fill_matrix(random_source *source, const hr_matrix *m)
{
    unsigned char *start = m->data;
    for (int64_t row = 0; row < m->rows; row++) {
        for (int64_t col = 0; col < m->cols; col++) {
            int64_t index = row * m->row_stride + col * m->col_stride;
            fill_element(source, m->type,
                         start + index * (int64_t)hr_type_size(m->type));
        }
    }
}

hr_scalar random_scalar(random_source *source, hr_type type)
{
    static const double plain[] = {0.0, 1.0, -1.0};
    const int64_t kind = random_between(source, 0, 5);
    if (kind < 3) {
        return (hr_scalar){plain[kind], 0.0};
    }
    if (type == HR_I32) {
        return (hr_scalar){(double)random_between(source, INT32_MIN, INT32_MAX),
                           0.0};
    }
    if (kind > 3 && (type == HR_C32 || type == HR_C64)) {
        const double re = random_unit(source);
        return (hr_scalar){re, random_unit(source)};
    }
    return (hr_scalar){3.0 * random_unit(source), 0.0};
}
