/* SPDX-License-Identifier: MIT */
/* Filters by Fourier transforms, on the host. FFTW, found at run time,
 * transforms blocks of edge x edge elements. Blocks overlap by what a window
 * reaches: edge - 2 reach rows and columns of each are right [overlap-save]. A
 * block takes about 5 edge^2 log2(edge^2) operations, whatever the window. */
#ifndef HRI_FILTER_FFT_H
#define HRI_FILTER_FFT_H

#include "filter/job.h"
#include "filter/kernels.h"

typedef struct hri_fftw hri_fftw; /* its functions */

/* Plans for one block, and the transform of the window. */
struct hri_fft {
    const hri_fftw *api;
    int64_t edge;
    void *forward, *backward;
    void *spectrum; /* [edge][edge / 2 + 1], over edge^2 */
};

/* The blocks of an item of a kernel: every step-th from the first on. */
typedef struct hri_block_work {
    hri_picture picture;
    void *out, *scratch;
    int64_t out_rows, out_cols, out_stride;
    int64_t first, step;
} hri_block_work;

/* Find FFTW. HR_ERROR_UNSUPPORTED, with the loader's words, where there is no
 * FFTW for this type. HEADRACE_FFTW=off counts as none. HR_ERROR_INVALID for
 * another value of it. */
hr_status hri_fft_find(hr_type type, const hri_fftw **api);

/* The edge of blocks for a picture of out's size, and the number of blocks. */
int64_t hri_fft_edge(const hri_filter_job *job);
double hri_fft_blocks(const hri_filter_job *job, int64_t edge);

/* Elements of the memory for transforming a block: padded rows of edge. */
static inline int64_t hri_fft_scratch(int64_t edge)
{
    return edge * 2 * (edge / 2 + 1);
}

/* Make plans and spectrum for job. Finish fft in any case. */
hr_status hri_fft_init(hri_fft *fft, const hri_filter_job *job);
void hri_fft_finish(hri_fft *fft);

/* Any thread. */
void hri_fft_run_float(const hri_fft *fft, const hri_block_work *work);
void hri_fft_run_double(const hri_fft *fft, const hri_block_work *work);

#endif
