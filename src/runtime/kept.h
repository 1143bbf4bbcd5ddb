/* SPDX-License-Identifier: MIT */
/* Machine code of kernels, kept in files between processes: `modules` in the
 * folder of cache.h, a file for each source and what it was compiled for. A
 * file is believed when it is this user's and nobody else may write to it, all
 * that it was kept under is as asked, and its sums are right; any other is as
 * good as none, and goes when its place is wanted. Of many files those that
 * were not used for longest go. Any thread; processes may do all of this at
 * once. */
#ifndef HRI_RUNTIME_KEPT_H
#define HRI_RUNTIME_KEPT_H

#include "hal/hal.h"

/* Whether there is a folder, and so a reason to ask a device for images. */
bool hri_kept_wanted(void);

/* What was kept of a source for a target (hri_device_info), its bytes to be
 * freed; false: nothing. */
bool hri_kept_find(const char *target, const char *source, hri_image *image);

/* Keep an image, in the place of an earlier one. */
void hri_kept_keep(const char *target, const char *source,
                   const hri_image *image);

#endif
