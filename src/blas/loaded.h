/* SPDX-License-Identifier: MIT */
/* Functions of libraries that are loaded already, in whatever scope: those of a
 * plug-in are in no scope but its own. */
#ifndef BLAS_LOADED_H
#define BLAS_LOADED_H

/* The function of that name in a library; NULL: not there, or not wanted. */
typedef void *blas_look(void *library, const char *name);

/* Ask all loaded libraries, in the order of loading. The one that has it stays
 * loaded. */
void *blas_look_in_loaded(const char *name, blas_look *look);

#endif
