/* SPDX-License-Identifier: MIT */
#include "mpi/operand.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/size.h"

/* ---- descriptions */

hr_mpi_matrix hr_mpi_matrix_cyclic(hr_type type, int64_t rows, int64_t cols,
                                   const hr_mpi_cyclic *blocks)
{
    return (hr_mpi_matrix){.type = type,
                           .rows = rows,
                           .cols = cols,
                           .whole_rows = rows,
                           .whole_cols = cols,
                           .cyclic = blocks};
}

hr_mpi_matrix hr_mpi_matrix_blocks(hr_type type, int64_t rows, int64_t cols,
                                   const hr_mpi_block *blocks, int64_t count)
{
    return (hr_mpi_matrix){.type = type,
                           .rows = rows,
                           .cols = cols,
                           .whole_rows = rows,
                           .whole_cols = cols,
                           .blocks = blocks,
                           .block_count = count};
}

hr_mpi_matrix hr_mpi_matrix_section(hr_mpi_matrix m, int64_t row, int64_t col,
                                    int64_t rows, int64_t cols)
{
    m.row += m.transposed ? col : row;
    m.col += m.transposed ? row : col;
    m.rows = rows;
    m.cols = cols;
    return m;
}

hr_mpi_matrix hr_mpi_matrix_transpose(hr_mpi_matrix m)
{
    const int64_t rows = m.rows;
    m.transposed = !m.transposed;
    m.rows = m.cols;
    m.cols = rows;
    return m;
}

hr_mpi_matrix hr_mpi_matrix_conjugate(hr_mpi_matrix m)
{
    m.conjugate = !m.conjugate && (m.type == HR_C32 || m.type == HR_C64);
    return m;
}

/* ---- blocks that go to processes in turn */

/* The elements of an axis that the class has. */
static int64_t count_of_class(const hri_blocks *b, int class_)
{
    const int64_t number = (class_ - b->first + b->classes) % b->classes;
    const int64_t first = hri_min(b->length, b->first_block);
    const int64_t rest = b->length - first, full = rest / b->block;
    const int64_t after_first =
        (number + b->classes - 1) % b->classes; /* after that */
    const int64_t blocks =
        full / b->classes + (full % b->classes > after_first);
    return (number == 0 ? first : 0) + blocks * b->block +
           (full % b->classes == after_first ? rest % b->block : 0);
}

static hr_status check_cyclic(const hr_mpi_cyclic *c, const char *name,
                              int processes)
{
    if (c->row_block < 1 || c->col_block < 1 || c->first_rows < 0 ||
        c->first_cols < 0) {
        return hri_fail(HR_ERROR_INVALID,
                        "mpi: %s: blocks of %lld x %lld elements, the "
                        "first of %lld x %lld: blocks have rows and columns",
                        name, (long long)c->row_block, (long long)c->col_block,
                        (long long)c->first_rows, (long long)c->first_cols);
    }
    if (c->process_rows < 1 || c->process_cols < 1 ||
        (int64_t)c->process_rows * c->process_cols > processes) {
        return hri_fail(HR_ERROR_INVALID,
                        "mpi: %s: %d x %d processes, but there are %d", name,
                        c->process_rows, c->process_cols, processes);
    }
    if (c->first_row < 0 || c->first_row >= c->process_rows ||
        c->first_col < 0 || c->first_col >= c->process_cols) {
        return hri_fail(HR_ERROR_INVALID,
                        "mpi: %s: process (%d, %d) has the first block, but "
                        "there are %d x %d",
                        name, c->first_row, c->first_col, c->process_rows,
                        c->process_cols);
    }
    return HR_OK;
}

/* This process's elements are where it says. */
static hr_status check_local(const hri_mpi_operand *o, const char *name,
                             int cell, bool read)
{
    const hr_mpi_cyclic *c = o->m.cyclic;
    const int64_t rows =
        count_of_class(&o->row_blocks, cell / o->col_blocks.classes);
    const int64_t cols =
        count_of_class(&o->col_blocks, cell % o->col_blocks.classes);
    if (rows == 0 || cols == 0) {
        return HR_OK;
    }
    if (c->leading_dimension < rows) {
        return hri_fail(HR_ERROR_INVALID,
                        "mpi: %s: the leading dimension is %lld, but this "
                        "process has %lld rows",
                        name, (long long)c->leading_dimension, (long long)rows);
    }
    return read && c->data == NULL
               ? hri_fail(HR_ERROR_INVALID,
                          "mpi: %s: the data is NULL, but this process has "
                          "%lld x %lld elements",
                          name, (long long)rows, (long long)cols)
               : HR_OK;
}

