/* SPDX-License-Identifier: MIT */
/* Marks: points in queues, held by all that may have to wait for them. All
 * calls but hri_mark_wait and hri_mark_query want the context's lock.
 *
 * Recording costs a driver about as much as a launch, and few launches are
 * waited for one by one. So a mark may be promised: it is recorded when
 * somebody has to wait for it, or before the queue goes on with work that those
 * who hold it need not wait for. */
#ifndef HRI_RUNTIME_MARK_H
#define HRI_RUNTIME_MARK_H

#include "runtime/runtime.h"

struct hri_mark {
    hri_event *event;
    uint64_t serial;        /* of the queue where it was recorded last */
    hri_queue *promised_by; /* which has yet to record it; NULL: none has */
    bool abandoned;  /* its queue went and could not record it: all has run, and
                        the event knows nothing of that */
    hri_error error; /* of that queue */
    hri_accelerator *accelerator;
    uint32_t holders;
    hri_mark *next; /* while nobody holds it */
};

/* A queue that marks can be recorded on (relay.h), with a serial number of its
 * own: it may get the address of an earlier one. Any thread. */
hr_status hri_queue_create(hri_accelerator *accelerator, bool urgent,
                           hri_queue **queue);

/* A mark behind everything enqueued so far, with one holder. The queue is one
 * of the accelerator's. */
hr_status hri_mark_record(hri_accelerator *accelerator, hri_queue *queue,
                          hri_mark **mark);
/* The same, promised: the queue's promised mark if it has one, which then means
 * this point. */
hr_status hri_mark_promise(hri_accelerator *accelerator, hri_queue *queue,
                           hri_mark **mark);
/* Record it now if it is still promised. When that fails, the queue has been
 * waited for. */
hr_status hri_mark_set(hri_mark *mark);
/* The same for what a queue has promised, if anything: before it goes on. */
hr_status hri_queue_set(hri_queue *queue);
/* Before a queue is destroyed, which is waited for if its promise cannot be
 * kept: the mark has its error then. */
void hri_queue_forget(hri_queue *queue);
void hri_mark_hold(hri_mark *mark);
void hri_mark_drop(hri_mark *mark); /* NULL is accepted */

/* Let what is enqueued from now on wait for the mark. Where the devices cannot
 * wait for each other the calling thread does. */
hr_status hri_mark_order(hri_queue *queue, hri_mark *mark);

/* Wait for a queue without a change to the error that is being told. */
void hri_queue_settle(hri_queue *queue);

/* Block the calling thread, which holds the mark, until it has been passed;
 * the queue's error if that failed. The mark is promised no more. */
hr_status hri_mark_wait(const hri_mark *mark);
/* The same without blocking: whether it has been passed. */
hr_status hri_mark_query(const hri_mark *mark, bool *done);

/* The accelerator's own queue, for copies that no queue of the caller's asked
 * for; made on first use, and after a failure made again. */
hr_status hri_accelerator_carrier(hri_accelerator *accelerator,
                                  hri_queue **queue);
void hri_accelerator_drop_carrier(hri_accelerator *accelerator);

/* Everything that marks and carriers hold; nobody holds a mark any more. */
void hri_marks_close(hri_accelerator *accelerator);

#endif
