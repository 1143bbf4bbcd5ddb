/* SPDX-License-Identifier: MIT */
/** @file processes.h
 *  Products of matrices and grids that are distributed over the processes of
 *  MPI, for programs that do not call MPI themselves. Programs that do include
 * mpi.h, which has all of this and takes their communicator.
 *
 *  Each process works with its own accelerators. Programs link libheadrace_mpi
 *  of the MPI that starts them: docs/cluster.md.
 *
 *  All functions here are collective unless they say otherwise: every process
 *  of the communicator calls them, in the same order and with the same
 *  arguments but for addresses. They notice arguments that differ, and return
 *  HR_ERROR_INVALID in every process. They wait for ever for a process that
 *  calls another function. An error in one process is returned in
 *  every process, with the sentence of the first one and its rank.
 *
 *  headrace.h does not include this file, since its library is another one. */
#ifndef HEADRACE_PROCESSES_H
#define HEADRACE_PROCESSES_H

#include <headrace/context.h>
#include <headrace/file.h>
#include <headrace/gemm.h>
#include <headrace/grid.h>
#include <headrace/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The processes of a communicator, and the accelerators of this one. */
typedef struct hr_mpi_context hr_mpi_context;

/** hr_mpi_context_create of all processes, MPI_COMM_WORLD. If MPI has not been
 *  initialized, this does it, and hr_mpi_context_destroy finalizes it. Then no
 *  later context can be created.
 *
 * @units   As hr_mpi_context_create.
 * @owner   As hr_mpi_context_create.
 * @errors  As hr_mpi_context_create.
 * @threads The one that initialized MPI, for all functions of this file, unless
 *          MPI offers MPI_THREAD_MULTIPLE. */
HR_API HR_NODISCARD hr_status hr_mpi_context_create_world(
    const hr_context_options *options, hr_mpi_context **context);

/** Processes as planning sees them: one for each machine or accelerator, all
 *  equally fast. */
typedef struct hr_mpi_cluster {
    uint32_t size;              /**< sizeof(hr_mpi_cluster) */
    int count;                  /**< processes */
    uint64_t memory_bytes;      /**< for panels, in each of them */
    double c_bytes_per_second;  /**< of C: how fast it goes to accelerators and
                                   back; 0: accelerators work where it
                                  is */
    double flops_per_second;    /**< of each: products of f64 */
    double latency_seconds;     /**< of a message between two */
    double bytes_per_second;    /**< between two */
    uint64_t accelerator_bytes; /**< of accelerators, in each: what fits of C
                                   stays there */
} hr_mpi_cluster;

/** The initial value: its size is set, everything else is 0. */
#define HR_MPI_CLUSTER_INIT                                                    \
    {                                                                          \
        sizeof(hr_mpi_cluster), 0, 0, 0.0, 0.0, 0.0, 0.0, 0                    \
    }

/** What was measured when the context was made: of the slowest process, of the
 *  slowest pair, and the memory of the process that has least. Alone, a process
 *  sends nothing: rates of messages are 0. Not collective.
 * @errors  HR_ERROR_INVALID for NULL and for a size that is not set.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status
hr_mpi_context_describe(const hr_mpi_context *context, hr_mpi_cluster *cluster);

/** A context of processes that are not there, to plan for them:
 *  hr_mpi_gemm_plan works with it, and what needs messages returns
 *  HR_ERROR_INVALID. MPI need not be initialized. This process is number 0. Not
 *  collective.
 *
 * @owner   *context is the caller's, to be given to hr_mpi_context_destroy;
 *          written only on success. cluster is not kept.
 * @errors  HR_ERROR_INVALID for more than 4096 processes, and for numbers that
 *          are not above 0, but for latency_seconds, c_bytes_per_second and
 *          accelerator_bytes of 0; HR_ERROR_OUT_OF_MEMORY.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_mpi_context_create_model(
    const hr_mpi_cluster *cluster, hr_mpi_context **context);

/** Free the context and its copy of the communicator. NULL is accepted. After
 *  MPI_Finalize only memory is freed. A context that initialized MPI finalizes
 *  it. If a function of MPI has failed before, it ends all processes instead,
 *  since they would wait for each other.
 * @threads As hr_mpi_context_create_world. */
