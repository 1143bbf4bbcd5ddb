/* SPDX-License-Identifier: MIT */
/* Other programs, run without a shell. */
#ifndef HRI_BASE_PROGRAM_H
#define HRI_BASE_PROGRAM_H

#include "base/status.h"

enum { HRI_CODE_UNKNOWN = -1 };

/* Run a program, and wait until it has ended. arguments[0] is its path, and
 * NULL ends the list. It reads nothing from its standard input. The file
 * `output` gets what it prints. Its messages are in English, and it gets no
 * signal that is meant for this process. After so many seconds it is killed,
 * with all that it has started.
 *
 * *code becomes its exit code, or 128 and the number of the signal that ended
 * it. HRI_CODE_UNKNOWN: the process ignores SIGCHLD, or another thread waits
 * for any child.
 *
 * HR_ERROR_UNAVAILABLE when it does not start, HR_ERROR_BACKEND when it was
 * killed, HR_ERROR_OUT_OF_MEMORY. Any thread. */
hr_status hri_program_run(const char *const *arguments, const char *output,
                          unsigned seconds, int *code);

#endif
