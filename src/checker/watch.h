/* SPDX-License-Identifier: MIT */
/* Watching the accesses of one kernel, item after item.
 *
 * C does not say whether an HR_AT is read or written, nor in which order the
 * sides of an assignment are evaluated. So the bits of an element are kept when
 * an item first accesses it, and compared when the item is done. */
#ifndef HRI_CHECKER_WATCH_H
#define HRI_CHECKER_WATCH_H

#include <stdbool.h>

#include <headrace/kernel.h>

#include "checker/check.h"

/* How an item uses an element. */
typedef enum hri_use_kind {
    HRI_READ, /* or its address is taken */
    HRI_WRITE,
    HRI_ATOMIC,
    HRI_KINDS
} hri_use_kind;

/* An access to an element: by which item, and in which line last. */
typedef struct hri_seen {
    uint32_t tile, phase; /* phases lie between barriers */
    int32_t line;         /* 0: there was no access */
    int16_t item;         /* in the tile; -1: code between blocks */
    uint8_t kind;         /* an hri_use_kind */
} hri_seen;

/* What is known of an element that may be written. These accesses are enough to
 * find the first conflict (watch.c). */
typedef struct hri_element {
    hri_seen first, last[HRI_KINDS];
    hri_seen other;   /* the last one of a kind by another item than that of
                         last */
    hri_seen lacked;  /* in the first run, the access that found no value */
    uint32_t pending; /* 1 + its index among the item's; 0: none */
    bool touched;     /* it is among the view's touched ones */
} hri_element;

enum { HRI_MAX_WATCHED = 1 + HR_MAX_KERNEL_RANK }; /* dimensions */

enum { HRI_RUNS = 3 }; /* where there are OUT views */

/* A view, or a list of views, packed in memory of its own. */
typedef struct hri_watched {
    const hr_parameter *parameter; /* NULL: no view */
    hr_list_shape shape;           /* what the kernel gets */
    uint32_t rank; /* of what follows: of a list, dimension 0 counts its views
                    */
    int64_t extent[HRI_MAX_WATCHED], stride[HRI_MAX_WATCHED];
    /* the elements that there are: of extent, those from held_first on */
    int64_t held_first[HRI_MAX_WATCHED], held[HRI_MAX_WATCHED];
    int64_t count;          /* of those elements */
    const hri_reach *reach; /* the rows that points may use; NULL: all */
    unsigned char *now;     /* the memory that the kernel works on */
    unsigned char *before;  /* what the view held before the launch */
    unsigned char *first;   /* what the first run left */
    unsigned char *poison[HRI_RUNS]; /* of an OUT view, in each run */
    hri_seen *seen;                  /* for each element of an IN view */
    hri_element *elements;           /* for each element of other views */
    bool kept;                       /* these are for all chunks of a call */
    int64_t *touched; /* those that have been accessed in any run */
    size_t touched_count, touched_capacity;
} hri_watched;

enum { HRI_STRAYS = 16 };

/* An element that the running item has accessed. */
typedef struct hri_pending {
    hri_watched *view;
    int64_t index;
    int32_t plain, atomic;     /* how many accesses were so */
    int32_t line, atomic_line; /* the last of either */
    int32_t line_before;       /* the last but one of the plain ones */
    int32_t far_line; /* of an access that the call does not allow; 0: none */
    bool wrote; /* it was changed before the first of both kinds was atomic */
} hri_pending;

typedef enum hri_fault {
    HRI_OUTSIDE,
    HRI_FAR,      /* of a row that the call does not give to the point */
    HRI_RANK,     /* HR_AT of another rank than the view's, or of a list */
    HRI_CONFLICT, /* two items access it, and one of them writes */
    HRI_UNIFORM,  /* code between blocks writes */
    HRI_NO_VALUE, /* it is read before it is written */
    HRI_DEPENDS,  /* its value depends on what was there before the launch */
    HRI_CONST     /* an IN view is written */
} hri_fault;

/* An access to element `index` of a view that breaks a rule. */
typedef struct hri_report {
    hri_fault fault;
    const hri_watched *view;
    uint32_t rank; /* of index */
    int64_t index[HRI_MAX_WATCHED];
    hri_seen use; /* line 0: not known */
    bool writes;
    hri_seen other; /* the other access of a conflict */
    bool other_writes;
} hri_report;

typedef struct hri_watch {
    hri_findings *findings;
    const hr_kernel *kernel;
    uint32_t rank;
    hr_domain domain;
    hri_chunks *chunks;         /* NULL: the launch is no chunk of a call */
    uint32_t first_tile;        /* of the call, in this chunk */
    int64_t row_first, row_end; /* of the domain: those with which the running
                                   item may be in one chunk */
    hri_watched views[HR_MAX_PARAMETERS];
    size_t widest;    /* bytes of an element of any view */
    int run;          /* from 0 on */
    bool found_unset; /* the use of a value that is none */
    hr_status status; /* an error of the run */
    hri_seen here;    /* the tile, phase and item that run */
    hri_pending *pending;
    unsigned char *bits; /* of the pending elements, before; widest bytes
                            each */
    uint32_t pending_count, pending_capacity;
    hri_report strays[HRI_STRAYS]; /* accesses outside of their views */
    unsigned char *stray_memory;   /* memory for these, stray_bytes each */
    size_t stray_bytes;
    uint32_t stray_count;
} hri_watch;

/* kept.c: the accesses to some views in the chunks of a call. */
typedef struct hri_kept hri_kept;
/* Begin a chunk of this domain, whose tiles are numbered from *first on. */
hr_status hri_kept_begin(hri_chunks *chunks, const hr_domain *domain,
                         uint32_t *first);
/* The elements of a view, for all chunks. NULL: no memory. */
hri_element *hri_kept_elements(hri_kept *kept, uint32_t parameter,
                               size_t count);
/* The domain of the chunk that a tile is in. *tile becomes its number there. */
const hr_domain *hri_kept_domain(const hri_kept *kept, uint32_t *tile);
/* Free what is kept of the chunks. */
void hri_kept_forget(hri_chunks *chunks);

/* Run the kernel once, tile after tile. Its views have their memory. What was
 * seen before is forgotten, but for accesses that found no value. */
hr_status hri_watch_run(hri_watch *watch, const void *arguments);
void hri_watch_finish(hri_watch *watch); /* free what runs have allocated */

/* The write or atomic access that came last; line 0: none. */
const hri_seen *hri_last_write(const hri_element *element);

/* How many elements of an OUT view get poison of their own before a run
 * (fill_poison in check.c). All others repeat them, so filling and comparing
 * whole views is as fast as memory. The number is prime: kernels do not step by
 * it. */
enum { HRI_POISONED = 1021 };

/* findings.c: turn a report into a finding, unless there is one of the same
 * line, view and fault. */
void hri_watch_report(hri_watch *watch, const hri_report *report);
/* The same for element number `element` of the view. */
void hri_watch_report_element(hri_watch *watch, int64_t element,
                              hri_report *report);

#endif
