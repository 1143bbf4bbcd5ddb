/* SPDX-License-Identifier: MIT */
/* Square tiles of C that accelerators with their own memory are measured on:
 * kernels work in blocks of fixed size, on a fixed number of units. */
#ifndef HRI_MODEL_TILES_H
#define HRI_MODEL_TILES_H

/* Their edges; one of twice the last is as fast as any. */
enum { HRI_TILE_RATES = 3 };
static const double hri_tile_edges[HRI_TILE_RATES] = {512, 1024, 2048};

#endif
