/* SPDX-License-Identifier: MIT */
#include "runtime/frames.h"

bool hri_frames_push(hri_frames *f, hri_frame_kind kind, char closer,
                     const char *start)
{
    const bool fits = f->count < HRI_MAX_FRAMES;
    if (fits) {
        f->list[f->count++] = (hri_frame){kind, closer, false, start};
    }
    return fits;
}

hri_frame *hri_frames_top(hri_frames *f)
{
    return &f->list[f->count - 1];
}

bool hri_frames_top_is_open(const hri_frames *f)
{
    return f->count > 0 && f->list[f->count - 1].closer == 0;
}

/* The place of the innermost block of items behind which there are none of
 * these kinds, which are bits. -1: none. */
static int find_items(const hri_frames *f, unsigned kinds)
{
    int i = f->count - 1;
    while (i >= 0 && f->list[i].kind != HRI_FRAME_ITEMS &&
           (kinds & 1U << f->list[i].kind) == 0) {
        i--;
    }
    return i >= 0 && f->list[i].kind == HRI_FRAME_ITEMS ? i : -1;
}

const hri_frame *hri_frames_items(const hri_frames *f)
{
    const int i = find_items(f, 0);
    return i >= 0 ? &f->list[i] : NULL;
}

int hri_frames_brackets(const hri_frames *f)
{
    int count = 0;
    for (int i = 0; i < f->count; i++) {
        count += f->list[i].closer != 0;
    }
    return count;
}

void hri_frames_await_else(hri_frames *f)
{
    int macro = 0, i = f->count;
    for (; i > 0 && f->list[i - 1].closer == 0; i--) {
        hri_frame *frame = &f->list[i - 1];
        if (frame->kind == HRI_FRAME_IF && !frame->has_else) {
            frame->has_else = true;
            frame->kind = macro > 0 ? HRI_FRAME_MACRO : HRI_FRAME_IF;
            f->count = i;
            return;
        }
        const bool hides = frame->kind == HRI_FRAME_MACRO && !frame->has_else;
        macro = macro == 0 && hides ? i : macro;
    }
    f->count = macro > 0 ? macro : f->count;
}

void hri_frames_end_statement(hri_frames *f)
{
    for (; hri_frames_top_is_open(f); f->count--) {
        if (hri_frames_top(f)->kind == HRI_FRAME_DO) {
            hri_frames_top(f)->kind = HRI_FRAME_LOOP;
            return;
        }
    }
}

bool hri_frames_find_opened(hri_frames *f, char closer)
{
    int i = f->count;
    while (i > 0 && f->list[i - 1].closer != closer &&
           (closer == '}' || f->list[i - 1].closer == 0)) {
        i--;
    }
    const bool found = i > 0 && f->list[i - 1].closer == closer;
    f->count = found ? i : f->count;
    return found;
}

enum {
    MACROS = 1U << HRI_FRAME_MACRO | 1U << HRI_FRAME_ARGUMENTS,
    LOOPS = 1U << HRI_FRAME_LOOP | 1U << HRI_FRAME_DO
};

bool hri_frames_break_leaves_items(const hri_frames *f)
{
    return find_items(f, MACROS | LOOPS) >= 0;
}

const hri_frame *hri_frames_surely_items(const hri_frames *f)
{
    const int i = find_items(f, MACROS);
    /* a comma of a macro's arguments may have ended a block without braces */
    return i < 0 || (f->list[i].closer == 0 && i > 0 &&
                     f->list[i - 1].kind == HRI_FRAME_ARGUMENTS)
               ? NULL
               : &f->list[i];
}
