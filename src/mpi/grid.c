/* SPDX-License-Identifier: MIT */
/* Grids over processes: making them, and bringing what lies beyond a part. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "mpi/grid.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/environment.h"
#include "base/hash.h"
#include "base/size.h"
#include "base/structs.h"

enum {
    OUT,
    IN,
    FIRST_TAG = 16 /* behind those of products */
};

/* ---- what is sent */

/* Whether another process has what lies beyond a side of a field. */
static bool is_far(const hri_mpi_cut *cut, int rank, const hr_field *f,
                   uint32_t d, bool after)
{
    const hr_side *side = after ? &f->after[d] : &f->before[d];
    return cut->processes[d] > 1 && side->halo > 0 &&
           (side->boundary == HR_BOUNDARY_PERIODIC ||
            !hri_mpi_cut_ends(cut, rank, d, after));
}

/* Cells that a program's own phases write beyond an end belong to the part. */
static int64_t own_beyond(const hri_mpi_cut *cut, int rank, const hr_field *f,
                          uint32_t d, bool after)
{
    const hr_side *side = after ? &f->after[d] : &f->before[d];
    return side->boundary == HR_BOUNDARY_USER &&
                   hri_mpi_cut_ends(cut, rank, d, after)
               ? side->halo
               : 0;
}

/* What a process reads in a direction beyond its part. False: nothing. */
static bool find_in(const hri_mpi_grid *g, const hr_field *f,
                    const int *direction, hri_section *in)
{
    const int rank = g->context->rank;
    *in = g->part;
    for (uint32_t d = 0; d < g->cut.whole.rank; d++) {
        if (direction[d] == 0) {
            in->lo[d] -= own_beyond(&g->cut, rank, f, d, false);
            in->hi[d] += own_beyond(&g->cut, rank, f, d, true);
        } else if (!is_far(&g->cut, rank, f, d, direction[d] > 0)) {
            return false;
        } else if (direction[d] < 0) {
            in->hi[d] = in->lo[d];
            in->lo[d] -= f->before[d].halo;
        } else {
            in->lo[d] = in->hi[d];
            in->hi[d] += f->after[d].halo;
        }
    }
    return true;
}

/* What the process in a direction reads of this part. False: nothing. */
static bool find_out(const hri_mpi_grid *g, const hr_field *f,
                     const int *direction, hri_section *out)
{
    const int rank = g->context->rank;
    const int peer = hri_mpi_cut_beside(&g->cut, rank, direction);
    *out = g->part;
    for (uint32_t d = 0; d < g->cut.whole.rank; d++) {
        if (direction[d] == 0) {
            out->lo[d] -= own_beyond(&g->cut, rank, f, d, false);
            out->hi[d] += own_beyond(&g->cut, rank, f, d, true);
        } else if (!is_far(&g->cut, peer, f, d, direction[d] < 0)) {
            return false;
        } else if (direction[d] < 0) {
            out->hi[d] = out->lo[d] + f->after[d].halo;
        } else {
            out->lo[d] = out->hi[d] - f->before[d].halo;
        }
    }
    return true;
}

/* ---- memory */

/* Whether MPI says that it sends from the memory of CUDA devices. It says so
 * with one of two functions, which are in no standard. */
static bool mpi_sends_from_cuda(void)
{
    enum { CUDA = 0 };
    int (*ask)(void) = NULL;
    int (*ask_of)(int kind, int *supports) = NULL;
    int supports = 0;
    void *found = dlsym(RTLD_DEFAULT, "MPIX_GPU_query_support");
    if (found != NULL) {
        memcpy(&ask_of, &found, sizeof found);
        return ask_of(CUDA, &supports) == MPI_SUCCESS && supports != 0;
    }
    found = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");
    memcpy(&ask, &found, sizeof found);
    return ask != NULL && ask() != 0;
}

/* Whether MPI can send from the memory of the process's one accelerator, and
 * receive there. HEADRACE_MPI_DEVICE=0: never. */
static bool sends_from_device(const hr_mpi_context *context)
{
    hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
    const char *wanted = hri_environment("HEADRACE_MPI_DEVICE");
    return (wanted == NULL || strcmp(wanted, "0") != 0) &&
           hr_accelerator_count(context->local) == 1 &&
           hr_accelerator_describe(context->local, 0, &info) == HR_OK &&
           strncmp(info.path, "cuda", 4) == 0 && mpi_sends_from_cuda();
}

