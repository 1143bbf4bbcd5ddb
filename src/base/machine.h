/* SPDX-License-Identifier: MIT */
/* What this machine is. Nothing here can fail. */
#ifndef HRI_BASE_MACHINE_H
#define HRI_BASE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* Its CPU's name. */
void hri_machine_name(char *name, size_t bytes);

uint64_t hri_memory_bytes(void); /* physical memory */
/* What may be used of it now: by the system, and by cgroups' limits. */
uint64_t hri_memory_free(void);

#endif
