/* SPDX-License-Identifier: MIT */
/* Scans that other calls launch. */
#ifndef HRI_CALLS_SCAN_H
#define HRI_CALLS_SCAN_H

#include <headrace/array.h>

/* Enqueue the exclusive sums of each line of a view of rank 3: int32 counts,
 * int64 sums. */
hr_status hri_scan_counts(hr_queue *queue, hr_view counts, hr_view before);

#endif