static hr_status own_cyclic(hri_mpi_operand *o, const hr_mpi_context *context,
                            const char *name, bool read)
{
    const hr_mpi_cyclic *c = o->m.cyclic;
    for (int i = 0; i < c->process_rows * c->process_cols; i++) {
        o->owner[i] = c->ranks != NULL ? c->ranks[i] : i;
        if (o->owner[i] < 0 || o->owner[i] >= context->count) {
            return hri_fail(HR_ERROR_INVALID,
                            "mpi: %s: rank %d, but there are %d processes",
                            name, o->owner[i], context->count);
        }
        if (o->owner[i] == context->rank) {
            HRI_TRY(check_local(o, name, i, read));
        }
    }
    return HR_OK;
}

/* ---- lists of blocks */

static int compare_bounds(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The rows or columns where blocks begin or end, each once. *count: of these
 * but the last. */
static int64_t *find_bounds(const hr_mpi_matrix *m, bool rows, int *count)
{
    const int64_t length = rows ? m->whole_rows : m->whole_cols;
    int64_t *bounds = malloc((size_t)(2 * m->block_count + 2) * sizeof *bounds);
    int64_t used = 0, kept = 0;
    if (bounds == NULL) {
        return NULL;
    }
    bounds[used++] = 0;
    for (int64_t i = 0; i < m->block_count; i++) {
        const hr_mpi_block *b = &m->blocks[i];
        bounds[used++] = rows ? b->row : b->col;
        bounds[used++] = rows ? b->row + b->rows : b->col + b->cols;
    }
    qsort(bounds, (size_t)used, sizeof *bounds, compare_bounds);
    for (int64_t i = 0; i < used; i++) { /* blocks are checked later */
        if (bounds[i] < length && bounds[i] >= 0 &&
            (kept == 0 || bounds[i] > bounds[kept - 1])) {
            bounds[kept++] = bounds[i];
        }
    }
    kept = kept > 0 ? kept : 1; /* of an empty axis */
    bounds[kept] = length;
    *count = (int)kept;
    return bounds;
}

static hr_status check_block(const hr_mpi_matrix *m, int64_t i,
                             const hr_mpi_context *context, const char *name,
                             bool read)
{
    const hr_mpi_block *b = &m->blocks[i];
    if (b->row < 0 || b->col < 0 || b->rows < 0 || b->cols < 0 ||
        b->row > m->whole_rows - b->rows || b->col > m->whole_cols - b->cols) {
        return hri_fail(HR_ERROR_INVALID,
                        "mpi: %s: block %lld of %lld x %lld at (%lld, %lld) "
                        "is not in %lld x %lld",
                        name, (long long)i, (long long)b->rows,
                        (long long)b->cols, (long long)b->row,
                        (long long)b->col, (long long)m->whole_rows,
                        (long long)m->whole_cols);
    }
    if (b->owner < HR_MPI_EVERYWHERE || b->owner >= context->count) {
        return hri_fail(HR_ERROR_INVALID,
                        "mpi: %s: block %lld has rank %d, but there are %d "
                        "processes",
                        name, (long long)i, b->owner, context->count);
    }
    return read &&
                   (b->owner == context->rank ||
                    b->owner == HR_MPI_EVERYWHERE) &&
                   b->data == NULL && b->rows > 0 && b->cols > 0
               ? hri_fail(HR_ERROR_INVALID,
                          "mpi: %s: the data of block %lld is NULL", name,
                          (long long)i)
               : HR_OK;
}

/* Give a block its cells. */
static hr_status own_block(hri_mpi_operand *o, int64_t number, int processes,
                           const char *name)
{
    const hr_mpi_block *b = &o->m.blocks[number];
    const int rows = o->row_blocks.classes, cols = o->col_blocks.classes;
    for (int i = hri_blocks_find(&o->row_blocks, b->row);
         i < rows && o->row_bounds[i] < b->row + b->rows; i++) {
        for (int j = hri_blocks_find(&o->col_blocks, b->col);
             j < cols && o->col_bounds[j] < b->col + b->cols; j++) {
            const int64_t cell = (int64_t)i * cols + j;
            if (o->block_of[cell] >= 0) {
                return hri_fail(
                    HR_ERROR_INVALID, "mpi: %s: blocks %lld and %lld overlap",
                    name, (long long)o->block_of[cell], (long long)number);
            }
            o->block_of[cell] = number;
            o->owner[cell] =
                b->owner == HR_MPI_EVERYWHERE ? processes : b->owner;
        }
    }
    return HR_OK;
}

static hr_status own_list(hri_mpi_operand *o, const hr_mpi_context *context,
                          const char *name, bool read)
{
    const int cols = o->col_blocks.classes;
    const int64_t cells = (int64_t)o->row_blocks.classes * cols;
    o->block_of = malloc((size_t)cells * sizeof *o->block_of);
    if (o->block_of == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "mpi: %s: no memory for %lld cells", name,
                        (long long)cells);
    }
    for (int64_t i = 0; i < cells; i++) {
        o->block_of[i] = -1;
    }
    for (int64_t i = 0; i < o->m.block_count; i++) {
        HRI_TRY(check_block(&o->m, i, context, name, read));
        if (o->m.blocks[i].rows > 0 && o->m.blocks[i].cols > 0) {
            HRI_TRY(own_block(o, i, context->count, name));
        }
    }
    if (o->m.whole_rows == 0 || o->m.whole_cols == 0) {
        return HR_OK;
    }
    for (int64_t i = 0; i < cells; i++) {
        if (o->block_of[i] < 0) {
            return hri_fail(HR_ERROR_INVALID,
                            "mpi: %s: no block has element (%lld, %lld)", name,
                            (long long)o->row_bounds[i / cols],
                            (long long)o->col_bounds[i % cols]);
        }
    }
    return HR_OK;
}

