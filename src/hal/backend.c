/* SPDX-License-Identifier: MIT */
#include "hal/backend.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

/* ---- functions that backends without a feature use */

hr_status hri_not_lost(hri_device *device)
{
    (void)device;
    return HR_OK;
}

void hri_no_unload(hri_module *module)
{
    (void)module;
}

hr_status hri_no_begin_graph(hri_queue *queue)
{
    return hri_fail(HR_ERROR_UNSUPPORTED, "%s: graphs are not offered",
                    queue->device->info.path);
}

void hri_no_destroy_graph(hri_graph *graph)
{
    (void)graph;
}

hr_status hri_no_pack(hri_queue *queue, const hri_pack *pack)
{
    return hri_fail(HR_ERROR_UNSUPPORTED,
                    "%s: transposed packing of %s is not offered",
                    queue->device->info.path, hr_type_name(pack->type));
}

hr_status hri_no_lend(hri_buffer *buffer, void **address)
{
    (void)address;
    return hri_fail(HR_ERROR_UNSUPPORTED, "%s: its memory has no addresses",
                    buffer->device->info.path);
}

hr_status hri_no_take_back(hri_buffer *buffer, bool written)
{
    (void)buffer, (void)written;
    return HR_OK;
}

uint32_t hri_one_variant(hri_device *device, hr_type type, hr_compute compute)
{
    (void)device, (void)type, (void)compute;
    return 1;
}

hr_status hri_check_index(const hri_backend *backend, uint32_t index)
{
    uint32_t count = 0;
    HRI_TRY(backend->probe(&count));
    return index < count ? HR_OK
                         : hri_fail(HR_ERROR_INVALID,
                                    "%s: device index %u is not below %u",
                                    backend->name, index, count);
}

hr_status hri_no_memory(const char *path)
{
    return hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: out of host memory", path);
}

hr_status hri_no_memory_for(const char *path, const char *what)
{
    return hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory for %s", path, what);
}

hr_status hri_elapsed(hr_status (*time_of)(hri_event *event, uint64_t *ns),
                      hri_event *from, hri_event *to, uint64_t *ns)
{
    uint64_t start = 0, end = 0;
    HRI_TRY(time_of(from, &start));
    HRI_TRY(time_of(to, &end));
    *ns = end > start ? end - start : 0;
    return HR_OK;
}

/* ---- sticky errors */

hr_status hri_sticky_create(const char *path, hri_sticky_error **out)
{
    hri_sticky_error *sticky = calloc(1, sizeof *sticky);
    if (sticky == NULL) {
        return hri_no_memory(path);
    }
    pthread_mutex_init(&sticky->lock, NULL);
    atomic_init(&sticky->users, 1);
    *out = sticky;
    return HR_OK;
}

void hri_sticky_hold(hri_sticky_error *sticky)
{
    if (sticky != NULL) {
        atomic_fetch_add(&sticky->users, 1);
    }
}

void hri_sticky_drop(hri_sticky_error *sticky)
{
    if (sticky != NULL && atomic_fetch_sub(&sticky->users, 1) == 1) {
        pthread_mutex_destroy(&sticky->lock);
        free(sticky);
    }
}

hr_status hri_sticky_keep(hri_sticky_error *sticky, hr_status status)
{
    if (status != HR_OK) {
        pthread_mutex_lock(&sticky->lock);
        hri_error_keep(&sticky->error, status);
        pthread_mutex_unlock(&sticky->lock);
    }
    return status;
}

hr_status hri_sticky_raise(hri_sticky_error *sticky)
{
    hr_status status = HR_OK;
    if (sticky != NULL) {
        pthread_mutex_lock(&sticky->lock);
        status = hri_error_raise(&sticky->error);
        pthread_mutex_unlock(&sticky->lock);
    }
    return status;
}

/* ---- copies */

hri_copy hri_copy_flatten(const hri_copy *copy)
{
    hri_copy c = *copy;
    if (c.height == 1) {
        c.to_pitch = c.to_slice;
        c.from_pitch = c.from_slice;
    }
    if (c.depth > 1 && c.to_slice == c.height * c.to_pitch &&
        c.from_slice == c.height * c.from_pitch) {
        c.height *= c.depth;
        c.depth = 1;
    }
    if (c.height > 1 && c.to_pitch == c.width && c.from_pitch == c.width) {
        c.width *= c.height;
        c.height = c.depth;
        c.depth = 1;
        c.to_pitch = c.to_slice;
        c.from_pitch = c.from_slice;
    }
    return c;
}

