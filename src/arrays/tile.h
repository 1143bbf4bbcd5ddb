/* SPDX-License-Identifier: MIT */
/* The tiles of a launch. */
#ifndef HRI_ARRAYS_TILE_H
#define HRI_ARRAYS_TILE_H

#include "hal/hal.h"

/* Set rank and domain of a launch, whose kernel is set, to the caller's, in
 * tiles of his own or, when tile is NULL, of a usual extent. */
hr_status hri_tile_choose(hri_launch *launch, const hr_extent *domain,
                          const hr_extent *tile, bool host);

/* Whether the launch's module takes its tiles and memory of the tile; tiles
 * that are ours are made smaller. The host, without a module, takes all. */
hr_status hri_tile_fit(hri_launch *launch, bool ours,
                       const hr_argument *arguments);

#endif
