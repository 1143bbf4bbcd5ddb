/* SPDX-License-Identifier: MIT */
/* The BLAS that the program would have without us. */
#ifndef BLAS_CALLER_H
#define BLAS_CALLER_H

/* What `name` is elsewhere: in a library that the program has loaded, else in
 * one of the system; where HEADRACE_BLAS_LIBRARY is set, in that alone. What it
 * is in is not unloaded any more. NULL: nowhere. Any thread. */
void *blas_find(const char *name);

/* What the program itself uses for `name`, be it of its own; NULL: that is
 * ours, or nothing. Any thread. */
void *blas_find_used(const char *name);

/* The same, and in libraries that plug-ins have for themselves. */
void *blas_find_loaded(const char *name);

#endif
