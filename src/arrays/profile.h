/* SPDX-License-Identifier: MIT */
/* Launches that are timed for hr_profile_read. */
#ifndef HRI_ARRAYS_PROFILE_H
#define HRI_ARRAYS_PROFILE_H

#include <headrace/profile.h>

#include "arrays/launch.h"

typedef struct hri_profile hri_profile;

/* A kernel's profile. NULL: it is not profiled. The caller of this and of the
 * next two holds the context's lock. */
hri_profile *hri_profile_find(const hr_context *context,
                              const hr_kernel *kernel);
/* A launch has been enqueued behind a fence, which is held from now on. */
hr_status hri_profile_launched(hri_profile *profile, const hr_queue *queue,
                               hri_fence *start, const hri_launch_box *box,
                               const hr_argument *arguments);

/* Destroy the profiles of a context whose accelerators are still there. */
void hri_profiles_destroy(hr_context *context);

#endif
