/* SPDX-License-Identifier: MIT */
/* The machine as it is known, for every engine: what work takes, what links
 * carry, who shares what, and what came of predictions. Figures are measured on
 * the first question that needs them, shared by all accelerators of a device,
 * and kept for later processes (tuning.h). Unless another rule is given the
 * caller holds the context's lock. docs/model.md lists every figure and rule.
 */
#ifndef HRI_MODEL_MODEL_H
#define HRI_MODEL_MODEL_H

#include <headrace/gemm.h>

#include "model/cost.h"
#include "model/pays.h"
#include "model/probe.h"
#include "runtime/runtime.h"

/* Let the context have a model, which knows nothing yet. destroy accepts a
 * context without one. */
hr_status hri_model_create(hr_context *context);
void hri_model_destroy(hr_context *context);

/* ---- who shares what */

/* Whether its buffers lie in host memory, through whichever interface. */
bool hri_in_host_memory(const hri_accelerator *accelerator);

/* Whether two accelerators take their memory from one place and are no faster
 * than one: virtual ones of a device, and those on the host's processors. What
 * is alike shares arithmetic, memory and link. */
bool hri_accelerators_same_kind(const hri_accelerator *a,
                                const hri_accelerator *b);

/* How many of these are alike with `a`. */
uint32_t hri_accelerators_sharing(hri_accelerator *const *accelerators,
                                  uint32_t count, const hri_accelerator *a);

/* The first accelerator of each device, of those that `wanted` accepts; NULL:
 * of all. *devices is to be freed. */
hr_status hri_devices_list(hr_context *context,
                           bool (*wanted)(const hri_accelerator *a),
                           hri_accelerator ***devices, uint32_t *count);

/* A name for all these together in the tuning cache; "": they have none. */
void hri_devices_name(hri_accelerator *const *devices, uint32_t count,
                      char *name, size_t bytes);

/* ---- figures that are measured or guessed */

/* What is planned with where nothing was measured: orders of magnitude, in
 * units a second. */
typedef enum hri_guessed {
    HRI_GUESS_PRODUCT,              /* flop/s of a small product */
    HRI_GUESS_PRODUCT_WITHOUT_ROOM, /* where not even the smallest fits: the
                                       accelerator will not get much anyway */
    HRI_GUESS_FILTER,               /* products/s */
    HRI_GUESS_TRANSFORM, /* so low that the library of transforms is not even
                            loaded for a small filter */
    HRI_GUESS_LINK,      /* bytes/s */
    HRI_GUESS_MEMORY,    /* bytes/s */
    HRI_GUESSES
} hri_guessed;

double hri_guess(hri_guessed what);

/* Whether work of so many operations is small: measuring takes longer, so it is
 * planned with what is known or guessed. */
bool hri_model_is_small(double operations);

/* A figure of an engine's own, in units a second: what is known under this name
 * and, unless that is nothing and the work small, measured by the trial, whose
 * jobs of size n do units(data, n) of them. `guess` stands where it is small,
 * or not even the first job fits. *figure is kept for later processes when
 * `keep` and the trial found no limit. The context's lock is not held. */
typedef struct hri_question {
    const char *name;
    int64_t shape;     /* what changes it, such as the length of rows; 0:
                          nothing */
    double operations; /* of the work that is planned */
    double guess;
    bool keep;
    const hri_trial *trial;
    double (*units)(const void *data, int64_t size);
    void *data;
} hri_question;

hr_status hri_model_ask(hri_accelerator *accelerator, const hri_question *q,
                        double *figure);

/* ---- products */

/* A and B are of one type, C of another. */
typedef struct hri_product_kind {
    hr_type type, c_type;
    hr_compute compute;
} hri_product_kind;

/* Whether its device offers them. */
bool hri_accelerator_multiplies(const hri_accelerator *accelerator,
                                hri_product_kind kind);

/* Their rate, flop/s: measured on first use with a small product of random
 * numbers (some milliseconds). */
hr_status hri_accelerator_rate(hri_accelerator *accelerator,
                               hri_product_kind kind, double *flops_per_second);

/* The same when it is known without measuring, else 0. */
double hri_accelerator_known_rate(const hri_accelerator *accelerator,
                                  hri_product_kind kind);

/* A product ran in place, with the device to itself, for so many seconds of
 * arithmetic. When that was long and clearly faster than what was measured,
 * then others were busy during the measurement, and it is corrected. */
void hri_accelerator_learn_rate(hri_accelerator *accelerator,
                                hri_product_kind kind, double flops,
                                double seconds);

/* And on tiles with the edges hri_tile_edges over a deep k: its rates there, or
 * 0 where it works in host memory. After hri_accelerator_rate. */
hr_status hri_accelerator_tile_rates(hri_accelerator *accelerator,
                                     hri_product_kind kind,
                                     double rates[HRI_TILE_RATES]);

/* Multiply once, whatever its memory holds, on every kind of tile whose rate an
 * earlier process kept: libraries load their kernels on first use, which takes
 * longer than many a product. Errors are left for later calls to meet. One
 * caller at a time for an accelerator. */
