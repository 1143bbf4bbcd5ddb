/* SPDX-License-Identifier: MIT */
#include "runtime/macros.h"

#include <stdlib.h>

#include "runtime/words.h"

enum { MAX_NESTED = 8 };

/* Write the names, unless `names` is NULL. Returns their number. */
static size_t find(const char *text, const char **names)
{
    size_t count = 0;
    for (const char *at = text; (at = strchr(at, '#')) != NULL; at++) {
        const char *word = hri_skip_space(at + 1);
        if (hri_word_is(word, "define")) {
            if (names != NULL) {
                names[count] = hri_skip_space(word + sizeof "define" - 1);
            }
            count++;
        }
    }
    return count;
}

bool hri_macros_find(hri_macros *m, const char *text)
{
    m->count = find(text, NULL);
    m->names = calloc(m->count + 1, sizeof *m->names);
    if (m->names != NULL) {
        find(text, m->names);
    }
    return m->names != NULL;
}

bool hri_is_macro(const hri_macros *m, const char *word)
{
    size_t i = 0;
    while (i < m->count && !hri_same_word(m->names[i], word)) {
        i++;
    }
    return i < m->count;
}

static bool is_value(const hri_macros *m, const char *word, int depth);

/* Whether the definition that begins with this name is an expression that
 * changes nothing and is always evaluated. */
static bool defines_value(const hri_macros *m, const char *name, int depth)
{
    const char *end = hri_end_of_line(name);
    const char *at = name + hri_word_length(name);
    const char *open = *at == '(' ? hri_skip_parentheses(at) : at;
    int parentheses = 0;
    for (at = open != NULL ? open : end; at < end && parentheses >= 0; at++) {
        const bool word = hri_in_word(*at);
        if (strchr("{};?=&|#", *at) != NULL ||
            ((*at == '+' || *at == '-') && at[1] == *at) ||
            (word && (hri_is_control(at) || hri_is_unevaluated(at) ||
                      !is_value(m, at, depth)))) {
            return false;
        }
        parentheses += (*at == '(') - (*at == ')');
        at += word ? hri_word_length(at) - 1 : 0;
    }
    return open != NULL && parentheses == 0;
}

/* Whether a word is no macro, or each definition of it is a value. */
static bool is_value(const hri_macros *m, const char *word, int depth)
{
    bool value = depth < MAX_NESTED;
    for (size_t i = 0; i < m->count && value; i++) {
        value = !hri_same_word(m->names[i], word) ||
                defines_value(m, m->names[i], depth + 1);
    }
    return value;
}

bool hri_stands_for_value(const hri_macros *m, const char *word)
{
    return is_value(m, word, 0);
}
