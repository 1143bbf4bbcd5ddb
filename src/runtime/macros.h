/* SPDX-License-Identifier: MIT */
/* The macros that a blanked text (words.h) defines. Any thread. */
#ifndef HRI_RUNTIME_MACROS_H
#define HRI_RUNTIME_MACROS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct hri_macros {
    const char **names; /* in the text, where they are defined */
    size_t count;
} hri_macros;

/* The caller frees the names. False: there is no memory. */
bool hri_macros_find(hri_macros *macros, const char *text);

bool hri_is_macro(const hri_macros *macros, const char *word);

/* Whether a word is no macro, or each definition of it is an expression that
 * changes nothing and is always evaluated. */
bool hri_stands_for_value(const hri_macros *macros, const char *word);

#endif
