/* SPDX-License-Identifier: MIT */
/* Values of a whole grid: in the memory of one process, or in a file. */
#include "mpi/grid.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/size.h"

enum {
    TAG = 9,
    ROUND_BYTES = 1 << 30, /* of a message go at once */
    MAX_REQUESTS = 1 << 12 /* more than twice the fragments of these */
};

/* A field's values: components of packed cells. */
typedef struct values {
    hri_mpi_grid *g;
    uint32_t components;
    size_t element_bytes;
} values;

static hr_status find_values(const hr_grid *grid, uint32_t field, values *v)
{
    hr_field f;
    HRI_TRY(hri_mpi_grid_of(grid, &v->g));
    HRI_TRY(hr_grid_describe_field(grid, field, &f));
    v->components = f.components;
    v->element_bytes = f.element_bytes;
    return HR_OK;
}

static size_t bytes_of(const values *v, const hri_section *s)
{
    size_t bytes = v->element_bytes * v->components;
    for (int d = 0; d < HRI_MPI_RANK; d++) {
        bytes *= (size_t)(s->hi[d] - s->lo[d]);
    }
    return bytes;
}

/* A section in three dimensions, the last of which is the grid's last one. */
static hri_section in_space(const values *v, const hri_section *s)
{
    const uint32_t rank = v->g->cut.whole.rank;
    hri_section space = {{0, 0, 0}, {1, 1, 1}};
    space.lo[HRI_MPI_RANK - 1] = s->lo[rank - 1];
    space.hi[HRI_MPI_RANK - 1] = s->hi[rank - 1];
    for (uint32_t d = 0; d + 1 < rank; d++) {
        space.lo[d] = s->lo[d];
        space.hi[d] = s->hi[d];
    }
    return space;
}

static hri_section whole_of(const values *v)
{
    hri_section s = {{0, 0, 0}, {1, 1, 1}};
    for (uint32_t d = 0; d < v->g->cut.whole.rank; d++) {
        s.hi[d] = v->g->cut.whole.size[d];
    }
    return in_space(v, &s);
}

static hri_section part_of(const values *v, int rank)
{
    const hri_section s = hri_mpi_cut_part(&v->g->cut, rank);
    return in_space(v, &s);
}

/* The cell where row (i, j) of a section begins in packed values of another
 * one. */
static size_t place_of(const values *v, const hri_section *of, int64_t i,
                       int64_t j, int64_t k, uint32_t component)
{
    const int64_t lines = of->hi[1] - of->lo[1], cells = of->hi[2] - of->lo[2];
    const int64_t rows = of->hi[0] - of->lo[0];
    return (size_t)((
               ((component * rows + i - of->lo[0]) * lines + j - of->lo[1]) *
                   cells +
               k - of->lo[2])) *
           v->element_bytes;
}

/* Copy a section between packed values of two that contain it. */
static void copy_section(const values *v, const hri_section *s, char *to,
                         const hri_section *to_of, const char *from,
                         const hri_section *from_of)
{
    const size_t bytes = (size_t)(s->hi[2] - s->lo[2]) * v->element_bytes;
    for (uint32_t q = 0; q < v->components; q++) {
        for (int64_t i = s->lo[0]; i < s->hi[0]; i++) {
            for (int64_t j = s->lo[1]; j < s->hi[1]; j++) {
                memcpy(to + place_of(v, to_of, i, j, s->lo[2], q),
                       from + place_of(v, from_of, i, j, s->lo[2], q), bytes);
            }
        }
    }
}

/* Send and receive one message or two, and wait. Those without bytes do not
 * move. */
static hr_status exchange_messages(hr_mpi_context *context,
                                   const hri_mpi_bytes *messages, int count)
{
    MPI_Request requests[MAX_REQUESTS];
    bool more = true;
    for (size_t at = 0; more; at += ROUND_BYTES) {
        int posted = 0;
        more = false;
        for (int i = 0; i < count; i++) {
            hri_mpi_bytes m = messages[i];
            const size_t left = m.count > at ? m.count - at : 0;
            m.bytes += left > 0 ? at : 0;
            m.count = left < ROUND_BYTES ? left : ROUND_BYTES;
            more = more || left > ROUND_BYTES;
            HRI_TRY(hri_mpi_post(context, &m, requests, &posted));
        }
        HRI_TRY(hri_mpi_wait(context, posted, requests));
    }
    return HR_OK;
}

/* Memory for the part of this process; in process root also for the largest
 * part. */
static hr_status make_room(const values *v, bool root, char **part,
                           char **other)
{
    size_t bytes = bytes_of(v, &v->g->part), most = 0;
    for (int rank = 0; rank < v->g->context->count && root; rank++) {
        const hri_section s = part_of(v, rank);
        const size_t its = bytes_of(v, &s);
        most = its > most ? its : most;
    }
    *part = malloc(bytes);
    *other = root ? malloc(most) : NULL;
    return *part != NULL && (!root || *other != NULL)
               ? HR_OK
               : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                          "grid: no %zu bytes for a part of the values",
                          bytes + most);
}

