/* SPDX-License-Identifier: MIT */
#include "base/printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The number of bytes of well-formed UTF-8 that start at s: 2 to 4. 0 for
 * anything else, such as overlong forms and surrogates. s must not be below
 * 0x80. [Unicode, table 3-7] Codes up to 0x9f are control characters. */
static int long_length(const unsigned char *s)
{
    static const uint32_t least[] = {0, 0, 0xa0, 0x800, 0x10000};
    const int length = 2 + (s[0] >= 0xe0) + (s[0] >= 0xf0);
    uint32_t code = s[0] & (0x7fu >> length);
    for (int i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0;
        }
        code = code << 6 | (s[i] & 0x3fu);
    }
    /* marks that change the direction of what follows */
    const bool turns = (code >= 0x200e && code <= 0x200f) ||
                       (code >= 0x202a && code <= 0x202e) ||
                       (code >= 0x2066 && code <= 0x2069);
    const bool good = !turns && s[0] >= 0xc0 && s[0] <= 0xf4 &&
                      code >= least[length] && code <= 0x10ffff &&
                      (code < 0xd800 || code > 0xdfff);
    return good ? length : 0;
}

int hri_printable_length(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    return *s >= 0x80 ? long_length(s) : *s >= 0x20 && *s != 0x7f;
}

const char *hri_printable(const char *text, char *to, size_t bytes)
{
    size_t at = 0;
    while (*text != '\0') {
        char escape[8];
        int length = hri_printable_length(text);
        const char *from = text;
        text += length > 0 ? length : 1;
        if (length == 0) {
            length = *from == '\n' || *from == '\t'
                         ? snprintf(escape, sizeof escape, "\\%c",
                                    *from == '\n' ? 'n' : 't')
                         : snprintf(escape, sizeof escape, "\\x%02x",
                                    (unsigned char)*from);
            from = escape;
        }
        if (at + (size_t)length >= bytes) {
            break;
        }
        memcpy(to + at, from, (size_t)length);
        at += (size_t)length;
    }
    to[at] = '\0';
    return to;
}

/* In UTF-8 some bytes continue a character. */
int hri_printable_width(const char *text)
{
    int width = 0;
    for (; *text != '\0'; text++) {
        width += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return width;
}