/* ---- operands */

static hr_status check_matrix(const hr_mpi_matrix *m, const char *name)
{
    const int64_t rows = m->transposed ? m->cols : m->rows;
    const int64_t cols = m->transposed ? m->rows : m->cols;
    if (hr_type_size(m->type) == 0) {
        return hri_fail(HR_ERROR_INVALID, "mpi: %s: there is no type %d", name,
                        (int)m->type);
    }
    if ((m->cyclic == NULL) == (m->blocks == NULL && m->block_count == 0)) {
        return hri_fail(HR_ERROR_INVALID, "mpi: %s: there are no blocks", name);
    }
    if (m->whole_rows < 0 || m->whole_cols < 0 || rows < 0 || cols < 0 ||
        m->row < 0 || m->col < 0 || m->row > m->whole_rows - rows ||
        m->col > m->whole_cols - cols) {
        return hri_fail(HR_ERROR_INVALID,
                        "mpi: %s: %lld x %lld elements at (%lld, %lld) are "
                        "not in %lld x %lld",
                        name, (long long)rows, (long long)cols,
                        (long long)m->row, (long long)m->col,
                        (long long)m->whole_rows, (long long)m->whole_cols);
    }
    return HR_OK;
}

static uint64_t hash_of(const hr_mpi_matrix *m, uint64_t hash)
{
    const hr_mpi_cyclic *c = m->cyclic;
    const int64_t all[] = {
        m->type, m->transposed, m->conjugate,  m->row,        m->col,
        m->rows, m->cols,       m->whole_rows, m->whole_cols, m->block_count};
    hash = hri_hash(hash, all, sizeof all);
    if (c != NULL) {
        const int64_t blocks[] = {
            c->row_block, c->col_block, c->process_rows, c->process_cols,
            c->first_row, c->first_col, c->first_rows,   c->first_cols};
        hash = hri_hash(hash, blocks, sizeof blocks);
    }
    if (c != NULL && c->ranks != NULL) {
        hash = hri_hash(hash, c->ranks,
                        (size_t)c->process_rows * (size_t)c->process_cols *
                            sizeof *c->ranks);
    }
    for (int64_t i = 0; c == NULL && i < m->block_count; i++) {
        const hr_mpi_block *b = &m->blocks[i];
        const int64_t block[] = {b->row, b->col, b->rows, b->cols, b->owner};
        hash = hri_hash(hash, block, sizeof block);
    }
    return hash;
}

/* A block is at most as long as the axis. */
static void cut_cyclic(hri_blocks *b, int64_t block, int64_t first)
{
    const int64_t most = hri_max(1, b->length);
    b->block = hri_min(block, most);
    b->first_block = hri_min(first > 0 ? first : block, most);
}

