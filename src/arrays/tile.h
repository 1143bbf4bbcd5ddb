/* SPDX-License-Identifier: MIT */
/* The tiles of a launch. */
#ifndef HRI_ARRAYS_TILE_H
#define HRI_ARRAYS_TILE_H

#include "arrays/launch.h"
#include "hal/hal.h"

/* Set rank and domain of a launch, whose kernel is set, to those of a part, in
 * its tiles or, when it has none, in those of a usual extent. */
hr_status hri_tile_choose(hri_launch *launch, const hri_part *part, bool host);

/* Whether the launch's module takes its tiles and memory of the tile; tiles
 * that are ours are made smaller. The host, without a module, takes all. */
hr_status hri_tile_fit(hri_launch *launch, bool ours,
                       const hr_argument *arguments);

#endif
