/* SPDX-License-Identifier: MIT */
/* The source that compilers of devices get for a kernel: the dialect, and the
 * kernel's text with small changes. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/words.h"

/* include/headrace/dialect.h and what it includes, for compilers of devices and
 * for C compilers. cmake/kernels.cmake makes them. */
extern const char hri_dialect_text[], hri_host_dialect_text[];

/* ---- macros for kernels of so many parameters, as dialect.h has them for the
 * host. OpenCL C has no variadic macros, so each form names its parameters. */

enum { MAX_FORM_BYTES = 1600 };

static char *append_names(char *end, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        end += sprintf(end, ", p%u", i);
    }
    return end;
}

static char *append_form(char *end, uint32_t count)
{
    static const char *const lists[] = {
        "HR_DECLARE_, HR_COMMA_", "HR_PASS_, HR_COMMA_", "HR_OTHER_, HR_COMMA_",
        "HR_FIELD_, HR_NOTHING_"};
    end = append_names(end + sprintf(end, "#define HR_LIST%u_(f, s", count),
                       count);
    end += sprintf(end, ") f p0");
    for (uint32_t i = 1; i < count; i++) {
        end += sprintf(end, " s() f p%u", i);
    }
    end = append_names(end + sprintf(end, "\n#define HR_KERNEL%u(name", count),
                       count);
    end += sprintf(end, ") HR_DEFINE_(name, %u", count);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        end = append_names(
            end + sprintf(end, ", HR_LIST%u_(%s", count, lists[i]), count);
        end += sprintf(end, ")");
    }
    return end + sprintf(end, ")\n");
}

/* Append the forms that a text has. */
static char *append_forms(char *end, const char *text)
{
    static const char start[] = "HR_KERNEL";
    bool has[HR_MAX_PARAMETERS + 1] = {false};
    while ((text = strstr(text, start)) != NULL) {
        text += sizeof start - 1;
        const unsigned long count =
            isdigit((unsigned char)*text) ? strtoul(text, NULL, 10) : 0;
        if (count >= 1 && count <= HR_MAX_PARAMETERS && !has[count]) {
            has[count] = true;
            end = append_form(end, (uint32_t)count);
        }
    }
    return end;
}

/* Assertions that make the compiler check types with a size that only the
 * arguments tell. */
static void append_sizes(char *end, const hr_kernel *kernel)
{
    const hr_parameter *p = kernel->parameters(kernel);
    for (uint32_t i = 0; i < kernel->parameter_count; i++) {
        if (hri_text_has_set_size(kernel, i)) {
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

/* Whether a word is the same in the text: it does not go on in another line. */
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

/* Change a kernel's text to what compilers read. False: there is no
 * memory. */
static bool adapt_text(char *text, bool device)
{
    /* The signature of UTF-8. In the text of a file it is behind the build's
     * definitions. */
    static const char signature[] = "\xEF\xBB\xBF";
    for (char *at = text; (at = strstr(at, signature)) != NULL; at++) {
        if (at == text || at[-1] == '\n') {
            memset(at, ' ', sizeof signature - 1);
        }
    }
    char *blanked = hri_text_blanked(text);
    if (blanked == NULL) {
        return false;
    }
    remove_includes(text, blanked);
    if (device) {
        adapt_longs(text, blanked);
    }
    free(blanked);
    return true;
}

static bool is_for_device(hri_source_form form)
{
    return form == HRI_SOURCE_DEVICE || form == HRI_SOURCE_EMULATED;
}

/* The dialect and what it depends on, then the kernel's definitions. For C
 * compilers the dialect is a header of the system: messages about its macros
 * name the lines that use them. For a CPU behind OpenCL a text that asks by
 * HR_WANTED which kernels it should have gets those whose names are this one's
 * up to the last word: a call may launch several of them, and each text costs
 * more than a kernel in it. */
static char *append_start(char *end, const hr_kernel *kernel,
                          hri_source_form form)
{
    if (kernel->reproducible) {
        end += sprintf(end, "#define HR_REPRODUCIBLE 1\n");
    }
    if (form == HRI_SOURCE_EMULATED) {
        end += sprintf(end, "#define HR_EMULATED 1\n");
    }
    if (form == HRI_SOURCE_EMULATED && strstr(kernel->text, "HR_WANTED")) {
        const char *last = strrchr(kernel->name, '_');
        const size_t length = last == NULL ? strlen(kernel->name)
                                           : (size_t)(last + 1 - kernel->name);
        end +=
            sprintf(end, "#define HR_ONLY_%.*s 1\n", (int)length, kernel->name);
    }
    if (form == HRI_SOURCE_CHECKED) {
        end += sprintf(end, "#define HR_CHECKED 1\n");
    }
    if (is_for_device(form)) {
        end += sprintf(end, "%s\n", hri_dialect_text);
    } else {
        end += sprintf(end,
                       "#define HR_KERNEL_MODULE 1\n"
                       "# 1 \"headrace/dialect.h\" 3\n%s\n",
                       hri_host_dialect_text);
    }
    return end +
           sprintf(end, "%s",
                   kernel->definitions != NULL ? kernel->definitions : "");
}

/* The line directives make messages name the kernel's own file and lines. The
 * line that includes the dialect becomes empty. */
char *hri_kernel_source(const hr_kernel *kernel, hri_source_form form)
{
    enum { START = 200 };
    const bool device = is_for_device(form);
    const hr_parameter *p = kernel->parameters(kernel);
    size_t bytes =
        START + strlen(device ? hri_dialect_text : hri_host_dialect_text) +
        strlen(kernel->name) + strlen(kernel->file) + strlen(kernel->text) +
        (kernel->definitions != NULL ? strlen(kernel->definitions) : 0) +
        HR_MAX_PARAMETERS * (size_t)MAX_FORM_BYTES;
    for (uint32_t i = 0; i < kernel->parameter_count; i++) {
        bytes += 160 + 2 * strlen(p[i].name) + strlen(p[i].type);
    }
    char *source = malloc(bytes);
    if (source == NULL) {
        return NULL;
    }
    char *end = append_start(source, kernel, form);
    end = device ? append_forms(end, kernel->text) : end;
    end += sprintf(end, "%s 1 \"%s\"\n", device ? "#line" : "#", kernel->file);
    char *text = end;
    end += sprintf(end, "%s", kernel->text);
    append_sizes(end, kernel);
    if (!adapt_text(text, device)) {
        free(source);
        return NULL;
    }
    return source;
}
