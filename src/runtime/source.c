/* SPDX-License-Identifier: MIT */
/* The source that compilers of devices get for a kernel: the dialect, and the
 * kernel's text with small changes. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/module.h"
#include "runtime/words.h"

extern const char hri_dialect_text[]; /* include/headrace/dialect.h */

/* Assertions that make the compiler check types with a size that only the
 * arguments tell. */
static void append_sizes(char *end, const hr_kernel *kernel)
{
    const hr_parameter *p = kernel->parameters(kernel);
    for (uint32_t i = 0; i < kernel->parameter_count; i++) {
        if (hri_text_learned(kernel, i)) {
            end += sprintf(
                end,
                "\n#line 1 \"%s was given %zu bytes, but its type has "
                "another size\"\n"
                "typedef char hr_%s_has_another_size"
                "[sizeof(%s) == %zu ? 1 : -1];\n",
                p[i].name, p[i].bytes, p[i].name, p[i].type, p[i].bytes);
        }
    }
}

/* Empty the directives that include the dialect, however they are written. */
static void remove_includes(char *text, const char *blanked)
{
    for (const char *at = blanked; (at = strchr(at, '#')) != NULL; at++) {
        const char *word = hri_skip_space_in_line(at + 1);
        const char *name = hri_skip_space_in_line(word + hri_word_length(word));
        const size_t length = hri_dialect_name(text + (name - blanked));
        char *end = text + (name - blanked) + length;
        if (hri_word_is(word, "include") && length > 0) {
            for (char *c = text + (at - blanked); c < end; c++) {
                *c = *c == '\n' ? '\n' : ' ';
            }
        }
    }
}

/* The second `long` of the type that begins with the one at `at`. NULL: there
 * is one alone. A directive ends with its line. */
static const char *second_long(const char *at, bool directive)
{
    static const char *const others[] = {"unsigned", "signed", "int", NULL};
    do {
        at += hri_word_length(at);
        at = directive ? hri_skip_space_in_line(at) : hri_skip_space(at);
    } while (hri_word_is_one_of(at, others));
    return hri_word_is(at, "long") ? at : NULL;
}

/* Replace the suffix LL of a constant, whose word ends at `end`, by L. */
static void shorten_suffix(char *end)
{
    char *start = end;
    while (strchr("uUlL", start[-1]) != NULL) {
        start--;
    }
    const size_t length = (size_t)(end - start);
    const bool is_unsigned = memchr(start, 'u', length) != NULL ||
                             memchr(start, 'U', length) != NULL;
    if (length == 2u + is_unsigned) {
        memset(start, ' ', length);
        memcpy(start, "LU", 1u + is_unsigned);
    }
}

/* Whether a word is the same in the text: not in the middle of one does a line
 * go on. */
static bool is_whole(const char *text, const char *blanked, const char *word)
{
    return strncmp(text + (word - blanked), word, hri_word_length(word)) == 0;
}

/* In OpenCL `long` has 64 bits, and long long is reserved for 128. HR_L is
 * nothing there, and elsewhere `long` (headrace/dialect). */
static void adapt_longs(char *text, const char *blanked)
{
    const char *directive = blanked; /* its end */
    size_t length;
    for (const char *at = blanked; *at != '\0'; at += length > 0 ? length : 1) {
        length = hri_word_length(at);
        directive = *at == '#' ? hri_end_of_line(at) : directive;
        const char *second =
            hri_word_is(at, "long") ? second_long(at, at < directive) : NULL;
        if (second != NULL && is_whole(text, blanked, second)) {
            memcpy(text + (second - blanked), "HR_L", 4);
            length = (size_t)(second - at) + 4;
        } else if (isdigit((unsigned char)*at) && is_whole(text, blanked, at)) {
            shorten_suffix(text + (at - blanked) + length);
        }
    }
}

/* Change a kernel's text to what compilers of devices read. False: there is no
 * memory. */
static bool adapt(char *text)
{
    static const char signature[] = "\xEF\xBB\xBF"; /* of UTF-8 */
    if (strncmp(text, signature, sizeof signature - 1) == 0) {
        memset(text, ' ', sizeof signature - 1);
    }
    char *blanked = hri_text_blanked(text);
    if (blanked != NULL) {
        remove_includes(text, blanked);
        adapt_longs(text, blanked);
        free(blanked);
    }
    return blanked != NULL;
}

/* The line directives make messages name the kernel's own file and lines. The
 * line that includes the dialect becomes empty. */
char *hri_kernel_source(const hr_kernel *kernel)
{
    const hr_parameter *p = kernel->parameters(kernel);
    size_t bytes =
        strlen(hri_dialect_text) + strlen(kernel->file) + strlen(kernel->text);
    for (uint32_t i = 0; i < kernel->parameter_count; i++) {
        bytes += 160 + 2 * strlen(p[i].name) + strlen(p[i].type);
    }
    char *source = malloc(bytes + 64);
    if (source != NULL) {
        char *line =
            source +
            sprintf(source, "%s%s\n",
                    kernel->reproducible ? "#define HR_REPRODUCIBLE 1\n" : "",
                    hri_dialect_text);
        char *end = line + sprintf(line, "#line 1 \"%s\"\n%s", kernel->file,
                                   kernel->text);
        append_sizes(end, kernel);
        if (!adapt(end - strlen(kernel->text))) {
            free(source);
            source = NULL;
        }
    }
    return source;
}
