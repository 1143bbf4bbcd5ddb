/* SPDX-License-Identifier: MIT */
/* Scans that other calls launch. */
#ifndef HRI_CALLS_SCAN_H
#define HRI_CALLS_SCAN_H

#include "runtime/runtime.h"

/* Enqueue the exclusive sums of each line of a view of rank 3: int32 counts,
 * int64 sums. */
hr_status hri_scan_counts(hr_queue *queue, hr_view counts, hr_view before);

/* What scans in one launch share in a context. */
typedef struct hri_scan_words {
    pthread_mutex_t lock; /* one such scan at a time; locked before the
                             context's */
    hr_array *words;      /* NULL: none yet */
    uint32_t scans;       /* that have used them */
} hri_scan_words;

#endif
