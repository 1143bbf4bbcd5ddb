/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "blas/loaded.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Add a library's name, with its 0, to the list. The loader's lock is held, so
 * nothing may be opened here. */
static int note_file(struct dl_phdr_info *info, size_t bytes, void *list)
{
    (void)bytes;
    if (info->dlpi_name != NULL && info->dlpi_name[0] != '\0') {
        (void)fwrite(info->dlpi_name, 1, strlen(info->dlpi_name) + 1, list);
    }
    return 0;
}

void *blas_look_in_loaded(const char *name, blas_look *look)
{
    char *files = NULL; /* in the order of loading */
    size_t bytes = 0;
    void *found = NULL;
    FILE *list = open_memstream(&files, &bytes);
    if (list != NULL) {
        (void)dl_iterate_phdr(note_file, list);
        (void)fclose(list);
    }
    for (size_t at = 0; found == NULL && at < bytes;
         at += strlen(files + at) + 1) {
        void *library =
            dlopen(files + at, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
        found = library != NULL ? look(library, name) : NULL;
        if (library != NULL && found == NULL) { /* else keep it loaded */
            dlclose(library);
        }
    }
    free(files);
    return found;
}