static hr_extent extent_of(const hri_section *s, uint32_t rank,
                           uint32_t components)
{
    int64_t size[HR_MAX_RANK];
    uint32_t n = 0;
    if (components > 1) {
        size[n++] = components;
    }
    for (uint32_t d = 0; d < rank; d++) {
        size[n++] = s->hi[d] - s->lo[d];
    }
    return hr_extent_of(n, size);
}

/* Let MPI use its bytes: those that go have come there then. */
static hr_status map_message(const hri_mpi_grid *g, hri_mpi_transfer *t,
                             int way)
{
    const hr_view view = hr_view_of(t->arrays[way]);
    const hr_access access = way == OUT ? HR_IN : HR_OUT;
    return g->device != NULL ? hr_map_on(view, 0, access, &t->mappings[way])
                             : hr_map(view, access, &t->mappings[way]);
}

static hr_status unmap_message(hri_mpi_transfer *t, int way)
{
    return t->mappings[way].data != NULL ? hr_unmap(&t->mappings[way]) : HR_OK;
}

/* The array of a message: on the device, or over page-locked memory. */
static hr_status make_array(hri_mpi_grid *g, size_t element_bytes,
                            hr_extent extent, hri_mpi_transfer *t, int way)
{
    hri_mpi_bytes *m = &t->messages[way];
    void *memory = NULL;
    if (g->device != NULL) {
        return hr_array_create(g->device, element_bytes, extent,
                               &t->arrays[way]);
    }
    HRI_TRY(hr_allocate_pinned(g->context->local, m->count, &memory));
    m->bytes = memory;
    return hr_array_wrap_typed(g->context->local, memory, NULL, element_bytes,
                               extent, 0, &t->arrays[way]);
}

/* One of its messages. Its section is set. */
static hr_status make_message(hri_mpi_grid *g, const hr_field *f,
                              hri_mpi_transfer *t, int way,
                              const int *direction)
{
    const uint32_t components = f->components > 0 ? f->components : 1;
    const hr_extent extent =
        extent_of(&t->sections[way], g->cut.whole.rank, components);
    hri_mpi_bytes *m = &t->messages[way];
    m->peer = hri_mpi_cut_beside(&g->cut, g->context->rank, direction);
    m->count = (size_t)hr_extent_count(extent) * f->element_bytes;
    g->request_room += hri_mpi_fragments(m->count);
    g->exchange_bytes += way == OUT ? m->count : 0;
    g->most_bytes = m->count > g->most_bytes ? m->count : g->most_bytes;
    return make_array(g, f->element_bytes, extent, t, way);
}

/* Direction number n of field number f: a message goes that way, and another
 * one comes from the other side. */
static hr_status make_transfer(hri_mpi_grid *g, const hr_field *field,
                               uint32_t f, int n)
{
    hri_mpi_transfer *t = &g->transfers[f][n];
    int to[HRI_MPI_RANK], from[HRI_MPI_RANK];
    bool none = n == HRI_DIRECTIONS / 2; /* the part itself */
    for (int d = HRI_MPI_RANK - 1, rest = n; d >= 0; d--, rest /= 3) {
        to[d] = rest % 3 - 1;
        from[d] = -to[d];
        none = none || (d >= (int)g->cut.whole.rank && to[d] != 0);
    }
    for (int way = OUT; way <= IN; way++) {
        t->messages[way] =
            (hri_mpi_bytes){.peer = MPI_PROC_NULL,
                            .tag = FIRST_TAG + (int)f * HRI_DIRECTIONS + n,
                            .out = way == OUT};
    }
    if (none) {
        return HR_OK;
    }
    if (find_out(g, field, to, &t->sections[OUT])) {
        HRI_TRY(make_message(g, field, t, OUT, to));
    }
    return find_in(g, field, from, &t->sections[IN])
               ? make_message(g, field, t, IN, from)
               : HR_OK;
}

