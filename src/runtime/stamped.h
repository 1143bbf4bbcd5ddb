/* SPDX-License-Identifier: MIT */
/* The events of a traced device, which hold timestamps. Drivers take time for
 * each event, and links stand still for a moment. So where the program records
 * an event directly behind a command, the event takes the timestamp that the
 * timeline has set there. */
#ifndef HRI_RUNTIME_STAMPED_H
#define HRI_RUNTIME_STAMPED_H

#include "runtime/timestamps.h"

/* An event that holds a timestamp; and whether an event does: one that was
 * created before its device was traced does not. `create` is for tables of
 * functions. */
hr_status hri_stamped_create(hri_timestamps *timestamps, bool timed,
                             hri_event **event);
bool hri_is_stamped(const hri_event *event);
/* Whether the program measures with the event. */
bool hri_stamped_is_timed(const hri_event *event);
/* The timestamp of an event, which the caller drops. */
hri_timestamp *hri_stamped_keep(hri_event *event);
/* The event's elapsed, for pairs of which only one may hold a timestamp. */
hr_status hri_event_elapsed(hri_event *from, hri_event *to, uint64_t *ns);
/* Give an event another timestamp, of which it becomes a user. */
void hri_stamped_set(hri_event *event, hri_timestamp *timestamp);

#endif
