/* SPDX-License-Identifier: MIT */
/* What has begun and not ended at a place of C: a stack that a reader of
 * statements keeps (rules.c). It is as deep as C11 asks compilers to go: 127
 * blocks and 63 parentheses. */
#ifndef HRI_RUNTIME_FRAMES_H
#define HRI_RUNTIME_FRAMES_H

#include <stdbool.h>
#include <stddef.h>

enum { HRI_MAX_FRAMES = 127 + 63 + 2 };

typedef enum hri_frame_kind {
    /* those before the block are statements that contain another one */
    HRI_FRAME_IF,
    HRI_FRAME_LOOP,
    HRI_FRAME_DO,    /* without its `while` yet */
    HRI_FRAME_MACRO, /* may be an `if`, a loop, or a function with its
                        parameters */
    HRI_FRAME_ITEMS,
    HRI_FRAME_BLOCK,      /* braces around statements */
    HRI_FRAME_HEADER,     /* parentheses behind `if`, `for` and the like */
    HRI_FRAME_ARGUMENTS,  /* parentheses behind another name */
    HRI_FRAME_EXPRESSION, /* parentheses or braces in an expression */
} hri_frame_kind;

typedef struct hri_frame {
    hri_frame_kind kind;
    char closer;   /* the brace or parenthesis that ends it; 0: it ends with the
                      statement that it contains */
    bool has_else; /* of an `if` */
    const char *start;
} hri_frame;

typedef struct hri_frames {
    hri_frame list[HRI_MAX_FRAMES];
    int count;
} hri_frames;

/* False: it would be too deep. */
bool hri_frames_push(hri_frames *f, hri_frame_kind kind, char closer,
                     const char *start);

/* There is one. */
hri_frame *hri_frames_top(hri_frames *f);

/* Whether the top ends with the statement that it contains. */
bool hri_frames_top_is_open(const hri_frames *f);

/* The innermost block of items. NULL: none. */
const hri_frame *hri_frames_items(const hri_frames *f);
/* The same, if this is in the block whatever macros are. */
const hri_frame *hri_frames_surely_items(const hri_frames *f);

/* How many braces and parentheses are open. */
int hri_frames_brackets(const hri_frames *f);

/* Pop down to the `if` whose `else` comes. If there is a macro in it, that may
 * hide the `if`, or a loop around it: then the frame may be anything, too. */
void hri_frames_await_else(hri_frames *f);

/* A statement has ended, and with it all that contain it. But a `do` still has
 * its `while`, which is read as a loop of its own. */
void hri_frames_end_statement(hri_frames *f);

/* Pop down to what the brace or parenthesis closes. A brace ends parentheses in
 * it that were left open. False: nothing is. */
bool hri_frames_find_opened(hri_frames *f, char closer);

/* Whether a `break` would leave a block of items. */
bool hri_frames_break_leaves_items(const hri_frames *f);

#endif