static hr_status make_transfers(hri_mpi_grid *g, const hr_field *fields)
{
    if (sends_from_device(g->context)) {
        HRI_TRY(hr_queue_default(g->context->local, 0, &g->device));
    }
    g->transfers = calloc(g->count, sizeof *g->transfers);
    if (g->transfers == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "grid: out of memory");
    }
    for (uint32_t f = 0; f < g->count; f++) {
        for (int n = 0; n < HRI_DIRECTIONS; n++) {
            HRI_TRY(make_transfer(g, &fields[f], f, n));
        }
    }
    g->requests = calloc((size_t)g->request_room + 1, sizeof *g->requests);
    g->spare = g->device != NULL ? malloc(g->most_bytes + 1) : NULL;
    return g->requests != NULL && (g->device == NULL || g->spare != NULL)
               ? HR_OK
               : hri_fail(HR_ERROR_OUT_OF_MEMORY, "grid: out of memory");
}

static void release_grid(void *data)
{
    hri_mpi_grid *g = data;
    const bool lost = g->context->lost; /* MPI may still write to it then */
    for (uint32_t f = 0; f < g->count && g->transfers != NULL; f++) {
        for (int n = 0; n < HRI_DIRECTIONS; n++) {
            hri_mpi_transfer *t = &g->transfers[f][n];
            for (int way = OUT; way <= IN; way++) {
                if (g->device == NULL || !lost) {
                    hr_array_destroy(t->arrays[way]);
                }
                if (g->device == NULL && !lost) {
                    hr_free_pinned(g->context->local, t->messages[way].bytes);
                }
            }
        }
    }
    g->context->keeps_local = g->context->keeps_local || lost;
    free(g->transfers);
    free(lost ? NULL : g->requests);
    free(lost ? NULL : g->spare);
    free(g);
}

/* ---- exchanges: an error of this process alone is kept, and its messages go
 * all the same */

static hr_status post_transfer(hri_mpi_grid *g, const hri_mpi_transfer *t,
                               int way)
{
    hri_mpi_bytes message = t->messages[way];
    if (t->mappings[way].data != NULL) {
        message.bytes = t->mappings[way].data;
    } else if (g->device != NULL) {
        message.bytes = g->spare;
    }
    if (way == OUT) {
        g->messages += message.count > 0;
        g->sent += message.count;
    }
    return hri_mpi_post(g->context, &message, g->requests, &g->request_count);
}

static bool has_message(const hri_mpi_transfer *t, int way)
{
    return t->messages[way].peer != MPI_PROC_NULL;
}

/* Read from the fields what others need, and begin to receive what they send.
 */
static hr_status begin_exchange(void *data, hr_grid *grid,
                                const uint32_t *fields, uint32_t count)
{
    hri_mpi_grid *g = data;
    hri_error error = {HR_OK, ""};
    g->request_count = 0;
    HRI_TRY(hri_mpi_context_check(g->context));
    for (uint32_t i = 0; i < count; i++) {
        for (int n = 0; n < HRI_DIRECTIONS; n++) {
            hri_mpi_transfer *t = &g->transfers[fields[i]][n];
            if (has_message(t, OUT)) {
                hri_error_keep(
                    &error, hr_grid_read(grid, fields[i], t->sections[OUT].lo,
                                         hr_view_of(t->arrays[OUT])));
            }
            if (has_message(t, IN)) {
                hri_error_keep(&error, map_message(g, t, IN));
                HRI_TRY(post_transfer(g, t, IN));
            }
        }
    }
    return hri_error_raise(&error);
}

/* Send, and wait for all. */
static hr_status send_and_wait(hri_mpi_grid *g, const uint32_t *fields,
                               uint32_t count, hri_error *error)
{
    HRI_TRY(hri_mpi_context_check(g->context));
    for (uint32_t i = 0; i < count; i++) {
        for (int n = 0; n < HRI_DIRECTIONS; n++) {
            hri_mpi_transfer *t = &g->transfers[fields[i]][n];
            if (has_message(t, OUT)) {
                hri_error_keep(error, map_message(g, t, OUT));
                HRI_TRY(post_transfer(g, t, OUT));
            }
        }
    }
    return hri_mpi_wait(g->context, g->request_count, g->requests);
}

/* Send, wait for all, and write what has come. MPI may still write after an
 * error. Mappings of host memory, which may be copies, stay then. Those of
 * devices end, since they hold the thread's context; their arrays stay. */
