/* SPDX-License-Identifier: MIT */
/* The text of kernels without its comments and strings, and the words of C in
 * it. Any thread. */
#ifndef HRI_KERNELS_WORDS_H
#define HRI_KERNELS_WORDS_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A copy of a text with comments, what is in quotes and the ends of continued
 * lines overwritten by space, but for the opening quotes. A line that ends
 * there, and so goes on for the compiler, ends with a vertical tab. Digraphs
 * are replaced. The caller frees it. NULL: there is no memory. */
char *hri_text_blanked(const char *text);

/* The line of a place in a blanked text. A #line 1 begins to count anew. */
int hri_text_line(const char *text, const char *at);

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

/* The first word between `at` and `end`. NULL: there is none. */
static inline const char *hri_find_word(const char *at, const char *end)
{
    while (at < end && !hri_in_word(*at)) {
        at++;
    }
    return at < end ? at : NULL;
}

/* The word behind the one at `word`. */
static inline const char *hri_next_word(const char *word, const char *end)
{
    return hri_find_word(word + hri_word_length(word), end);
}

/* Whether `word` stands at `at`. */
static inline bool hri_word_is(const char *at, const char *word)
{
    if (*at != *word) { /* most often */
        return false;
    }
    const size_t length = strlen(word);
    return strncmp(at, word, length) == 0 && !hri_in_word(at[length]);
}

/* One of a list that ends with NULL. */
bool hri_word_is_one_of(const char *at, const char *const *words);

/* Words after which code may not run, or not once. */
bool hri_is_control(const char *at);

/* Words whose operand is not evaluated. */
bool hri_is_unevaluated(const char *at);

static inline bool hri_same_word(const char *a, const char *b)
{
    const size_t length = hri_word_length(a);
    return hri_word_length(b) == length && strncmp(a, b, length) == 0;
}

static inline const char *hri_skip_space(const char *at)
{
    return at + strspn(at, " \t\r\n\f\v");
}

static inline const char *hri_skip_space_in_line(const char *at)
{
    return at + strspn(at, " \t\r\f\v");
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
