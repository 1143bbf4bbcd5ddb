/* SPDX-License-Identifier: MIT */
/* Checked mappings: copies of elements, and uses of them after hr_unmap. */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "checker/check.h"
#include "hal/backend.h"

/* Copy row number n of the elements, which counts all dimensions but the
 * last. */
static void copy_row(const hr_mapping *from, const hr_mapping *to, int64_t n)
{
    const uint32_t last = from->view.extent.rank - 1;
    const int64_t *size = from->view.extent.size;
    int64_t f = 0, t = 0;
    for (uint32_t d = last; d-- > 0;) {
        f += n % size[d] * from->stride_bytes[d];
        t += n % size[d] * to->stride_bytes[d];
        n /= size[d];
    }
    memcpy((char *)to->data + t, (const char *)from->data + f,
           (size_t)size[last] * from->view.element_bytes);
}

static void copy_elements(const hr_mapping *from, const hr_mapping *to)
{
    const hr_extent *extent = &from->view.extent;
    const int64_t rows =
        hr_extent_count(*extent) / extent->size[extent->rank - 1];
    for (int64_t n = 0; n < rows; n++) {
        copy_row(from, to, n);
    }
}

hr_status hri_check_map(hr_mapping *mapping, const char *file, int line)
{
    const hr_view *v = &mapping->view;
    const size_t bytes = (size_t)hr_extent_count(v->extent) * v->element_bytes;
    hri_guard *guard = NULL;
    hr_status status = hri_guard_create(v->array->context, bytes, &guard);
    if (status != HR_OK) {
        return status;
    }
    guard->extent = v->extent;
    guard->element_bytes = v->element_bytes;
    guard->file = file;
    guard->line = line;
    const hr_mapping home = *mapping;
    mapping->data = guard->memory;
    (void)hri_packed_strides(v->extent, v->element_bytes,
                             mapping->stride_bytes);
    copy_elements(&home, mapping);
    return HR_OK;
}

hr_status hri_check_unmap(const hr_mapping *mapping, const hr_mapping *home)
{
    hri_guard *guard = mapping->view.array->context->guards;
    while (guard != NULL &&
           (guard->memory != mapping->data || guard->retired)) {
        guard = guard->next;
    }
    if (guard == NULL) {
        return hri_fail(HR_ERROR_INVALID, "unmap: nothing is mapped there");
    }
    if (mapping->access != HR_IN) {
        copy_elements(mapping, home);
    }
    hri_guard_retire(guard);
    return HR_OK;
}

/* ---- uses after hr_unmap */

/* Write the indices of the element at byte `at`: "(2, 3)". */
static void name_element(char *text, size_t room, const hri_guard *g, size_t at)
{
    int64_t element = (int64_t)(at / g->element_bytes);
    int64_t index[HR_MAX_RANK] = {0};
    for (uint32_t d = g->extent.rank; d-- > 0;) {
        index[d] = element % g->extent.size[d];
        element /= g->extent.size[d];
    }
    size_t length = 0;
    for (uint32_t d = 0; d < g->extent.rank; d++) {
        int count = snprintf(text + length, room - length, "%s%lld",
                             d > 0 ? ", " : "", (long long)index[d]);
        length += count > 0 ? (size_t)count : 0;
    }
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Write ", by program+0x1234", which addr2line understands. */
static void name_code(char *text, size_t room, uintptr_t code)
{
    Dl_info info;
    text[0] = '\0';
    if (code != 0 && dladdr((void *)code, &info) != 0 &&
        info.dli_fname != NULL) {
        snprintf(text, room, ", by %s+0x%llx", name_of(info.dli_fname),
                 (unsigned long long)(code - (uintptr_t)info.dli_fbase));
    }
}

static hr_status collect(hri_findings *findings, const hri_guard *guard,
                         hri_use_after *use, const char *done)
{
    const uintptr_t address = atomic_load(&use->address);
    if (address == 0 || use->told) {
        return HR_OK;
    }
    use->told = true;
    char key[320], sentence[HRI_MESSAGE_BYTES], element[160], code[160];
    const char *file = guard->file != NULL ? name_of(guard->file) : "map";
    name_element(element, sizeof element, guard,
                 address - (uintptr_t)guard->memory);
    name_code(code, sizeof code, atomic_load(&use->code));
    snprintf(key, sizeof key, "%s:%d:%s", file, guard->line, done);
    snprintf(sentence, sizeof sentence,
             "%s:%d: element (%s) of the view mapped here was %s after "
             "hr_unmap%s",
             file, guard->line, element, done, code);
    return hri_findings_add(findings, key, sentence);
}

/* A write without an earlier read is noted as a read of the same address, too
 * (guard.c). */
hr_status hri_check_collect(hr_context *context)
{
    hri_findings *findings = context->findings;
    hr_status status = HR_OK;
    for (hri_guard *g = context->guards; g != NULL && status == HR_OK;
         g = g->next) {
        const uintptr_t written = atomic_load(&g->written.address);
        if (written == 0 || written != atomic_load(&g->read.address)) {
            status = collect(findings, g, &g->read, "read");
        }
        if (status == HR_OK) {
            status = collect(findings, g, &g->written, "written");
        }
    }
    if (status == HR_OK) {
        hri_guards_drop(context);
    }
    return status;
}
