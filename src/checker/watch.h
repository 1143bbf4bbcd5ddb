/* SPDX-License-Identifier: MIT */
/* Watching the accesses of one kernel, item after item.
 *
 * C does not say whether an HR_AT is read or written, nor in which order the
 * sides of an assignment are evaluated. So the bits of an element are kept when
 * an item first wants it, and compared when the item is done. */
#ifndef HRI_CHECKER_WATCH_H
#define HRI_CHECKER_WATCH_H

#include <stdbool.h>

#include <headrace/kernel.h>

#include "checker/check.h"

/* Who accessed an element, and in which line last. */
typedef struct hri_seen {
    uint32_t tile, phase; /* phases are between barriers */
    int32_t line;         /* 0: nobody did */
    int16_t item;         /* of the tile; -1: code between blocks */
    bool atomic;
} hri_seen;

/* What is known of an element that may be written. While no two items are in
 * conflict, the last one that wrote it and two of those that used it, or wrote
 * it atomically, are enough to find the first one that is. */
typedef struct hri_element {
    hri_seen write, uses[2];
    hri_seen lacked;  /* in the run before, it had no value for this one */
    uint32_t pending; /* 1 + its place among those of the item */
} hri_element;

/* A view: packed, in memory of its own. */
typedef struct hri_watched {
    const hr_parameter *parameter; /* NULL: no view */
    hr_shape shape;
    /* its elements: of what the shape says those from held_first on */
    int64_t held_first[HR_MAX_RANK], held[HR_MAX_RANK];
    int64_t count;         /* of them */
    unsigned char *now;    /* what the kernel works on */
    unsigned char *before; /* what was there before the launch */
    unsigned char *first;  /* what the first of two runs left */
    hri_seen *seen;        /* of each element of an IN view */
    hri_element *elements; /* of others */
} hri_watched;

enum { HRI_STRAYS = 16 };

/* An element that the item has accessed. */
typedef struct hri_pending {
    hri_watched *view;
    int64_t index;
    int32_t line;
    int32_t plain; /* accesses that are not atomic */
} hri_pending;

typedef enum hri_fault {
    HRI_OUTSIDE,
    HRI_RANK,     /* HR_AT of another rank than the view's */
    HRI_CONFLICT, /* two items, of which one writes */
    HRI_UNIFORM,  /* code between blocks writes */
    HRI_NO_VALUE, /* read before it was written */
    HRI_DEPENDS,  /* on what was there before the launch */
    HRI_CONST     /* an IN view is written */
} hri_fault;

/* Somebody accessed element `index` of a view, and should not have. */
typedef struct hri_report {
    hri_fault fault;
    const hri_watched *view;
    uint32_t rank; /* of the index */
    int64_t index[HR_MAX_RANK];
    hri_seen who; /* line 0: not known */
    bool writes;
    hri_seen other; /* in a conflict */
    bool other_writes;
} hri_report;

typedef struct hri_watch {
    hri_findings *findings;
    const hr_kernel *kernel;
    uint32_t rank;
    hr_domain domain;
    hri_watched views[HR_MAX_PARAMETERS];
    size_t widest;    /* bytes of an element of any view */
    bool twice;       /* this is the second run of two */
    hr_status status; /* what went wrong while the kernel ran */
    hri_seen here;    /* tile, phase and item that run */
    hri_pending *pending;
    unsigned char *bits; /* of those, before; widest bytes each */
    uint32_t pending_count, pending_capacity;
    hri_report strays[HRI_STRAYS]; /* accesses outside of their views */
    unsigned char *stray_memory;   /* that these got: room for each */
    size_t stray_bytes;
    uint32_t stray_count;
} hri_watch;

/* Run the kernel once, tile after tile. Its views have their memory; what was
 * seen before is forgotten, but for who lacked a value. */
hr_status hri_watch_run(hri_watch *watch, const void *arguments);
void hri_watch_finish(hri_watch *watch); /* free what runs have allocated */

/* What an OUT view holds: large negative numbers in the first run, and in the
 * second 0 and small positive ones, so that comparisons come out differently;
 * both end loops, unless their bound has no sign. No byte is the same. */
unsigned char hri_poison(const hri_watched *view, size_t byte, bool twice);

/* report.c: keep a report as a finding, unless there is one of its line, view
 * and fault. */
void hri_watch_report(hri_watch *watch, const hri_report *report);
/* The same of an element by its number in the view. */
void hri_watch_report_element(hri_watch *watch, int64_t element,
                              hri_report *report);

#endif
