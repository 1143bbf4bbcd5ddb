/* SPDX-License-Identifier: MIT */
/* What a measurement was made on, and with. */
#ifndef CLI_MACHINE_H
#define CLI_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

#include "json.h"

/* Whether /proc/cpuinfo lists this flag. */
bool cli_cpu_has(const char *flag);

/* The CPU's name and the number of processors in use. */
void cli_cpu_name(char *name, size_t size);

/* The commit that this program was built from, "unknown" when it was not known,
 * and its compiler. Constant strings. */
const char *cli_build_commit(void);
const char *cli_build_compiler(void);

/* The fields of a result that tell of what it was measured with: by `headrace
 * bench BENCH`. */
void cli_machine_json(cli_json *json, const char *bench);

#endif