HR_API void hr_mpi_context_destroy(hr_mpi_context *context);

/** This process's own context, for all that needs no other process. Not
 *  collective.
 * @owner   The context's; do not destroy it.
 * @threads Any thread. */
HR_API hr_context *hr_mpi_context_local(const hr_mpi_context *context);

/** This process's rank, from 0; 0 for NULL. Not collective.
 * @threads Any thread. */
HR_API int hr_mpi_rank(const hr_mpi_context *context);

/** The number of processes; 0 for NULL. Not collective.
 * @threads Any thread. */
HR_API int hr_mpi_count(const hr_mpi_context *context);

/** HR_OK if status is HR_OK in all processes, else that of the first process
 *  where it is not, with hr_last_error of its thread.
 * @errors  As hr_mpi_gemm.
 * @threads As hr_mpi_context_create_world. */
HR_API HR_NODISCARD hr_status hr_mpi_agree(hr_mpi_context *context,
                                           hr_status status);

/** The owner of a block that every process has, as one that is read from a
 * file: none of it is sent. C has no such blocks. */
enum { HR_MPI_EVERYWHERE = -1 };

/** One block of a matrix, and the process that has it. */
typedef struct hr_mpi_block {
    int64_t row, col;               /**< where it begins in the matrix */
    int64_t rows, cols;             /**< its size */
    int owner;                      /**< rank in the context's communicator, or
                                         HR_MPI_EVERYWHERE */
    void *data;                     /**< there; not read elsewhere */
    int64_t row_stride, col_stride; /**< there, in elements */
} hr_mpi_block;

/** How the blocks of a matrix go to processes in turn, as ScaLAPACK's array
 *  descriptors say it. Process (p, q) has block (i, j) if
 *  (i + first_row) mod process_rows is p, and
 *  (j + first_col) mod process_cols is q. */
typedef struct hr_mpi_cyclic {
    int64_t row_block, col_block;   /**< rows and columns of a block: MB, NB */
    int64_t first_rows, first_cols; /**< of the first block: IMB, INB; 0: as
                                       the others */
    int process_rows, process_cols; /**< processes in each direction */
    int first_row, first_col; /**< that have the first block: less them, as
                                   RSRC and CSRC */
    const int *ranks; /**< [process_rows][process_cols] rank of process (p, q);
                           NULL: p * process_cols + q */
    void *data;       /**< this process's elements, by columns; NULL if it has
                           none */
    int64_t leading_dimension; /**< elements from one local column to the next:
                                    LLD */
} hr_mpi_cyclic;

/** A matrix that is distributed over processes. Made by the functions below;
 *  copied freely. */
typedef struct hr_mpi_matrix {
    hr_type type;
    bool transposed;    /**< rows and columns are those of the transpose */
    bool conjugate;     /**< elements count as their complex conjugates */
    int64_t row, col;   /**< where it begins in the stored matrix */
    int64_t rows, cols; /**< its size, as it is used */
    int64_t whole_rows, whole_cols;     /**< of the stored matrix */
    const struct hr_mpi_cyclic *cyclic; /**< its blocks, or NULL for */
    const struct hr_mpi_block *blocks;  /**< these */
    int64_t block_count;
} hr_mpi_matrix;

/** A matrix of rows x cols in blocks that go to processes in turn.
 *
 * @owner   Borrows blocks and its data.
 * @errors  None here: hr_mpi_gemm checks what it is given.
 * @threads Any thread; not collective. */
HR_API hr_mpi_matrix hr_mpi_matrix_cyclic(hr_type type, int64_t rows,
                                          int64_t cols,
                                          const hr_mpi_cyclic *blocks);

/** A matrix of rows x cols in any blocks, which must cover it and not overlap.
 *  Every process passes all blocks. Otherwise as above. */
