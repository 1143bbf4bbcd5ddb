/* SPDX-License-Identifier: MIT */
/* Files that are written under a temporary name beside their own. The name is
 * .NAME.headrace-MACHINE-START-PROCESS-LETTERS. The process that writes a draft
 * holds a lock on it (flock), which ends with the process. So a draft without a
 * lock was left by a process that was killed. The next draft in that folder
 * removes it.
 *
 * On some shared file systems machines do not see each other's locks. So
 * MACHINE is a hash of the machine's name and number, and START one of the
 * number that Linux took when it started. A draft that has neither in common
 * with this machine stays. Containers of one machine differ in MACHINE alone,
 * and starts of it in START alone. */
#ifndef HRI_BASE_DRAFT_H
#define HRI_BASE_DRAFT_H

#include <sys/types.h>

/* Create a draft beside path, and open it for reading and writing. It has the
 * given mode less the process's mask. Returns 0, or an error number. The caller
 * closes *fd, and frees *name. The lock stays until *fd and its duplicates are
 * closed. This machine's drafts in that folder that nothing has a lock on are
 * removed first, where the file system has locks. Any thread. */
int hri_draft_create(const char *path, mode_t mode, int *fd, char **name);

/* The absolute path of a file that may be there, without links; one that leads
 * to nothing is a file that is not there. Returns 0, or an error number. The
 * caller frees *target. */
int hri_draft_target(const char *path, char **target);

/* hri_draft_create for a file that may be there, whose permissions are kept.
 * *target is the path to rename the draft to, and the caller's to free, after a
 * failure too. */
int hri_draft_replace(const char *path, int *fd, char **name, char **target);

#endif