void hri_copy_rows(const hri_copy *copy)
{
    const hri_copy c = hri_copy_flatten(copy);
    unsigned char *to = (unsigned char *)c.to.host + c.to.offset;
    const unsigned char *from = (unsigned char *)c.from.host + c.from.offset;
    for (size_t z = 0; z < c.depth; z++) {
        for (size_t y = 0; y < c.height; y++) {
            memcpy(to + z * c.to_slice + y * c.to_pitch,
                   from + z * c.from_slice + y * c.from_pitch, c.width);
        }
    }
}

/* Tell whether a copy is as drivers want it: rows do not overlap, and a slice
 * is a whole number of rows. */
static bool is_regular(const hri_copy *c, size_t pitch, size_t slice)
{
    return pitch >= c->width && (c->depth == 1 || (slice % pitch == 0 &&
                                                   slice / pitch >= c->height));
}

int32_t hri_copy_enqueue(const hri_copy_commands *commands, void *queue,
                         const hri_copy *copy)
{
    const hri_copy c = hri_copy_flatten(copy);
    if (c.height == 1) {
        return commands->row(queue, &c);
    }
    if (is_regular(&c, c.to_pitch, c.to_slice) &&
        is_regular(&c, c.from_pitch, c.from_slice) &&
        commands->takes(queue, &c)) {
        return commands->box(queue, &c);
    }
    const bool slices = c.depth > 1;
    const size_t count = slices ? c.depth : c.height;
    hri_copy one = c;
    *(slices ? &one.depth : &one.height) = 1;
    for (size_t i = 0; i < count; i++) {
        const int32_t error = hri_copy_enqueue(commands, queue, &one);
        if (error != 0) {
            return error;
        }
        one.to.offset += slices ? c.to_slice : c.to_pitch;
        one.from.offset += slices ? c.from_slice : c.from_pitch;
    }
    return 0;
}

/* ---- products */

/* An integer of any size, modulo 2^32. */
static uint32_t wrap_to_32_bits(double x)
{
    return (uint32_t)(int64_t)fmod(x, 0x1p32);
}

hri_factor hri_factor_of(hr_type type, hr_scalar x)
{
    switch (type) {
    case HR_F64:
    case HR_C64:
        return (hri_factor){.d = {x.re, x.im}};
    case HR_I8:
        return (hri_factor){.u = {wrap_to_32_bits(x.re), 0}};
    default:
        return (hri_factor){.f = {(float)x.re, (float)x.im}};
    }
}

bool hri_gemm_only_scales(const hri_gemm *g)
{
    return g->k == 0 || (g->alpha.re == 0.0 && g->alpha.im == 0.0);
}

hri_gemm hri_gemm_scaling(const hri_gemm *gemm)
{
    hri_gemm g = *gemm;
    g.k = 0;
    g.compute =
        g.compute == HR_COMPUTE_PRECISE ? HR_COMPUTE_REPRODUCIBLE : g.compute;
    g.alpha = hr_real(0.0);
    g.a = g.b = g.c;
    g.a.conjugate = g.b.conjugate = false;
    return g;
}

int32_t hri_gemm_flags(const hri_gemm *g)
{
    enum { CONJUGATE_A = 1, CONJUGATE_B = 2, READ_C = 4, NARROW_C = 8 };
    return (g->a.conjugate ? CONJUGATE_A : 0) |
           (g->b.conjugate ? CONJUGATE_B : 0) |
           (g->beta.re != 0 || g->beta.im != 0 ? READ_C : 0) |
           (g->c_type == g->type ? NARROW_C : 0);
}

/* Move an operand to its place in product `index`. */
static void move_operand(hri_operand *operand, const hri_batch *batch,
                         int which, int64_t index)
{
    if (batch->lists[which] != NULL) {
        operand->place = hri_at_host(batch->lists[which][index], 0);
    } else {
        operand->place.offset += (size_t)(index * batch->steps[which]);
    }
}

hri_gemm hri_gemm_at(const hri_gemm *gemm, int64_t index)
{
    hri_gemm one = *gemm;
    move_operand(&one.a, &gemm->batch, 0, index);
    move_operand(&one.b, &gemm->batch, 1, index);
    move_operand(&one.c, &gemm->batch, 2, index);
    one.batch = (hri_batch){0};
    return one;
}

hr_status hri_gemm_each(void *queue, const hri_gemm *gemm,
                        hr_status (*one)(void *queue, const hri_gemm *gemm))
{
    for (int64_t i = 0; i < gemm->batch.count; i++) {
        const hri_gemm product = hri_gemm_at(gemm, i);
        HRI_TRY(one(queue, &product));
    }
    return HR_OK;
}

