/* SPDX-License-Identifier: MIT */
/* Words of C in a blanked text (hri_text_blank). */
#ifndef HRI_RUNTIME_WORDS_H
#define HRI_RUNTIME_WORDS_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool hri_in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static inline size_t hri_word_length(const char *at)
{
    size_t length = 0;
    while (hri_in_word(at[length])) {
        length++;
    }
    return length;
}

/* Whether `word` stands at `at`. */
static inline bool hri_word_is(const char *at, const char *word)
{
    const size_t length = strlen(word);
    return hri_word_length(at) == length && strncmp(at, word, length) == 0;
}

static inline const char *hri_skip_space(const char *at)
{
    return at + strspn(at, " \t\r\n\f\v");
}

/* Behind the parenthesis that closes the one at `at`. NULL: none does. */
static inline const char *hri_skip_parentheses(const char *at)
{
    int depth = 0;
    for (; *at != '\0'; at++) {
        depth += (*at == '(') - (*at == ')');
        if (depth == 0) {
            return at + 1;
        }
    }
    return NULL;
}

/* The length of the dialect's name as #include has it. 0: another name. */
static inline size_t hri_dialect_name(const char *at)
{
    static const char *const names[] = {"<headrace/dialect.h>",
                                        "\"headrace/dialect.h\""};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strncmp(at, names[i], strlen(names[i])) == 0) {
            return strlen(names[i]);
        }
    }
    return 0;
}

static inline const char *hri_skip_space_in_line(const char *at)
{
    return at + strspn(at, " \t\r\f\v");
}

/* The end of a directive, which is that of its line. A line that goes on ends
 * with a vertical tab. */
static inline const char *hri_end_of_line(const char *at)
{
    return at + strcspn(at, "\n");
}

/* Whether a block of items begins with the word, HR_EACH1 or the like. */
static inline bool hri_begins_items(const char *at)
{
    const size_t length = hri_word_length(at);
    return (length == 8 && strncmp(at, "HR_EACH", 7) == 0) ||
           (length == 9 && strncmp(at, "HR_ITEMS", 8) == 0);
}

#endif
