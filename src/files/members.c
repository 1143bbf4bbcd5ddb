/* SPDX-License-Identifier: MIT */
#include "files/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hr_status hri_members_add(hri_members *members, hri_member **added)
{
    if (members->count == members->capacity) {
        const size_t capacity = 2 * members->capacity + 8;
        hri_member *list =
            realloc(members->list, capacity * sizeof *members->list);
        if (list == NULL) {
            return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                            "no memory for a list of %zu members", capacity);
        }
        members->list = list;
        members->capacity = capacity;
    }
    *added = &members->list[members->count++];
    **added = (hri_member){0};
    return HR_OK;
}

static int compare_places(const void *one, const void *other)
{
    const hri_member *a = one, *b = other;
    if (a->begin != b->begin) {
        return a->begin < b->begin ? -1 : 1;
    }
    return (a->end > b->end) - (a->end < b->end);
}

static int compare_names(const void *one, const void *other)
{
    const hri_file_text *a = &((const hri_member *)one)->name;
    const hri_file_text *b = &((const hri_member *)other)->name;
    const size_t common = a->length < b->length ? a->length : b->length;
    const int order = memcmp(a->bytes, b->bytes, common);
    return order != 0 ? order
                      : (a->length > b->length) - (a->length < b->length);
}

hr_status hri_members_check(hri_members *members)
{
    char one[HRI_FILE_SHOWN_BYTES], other[HRI_FILE_SHOWN_BYTES];
    hri_member *list = members->list;
    if (members->count < 2) {
        return HR_OK;
    }
    qsort(list, members->count, sizeof *list, compare_names);
    for (size_t i = 1; i < members->count; i++) {
        if (compare_names(&list[i - 1], &list[i]) == 0) {
            return hri_fail(HR_ERROR_IO, "it has two members '%s'",
                            hri_file_show(list[i].name, one));
        }
    }
    qsort(list, members->count, sizeof *list, compare_places);
    for (size_t i = 1; i < members->count; i++) {
        if (list[i].begin < list[i - 1].end) {
            return hri_fail(HR_ERROR_IO,
                            "its members '%s' and '%s' share bytes",
                            hri_file_show(list[i - 1].name, one),
                            hri_file_show(list[i].name, other));
        }
    }
    return HR_OK;
}

/* "a, b, c and 7 more" */
static const char *list_names(const hri_members *members, char *text,
                              size_t size)
{
    enum { NAMES = 4 };
    size_t length = 0;
    for (size_t i = 0; i < members->count && i < NAMES; i++) {
        char shown[HRI_FILE_SHOWN_BYTES];
        length += (size_t)snprintf(text + length, size - length, "%s%s",
                                   i > 0 ? ", " : "",
                                   hri_file_show(members->list[i].name, shown));
    }
    if (members->count > NAMES) {
        snprintf(text + length, size - length, " and %zu more",
                 members->count - NAMES);
    }
    return text;
}

hr_status hri_members_choose(const hri_members *members, const char *name,
                             const hri_member **chosen)
{
    char names[400], shown[HRI_FILE_SHOWN_BYTES];
    if (members->count == 0) {
        return hri_fail(HR_ERROR_IO, "it has no arrays");
    }
    if (name == NULL && members->count == 1) {
        *chosen = &members->list[0];
        return HR_OK;
    }
    list_names(members, names, sizeof names);
    if (name == NULL) {
        return hri_fail(HR_ERROR_IO,
                        "it has %zu arrays: write one of their names behind a "
                        "colon: %s",
                        members->count, names);
    }
    for (size_t i = 0; i < members->count; i++) {
        if (hri_file_text_is(members->list[i].name, name)) {
            *chosen = &members->list[i];
            return HR_OK;
        }
    }
    const hri_file_text wanted = {(const uint8_t *)name, strlen(name)};
    return hri_fail(HR_ERROR_IO, "it has no array '%s', but %s",
                    hri_file_show(wanted, shown), names);
}

void hri_members_free(hri_members *members)
{
    free(members->list);
    free(members->text);
    *members = (hri_members){0};
}
