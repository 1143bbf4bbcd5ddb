/* SPDX-License-Identifier: MIT */
#include "base/structs.h"

#include <string.h>

static uint32_t size_of(const void *of)
{
    uint32_t size;
    memcpy(&size, of, sizeof size);
    return size;
}

static size_t common(const hri_struct *s, size_t size)
{
    return size < s->known ? size : s->known;
}

hr_status hri_struct_check(const hri_struct *s, const void *of)
{
    if (of == NULL ||
        (size_of(of) >= s->least && size_of(of) <= HRI_MAX_STRUCT_BYTES)) {
        return HR_OK;
    }
    return hri_fail(HR_ERROR_INVALID, "%s: size is %u, not %zu; start with %s",
                    s->name, size_of(of), s->known, s->start);
}

hr_status hri_struct_read(const hri_struct *s, const void *from, void *to)
{
    HRI_TRY(hri_struct_check(s, from));
    if (from != NULL) {
        memset(to, 0, s->known);
        memcpy(to, from, common(s, size_of(from)));
    }
    return HR_OK;
}

void hri_struct_write(const hri_struct *s, const void *from, void *to)
{
    const size_t field = sizeof(uint32_t);
    if (to != NULL) {
        const size_t size = size_of(to);
        memset((char *)to + field, 0, size - field);
        memcpy((char *)to + field, (const char *)from + field,
               common(s, size) - field);
    }
}
