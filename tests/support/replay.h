/* SPDX-License-Identifier: MIT */
/* A plan, run by a model of the executors of flow/executor.h. Each part has a
 * feeder, which brings panels, and a compute thread, which issues
 * tasks. They wait for each other as the threads do. There is no data, and a
 * test chooses which thread goes next. */
#ifndef REPLAY_H
#define REPLAY_H

#include "gemm/plan.h"
#include "support/random.h"

/* Run all of plan: one step of each feeder and compute thread by turns, or,
 * when order is not NULL, a few steps of a thread that it chooses. NULL when
 * all is well, else what went wrong:
 *   - no thread can go on before all is done;
 *   - a slot is overwritten by an older delivery, or the slot to be copied
 *     or read does not hold the panel;
 *   - a tile slot is given to a tile while another one is in it;
 *   - a panel that tasks of the last block need is gone at the end, when k is
 *     whole: an executor that steals such a task reads the panel there. */
const char *replay_plan(const hri_plan *plan, random_source *order);

#endif
