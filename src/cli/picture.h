/* SPDX-License-Identifier: MIT */
/* headrace devices --svg: a picture of the machine. */
#ifndef CLI_PICTURE_H
#define CLI_PICTURE_H

#include <headrace/headrace.h>

/* Write a picture of the context's accelerators, [count] with their rates:
 * those that work in place stand in the host's memory, and each of the others
 * at the end of its link. `host_bytes` is the host's memory; 0: not known. The
 * file appears whole or not at all. Returns an exit status. */
int cli_picture_write(const char *path, const hr_accelerator_info *infos,
                      const hr_accelerator_rates *rates, uint32_t count,
                      uint64_t host_bytes);

#endif
