/* SPDX-License-Identifier: MIT */
/* Kernels that are known as text alone. This file finds a kernel in its text
 * and reads its parameters. The rest of the text is for the compilers. */
#include "kernels/kernels.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "hal/backend.h"
#include "kernels/words.h"

typedef struct hri_text {
    hr_kernel kernel; /* first: a pointer to it is one to the hri_text */
    struct hri_text *next;
    hr_context *context;
    hr_parameter parameters[HR_MAX_PARAMETERS];
    const char *written[HR_MAX_PARAMETERS]; /* their names in the text */
    bool learned[HR_MAX_PARAMETERS];
    char *free_words; /* where the next word is copied to */
    char words[];     /* all words kept of the text, and file and name */
} hri_text;

static const hr_parameter *parameters_of(const hr_kernel *kernel)
{
    return ((const hri_text *)kernel)->parameters;
}

static const char *keep_words(hri_text *text, const char *words, size_t length)
{
    char *kept = text->free_words;
    memcpy(kept, words, length);
    kept[length] = '\0';
    text->free_words += length + 1;
    return kept;
}

/* ---- reading */

typedef struct reader {
    hri_text *to;
    const char *start, *at; /* in the blanked text */
} reader;

static hr_status __attribute__((format(printf, 2, 3)))
wrong(const reader *r, const char *format, ...)
{
    char what[300];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    return hri_fail(HR_ERROR_BUILD, "%s:%d: %s: %s", r->to->kernel.file,
                    hri_text_line(r->start, r->at), r->to->kernel.name, what);
}

static void skip_space(reader *r)
{
    r->at = hri_skip_space(r->at);
}

static bool take_character(reader *r, char c)
{
    skip_space(r);
    bool there = *r->at == c;
    r->at += there;
    return there;
}

/* Copy what comes before the next comma or parenthesis, with one space between
 * words. */
static const char *take_words(reader *r)
{
    char *const start = r->to->free_words, *end = start;
    skip_space(r);
    for (; *r->at != '\0' && strchr(",()", *r->at) == NULL; skip_space(r)) {
        end += end > start;
        for (; *r->at != '\0' && strchr(",() \t\r\n\f\v", *r->at) == NULL;
             r->at++) {
            *end++ = *r->at;
        }
        *end = ' ';
    }
    *end = '\0';
    r->to->free_words = end + 1;
    return start;
}

static bool is_name(const char *words)
{
    const size_t length = hri_word_length(words);
    return length > 0 && words[length] == '\0' &&
           !isdigit((unsigned char)words[0]);
}

/* Whether it can be a file name: compilers get it between quotes. */
static bool is_file(const char *name)
{
    for (; *name != '\0'; name++) {
        if (iscntrl((unsigned char)*name) || *name == '"' || *name == '\\') {
            return false;
        }
    }
    return true;
}

/* ---- parameters */

static bool set_kind(hr_parameter *p, const char *word)
{
    static const struct {
        const char *word;
        hr_parameter_kind kind;
        hr_access access;
        bool list;
    } known[] = {{"IN", HR_PARAMETER_VIEW, HR_IN, false},
                 {"OUT", HR_PARAMETER_VIEW, HR_OUT, false},
                 {"INOUT", HR_PARAMETER_VIEW, HR_INOUT, false},
                 {"INS", HR_PARAMETER_VIEW, HR_IN, true},
                 {"OUTS", HR_PARAMETER_VIEW, HR_OUT, true},
                 {"INOUTS", HR_PARAMETER_VIEW, HR_INOUT, true},
                 {"VALUE", HR_PARAMETER_VALUE, (hr_access)0, false},
                 {"TILE", HR_PARAMETER_TILE, (hr_access)0, false}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].word, word) == 0) {
            p->kind = known[i].kind;
            p->access = known[i].access;
            p->list = known[i].list;
            return true;
        }
    }
    return false;
}

/* Read "(KIND, type, rank, name)". Messages leave out the start of a name that
 * hr_transform has made of the caller's. */
