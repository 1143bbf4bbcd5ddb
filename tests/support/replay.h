/* SPDX-License-Identifier: MIT */
/* A plan run by a model of the executors of gemm/executor.h: each part has a
 * feeder, which loads panels and forwards them, and a default queue, which
 * issues tasks. They wait for each other as the threads do, but there is no
 * data, and a test says who goes next. */
#ifndef REPLAY_H
#define REPLAY_H

#include "gemm/plan.h"
#include "support/random.h"

/* Run all of plan: one step of each feeder and default queue in turn, or, when
 * order is not NULL, a few steps of whoever it picks. NULL when all is well,
 * else what went wrong:
 *   - nobody can go on before all is done;
 *   - a slot is overwritten by an older delivery, or the slot to be forwarded
 *     or read does not hold the panel;
 *   - a tile slot is given to a tile while another one is in it;
 *   - a panel that tasks of the last block need is gone at the end, when k is
 *     whole: whoever takes over such a task reads it there. */
const char *replay_plan(const hri_plan *plan, random_source *order);

#endif