static hr_status finish_exchange(void *data, hr_grid *grid,
                                 const uint32_t *fields, uint32_t count)
{
    hri_mpi_grid *g = data;
    hri_error error = {HR_OK, ""};
    const hr_status status = send_and_wait(g, fields, count, &error);
    if (status != HR_OK && g->device == NULL) {
        return status;
    }
    for (uint32_t i = 0; i < count; i++) {
        for (int n = 0; n < HRI_DIRECTIONS; n++) {
            hri_mpi_transfer *t = &g->transfers[fields[i]][n];
            hri_error_keep(&error, unmap_message(t, OUT));
            hri_error_keep(&error, unmap_message(t, IN));
            if (has_message(t, IN) && status == HR_OK &&
                error.status == HR_OK) {
                hri_error_keep(
                    &error, hr_grid_write(grid, fields[i], t->sections[IN].lo,
                                          hr_view_of(t->arrays[IN])));
            }
        }
    }
    return status == HR_OK ? hri_error_raise(&error) : status;
}

static hr_status agree_on_step(void *data, hr_status status, uint64_t *any,
                               int64_t *least)
{
    const hri_mpi_grid *g = data;
    HRI_TRY(hr_mpi_agree(g->context, status));
    return any != NULL ? hri_mpi_merge(g->context, any, least) : HR_OK;
}

static hr_status join_numbers(void *data, int64_t *numbers, uint32_t count,
                              bool largest)
{
    const hri_mpi_grid *g = data;
    return count <= HRI_MPI_NUMBERS
               ? hri_mpi_join(g->context, numbers, count, largest)
               : hri_fail(HR_ERROR_UNSUPPORTED,
                          "mpi: %u numbers are joined, more than %d", count,
                          HRI_MPI_NUMBERS);
}

/* ---- the calls */

/* A hash of what all processes must pass alike. */
static uint64_t hash_of(hr_extent extent, const hr_field *fields,
                        uint32_t count, const int *processes)
{
    uint64_t hash = hri_hash(HRI_HASH_INIT, &count, sizeof count);
    for (uint32_t d = 0; d < HRI_MPI_RANK && d < extent.rank; d++) {
        hash = hri_hash(hash, &extent.size[d], sizeof extent.size[d]);
        if (processes != NULL) {
            hash = hri_hash(hash, &processes[d], sizeof processes[d]);
        }
    }
    for (uint32_t f = 0; f < count && f < HR_MAX_FIELDS && fields != NULL;
         f++) {
        const hr_field *x = &fields[f];
        hash = hri_hash(hash, &x->element_bytes, sizeof x->element_bytes);
        hash = hri_hash(hash, &x->components, sizeof x->components);
        for (uint32_t d = 0; d < HRI_MPI_RANK && d < extent.rank; d++) {
            const hr_side *sides[] = {&x->before[d], &x->after[d]};
            for (int s = 0; s < 2; s++) {
                const int boundary = (int)sides[s]->boundary;
                hash = hri_hash(hash, &sides[s]->halo, sizeof(int64_t));
                hash = hri_hash(hash, &boundary, sizeof boundary);
            }
        }
    }
    return hash;
}

/* What must be right before a grid can be cut. hr_grid_create checks the
 * rest. */
static hr_status check_arguments(hr_extent extent, const hr_field *fields,
                                 uint32_t count, const hr_grid_options *options,
                                 hr_grid **grid)
{
    if (grid == NULL || fields == NULL) {
        return hri_fail(HR_ERROR_INVALID, "grid: %s is NULL",
                        grid == NULL ? "grid" : "the list of fields");
    }
    if (extent.rank < 1 || extent.rank > HRI_MPI_RANK || count < 1 ||
        count > HR_MAX_FIELDS || hr_extent_count(extent) == 0) {
        return hri_fail(HR_ERROR_INVALID,
                        "grid: an extent of rank %u with %llu cells and %u "
                        "fields, not 1 to %d, 1 or more and 1 to %d",
                        extent.rank,
                        (unsigned long long)hr_extent_count(extent), count,
                        HRI_MPI_RANK, HR_MAX_FIELDS);
    }
    for (uint32_t f = 0; f < count; f++) {
        for (uint32_t d = 0; d < extent.rank; d++) {
            if (fields[f].before[d].halo < 0 || fields[f].after[d].halo < 0) {
                return hri_fail(HR_ERROR_INVALID,
                                "grid: field %u has a halo of %lld", f,
                                (long long)hri_min(fields[f].before[d].halo,
                                                   fields[f].after[d].halo));
            }
        }
    }
    return options == NULL || options->part == NULL
               ? HR_OK
               : hri_fail(HR_ERROR_INVALID,
                          "grid: options->part is set; leave it NULL: "
                          "hr_mpi_grid_create cuts the grid itself");
}

