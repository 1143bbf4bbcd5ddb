/* SPDX-License-Identifier: MIT */
/* Chunks: rows that an accelerator works on at a time. */
#ifndef HRI_FILTER_CHUNK_H
#define HRI_FILTER_CHUNK_H

#include <headrace/queue.h>

#include "base/status.h"
#include "filter/cost.h"
#include "runtime/runtime.h"

/* A chunk: rows [first, last) of out, the rows of in that they need, and what
 * is in between. Arrays over the caller's matrices belong to the chunk. */
typedef struct hri_filter_chunk {
    int64_t first, last;
    hr_view in, out;
    hr_array *own[2], *planes;
    hr_queue *queue; /* that its kernels run on; NULL: none yet */
} hri_filter_chunk;

/* Whether the accelerator filters in strips (kernels.h). Otherwise it uses the
 * kernels of kernels/dialect/filter.inc. Only these can be checked. */
bool hri_filter_strips(const hr_context *context,
                       const hri_accelerator *accelerator);

/* Make the arrays of rows [first, last), enqueue the kernels, and wait and
 * free. finish accepts a chunk that is made in part or not at all. */
hr_status hri_filter_chunk_init(hri_filter_chunk *chunk,
                                const hri_filter_job *job,
                                const hri_accelerator *accelerator,
                                int64_t first, int64_t last);
hr_status hri_filter_chunk_launch(hri_filter_chunk *chunk,
                                  const hri_filter_job *job,
                                  const hri_filter_tables *tables,
                                  hr_queue *queue);
hr_status hri_filter_chunk_finish(hri_filter_chunk *chunk);

/* Bytes of scratch memory for each thread. 0: none is needed. */
uint64_t hri_filter_chunk_scratch(const hri_filter_job *job,
                                  const hri_accelerator *accelerator);

/* Bytes that an accelerator with memory of its own needs for two chunks of
 * `rows` rows, and for the tables. */
uint64_t hri_filter_chunk_bytes(const hri_filter_job *job,
                                const hri_accelerator *accelerator,
                                int64_t rows);

/* The end of the chunk of a band that begins at row `next`. */
int64_t hri_filter_chunk_end(const hri_filter_job *job,
                             const hri_filter_band *band, int64_t next);

/* Do the job as planned, and wait for it. */
hr_status hri_filter_run(hri_filter_job *job, const hri_filter_plan *plan);

#endif
