/* SPDX-License-Identifier: MIT */
/* A backend of four devices with memory of their own. They do everything at
 * once in the calling thread: millions of operations take seconds. Devices 0
 * and 1 are peers, and so are 2 and 3. They do not multiply. */
#ifndef INSTANT_H
#define INSTANT_H

#include "hal/hal.h"

enum { INSTANT_DEVICES = 4 };

/* Ended by NULL. */
extern const hri_backend *const instant_list[];

/* Queues, buffers, events and pinned areas that exist. */
extern long instant_live;

#endif
