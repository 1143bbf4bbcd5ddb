/* SPDX-License-Identifier: MIT */
/* Loops over independent pieces of work, on several threads, that a signal can
 * end between two pieces. */
#ifndef CLI_LOOP_H
#define CLI_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "progress.h"

typedef void (*cli_loop_function)(void *data, int64_t index);

/* Call function(data, 0 .. count - 1), each once, in no order. progress may be
 * NULL; it counts in units of `unit` for each piece. False when cancelled. */
bool cli_loop(int64_t count, cli_loop_function function, void *data,
              cli_progress *progress, double unit);

#endif
