/* SPDX-License-Identifier: MIT */
/* Structs of callers that start with `uint32_t size`. A caller's header may be
 * older than ours, and its struct smaller, or newer and larger. Fields that one
 * side does not know count as zero: docs/contracts/ownership.md. */
#ifndef HRI_BASE_STRUCTS_H
#define HRI_BASE_STRUCTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* A larger size means that the caller has not set the field. */
enum { HRI_MAX_STRUCT_BYTES = 4096 };

/* What this library knows of such a struct. */
typedef struct hri_struct {
    const char *name;  /* in messages: "gemm options" */
    const char *start; /* the name of its initialiser */
    size_t least;      /* bytes of the first fields, which every header has */
    size_t known;      /* bytes of all fields */
} hri_struct;

/* `after` is the first field that an older header may lack. */
#define HRI_STRUCT(type, name, start, after)                                   \
    {                                                                          \
        name, start, offsetof(type, after), sizeof(type)                       \
    }

/* Whether the size field of *of is valid. NULL is accepted. */
hr_status hri_struct_check(const hri_struct *s, const void *of);

/* Check *from and copy it into *to, which has s->known bytes. When `from` is
 * NULL, *to keeps the defaults that it holds. */
hr_status hri_struct_read(const hri_struct *s, const void *from, void *to);

/* Copy *from into the caller's struct *to, with a size that has been checked.
 * The size field stays as it is. `to` may be NULL: the caller does not want
 * it. */
void hri_struct_write(const hri_struct *s, const void *from, void *to);

#endif
