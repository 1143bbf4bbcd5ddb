/* SPDX-License-Identifier: MIT */
/* What the checker of a context has found. Each sentence is told once. */
#include <stdlib.h>
#include <string.h>

#include <headrace/check.h>

#include "checker/check.h"

typedef struct finding {
    char *key, *sentence;
} finding;

struct hri_findings {
    finding *of;
    size_t count, told;
};

hr_status hri_findings_add(hri_findings *findings, const char *key,
                           const char *sentence)
{
    for (size_t i = 0; i < findings->count; i++) {
        if (strcmp(findings->of[i].key, key) == 0) {
            return HR_OK;
        }
    }
    finding *of = realloc(findings->of, (findings->count + 1) * sizeof *of);
    findings->of = of != NULL ? of : findings->of;
    finding new = {strdup(key), strdup(sentence)};
    if (of == NULL || new.key == NULL || new.sentence == NULL) {
        free(new.key);
        free(new.sentence);
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "check: out of memory");
    }
    findings->of[findings->count++] = new;
    return HR_OK;
}

size_t hr_check_count(hr_context *context)
{
    size_t count = 0;
    if (context != NULL && context->checker != NULL) {
        pthread_mutex_lock(&context->lock);
        (void)hri_check_collect(context);
        count = context->findings->count;
        pthread_mutex_unlock(&context->lock);
    }
    return count;
}

const char *hr_check_finding(hr_context *context, size_t index)
{
    const char *sentence = NULL;
    if (context != NULL && context->checker != NULL) {
        pthread_mutex_lock(&context->lock);
        const hri_findings *f = context->findings;
        sentence = index < f->count ? f->of[index].sentence : NULL;
        pthread_mutex_unlock(&context->lock);
    }
    return sentence;
}

/* HR_ERROR_INVALID with the first sentence that was not told yet, and the
 * number of others. HR_OK when there is none. */
static hr_status tell(hr_context *context)
{
    hri_findings *f = context->findings;
    hr_status status = hri_check_collect(context);
    const size_t first = f->told, count = f->count - first;
    if (status != HR_OK || count == 0) {
        return status;
    }
    f->told = f->count;
    return count == 1 ? hri_fail(HR_ERROR_INVALID, "%s", f->of[first].sentence)
                      : hri_fail(HR_ERROR_INVALID, "%s, and %zu more",
                                 f->of[first].sentence, count - 1);
}

static void close_checker(hr_context *context)
{
    hri_findings *f = context->findings;
    hri_guards_close(context);
    for (size_t i = 0; i < f->count; i++) {
        free(f->of[i].key);
        free(f->of[i].sentence);
    }
    free(f->of);
    free(f);
}

static const hri_checker checker = {
    .launch = hri_check_launch,
    .forget = hri_check_forget,
    .tell = tell,
    .map = hri_check_map,
    .unmap = hri_check_unmap,
    .close = close_checker,
};

hr_status hri_checker_open(hr_context *context)
{
    context->findings = calloc(1, sizeof *context->findings);
    if (context->findings == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "check: out of memory");
    }
    context->checker = &checker;
    return HR_OK;
}
