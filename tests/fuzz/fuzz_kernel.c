/* SPDX-License-Identifier: MIT */
/* Any text as a kernel's. If it is accepted, it has parameters as the dialect
 * defines them. If it is refused, the message has file and line. */
#include "fuzz.h"

#include <ctype.h>
#include <string.h>

#include "kernels/kernels.h"

static hr_context *context;

static void close_context(void)
{
    hr_context_destroy(context);
}

static void open_context(void)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = "host";
    fuzz_promise(hr_context_create(&options, &context) == HR_OK, "a context");
    fuzz_promise(atexit(close_context) == 0, "atexit");
}

static void check_name(const char *name)
{
    fuzz_promise(isalpha((unsigned char)name[0]) || name[0] == '_',
                 "a name begins as in C");
    for (; *name != '\0'; name++) {
        fuzz_promise(isalnum((unsigned char)*name) || *name == '_',
                     "a name has letters and digits");
    }
}

static void check_accepted(const hr_kernel *kernel, const char *text)
{
    const hr_parameter *parameters = kernel->parameters(kernel);
    fuzz_promise(strcmp(kernel->text, text) == 0, "the text is kept");
    fuzz_promise(kernel->parameter_count >= 1 &&
                     kernel->parameter_count <= HR_MAX_PARAMETERS,
                 "there are 1 to 8 parameters");
    for (uint32_t i = 0; i < kernel->parameter_count; i++) {
        const hr_parameter *p = &parameters[i];
        const bool view = p->kind == HR_PARAMETER_VIEW;
        check_name(p->name);
        fuzz_promise(p->type[0] != '\0' && p->bytes <= 16, "it has a type");
        fuzz_promise(view ? p->rank >= 1 && p->rank <= HR_MAX_KERNEL_RANK
                          : p->rank == 0,
                     "only views have a rank");
        for (uint32_t k = 0; k < i; k++) {
            fuzz_promise(strcmp(parameters[k].name, p->name) != 0,
                         "no name twice");
        }
    }
}

static void check_indexings(const hr_kernel *kernel)
{
    const hr_parameter *parameters = kernel->parameters(kernel);
    hri_indexings found;
    const hr_status status = hri_indexings_find(kernel, &found);
    fuzz_promise(status == HR_OK || (status == HR_ERROR_BUILD &&
                                     strncmp(hr_last_error(), "f.c:", 4) == 0),
                 "a refusal has file and line");
    fuzz_promise(found.count <= HRI_MAX_INDEXINGS,
                 "indexings are found or not");
    for (uint32_t i = 0; i < found.count; i++) {
        const hri_indexing *x = &found.list[i];
        fuzz_promise(x->parameter < kernel->parameter_count &&
                         parameters[x->parameter].kind == HR_PARAMETER_VIEW &&
                         x->dimension < parameters[x->parameter].rank &&
                         x->index < x->rank && x->rank <= HR_MAX_KERNEL_RANK,
                     "an indexing is of a view");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = fuzz_text(bytes, size);
    const hr_kernel any = {.name = "k", .file = "any.c", .text = text};
    const hr_status rules = hri_rules_check(&any);
    fuzz_promise(rules == HR_OK || strncmp(hr_last_error(), "any.c:", 6) == 0,
                 "a refusal has file and line");
    const hr_kernel *kernel = NULL;
    if (context == NULL) {
        open_context();
    }
    hr_status status = hr_kernel_create(context, text, "scale", "f.c", &kernel);
    if (status == HR_OK) {
        char *source = hri_kernel_source(kernel, HRI_SOURCE_DEVICE);
        fuzz_promise(source != NULL, "there is a source");
        free(source);
        check_accepted(kernel, text);
        check_indexings(kernel);
    } else {
        fuzz_promise(status == HR_ERROR_BUILD && kernel == NULL,
                     "a text is refused as one that cannot be built");
        fuzz_promise(strncmp(hr_last_error(), "f.c:", 4) == 0,
                     "the sentence begins with the file");
    }
    hri_texts_free(context);
    free(text);
    return 0;
}
