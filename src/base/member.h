/* SPDX-License-Identifier: MIT */
/* Names of arrays in files: "model.safetensors:blk.0.w". */
#ifndef HRI_BASE_MEMBER_H
#define HRI_BASE_MEMBER_H

/* Where in `name` the name of a member begins: behind the last colon before
 * which there is the name of a file. NULL when there is none, or a file has the
 * whole name. */
const char *hri_member_of(const char *name);

#endif
