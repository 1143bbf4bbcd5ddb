/* SPDX-License-Identifier: MIT */
/* The types that products are offered for: those of the table in
 * headrace/gemm.h. */
#ifndef PAIRS_H
#define PAIRS_H

#include <stdbool.h>

#include <headrace/matrix.h>

typedef struct type_pair {
    hr_type ab, c;
} type_pair;

static const type_pair pairs[] = {
    {HR_F32, HR_F32},   {HR_F64, HR_F64},  {HR_C32, HR_C32},
    {HR_C64, HR_C64},   {HR_F16, HR_F16},  {HR_F16, HR_F32},
    {HR_BF16, HR_BF16}, {HR_BF16, HR_F32}, {HR_I8, HR_I32},
};
enum { PAIRS = sizeof pairs / sizeof pairs[0] };

static inline bool is_complex(hr_type type)
{
    return type == HR_C32 || type == HR_C64;
}

#endif
