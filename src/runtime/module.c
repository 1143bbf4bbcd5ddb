/* SPDX-License-Identifier: MIT */
#include "runtime/module.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/backend.h"
#include "runtime/words.h"

extern const char hri_dialect_text[]; /* include/headrace/dialect.h */

struct hri_loaded {
    hri_loaded *next;
    const hr_kernel *kernel;
    hri_module *module;
};

/* ---- texts */

typedef struct hri_read {
    struct hri_read *next;
    const hr_kernel *kernel;
    const char *text; /* that it had then */
    hri_indexings indexings;
} hri_read;

hr_status hri_kernel_read(hr_context *context, const hr_kernel *kernel,
                          const hri_indexings **indexings)
{
    hri_read *k = context->kernels;
    while (k != NULL && (k->kernel != kernel || k->text != kernel->text)) {
        k = k->next;
    }
    if (k == NULL) {
        k = calloc(1, sizeof *k);
        hr_status status = k != NULL
                               ? hri_rules_check(kernel)
                               : hri_no_memory_for(kernel->file, kernel->name);
        if (status == HR_OK) {
            status = hri_indexings_find(kernel, &k->indexings);
        }
        if (status != HR_OK) {
            free(k);
            return status;
        }
        k->kernel = kernel;
        k->text = kernel->text;
        k->next = context->kernels;
        context->kernels = k;
    }
    *indexings = &k->indexings;
    return HR_OK;
}

void hri_kernels_forget(hr_context *context)
{
    while (context->kernels != NULL) {
        hri_read *k = context->kernels;
        context->kernels = k->next;
        free(k);
    }
}

/* ---- modules */

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

/* Load an image that an earlier process kept, or that an earlier kernel of the
 * same source left. False: there is none, or the device does not accept it,
 * which is not an error. */
static bool load_kept(hri_device *device, const hr_kernel *kernel,
                      const char *source, hri_module **module)
{
    hri_image image;
    hri_error before = {0};
    if (!hri_module_cache_find(device->info.target, source, &image)) {
        return false;
    }
    hri_error_keep(&before, HR_ERROR_BUILD);
    bool taken = device->ops->load(device, kernel, &image, module) == HR_OK;
    if (!taken) { /* keep the message of the last error */
        (void)hri_error_raise(&before);
    }
    free(image.bytes);
    return taken;
}

static hr_status build(hri_accelerator *a, const hr_kernel *kernel,
                       hri_module **module)
{
    hri_device *device = a->device;
    const char *target = device->info.target;
    const bool keeps = target[0] != '\0' && hri_module_cache_wanted();
    hri_image image = {0};
    hr_status status = HR_OK;
    if (kernel->text == NULL) {
        return hri_fail(
            HR_ERROR_UNSUPPORTED,
            "%s: the kernel %s was built for the host alone, without its text",
            a->path, kernel->name);
    }
    char *source = hri_kernel_source(kernel);
    if (source == NULL) {
        return hri_no_memory_for(a->path, kernel->name);
    }
    if (!keeps || !load_kept(device, kernel, source, module)) {
        status = device->ops->build(device, kernel, source,
                                    keeps ? &image : NULL, module);
    }
    if (status == HR_OK && image.bytes != NULL) {
        hri_module_cache_keep(target, source, &image);
    }
    free(image.bytes);
    free(source);
    return status;
}

static hr_status check_reproducible(const hri_accelerator *a,
                                    const hr_kernel *kernel)
{
    if (a->reproducible && !kernel->reproducible) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "%s: the context is reproducible, but the kernel %s "
                        "was compiled without HR_REPRODUCIBLE",
                        a->path, kernel->name);
    }
    if (a->reproducible && !a->device->info.ieee) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "%s: the context is reproducible, but this device does "
                        "not round floats as IEEE 754 says",
                        a->path);
    }
    return HR_OK;
}

static hr_status check_compiled(const hri_accelerator *a,
                                const hr_kernel *kernel)
{
    return kernel->host != NULL
               ? HR_OK
               : hri_fail(HR_ERROR_UNSUPPORTED,
                          "%s: the kernel %s is known as text alone, but the "
                          "host runs only compiled kernels",
                          a->path, kernel->name);
}

hr_status hri_accelerator_module(hri_accelerator *a, const hr_kernel *kernel,
                                 hri_module **module)
{
    *module = NULL;
    for (const hri_loaded *l = a->loaded; l != NULL; l = l->next) {
        if (l->kernel == kernel) {
            *module = l->module;
            return HR_OK;
        }
    }
    hri_loaded *l = calloc(1, sizeof *l);
    if (l == NULL) {
        return hri_no_memory_for(a->path, kernel->name);
    }
    hr_status status = check_reproducible(a, kernel);
    if (status == HR_OK) {
        status = a->device->info.host ? check_compiled(a, kernel)
                                      : build(a, kernel, &l->module);
    }
    if (status != HR_OK) {
        free(l);
        return status;
    }
    l->kernel = kernel;
    l->next = a->loaded;
    a->loaded = l;
    *module = l->module;
    return HR_OK;
}

void hri_modules_close(hri_accelerator *a)
{
    while (a->loaded != NULL) {
        hri_loaded *l = a->loaded;
        a->loaded = l->next;
        a->device->ops->unload(l->module);
        free(l);
    }
}
