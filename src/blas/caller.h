/* SPDX-License-Identifier: MIT */
/* The BLAS that the program would have without us. */
#ifndef BLAS_CALLER_H
#define BLAS_CALLER_H

/* What `name` is elsewhere: in a library that the program has loaded, else in
 * that of HEADRACE_BLAS_LIBRARY or of the system. NULL: nowhere. Any thread. */
void *blas_find(const char *name);

/* What the program itself uses for `name`, be it of its own; NULL: that is
 * ours, or nothing. Any thread. */
void *blas_find_used(const char *name);

#endif
