/* SPDX-License-Identifier: MIT */
/* What the files share that read how kernels index: indexing.c reads
 * statements, accesses.c the expressions in them. */
#ifndef HRI_RUNTIME_INDEXING_H
#define HRI_RUNTIME_INDEXING_H

#include "runtime/macros.h"
#include "runtime/module.h"

/* The block of items that is read. */
typedef struct hri_items {
    const char *word; /* HR_EACH1 or the like; NULL: none is read */
    uint32_t rank;
    const char *names[HR_MAX_KERNEL_RANK]; /* of its indices */
} hri_items;

typedef struct hri_reading {
    const hr_kernel *kernel;
    const hr_parameter *parameters;
    const char *start;           /* the blanked text */
    const char *body, *at, *end; /* of the kernel */
    hri_macros macros;           /* of the whole text */
    bool doubt;                  /* what comes may not run */
    bool left;                   /* or not for each item of the block */
    int depth;                   /* of statements */
    hri_items items;
    hri_indexings *found;
    uint32_t own[HR_MAX_PARAMETERS]; /* uses of a view that are of a point's own
                                        row */
} hri_reading;

/* ---- accesses.c */

/* Where reading goes on behind a pair of parentheses. */
const char *hri_behind(const hri_reading *r, const char *open);

/* The end of the argument that begins at `at`, at its comma or parenthesis. */
const char *hri_end_of_argument(const hri_reading *r, const char *at);

/* The word that is all of an argument. NULL: it is more than that. */
const char *hri_lone_word(const char *at, const char *end);

/* Whether the text from the kernel's begin to `end` leaves its indices and
 * views as they are, and each macro in it is a value. */
bool hri_is_plain(const hri_reading *r, const char *end);

/* Note what an expression that runs for each item indexes. */
void hri_note_accesses(hri_reading *r, const char *at, const char *end);

/* ---- elements.c */

/* Check how the kernel names elements of its views. r->body is known.
 * HR_ERROR_BUILD, with the line. */
hr_status hri_elements_check(const hri_reading *r);

/* ---- own_rows.c */

/* Count the accesses to own rows in a block of HR_EACH that is plain: it goes
 * from r->items.word to `end`. */
void hri_count_own_rows(hri_reading *r, const char *end);

/* Find the views of which the kernel uses own rows alone. Its body, which ends
 * at `end`, has been read without doubt. */
void hri_find_own_rows(hri_reading *r, const char *end);

/* Whether HR_AT1, HR_OF1 or the like is at `word`. */
bool hri_is_access(const char *word);

/* The word that names the view, or the list, of such an access. NULL: it is
 * more than a word. *end is where the indices begin, at their comma: behind the
 * number of a list's view. */
const char *hri_view_accessed(const hri_reading *r, const char *word,
                              const char **end);

/* The view that a word names. parameter_count: none. */
uint32_t hri_view_named(const hri_reading *r, const char *word);

/* The last character before `at` that is no space. */
const char *hri_before(const hri_reading *r, const char *at);

#endif
