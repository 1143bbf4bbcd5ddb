/* SPDX-License-Identifier: MIT */
/* What this machine is. None of these functions can fail. */
#ifndef HRI_BASE_MACHINE_H
#define HRI_BASE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* The name of its CPU. */
void hri_machine_name(char *name, size_t bytes);
/* A hash of its CPU's model and instructions, for machine code made for it. */
uint64_t hri_machine_code(void);

uint64_t hri_memory_bytes(void); /* physical memory */
/* How much of it may be used now. Cgroups' limits count. */
uint64_t hri_memory_free(void);

#endif
