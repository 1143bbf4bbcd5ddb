/* SPDX-License-Identifier: MIT */
/* What OUT views hold before a run. */
#include <string.h>

#include "checker/watch.h"
#include "runtime/module.h"

/* Bits that depend only on a number [Steele2014]. */
static uint64_t mixed(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static bool is_one_of(const char *type, const char *const *names)
{
    while (*names != NULL && strcmp(*names, type) != 0) {
        names++;
    }
    return *names != NULL;
}

static bool is_half(const hr_parameter *p)
{
    return strcmp(p->type, "hr_f16") == 0;
}

/* Whether an element is taken for an integer. Of types of which only the size
 * is known, each second one is, and the small ones are. */
static bool is_integer(const hr_parameter *p, size_t element)
{
    static const char *const fractions[] = {
        "hr_f16", "hr_bf16", "float", "double", "hr_c32", "hr_c64", NULL};
    return hri_element_name(p->type, p->bytes) != NULL
               ? !is_one_of(p->type, fractions)
               : p->bytes < 4 || element % 2 == 1;
}

/* Byte i of large negative numbers: integers as small as can be, or fractions
 * just above minus infinity. The latter suit both floats and doubles. */
static unsigned negative(const hr_parameter *p, size_t i, unsigned any)
{
    const size_t above = p->bytes - 1 - i % p->bytes;
    if (is_half(p)) {
        return above == 0 ? 0xfb : 0x80 | any;
    }
    if (is_integer(p, i / p->bytes)) {
        return above == 0 ? 0x80 : 0x80 | any;
    }
    return above % 4 == 0   ? 0xff
           : above % 4 == 1 ? 0x70 | (any & 7)
                            : 0x80 | any;
}

/* A byte of 0 or a number up to 100. */
static unsigned small(size_t b, uint64_t word)
{
    return b > 0 || (word & 1) == 0 ? 0 : (unsigned)((word >> 1) % 100 + 1);
}

void hri_poison(const hri_watched *view, int run, unsigned char *to)
{
    const hr_parameter *p = view->parameter;
    const uint64_t seed = (uint64_t)p->at * 977;
    for (size_t i = 0; i < HRI_POISONED * p->bytes; i++) {
        const size_t b = i % p->bytes;
        const uint64_t word = mixed((run == 1 ? i / p->bytes : i / 8) + seed);
        const unsigned any = (unsigned)(word >> (i % 8 * 8)) & 0xff;
        to[i] = (unsigned char)(run == 0     ? negative(p, i, any)
                                : run == 1   ? small(b, word)
                                : is_half(p) ? 0x7b
                                             : 0x7f);
    }
}