HR_API hr_mpi_matrix hr_mpi_matrix_blocks(hr_type type, int64_t rows,
                                          int64_t cols,
                                          const hr_mpi_block *blocks,
                                          int64_t count);

/** The section of m that begins at (row, col), counted from 0. A section that
 *  m does not contain is refused by the function that uses it.
 * @threads Any thread; not collective. */
HR_API hr_mpi_matrix hr_mpi_matrix_section(hr_mpi_matrix m, int64_t row,
                                           int64_t col, int64_t rows,
                                           int64_t cols);

/** The transpose of m. Nothing moves.
 * @threads Any thread; not collective. */
HR_API hr_mpi_matrix hr_mpi_matrix_transpose(hr_mpi_matrix m);

/** The complex conjugate of m; m itself for real types. Nothing moves.
 * @threads Any thread; not collective. */
HR_API hr_mpi_matrix hr_mpi_matrix_conjugate(hr_mpi_matrix m);

/** What a product over processes will do, or has done. */
typedef struct hr_mpi_gemm_report {
    uint32_t size;         /**< sizeof(hr_mpi_gemm_report) */
    int rows, cols, depth; /**< processes that share rows and columns of C, and
                              the sum over k. Others only send and receive */
    int64_t panel;  /**< the largest part of k that is multiplied at once */
    int64_t panels; /**< of each process */
    double seconds; /**< of the whole call (plan: predicted) */
    double compute_seconds; /**< predicted for the products of one process */
    double message_seconds; /**< predicted for its messages */
    uint64_t sent;          /**< bytes between processes, all together */
    uint64_t bound;    /**< the fewest that any schedule needs: see @source of
                            hr_mpi_gemm */
    double ratio;      /**< sent over bound; 1 if both are 0 */
    uint64_t messages; /**< all together */
    uint64_t memory_bytes; /**< that this process needs besides its matrices */
} hr_mpi_gemm_report;

/** The initial value: its size is set, everything else is 0. */
#define HR_MPI_GEMM_REPORT_INIT                                                \
    {                                                                          \
        sizeof(hr_mpi_gemm_report), 0, 0, 0, 0, 0, 0.0, 0.0, 0.0, 0, 0, 0.0,   \
            0, 0                                                               \
    }

typedef struct hr_mpi_gemm_options {
    uint32_t size;         /**< sizeof(hr_mpi_gemm_options) */
    hr_compute compute;    /**< how products are formed */
    int rows, cols, depth; /**< processes for C's rows and columns and the sum;
                              0: what is fastest */
    uint64_t memory_limit; /**< bytes of host memory for panels in each process,
                                which have a column of A and a row of B at
                                least; 0: a quarter of what its machine has */
    hr_progress_function progress; /**< of floating-point operations of all
                                        processes; NULL: none. If it returns
                                        false in one process, all return
                                        HR_ERROR_CANCELLED */
    void *progress_data;           /**< handed to progress */
    hr_mpi_gemm_report *report;    /**< filled on success; NULL: none */
} hr_mpi_gemm_options;

/** Options with their size set and every default. */
#define HR_MPI_GEMM_OPTIONS_INIT                                               \
    {                                                                          \
        sizeof(hr_mpi_gemm_options), HR_COMPUTE_NATIVE, 0, 0, 0, 0, NULL,      \
            NULL, NULL                                                         \
    }

/** C := alpha A B + beta C, of distributed matrices. Returns in a process when
 *  its elements of C are complete.
 *
 * @shape    A[m,k], B[k,n], C[m,n]; m, n and k may be 0. Types as hr_gemm.
 * @owner    Borrows all operands and options until it returns. If a function of
 *           MPI has failed, MPI may read A and B until it is finalized, and so
 *           may other processes of the machine. The context keeps the memory of
 *           panels for the next product.
 * @aliasing C must not overlap A or B, which is noticed where a process
 *           multiplies parts in place; A and B may overlap. beta = 0 never
 *           reads C. alpha = 0 or k = 0 never reads A or B.
 * @errors   As hr_gemm, and those at the top of this file. When the products
 *           have begun, C has old and new elements after an error.
 * @threads  As hr_mpi_context_create_world. The progress function is called on
 *           the calling thread.
 * @source   [Kwasniewski2019]: no schedule for P processes that compute equal
 *           shares sends less than the faces of P boxes of m n k / P products
 *           that are as near to cubes as the shape allows, less what processes
 *           have already. */