static hr_status take_parameter(reader *r, uint32_t i)
{
    static const char made[] = "hr_of_";
    hr_parameter *p = &r->to->parameters[i];
    const char *words[4] = {"", "", "", ""};
    int count = 0;
    bool closed = false;
    if (!take_character(r, '(')) {
        return wrong(r, "a parameter is (KIND, type, rank, name)");
    }
    do {
        words[count++] = take_words(r);
        closed = take_character(r, ')');
    } while (!closed && count < 4 && take_character(r, ','));
    if (count != 4 || !closed) {
        return wrong(
            r, "the parameter (%s, %s, ... is not (KIND, type, rank, name)",
            words[0], words[1]);
    }
    if (!set_kind(p, words[0])) {
        return wrong(
            r,
            "the parameter %s is %s, not IN, OUT, INOUT, INS, OUTS, INOUTS, "
            "VALUE or TILE",
            words[3], words[0]);
    }
    const bool view = p->kind == HR_PARAMETER_VIEW;
    char *end;
    long rank = strtol(words[2], &end, 10);
    if (*end != '\0' || end == words[2] || rank < (view ? 1 : 0) ||
        rank > (view ? HR_MAX_KERNEL_RANK : 0)) {
        return wrong(r, "%s has rank %s, but %s", words[3], words[2],
                     view ? "views have 1 to 3" : "values and tiles have 0");
    }
    if (words[1][0] == '\0' || !is_name(words[3])) {
        return wrong(r, "a parameter of type \"%s\" has the name \"%s\"",
                     words[1], words[3]);
    }
    p->rank = (uint32_t)rank;
    p->type = words[1];
    r->to->written[i] = words[3];
    p->name = words[3];
    p->name +=
        strncmp(p->name, made, sizeof made - 1) == 0 ? sizeof made - 1 : 0;
    p->bytes = hri_element_bytes(p->type);
    return HR_OK;
}

/* Read what follows "HR_KERNELn(name". */
static hr_status take_parameters(reader *r, uint32_t count)
{
    hri_text *to = r->to;
    uint32_t found = 0;
    for (; take_character(r, ','); found++) {
        if (found == count || found == HR_MAX_PARAMETERS) {
            return wrong(r,
                         "HR_KERNEL%u has more than %u parameter%s; the number "
                         "in its name is theirs",
                         count, count, hri_plural(count));
        }
        hr_parameter *p = &to->parameters[found];
        HRI_TRY(take_parameter(r, found));
        for (uint32_t i = 0; i < found; i++) {
            if (strcmp(to->parameters[i].name, p->name) == 0) {
                return wrong(r, "two parameters have the name %s", p->name);
            }
        }
    }
    if (!take_character(r, ')')) {
        return wrong(r, "the list of parameters has no end");
    }
    if (found != count) {
        return wrong(r, "HR_KERNEL%u has %u parameter%s", count, found,
                     hri_plural(found));
    }
    to->kernel.parameter_count = count;
    return HR_OK;
}

/* Go behind "HR_KERNELn(name". False when there is no such kernel. */
static bool find_kernel(reader *r, uint32_t *count)
{
    static const char start[] = "HR_KERNEL";
    const size_t length = strlen(r->to->kernel.name);
    for (const char *at = r->start; (at = strstr(at, start)) != NULL;) {
        bool begins = at == r->start || !hri_in_word(at[-1]);
        char *end;
        at += sizeof start - 1;
        if (!begins || !isdigit((unsigned char)*at)) {
            continue;
        }
        *count = (uint32_t)strtoul(at, &end, 10);
        r->at = end;
        if (!take_character(r, '(')) {
            continue;
        }
        skip_space(r);
        if (strncmp(r->at, r->to->kernel.name, length) == 0 &&
            !hri_in_word(r->at[length])) {
            r->at += length;
            return true;
        }
    }
    r->at = r->start;
    return false;
}

static hr_status read_text(hri_text *to, const char *blanked)
{
    reader r = {.to = to, .start = blanked, .at = blanked};
    uint32_t count = 0;
    if (!find_kernel(&r, &count)) {
        return hri_fail(HR_ERROR_BUILD, "%s: there is no kernel %s",
                        to->kernel.file, to->kernel.name);
    }
    if (count < 1 || count > HR_MAX_PARAMETERS) {
        return wrong(&r, "only HR_KERNEL1 to HR_KERNEL%d exist, not %u",
                     HR_MAX_PARAMETERS, count);
    }
    return take_parameters(&r, count);
}

/* ---- the calls */