/* What all must pass alike. */
static uint64_t hash_of(uint32_t field, int other)
{
    const uint64_t hash = hri_hash(HRI_HASH_INIT, &field, sizeof field);
    return hri_hash(hash, &other, sizeof other);
}

/* Check what this process has passed, and make room. v->g stays NULL if the
 * grid has no processes to agree with. */
static hr_status prepare_values(const hr_grid *grid, uint32_t field,
                                bool has_data, int root, values *v, char **part,
                                char **other)
{
    HRI_TRY(find_values(grid, field, v));
    const hr_mpi_context *context = v->g->context;
    if (root < 0 || root >= context->count) {
        return hri_fail(HR_ERROR_INVALID, "grid: root is %d, not 0 to %d", root,
                        context->count - 1);
    }
    const bool here = root == context->rank;
    if (here && !has_data) {
        return hri_fail(HR_ERROR_INVALID, "grid: data is NULL");
    }
    return make_room(v, here, part, other);
}

/* Bring the parts of all to or from whole values, in the process that has
 * these. */
static hr_status serve_parts(const values *v, char *whole, char *part,
                             char *other, bool scatter)
{
    const hri_section all = whole_of(v);
    hr_mpi_context *context = v->g->context;
    for (int rank = 0; rank < context->count; rank++) {
        const hri_section s = part_of(v, rank);
        const bool own = rank == context->rank;
        const hri_mpi_bytes message = {own ? part : other, bytes_of(v, &s),
                                       rank, TAG, scatter};
        if (scatter) {
            copy_section(v, &s, message.bytes, &s, whole, &all);
        }
        if (!own) {
            HRI_TRY(exchange_messages(context, &message, 1));
        }
        if (!scatter) {
            copy_section(v, &s, whole, &all, message.bytes, &s);
        }
    }
    return HR_OK;
}

/* Move this process's part to or from the process that has whole values, and
 * there all parts. */
static hr_status move_part(const values *v, char *whole, int root, char *part,
                           char *other, bool scatter)
{
    hr_mpi_context *context = v->g->context;
    if (root == context->rank) {
        return serve_parts(v, whole, part, other, scatter);
    }
    const hri_mpi_bytes message = {part, bytes_of(v, &v->g->part), root, TAG,
                                   !scatter};
    return exchange_messages(context, &message, 1);
}

/* A call of hr_mpi_grid_scatter or hr_mpi_grid_gather. */
typedef struct collection {
    hr_grid *grid;
    uint32_t field;
    char *whole; /* in process root */
    int root;
    bool scatter;
} collection;

/* Move the part, which in a scatter becomes the field's. */
static hr_status move_values(const collection *c, const values *v, char *part,
                             char *other)
{
    HRI_TRY(move_part(v, c->whole, c->root, part, other, c->scatter));
    return c->scatter ? hr_grid_scatter(c->grid, c->field, part) : HR_OK;
}

static hr_status collect_with(const collection *c, values *v, char **part,
                              char **other)
{
    const hr_status prepared = prepare_values(
        c->grid, c->field, c->whole != NULL, c->root, v, part, other);
    if (v->g == NULL) {
        return prepared;
    }
    hr_mpi_context *context = v->g->context;
    HRI_TRY(hri_mpi_agree_on(context, prepared, hash_of(c->field, c->root)));
    if (!c->scatter) {
        HRI_TRY(
            hr_mpi_agree(context, hr_grid_gather(c->grid, c->field, *part)));
    }
    return hr_mpi_agree(context, move_values(c, v, *part, *other));
}

/* Values of the whole grid in process root become the field's, or the field's
 * become these. */
static hr_status collect(const collection *c)
{
    values v = {.g = NULL};
    char *part = NULL, *other = NULL;
    const hr_status status = collect_with(c, &v, &part, &other);
    if (v.g == NULL || !v.g->context->lost) { /* else MPI may still use them */
        free(part);
        free(other);
    }
    return status;
}

hr_status hr_mpi_grid_scatter(hr_grid *grid, uint32_t field, const void *data,
                              int root)
{
    return collect(&(collection){grid, field, (char *)data, root, true});
}

hr_status hr_mpi_grid_gather(hr_grid *grid, uint32_t field, void *data,
                             int root)
{
    return collect(&(collection){grid, field, data, root, false});
}

/* ---- files */

/* Rows of the file: the cells of the last dimension, of which each process
 * writes a run. */
typedef struct rows {
    const values *v;
    hri_section whole;
    const hr_mpi_block *blocks; /* [processes]: their runs */
} rows;

/* Walk through the rows that process `of` has in its part and process `to`
 * writes. Each row's cells come from the packed part or from bytes_in. They go
 * to bytes_out or to the file. Returns their bytes. If part and bytes_in are
 * NULL, it only counts them. */