/* The part of this process. */
static hr_status create_part(hri_mpi_grid *g, const hr_field *fields,
                             const hr_grid_options *given, hr_grid **grid)
{
    const uint32_t rank = g->cut.whole.rank;
    hr_grid_options options = HR_GRID_OPTIONS_INIT;
    hr_grid_part part = HR_GRID_PART_INIT;
    HRI_TRY(make_transfers(g, fields));
    if (given != NULL) {
        options = *given;
    }
    part.whole = g->cut.whole;
    for (uint32_t d = 0; d < rank; d++) {
        part.origin[d] = g->part.lo[d];
        part.before[d] = part.after[d] = g->cut.processes[d] > 1;
    }
    part.data = g;
    part.begin = begin_exchange;
    part.finish = finish_exchange;
    part.agree = agree_on_step;
    part.join = join_numbers;
    part.release = release_grid;
    options.part = &part;
    return hr_grid_create(g->context->local, extent_of(&g->part, rank, 1),
                          fields, g->count, &options, grid);
}

hr_status hr_mpi_grid_create(hr_mpi_context *context, hr_extent extent,
                             const hr_field *fields, uint32_t count,
                             const hr_grid_options *options,
                             const int *processes, hr_grid **grid)
{
    HRI_USUAL_ARITHMETIC;
    hri_mpi_cut cut = {0};
    hr_grid *made = NULL;
    HRI_TRY(hri_mpi_context_check(context));
    hr_status status = check_arguments(extent, fields, count, options, grid);
    if (status == HR_OK) {
        status =
            hri_mpi_cut_choose(context, extent, fields, count, processes, &cut);
    }
    HRI_TRY(hri_mpi_agree_on(context, status,
                             hash_of(extent, fields, count, processes)));
    hri_mpi_grid *g = calloc(1, sizeof *g);
    if (g != NULL) {
        *g = (hri_mpi_grid){.context = context,
                            .cut = cut,
                            .part = hri_mpi_cut_part(&cut, context->rank),
                            .count = count};
        status = create_part(g, fields, options, &made);
    } else {
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY, "grid: out of memory");
    }
    status = hr_mpi_agree(context, status);
    if (status == HR_OK) {
        *grid = made;
    } else if (made != NULL) {
        hr_grid_destroy(made);
    } else if (g != NULL) {
        release_grid(g);
    }
    return status;
}

hr_status hri_mpi_grid_of(const hr_grid *grid, hri_mpi_grid **of)
{
    const hr_grid_part *part = hr_grid_part_of(grid);
    if (part == NULL || part->begin != begin_exchange) {
        return hri_fail(HR_ERROR_INVALID,
                        grid == NULL
                            ? "grid: the grid is NULL"
                            : "grid: it was not made by hr_mpi_grid_create");
    }
    *of = part->data;
    return HR_OK;
}

hr_status hr_mpi_grid_describe(const hr_grid *grid, hr_mpi_grid_state *state)
{
    static const hri_struct known = HRI_STRUCT(
        hr_mpi_grid_state, "grid state", "HR_MPI_GRID_STATE_INIT", from_device);
    hri_mpi_grid *g = NULL;
    HRI_TRY(hri_mpi_grid_of(grid, &g));
    if (state == NULL) {
        return hri_fail(HR_ERROR_INVALID, "grid: state is NULL");
    }
    HRI_TRY(hri_struct_check(&known, state));
    hr_mpi_grid_state now = HR_MPI_GRID_STATE_INIT;
    now.extent = extent_of(&g->part, g->cut.whole.rank, 1);
    for (uint32_t d = 0; d < HRI_MPI_RANK; d++) {
        now.processes[d] = g->cut.processes[d];
        now.origin[d] = g->part.lo[d];
    }
    now.from_device = g->device != NULL;
    now.exchange_bytes = g->exchange_bytes;
    now.sent = g->sent;
    now.messages = g->messages;
    hri_struct_write(&known, &now, state);
    return HR_OK;
}
