/* SPDX-License-Identifier: MIT */
/* The C compiler of this machine, which compiles kernels that the build has not
 * compiled. It is a program that is found at run time, and may be absent. */
#ifndef HRI_BACKENDS_HOST_COMPILER_H
#define HRI_BACKENDS_HOST_COMPILER_H

#include <limits.h>

#include "hal/hal.h"

typedef struct host_compiler {
    char path[PATH_MAX];
} host_compiler;

/* Find it: HEADRACE_CC, else cc, gcc or clang in PATH. HR_ERROR_UNAVAILABLE
 * with the reason when there is none. No program is started. */
hr_status hri_host_compiler_find(host_compiler *compiler);

/* What machine code depends on beside its source: which compiler this is, its
 * options, and the CPU. */
void hri_host_compiler_target(const host_compiler *compiler, char *text,
                              size_t bytes);

/* A folder in TMPDIR, else /tmp, that only this user can read, and the files in
 * it. */
typedef struct host_folder {
    char path[PATH_MAX], source[PATH_MAX], library[PATH_MAX],
        messages[PATH_MAX];
} host_folder;

hr_status hri_host_folder_create(host_folder *folder);
void hri_host_folder_remove(const host_folder *folder);

/* Write a file of the folder. */
hr_status hri_host_folder_write(const char *path, const void *bytes,
                                size_t count);
/* Read one. The caller frees what it gets, which ends with a 0 that does not
 * count. NULL: this failed. */
char *hri_host_folder_read(const char *path, size_t *count);

/* Compile the source of a kernel to the folder's shared library. */
hr_status hri_host_compile(const host_compiler *compiler,
                           const hr_kernel *kernel, const char *source,
                           const host_folder *folder);

#endif