hr_status hri_gemm_check_offered(const hri_queue *queue, const hri_gemm *g)
{
    hri_device *device = queue->device;
    return device->ops->gemm_offered(device, g->type, g->c_type, g->compute)
               ? HR_OK
               : hri_fail(HR_ERROR_UNSUPPORTED,
                          "%s: no product of %s into %s in compute mode %d",
                          device->info.path, hr_type_name(g->type),
                          hr_type_name(g->c_type), (int)g->compute);
}

/* ---- kernels */

/* The first line of a compiler's log with the word error, else its first
 * line. */
static const char *find_error(const char *log)
{
    const char *line = strstr(log, "error");
    while (line != NULL && line > log && line[-1] != '\n') {
        line--;
    }
    return line != NULL ? line : log + strspn(log, "\r\n ");
}

/* Find what the #line directives say of line `number` of source: the text of
 * the last directive before it, and the line number in that file. */
static const char *find_place(const char *source, long number, long *line)
{
    const char *place = NULL;
    for (; number > 0 && source != NULL; number--, (*line)++) {
        if (strncmp(source, "#line 1 \"", 9) == 0) {
            place = source + 9;
            *line = 0;
        }
        source = strchr(source, '\n');
        source = source != NULL ? source + 1 : NULL;
    }
    *line -= 1;
    return place;
}

void hri_log_line(const char *from, const char *source, char *to, size_t bytes)
{
    static const char whole[] = "<kernel>:";
    const int length = (int)strcspn(from, "\r\n");
    if (strncmp(from, whole, sizeof whole - 1) == 0) {
        char *rest;
        long line = 0, number = strtol(from + sizeof whole - 1, &rest, 10);
        const char *place = find_place(source, number, &line);
        if (place != NULL) {
            snprintf(to, bytes, "%.*s:%ld%.*s", (int)strcspn(place, "\""),
                     place, line, (int)(from + length - rest), rest);
            return;
        }
    }
    snprintf(to, bytes, "%.*s", length, from);
}

char *hri_kernel_function(const char *prefix, const hr_kernel *kernel)
{
    char *name = malloc(strlen(prefix) + strlen(kernel->name) + 1);
    if (name != NULL) {
        strcpy(stpcpy(name, prefix), kernel->name);
    }
    return name;
}

hr_status hri_build_failed(const char *path, const hr_kernel *kernel,
                           const char *reason, const char *log,
                           const char *source)
{
    char line[HRI_MESSAGE_BYTES] = "";
    if (log != NULL) {
        hri_log_line(find_error(log), source, line, sizeof line);
    }
    if (kernel == NULL) {
        return hri_fail(HR_ERROR_BUILD, "%s: a kernel did not compile (%s): %s",
                        path, reason, line);
    }
    const bool same = strcmp(kernel->name, kernel->file) == 0;
    return hri_fail(HR_ERROR_BUILD, "%s: %s%s%s did not compile (%s): %s", path,
                    kernel->name, same ? "" : " of ", same ? "" : kernel->file,
                    reason, line);
}

hr_status hri_build_lacks(const char *path, const hr_kernel *kernel,
                          const char *reason)
{
    return hri_fail(HR_ERROR_BUILD,
                    "%s: the kernel %s is not in what was compiled of %s (%s)",
                    path, kernel->name, kernel->file, reason);
}

static size_t round_up_argument(size_t bytes)
{
    return hri_round_up_bytes(bytes, HRI_ARGUMENTS_ALIGNMENT);
}

size_t hri_arguments_bytes(const hr_kernel *kernel,
                           const hri_kernel_argument *arguments)
{
    const hr_parameter *p = kernel->parameters(kernel);
    size_t bytes = round_up_argument(kernel->argument_bytes);
    for (uint32_t i = 0; i < kernel->parameter_count; i++) {
        bytes += p[i].kind == HR_PARAMETER_TILE
                     ? round_up_argument(arguments[i].bytes)
                     : 0;
    }
    return bytes;
}

void hri_arguments_fill(const hr_kernel *kernel,
                        const hri_kernel_argument *arguments,
                        void *const *views, unsigned char *to)
{
    const hr_parameter *p = kernel->parameters(kernel);
    unsigned char *memory = to + round_up_argument(kernel->argument_bytes);
    for (uint32_t i = 0; i < kernel->parameter_count; i++) {
        const hri_kernel_argument *a = &arguments[i];
        if (p[i].kind == HR_PARAMETER_VALUE) {
            memcpy(to + p[i].at, a->value, a->bytes);
        } else if (p[i].kind == HR_PARAMETER_TILE) {
            memcpy(to + p[i].at, &memory, sizeof memory);
            memory += round_up_argument(a->bytes);
        } else {
            memcpy(to + p[i].at, &views[i], sizeof views[i]);
            memcpy(to + p[i].shape_at, &a->shape, hri_shape_bytes(&p[i]));
        }
    }
}