static size_t walk_rows(const rows *r, int of, int to, const char *part,
                        const char *bytes_in, char *bytes_out)
{
    const values *v = r->v;
    const hri_section s = part_of(v, of);
    const int64_t first = r->blocks[to].row;
    const int64_t end = first + r->blocks[to].rows;
    const size_t cells = (size_t)(s.hi[2] - s.lo[2]) * v->element_bytes;
    size_t used = 0;
    for (uint32_t q = 0; q < v->components; q++) {
        for (int64_t i = s.lo[0]; i < s.hi[0]; i++) {
            for (int64_t j = s.lo[1]; j < s.hi[1]; j++) {
                const int64_t row =
                    (q * r->whole.hi[0] + i) * r->whole.hi[1] + j;
                if (row < first || row >= end) {
                    continue;
                }
                char *home = (char *)r->blocks[to].data +
                             ((row - first) * r->whole.hi[2] + s.lo[2]) *
                                 (int64_t)v->element_bytes;
                const char *from =
                    part != NULL ? part + place_of(v, &s, i, j, s.lo[2], q)
                    : bytes_in != NULL ? bytes_in + used
                                       : NULL;
                if (from != NULL) {
                    memcpy(bytes_out != NULL ? bytes_out + used : home, from,
                           cells);
                }
                used += cells;
            }
        }
    }
    return used;
}

static size_t count_bytes(const rows *r, int of, int to)
{
    return walk_rows(r, of, to, NULL, NULL, NULL);
}

/* Send rows to a process, and receive rows from another one. All processes call
 * this at the same time. */
static hr_status swap_rows(const rows *r, const char *part, int to, int from)
{
    hr_mpi_context *context = r->v->g->context;
    const int rank = context->rank;
    const size_t out = count_bytes(r, rank, to);
    const size_t in = count_bytes(r, from, rank);
    char *bytes = malloc(out + in + 1);
    hr_status status =
        bytes != NULL
            ? HR_OK
            : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                       "grid: no %zu bytes for rows of a file", out + in);
    status = hr_mpi_agree(context, status);
    if (status != HR_OK) {
        free(bytes);
        return status;
    }
    (void)walk_rows(r, rank, to, part, NULL, bytes);
    const hri_mpi_bytes messages[] = {{bytes + out, in, from, TAG, false},
                                      {bytes, out, to, TAG, true}};
    status = exchange_messages(context, messages, 2);
    if (context->lost) { /* MPI may still use the memory */
        return status;
    }
    if (status == HR_OK) {
        (void)walk_rows(r, from, rank, NULL, bytes + out, NULL);
    }
    free(bytes);
    return status;
}

/* Bring each process's rows to it, one partner after another. */
static hr_status bring_rows(const rows *r, const char *part)
{
    const hr_mpi_context *context = r->v->g->context;
    const int rank = context->rank, count = context->count;
    (void)walk_rows(r, rank, rank, part, NULL, NULL);
    for (int step = 1; step < count; step++) {
        HRI_TRY(swap_rows(r, part, (rank + step) % count,
                          (rank - step + count) % count));
    }
    return HR_OK;
}

static hr_status save_part(const values *v, const char *part,
                           hr_file_array like, const char *path)
{
    hr_mpi_file *file = NULL;
    HRI_TRY(hr_mpi_file_create(v->g->context, path, like, &file));
    const hr_mpi_matrix matrix = hr_mpi_file_matrix(file);
    const rows r = {v, whole_of(v), matrix.blocks};
    hr_status status = bring_rows(&r, part);
    if (status == HR_OK) {
        status = hr_mpi_file_commit(file);
    }
    hr_mpi_file_close(file);
    return status;
}

/* Check what this process has passed, and gather its part. */
static hr_status gather_part(hr_grid *grid, uint32_t field, hr_type type,
                             values *v, char **part)
{
    HRI_TRY(find_values(grid, field, v));
    const size_t bytes = bytes_of(v, &v->g->part);
    if (hr_type_size(type) != v->element_bytes) {
        return hri_fail(HR_ERROR_INVALID,
                        "grid: field %u has elements of %zu bytes, but type "
                        "%d has %zu",
                        field, v->element_bytes, (int)type, hr_type_size(type));
    }
    *part = malloc(bytes);
    return *part != NULL
               ? hr_grid_gather(grid, field, *part)
               : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                          "grid: no %zu bytes for a part of the values", bytes);
}

/* The array that a file gets. */
static hr_file_array array_of(const values *v, hr_type type)
{
    const hr_extent *whole = &v->g->cut.whole;
    hr_file_array array = {.type = type};
    if (v->components > 1) {
        array.extents[array.rank++] = v->components;
    }
    for (uint32_t d = 0; d < whole->rank; d++) {
        array.extents[array.rank++] = whole->size[d];
    }
    return array;
}

hr_status hr_mpi_grid_save(hr_grid *grid, uint32_t field, hr_type type,
                           const char *path)
{
    values v = {.g = NULL};
    char *part = NULL;
    hr_status status = gather_part(grid, field, type, &v, &part);
    if (v.g == NULL) {
        return status;
    }
    status = hri_mpi_agree_on(v.g->context, status, hash_of(field, (int)type));
    if (status == HR_OK) {
        status = save_part(&v, part, array_of(&v, type), path);
    }
    free(part);
    return status;
}
