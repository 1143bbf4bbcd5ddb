/* SPDX-License-Identifier: MIT */
/* Vendor libraries, opened at run time. They are never closed: their threads
 * and exit handlers outlive us. */
#ifndef HRI_BASE_LIBRARY_H
#define HRI_BASE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/status.h"

/* The kinds of symbols in tables: see hri_symbol.required. */
enum { OPT = false, REQ = true };

typedef struct hri_symbol {
    const char *name;
    size_t offset; /* of the function pointer in the table that is filled */
    bool required;
} hri_symbol;

/* HR_OK, or HR_ERROR_UNAVAILABLE in a program that has more rights than its
 * caller. Asked before a library is used that loads other libraries or writes
 * files as the environment says: it would do so with the program's rights. */
hr_status hri_library_check_rights(const char *what);

/* HR_OK, or HR_ERROR_UNAVAILABLE in another process than that which looked for
 * a driver's devices: drivers do not work in its children. */
hr_status hri_library_check_process(const char *what, pid_t process);

/* HR_OK, or HR_ERROR_UNAVAILABLE where a limit of the address space (ulimit -v)
 * leaves fewer bytes. Asked before a library is loaded that does not live with
 * less, or leaves too little to us. */
hr_status hri_library_check_room(const char *what, size_t bytes);

/* Open the library with dlopen and fill the table. HR_ERROR_UNAVAILABLE, with
 * the loader's words, when the library is not found. */
hr_status hri_library_load(const char *name, const hri_symbol *symbols,
                           size_t count, void *table);

/* HR_ERROR_UNAVAILABLE, after a library failed that the user wished for:
 * 'VARIABLE is "wish", not a usable WHAT: ', and the last error says why. */
hr_status hri_library_refuse(const char *variable, const char *wish,
                             const char *what);

/* Fill the table's function pointers. Optional symbols that are missing become
 * NULL. HR_ERROR_UNAVAILABLE names a required one that is missing. */
hr_status hri_library_resolve(void *library, const char *what,
                              const hri_symbol *symbols, size_t count,
                              void *table);

#endif