/* The blocks of both axes. */
static hr_status find_blocks(hri_mpi_operand *o, const char *name)
{
    const hr_mpi_cyclic *c = o->m.cyclic;
    o->row_blocks.length = o->m.whole_rows;
    o->col_blocks.length = o->m.whole_cols;
    if (c != NULL) {
        cut_cyclic(&o->row_blocks, c->row_block, c->first_rows);
        o->row_blocks.classes = c->process_rows;
        o->row_blocks.first = c->first_row;
        cut_cyclic(&o->col_blocks, c->col_block, c->first_cols);
        o->col_blocks.classes = c->process_cols;
        o->col_blocks.first = c->first_col;
        return HR_OK;
    }
    o->row_bounds = find_bounds(&o->m, true, &o->row_blocks.classes);
    o->col_bounds = find_bounds(&o->m, false, &o->col_blocks.classes);
    o->row_blocks.bounds = o->row_bounds;
    o->col_blocks.bounds = o->col_bounds;
    return o->row_bounds != NULL && o->col_bounds != NULL
               ? HR_OK
               : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                          "mpi: %s: no memory for %lld blocks", name,
                          (long long)o->m.block_count);
}

/* List the cells of each owner. */
static void sort_cells(hri_mpi_operand *o, int cells, int processes)
{
    int64_t *first = o->cell_first;
    for (int i = 0; i < cells; i++) {
        first[o->owner[i] + 1]++;
    }
    for (int i = 0; i <= processes; i++) {
        first[i + 1] += first[i];
    }
    /* first[p + 1] is where the cells of p end. Filled from the end, it becomes
     * where they begin. */
    for (int i = cells - 1; i >= 0; i--) {
        o->cells[--first[o->owner[i] + 1]] = i;
    }
    for (int i = 0; i <= processes; i++) {
        first[i] = first[i + 1];
    }
    first[processes + 1] = cells;
    o->single = first[processes] == cells;
    for (int i = 0; i < processes; i++) {
        o->single = o->single && first[i + 1] - first[i] <= 1;
    }
}

/* The fraction of the matrix that every process has. */
static double count_everywhere(const hri_mpi_operand *o)
{
    double some = 0.0;
    for (int64_t i = 0; i < o->m.block_count; i++) {
        const hr_mpi_block *b = &o->m.blocks[i];
        some += b->owner == HR_MPI_EVERYWHERE
                    ? (double)b->rows * (double)b->cols
                    : 0.0;
    }
    return some > 0.0
               ? some / ((double)o->m.whole_rows * (double)o->m.whole_cols)
               : 0.0;
}

static hr_status find_owners(hri_mpi_operand *o, const hr_mpi_context *context,
                             const char *name, bool read)
{
    enum { MAX_CELLS = 1 << 26 };
    const int64_t cells =
        (int64_t)o->row_blocks.classes * o->col_blocks.classes;
    if (cells > MAX_CELLS) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "mpi: %s: its blocks begin at %d rows and %d columns, "
                        "which makes more than %d cells",
                        name, o->row_blocks.classes, o->col_blocks.classes,
                        MAX_CELLS);
    }
    o->owner = calloc((size_t)cells, sizeof *o->owner);
    o->cells = calloc((size_t)cells, sizeof *o->cells);
    o->cell_first = calloc((size_t)context->count + 2, sizeof *o->cell_first);
    if (o->owner == NULL || o->cells == NULL || o->cell_first == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "mpi: %s: no memory for %lld cells", name,
                        (long long)cells);
    }
    if (o->m.cyclic != NULL) {
        HRI_TRY(own_cyclic(o, context, name, read));
    } else {
        HRI_TRY(own_list(o, context, name, read));
    }
    sort_cells(o, (int)cells, context->count);
    o->everywhere = count_everywhere(o);
    return o->m.cyclic == NULL || o->single
               ? HR_OK
               : hri_fail(HR_ERROR_INVALID,
                          "mpi: %s: a rank stands more than once in the %d x "
                          "%d processes",
                          name, o->row_blocks.classes, o->col_blocks.classes);
}

hr_status hri_mpi_operand_init(hri_mpi_operand *o,
                               const hr_mpi_context *context, const char *name,
                               hr_mpi_matrix m, bool read, uint64_t *hash)
{
    *o = (hri_mpi_operand){.m = m, .element_bytes = hr_type_size(m.type)};
    HRI_TRY(check_matrix(&m, name));
    if (m.cyclic != NULL) {
        HRI_TRY(check_cyclic(m.cyclic, name, context->count));
    }
    *hash = hash_of(&m, *hash);
    HRI_TRY(find_blocks(o, name));
    return find_owners(o, context, name, read);
}

