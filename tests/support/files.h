/* SPDX-License-Identifier: MIT */
/* Folders of a test's own, and what lies in them. */
#ifndef TEST_FILES_H
#define TEST_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* A new empty folder; the caller removes it. Ends the program when there can be
 * none. */
void files_make_folder(char *path, size_t bytes);
void files_remove_folder(const char *path);

/* A folder that is HEADRACE_CACHE from now on; the variables that choose
 * accelerators and memory are unset. The caller removes it. */
void files_make_cache(char *path, size_t bytes);

/* How many names a folder has, but "." and ".."; 0 when there is no folder.
 * Unless last is NULL, *last becomes folder/name of one of them. */
int files_count(const char *folder, char *last, size_t bytes);

/* The bytes of a file, with a zero behind them, for free; NULL: none. */
char *files_read(const char *path, size_t *bytes);
/* A file of these bytes, in the place of another. */
bool files_write(const char *path, const void *bytes, size_t count);

/* End the program when what this names did not work. */
void files_must(bool ok, const char *what);

/* Root may do everything to any file. From now on this thread has to keep to
 * permissions, as others do, or need not. Ends the program when it cannot. */
void files_heed_permissions(bool heed);

/* Run function in `count` children at once. Each is a copy of this process and
 * gets its number. Returns the sum of what they return, plus 100 for each child
 * that does not end by returning. */
int files_in_children(int count, int (*function)(int number));

#endif
