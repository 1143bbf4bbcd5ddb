/* SPDX-License-Identifier: MIT */
#include "base/format.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

/* This thread's locale, and what it was before. Without memory it stays. */
typedef struct plain {
    locale_t c, before;
} plain;

static plain plain_begin(void)
{
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return (plain){c, uselocale(c)};
}

static void plain_end(plain p)
{
    (void)uselocale(p.before);
    if (p.c != (locale_t)0) {
        freelocale(p.c);
    }
}

int hri_format_list(char *text, size_t size, const char *format,
                    va_list arguments)
{
    const plain p = plain_begin();
    const int length = vsnprintf(text, size, format, arguments);
    plain_end(p);
    return length;
}

int hri_format(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = hri_format_list(text, size, format, arguments);
    va_end(arguments);
    return length;
}

double hri_read_number(const char *text, char **end)
{
    const plain p = plain_begin();
    const double number = strtod(text, end);
    plain_end(p);
    return number;
}

const char *hri_format_extents(char *text, size_t size, const int64_t *extents,
                               int rank)
{
    size_t length = (size_t)snprintf(text, size, "%s", rank == 0 ? "()" : "");
    for (int i = 0; i < rank && length < size; i++) {
        length += (size_t)snprintf(text + length, size - length, "%s%lld",
                                   i > 0 ? "x" : "", (long long)extents[i]);
    }
    return text;
}