HR_API HR_NODISCARD hr_status hr_mpi_gemm(hr_mpi_context *context,
                                          hr_scalar alpha, hr_mpi_matrix a,
                                          hr_mpi_matrix b, hr_scalar beta,
                                          hr_mpi_matrix c,
                                          const hr_mpi_gemm_options *options);

/** What hr_mpi_gemm would do with the same arguments, without doing it. No
 *  elements are read.
 * @errors  As hr_mpi_gemm.
 * @threads As hr_mpi_context_create_world. */
HR_API HR_NODISCARD hr_status hr_mpi_gemm_plan(
    hr_mpi_context *context, hr_scalar alpha, hr_mpi_matrix a, hr_mpi_matrix b,
    hr_scalar beta, hr_mpi_matrix c, const hr_mpi_gemm_options *options,
    hr_mpi_gemm_report *report);

/** An array in a new file, of which each process writes a part. */
typedef struct hr_mpi_file hr_mpi_file;

/** Make a file for an array like `like`, as hr_file_create_array does, in a
 *  folder that all processes see under the same name. Process 0 makes it, and
 *  all map it: rows of matrices go to processes in runs of nearly equal length.
 *  So C may be larger than the memories of all processes, unless it is of
 *  halves, whose sums are formed in memory.
 *
 * @shape   like is in row order.
 * @owner   *file is the caller's, to be given to hr_mpi_file_close; written
 * only on success. like.data is not used.
 * @errors  As hr_file_create_array; HR_ERROR_INVALID if like is in column
 * order; HR_ERROR_IO if a process does not see the file.
 * @threads As hr_mpi_context_create_world. */
HR_API HR_NODISCARD hr_status hr_mpi_file_create(hr_mpi_context *context,
                                                 const char *path,
                                                 hr_file_array like,
                                                 hr_mpi_file **file);

/** All matrices of the file below each other, as one; sections of it are C of
 *  products. Block i is that of process i. Not collective.
 * @shape   The columns are the last dimension, the rows all others.
 * @owner   The file's; its data are there until hr_mpi_file_commit, and NULL
 *          afterwards.
 * @threads Any thread. */
HR_API hr_mpi_matrix hr_mpi_file_matrix(const hr_mpi_file *file);

/** Write the file to the disk and give it its name: whole, or not at all. What
 *  several machines wrote to one page of it is right afterwards. It is
 * unmapped, also after an error.
 * @errors  As hr_file_commit.
 * @threads As hr_mpi_context_create_world. */
HR_API HR_NODISCARD hr_status hr_mpi_file_commit(hr_mpi_file *file);

/** The temporary name of the file in process 0, as hr_file_temporary; NULL in
 *  others. Not collective.
 * @owner   The file's.
 * @threads Any thread. */
HR_API const char *hr_mpi_file_temporary(const hr_mpi_file *file);

/** Unmap it. Without hr_mpi_file_commit, process 0 removes it. NULL is
 * accepted. Not collective.
 * @threads One thread at a time for each file. */
HR_API void hr_mpi_file_close(hr_mpi_file *file);