void hri_mpi_operand_finish(hri_mpi_operand *o)
{
    hri_axis_finish(&o->rows);
    hri_axis_finish(&o->cols);
    free(o->row_bounds);
    free(o->col_bounds);
    free(o->block_of);
    free(o->owner);
    free(o->cells);
    free(o->cell_first);
    *o = (hri_mpi_operand){0};
}

hr_status hri_mpi_operand_cut(hri_mpi_operand *o, const hri_mpi_tiling *rows,
                              const hri_mpi_tiling *cols)
{
    const bool t = o->m.transposed;
    hri_axis_finish(&o->rows);
    hri_axis_finish(&o->cols);
    HRI_TRY(hri_axis_init(&o->rows, &o->row_blocks, o->m.row,
                          t ? o->m.cols : o->m.rows, t ? cols : rows));
    return hri_axis_init(&o->cols, &o->col_blocks, o->m.col,
                         t ? o->m.rows : o->m.cols, t ? rows : cols);
}

/* ---- tiles */

static hri_mpi_tile stored_tile(const hri_mpi_operand *o, hri_mpi_tile tile)
{
    return o->m.transposed ? (hri_mpi_tile){tile.col, tile.row} : tile;
}

int64_t hri_mpi_tile_rows(const hri_mpi_operand *o, hri_mpi_tile tile)
{
    return o->rows.tile_length[stored_tile(o, tile).row];
}

int64_t hri_mpi_tile_cols(const hri_mpi_operand *o, hri_mpi_tile tile)
{
    return o->cols.tile_length[stored_tile(o, tile).col];
}

int64_t hri_mpi_tile_elements(const hri_mpi_operand *o, hri_mpi_tile tile,
                              int owner)
{
    const hri_mpi_tile s = stored_tile(o, tile);
    const int64_t *rows = o->rows.length + s.row * o->rows.classes;
    const int64_t *cols = o->cols.length + s.col * o->cols.classes;
    int64_t all = 0;
    for (int64_t i = o->cell_first[owner]; i < o->cell_first[owner + 1]; i++) {
        all += rows[o->cells[i] / o->cols.classes] *
               cols[o->cells[i] % o->cols.classes];
    }
    return all;
}

void hri_mpi_boxes_begin(hri_mpi_boxes *boxes, const hri_mpi_operand *o,
                         hri_mpi_tile tile, int owner)
{
    const hri_mpi_tile s = stored_tile(o, tile);
    *boxes = (hri_mpi_boxes){.operand = o,
                             .row_tile = s.row,
                             .col_tile = s.col,
                             .cell = o->cells + o->cell_first[owner],
                             .end = o->cells + o->cell_first[owner + 1]};
}

/* Find where the owner has what begins at these intervals. */
static void locate_box(const hri_mpi_operand *o, int cell,
                       const hri_interval *row, const hri_interval *col,
                       hri_mpi_box *box)
{
    const hr_mpi_cyclic *c = o->m.cyclic;
    const hr_mpi_block *b = c != NULL ? NULL : &o->m.blocks[o->block_of[cell]];
    char *data = c != NULL ? c->data : b->data;
    const int64_t i = row->local - (c != NULL ? 0 : b->row);
    const int64_t j = col->local - (c != NULL ? 0 : b->col);
    box->row_stride = c != NULL ? 1 : b->row_stride;
    box->col_stride = c != NULL ? c->leading_dimension : b->col_stride;
    box->owned = data == NULL
                     ? NULL
                     : data + (i * box->row_stride + j * box->col_stride) *
                                  (int64_t)o->element_bytes;
}

bool hri_mpi_boxes_next(hri_mpi_boxes *boxes, hri_mpi_box *box)
{
    const hri_mpi_operand *o = boxes->operand;
    for (; boxes->cell < boxes->end; boxes->cell++) {
        int64_t rows, cols;
        const hri_interval *row = hri_axis_intervals(
            &o->rows, boxes->row_tile, *boxes->cell / o->cols.classes, &rows);
        const hri_interval *col = hri_axis_intervals(
            &o->cols, boxes->col_tile, *boxes->cell % o->cols.classes, &cols);
        if (boxes->row == rows) {
            boxes->row = 0;
            boxes->col++;
        }
        if (rows > 0 && boxes->col < cols) {
            row += boxes->row++;
            col += boxes->col;
            *box = (hri_mpi_box){.rows = row->length,
                                 .cols = col->length,
                                 .row = row->offset,
                                 .col = col->offset};
            locate_box(o, *boxes->cell, row, col, box);
            return true;
        }
        boxes->row = boxes->col = 0;
    }
    return false;
}
