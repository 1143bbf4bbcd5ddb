/* SPDX-License-Identifier: MIT */
/* Reading JSON [RFC8259] from memory, one value after the other. After a fault
 * every function returns false. */
#ifndef HRI_BASE_JSON_H
#define HRI_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hri_json {
    const char *at, *end; /* what is left */
    const char *wanted;   /* what should stand at `at` and does not; NULL: there
                             was no fault. Where at == end, text is missing */
    int depth;
    bool follows; /* another member comes before, on this level */
} hri_json;

/* Begin an object or array. bracket is { or [. */
bool hri_json_begin(hri_json *json, char bracket);

/* Go to the value of the next member of an object, or to the next element of an
 * array. False at the end, which is passed. The key is as hri_json_text has
 * it. */
bool hri_json_member(hri_json *json, char *key, size_t bytes, size_t *length);
bool hri_json_element(hri_json *json);

/* Read text as UTF-8, and write a 0 behind it. What is too long is cut off. The
 * text has fewer bytes than what it is read from. *length is without the 0;
 * length may be NULL. */
bool hri_json_text(hri_json *json, char *text, size_t bytes, size_t *length);

/* Read a number. It is finite; the second one is whole, and below 2^63. */
bool hri_json_number(hri_json *json, double *number);
bool hri_json_count(hri_json *json, uint64_t *number);

/* Pass a value. */
bool hri_json_any(hri_json *json);

/* Whether only space follows. */
bool hri_json_end(hri_json *json);

#endif