/** hr_grid_create of a grid that is distributed over the processes. Each has a
 *  part of it, over its own accelerators. Step and reduce the grid as any
 * other: hr_grid_step, hr_grid_run, hr_grid_reduce, hr_grid_reduced and
 *  hr_grid_finish are collective then. Every process passes the same phases,
 *  which count cells in the whole grid. Results have the same bits for any
 *  number of processes and of accelerators of one kind.
 *
 *  hr_grid_scatter, hr_grid_gather, hr_grid_write and hr_grid_read are not
 *  collective, and work on the part of this process; hr_mpi_grid_describe tells
 *  which it is. hr_grid_destroy frees the grid. The parts meet in messages from
 *  page-locked memory while kernels run on all that needs none of them.
 *
 * @shape   processes[d]: how many share dimension d; their product is the count
 *          of all. NULL: those whose parts send least and are most even. Parts
 *          start at multiples of the blocks of hr_grid_part. In a dimension
 *          that is shared, each part has as many cells as halos have, at least.
 * @owner   As hr_grid_create; *grid is destroyed before the context. The part
 *          of options is NULL.
 * @errors  As hr_grid_create; HR_ERROR_INVALID, with the numbers, if the grid
 *          has too few cells for so many processes.
 * @threads As hr_mpi_context_create_world, also for the calls above. */
HR_API HR_NODISCARD hr_status hr_mpi_grid_create(
    hr_mpi_context *context, hr_extent extent, const hr_field *fields,
    uint32_t count, const hr_grid_options *options, const int *processes,
    hr_grid **grid);

/** How a grid is distributed over processes, and what this one has sent. */
typedef struct hr_mpi_grid_state {
    uint32_t size;                      /**< sizeof(hr_mpi_grid_state) */
    int processes[HR_MAX_KERNEL_RANK];  /**< that share each dimension */
    hr_extent extent;                   /**< of this process's part */
    int64_t origin[HR_MAX_KERNEL_RANK]; /**< where it starts */
    uint64_t exchange_bytes; /**< that this process sends when the halos of all
                                  fields are exchanged */
    uint64_t sent;           /**< bytes of halos so far */
    uint64_t messages;       /**< of them */
    bool from_device; /**< they go from the accelerator's memory, which this
                           process's MPI reads; else from page-locked memory */
} hr_mpi_grid_state;

/** The initial value: its size is set, everything else is 0. */
#define HR_MPI_GRID_STATE_INIT                                                 \
    {                                                                          \
        sizeof(hr_mpi_grid_state), {0}, {0, {0}}, {0}, 0, 0, 0, false          \
    }

/** Describe a grid of hr_mpi_grid_create. Not collective.
 * @owner   *state is written.
 * @errors  HR_ERROR_INVALID for NULL, another grid, or a state without its
 *          size.
 * @threads One at a time for each grid. */
HR_API HR_NODISCARD hr_status hr_mpi_grid_describe(const hr_grid *grid,
                                                   hr_mpi_grid_state *state);

/** Copy packed values of the whole grid, which process root has, into a field.
 *  As hr_grid_scatter otherwise.
 * @owner   Reads data in process root during the call; it is not used in
 *          others.
 * @errors  As hr_grid_scatter and hr_mpi_gemm; HR_ERROR_INVALID for a root that
 *          is none.
 * @threads As hr_mpi_context_create_world. */
HR_API HR_NODISCARD hr_status hr_mpi_grid_scatter(hr_grid *grid, uint32_t field,
                                                  const void *data, int root);

/** Copy a field's values of the whole grid to packed memory in process root.
 *  Otherwise as hr_mpi_grid_scatter. */
HR_API HR_NODISCARD hr_status hr_mpi_grid_gather(hr_grid *grid, uint32_t field,
                                                 void *data, int root);

/** Write a field to a new file, as hr_mpi_file_create makes it: whole, or not
 * at all. No process holds more than its part and what it writes. To read a
 * file, map it in each process (headrace/file.h), and give its section to
 *  hr_grid_write.
 *
 * @shape   type has the field's element_bytes. Of several components the file
 *          has a dimension more, the first.
 * @errors  As hr_mpi_file_create and hr_mpi_file_commit.
 * @threads As hr_mpi_context_create_world. */
HR_API HR_NODISCARD hr_status hr_mpi_grid_save(hr_grid *grid, uint32_t field,
                                               hr_type type, const char *path);

#ifdef __cplusplus
}
#endif
#endif
