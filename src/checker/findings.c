/* SPDX-License-Identifier: MIT */
#include "checker/findings.h"

#include <stdlib.h>
#include <string.h>

typedef struct finding {
    char *key, *sentence;
} finding;

struct hri_findings {
    finding *of;
    size_t count, capacity, told;
};

hr_status hri_findings_create(hri_findings **findings)
{
    hri_findings *f = calloc(1, sizeof *f);
    if (f == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "check: out of memory");
    }
    *findings = f;
    return HR_OK;
}

void hri_findings_destroy(hri_findings *findings)
{
    if (findings == NULL) {
        return;
    }
    for (size_t i = 0; i < findings->count; i++) {
        free(findings->of[i].key);
        free(findings->of[i].sentence);
    }
    free(findings->of);
    free(findings);
}

static hr_status grow(hri_findings *f)
{
    if (f->count < f->capacity) {
        return HR_OK;
    }
    size_t capacity = f->capacity > 0 ? 2 * f->capacity : 16;
    finding *of = realloc(f->of, capacity * sizeof *of);
    if (of == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "check: out of memory");
    }
    f->of = of;
    f->capacity = capacity;
    return HR_OK;
}

hr_status hri_findings_add(hri_findings *findings, const char *key,
                           const char *sentence)
{
    for (size_t i = 0; i < findings->count; i++) {
        if (strcmp(findings->of[i].key, key) == 0) {
            return HR_OK;
        }
    }
    hr_status status = grow(findings);
    if (status != HR_OK) {
        return status;
    }
    finding new = {strdup(key), strdup(sentence)};
    if (new.key == NULL || new.sentence == NULL) {
        free(new.key);
        free(new.sentence);
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "check: out of memory");
    }
    findings->of[findings->count++] = new;
    return HR_OK;
}

hr_status hri_findings_tell(hri_findings *findings)
{
    const size_t first = findings->told, count = findings->count - first;
    if (count == 0) {
        return HR_OK;
    }
    findings->told = findings->count;
    return count == 1
               ? hri_fail(HR_ERROR_INVALID, "%s", findings->of[first].sentence)
               : hri_fail(HR_ERROR_INVALID, "%s, and %zu more",
                          findings->of[first].sentence, count - 1);
}

size_t hri_findings_count(const hri_findings *findings)
{
    return findings->count;
}

const char *hri_findings_at(const hri_findings *findings, size_t index)
{
    return index < findings->count ? findings->of[index].sentence : NULL;
}