static hr_status create_text(const char *text, const char *name,
                             const char *file, hri_text **out)
{
    const size_t bytes = strlen(text);
    char *blanked = hri_text_blanked(text);
    /* the words are parts of the text, each with a 0 at its end */
    hri_text *to =
        calloc(1, sizeof *to + 3 * bytes + strlen(name) + strlen(file) + 8);
    if (blanked == NULL || to == NULL) {
        free(blanked);
        free(to);
        return hri_no_memory_for(file, name);
    }
    to->free_words = to->words;
    to->kernel.name = keep_words(to, name, strlen(name));
    to->kernel.file = keep_words(to, file, strlen(file));
    to->kernel.text = keep_words(to, text, bytes);
    to->kernel.parameters = parameters_of;
    const hr_status status = read_text(to, blanked);
    free(blanked);
    if (status != HR_OK) {
        free(to);
        return status;
    }
    *out = to;
    return HR_OK;
}

hr_status hr_kernel_create(hr_context *context, const char *text,
                           const char *name, const char *file,
                           const hr_kernel **kernel)
{
    HRI_USUAL_ARITHMETIC;
    hri_text *made = NULL;
    if (context == NULL || text == NULL || name == NULL || kernel == NULL) {
        return hri_fail(HR_ERROR_INVALID, "kernel from text: %s is NULL",
                        context == NULL ? "the context"
                        : text == NULL  ? "the text"
                        : name == NULL  ? "the name"
                                        : "the result");
    }
    if (!is_name(name)) {
        return hri_fail(
            HR_ERROR_INVALID,
            "kernel from text: \"%s\" cannot be the name of a kernel", name);
    }
    if (file != NULL && !is_file(file)) {
        return hri_fail(
            HR_ERROR_INVALID,
            "%s: the file name has a quote, a backslash or a control character",
            name);
    }
    HRI_TRY(create_text(text, name, file != NULL ? file : "text", &made));
    pthread_mutex_lock(&context->lock);
    made->context = context;
    made->kernel.reproducible = context->reproducible;
    made->next = context->texts;
    context->texts = made;
    pthread_mutex_unlock(&context->lock);
    *kernel = &made->kernel;
    return HR_OK;
}

hr_status hri_text_kernel(hr_context *context, const char *text,
                          const char *name, const char *file,
                          const hr_kernel **kernel)
{
    pthread_mutex_lock(&context->lock);
    const hri_text *found = context->texts;
    while (found != NULL && (strcmp(found->kernel.text, text) != 0 ||
                             strcmp(found->kernel.name, name) != 0)) {
        found = found->next;
    }
    pthread_mutex_unlock(&context->lock);
    if (found != NULL) {
        *kernel = &found->kernel;
        return HR_OK;
    }
    return hr_kernel_create(context, text, name, file, kernel);
}

/* The hri_text of a kernel. A kernel that the build has compiled has a function
 * for the host and no hri_text: NULL. */
static hri_text *text_of(const hr_kernel *kernel)
{
    return kernel->host == NULL ? (hri_text *)(uintptr_t)kernel : NULL;
}

hr_status hri_kernel_check_context(const hr_kernel *kernel,
                                   const hr_context *context)
{
    const hri_text *text = text_of(kernel);
    return text == NULL || text->context == context
               ? HR_OK
               : hri_fail(HR_ERROR_INVALID,
                          "%s: the kernel was created in another context",
                          kernel->name);
}

const char *hri_text_name(const hr_kernel *kernel, uint32_t parameter)
{
    return kernel->parameters == parameters_of
               ? ((const hri_text *)kernel)->written[parameter]
               : kernel->parameters(kernel)[parameter].name;
}

void hri_text_set_size(const hr_kernel *kernel, uint32_t parameter,
                       size_t bytes)
{
    hri_text *text = text_of(kernel);
    text->parameters[parameter].bytes = bytes;
    text->learned[parameter] = bytes > 0;
}

bool hri_text_has_set_size(const hr_kernel *kernel, uint32_t parameter)
{
    const hri_text *text = text_of(kernel);
    return text != NULL && text->learned[parameter];
}

void hri_texts_free(hr_context *context)
{
    while (context->texts != NULL) {
        hri_text *text = context->texts;
        context->texts = text->next;
        free(text);
    }
}
