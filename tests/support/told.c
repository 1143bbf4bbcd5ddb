/* SPDX-License-Identifier: MIT */
#include "support/told.h"

void told(const hri_accelerator *a, const char *name, double value)
{
    hri_figure_set(hri_subject_of(a), (hri_kind){.name = name}, value);
}

double told_of(const hri_accelerator *a, const char *name)
{
    return hri_figure_find(hri_subject_of(a), (hri_kind){.name = name});
}

void told_link(const hri_accelerator *a, double rate)
{
    told(a, "up", rate);
    told(a, "down", rate);
}

void told_links(hr_context *context, const hri_link *link)
{
    static const char *const names[HRI_LINKS][3] = {
        {"link-up", "link-down", "link-both"},
        {"staged-up", "staged-down", "staged-both"}};
    const double rates[3] = {link->up, link->down, link->both};
    const hri_subject all = {context->model, HRI_ALL_DEVICES, ""};
    for (int kind = 0; kind < HRI_LINKS; kind++) {
        for (int i = 0; i < 3; i++) {
            const hri_kind k = {.name = names[kind][i]};
            hri_figure_set(all, k, rates[i]);
            for (uint32_t j = 0; j < context->accelerator_count; j++) {
                hri_figure_set(hri_subject_of(&context->accelerators[j]), k,
                               rates[i]);
            }
        }
    }
    context->model->links_known = true;
}

void told_patience(hr_context *context)
{
    context->patience = 1e9;
}

void told_overheads(hr_context *context)
{
    told_patience(context);
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        told(&context->accelerators[i], "launches", 1e5);
        told(&context->accelerators[i], "copies", 2e5);
        told(&context->accelerators[i], "waits", 5e4);
    }
}

void told_random_rates(hr_context *context, random_source *source)
{
    static const double scales[] = {1e6, 1e8, 1e12};
    static const char *const names[] = {
        "f32",         "f64",         "c32",         "c64",
        "f16",         "bf16",        "i8",          "i32",
        "tf32",        "f32-ordered", "f64-ordered", "c32-ordered",
        "c64-ordered", "f16-ordered", "bf16-ordered"};
    const double scale = scales[random_between(source, 0, 2)];
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        const hri_accelerator *a = &context->accelerators[i];
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
            told(a, names[k], scale * (double)random_between(source, 1, 3));
        }
        told_link(a, 1e10);
    }
}

void told_apart(hr_context *context)
{
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        hri_accelerator *a = &context->accelerators[i];
        a->physical = a->device_index = i;
    }
}

void told_kernel(const hri_accelerator *a, const hr_kernel *kernel,
                 int64_t points, double seconds)
{
    const hri_kind kind = {.name = "kernel", .shape = points, .what = kernel};
    hri_figure_learn(hri_subject_of(a), kind, seconds);
    for (uint32_t i = 0; i < a->model->count; i++) {
        hri_figure *f = &a->model->figures[i];
        if (f->device == a->device_index && f->kind.what == kernel &&
            f->kind.shape == points) {
            f->seconds = (hri_learned){seconds, seconds};
        }
    }
}