void hri_accelerator_warm(hri_accelerator *accelerator);

/* The most it does, measured now with products of up to a tenth of a second,
 * neither taken from the tuning cache nor kept. */
hr_status hri_accelerator_top_rate(hri_accelerator *accelerator,
                                   hri_product_kind kind, double *rate);

/* ---- links */

/* What links carry, bytes/s; 0: not known. */
typedef hr_link_rates hri_link;

/* Links from pinned memory, and from ordinary memory through copy pools. */
enum { HRI_PINNED, HRI_STAGED, HRI_LINKS };

/* One accelerator's link while others use theirs. */
typedef struct hri_flow {
    const hri_accelerator *accelerator;
    bool staged_up,
        staged_down; /* ordinary memory that goes through copy pools */
    hri_link own;    /* what the whole link carries when others do nothing */
    hri_link alone;  /* the accelerator's share of that; and */
    hri_link beside; /* its share when all flows are under way */
} hri_flow;

/* A flow with its own link, as far as it is known: rates are 0 in place, and
 * where nothing is. */
hri_flow hri_model_flow(const hri_accelerator *accelerator, bool staged_up,
                        bool staged_down);

/* Who crowds whom: links together carry no more than what was measured of all,
 * and accelerators of one device share theirs. Fills alone and beside. */
void hri_model_flows(const hr_context *context, hri_flow *flows,
                     uint32_t count);

/* Know the link from and to pinned memory; and all that flows want to know. In
 * place there is none. */
hr_status hri_accelerator_link(hri_accelerator *accelerator);
hr_status hri_model_know_link(hr_context *context, hri_accelerator *a);

/* ---- memory */

/* Bytes/s that kernels read and write of its memory: measured once, in some
 * milliseconds. */
hr_status hri_bandwidth_know(hr_context *context, hri_accelerator *accelerator,
                             double *rate);

/* What is done in host memory at the same time. */
typedef struct hri_host_load {
    double rate;     /* bytes/s of the host's memory; 0: it is no limit */
    double in_place; /* bytes that the host reads and writes there, */
    double copied;   /* that copies of others read or write, */
    double staged;   /* and those that go through copy pools */
} hri_host_load;

double hri_host_memory_seconds(const hri_host_load *load);

/* ---- launches and copies */

/* Seconds that enqueueing takes, measured with long rows of tiny ones: of a
 * kernel or fill, and of a copy from pinned memory; and that one takes from
 * enqueueing to having waited for it. What has not been measured, and is not to
 * be now, is guessed. */
typedef struct hri_overheads {
    double launch, copy, wait;
    double task;    /* of a plan: a product, the waits for its two panels, its
                       record, and until another queue hears of it */
    double carried; /* a copy of a plan: itself, a wait and its record */
} hri_overheads;

hr_status hri_model_overheads(hri_accelerator *accelerator, bool measure,
                              hri_overheads *overheads);

/* Seconds that a copy of ordinary memory takes longer than its bytes: copy
 * pools have pieces to share out, and the last one to wait for. Boxes of 2 to
 * 16 MiB took 0.3 to 0.5 ms longer than their bytes on H200s while other boxes
 * were under way, before copy pools spun for their locks; a part of that is
 * taken for the box's own (November 2026). */
static const double hri_model_staged_copy = 1e-4;

/* Seconds that moving work and its data to others takes beside the bytes, for
 * new arrays and queues that run empty: an order of magnitude. */
static const double hri_model_moving = 2e-3;

/* Seconds that starting and joining the threads of an executor add to a run.
 * Products of 64 and of 256 cubed take 0.2 to 0.35 ms on one H200 (November
 * 2026). The host works in place, in the caller's thread. */
static inline double hri_model_executor(bool host)
{
    return host ? 1e-4 : 3e-4;
}

/* ---- kernels */

/* Seconds for a row of so many points of a kernel on the accelerator when it
 * has the device alone, by the launches that are done by now; 0: not known. */
double hri_model_kernel(hri_accelerator *accelerator, const hr_kernel *kernel,
                        int64_t points);

/* Its default queue is given so many rows of a kernel: returns where the fence
 * right before goes. Rows count as often as there are accelerators that share
 * the device. What went before and is not done by now is timed no more.
 */
hri_fence **hri_model_time_kernel(hri_accelerator *accelerator,
                                  const hr_kernel *kernel, int64_t points,
                                  double rows);

/* ---- predictions */

enum { HRI_ENGINES = HR_ENGINE_GRID + 1 };

/* An engine's work was predicted to take so many seconds, and took others.
 * Any thread. */
void hri_model_saw(hri_model *model, hr_engine engine, double predicted,
                   double seen);

/* Work whose plans are off in the same way: what is common to it, as a number.
 * Seconds that such work is expected to take when its plan adds up to
 * `planned`, by what came of earlier plans; and one more that has been seen.
 * Any thread. */
double hri_model_expect(hri_model *model, uint64_t like, double planned);
void hri_model_correct(hri_model *model, uint64_t like, double planned,
                       double seen);

/* Add what this context has seen to what is in the tuning cache. */
void hri_predictions_keep(hr_context *context);

#endif
