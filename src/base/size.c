/* SPDX-License-Identifier: MIT */
#include "base/size.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"

static const struct {
    const char *name;
    double bytes;
} units[] = {
    {"", 1},         {"B", 1},        {"KiB", 0x1p10}, {"MiB", 0x1p20},
    {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"kB", 1e3},     {"MB", 1e6},
    {"GB", 1e9},     {"TB", 1e12},
};

bool hri_parse_bytes(const char *text, uint64_t *bytes)
{
    if (!isdigit((unsigned char)text[0]) ||
        (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))) {
        return false;
    }
    char *end;
    double number = hri_read_number(text, &end);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(end, units[i].name) == 0) {
            number *= units[i].bytes;
            if (!(number >= 1.0 && number < 0x1p63)) {
                return false;
            }
            *bytes = (uint64_t)number;
            return true;
        }
    }
    return false;
}
