/* SPDX-License-Identifier: MIT */
#include "kernels/words.h"

#include <stdlib.h>

/* ---- the blanked text */

/* The length of what continues a line: a backslash and the line's end.
 * Compilers accept white space between them. 0: nothing of that kind. */
static size_t splice_length(const char *at)
{
    const size_t end = *at == '\\' ? 1 + strspn(at + 1, " \t\r\f\v") : 0;
    return end > 0 && at[end] == '\n' ? end + 1 : 0;
}

/* Whether these two characters come next. */
static bool is_pair(const char *at, const char *pair)
{
    return at[0] == pair[0] && at[1] == pair[1];
}

/* The end of the comment, string or character constant that starts at `at`.
 * Returns `at` when none starts there. */
static char *end_of_words(char *at)
{
    char *end = at + 1;
    if (is_pair(at, "/*")) {
        end = strstr(at + 2, "*/");
        return end != NULL ? end + 2 : at + strlen(at);
    }
    const bool comment = is_pair(at, "//");
    if (!comment && *at != '"' && *at != '\'') {
        return at;
    }
    /* a line comment or string ends with its line, unless that is continued */
    for (; *end != '\0' && *end != '\n' && (comment || *end != *at); end++) {
        const size_t splice = splice_length(end);
        end += splice > 0 ? splice - 1
                          : !comment && end[0] == '\\' && end[1] != '\0';
    }
    return end + (*end != '\0' && *end != '\n');
}

/* Behind a splice. A word that goes on there moves before it. */
static char *blank_splice(char *at, size_t splice, bool in_word)
{
    for (; in_word && hri_in_word(at[splice]); at++) {
        at[0] = at[splice];
    }
    memset(at, ' ', splice);
    at[splice - 1] = '\v';
    return at + splice;
}

/* Write a brace or # in its other spelling as usual. */
static void replace_digraph(char *at)
{
    static const char digraphs[][4] = {"<%{", "%>}", "%:#"};
    for (size_t i = 0; i < sizeof digraphs / sizeof digraphs[0]; i++) {
        if (is_pair(at, digraphs[i])) {
            at[0] = digraphs[i][2];
            at[1] = ' ';
        }
    }
}

static void blank_text(char *text)
{
    for (char *at = text; *at != '\0';) {
        const char *end = end_of_words(at);
        const size_t splice = splice_length(at);
        if (splice > 0) {
            at = blank_splice(at, splice, at > text && hri_in_word(at[-1]));
        } else if (end == at) {
            *at = *at == '\v' ? ' ' : *at;
            replace_digraph(at++);
        } else {
            for (at += *at != '/'; at < end; at++) {
                *at = *at == '\n' ? '\v' : ' ';
            }
        }
    }
}

int hri_text_line(const char *text, const char *at)
{
    static const char anew[] = "\n#line 1 ";
    int line = 1;
    for (; text < at; text++) {
        if (*text == '\n' && strncmp(text, anew, sizeof anew - 1) == 0) {
            line = -1; /* the directive's own line is before line 1 */
        }
        line += *text == '\n' || *text == '\v';
    }
    return line;
}

char *hri_text_blanked(const char *text)
{
    char *blanked = strdup(text);
    if (blanked != NULL) {
        blank_text(blanked);
    }
    return blanked;
}

/* ---- words */

bool hri_word_is_one_of(const char *at, const char *const *words)
{
    while (*words != NULL && !hri_word_is(at, *words)) {
        words++;
    }
    return *words != NULL;
}

bool hri_is_control(const char *at)
{
    static const char *const words[] = {
        "if",      "else",   "for",   "while",    "do",   "switch", "case",
        "default", "return", "break", "continue", "goto", NULL};
    return hri_word_is_one_of(at, words);
}

bool hri_is_unevaluated(const char *at)
{
    static const char *const words[] = {"sizeof",
                                        "_Alignof",
                                        "_Generic",
                                        "typeof",
                                        "__typeof__",
                                        "offsetof",
                                        "__builtin_constant_p",
                                        NULL};
    return hri_word_is_one_of(at, words);
}
