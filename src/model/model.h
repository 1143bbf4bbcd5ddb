/* SPDX-License-Identifier: MIT */
/* What is known of the machine, for every engine: how long work takes, what
 * links carry, which accelerators share a device, and how good predictions
 * were. Figures are measured when first needed, shared by all accelerators of a
 * device, and kept for later processes (tuning.h). The caller holds the
 * context's lock, unless a function says otherwise. docs/model.md lists
 * figures, and where each rule is. */
#ifndef HRI_MODEL_MODEL_H
#define HRI_MODEL_MODEL_H

#include <headrace/gemm.h>

#include "model/cost.h"
#include "model/pays.h"
#include "model/probe.h"
#include "runtime/runtime.h"

/* Give the context a model, which knows nothing yet. destroy accepts a context
 * without one. */
hr_status hri_model_create(hr_context *context);
void hri_model_destroy(hr_context *context);

/* ---- which accelerators share a device */

/* Whether its buffers lie in host memory, through any backend. */
bool hri_in_host_memory(const hri_accelerator *accelerator);

/* Whether two accelerators take their memory from one place and are together no
 * faster than one. These are virtual accelerators of one device, and all that
 * run on the host's CPUs. They share arithmetic, memory and link. */
bool hri_accelerators_same_kind(const hri_accelerator *a,
                                const hri_accelerator *b);

/* How many of these are of the same kind as `a`. */
uint32_t hri_accelerators_sharing(hri_accelerator *const *accelerators,
                                  uint32_t count, const hri_accelerator *a);

/* List the first accelerator of each device among those that `wanted` accepts
 * (NULL: all). The caller frees *devices. */
hr_status hri_devices_list(hr_context *context,
                           bool (*wanted)(const hri_accelerator *a),
                           hri_accelerator ***devices, uint32_t *count);

/* A name in the tuning cache for all these together. "": they have none. */
void hri_devices_name(hri_accelerator *const *devices, uint32_t count,
                      char *name, size_t bytes);

/* ---- measured or guessed figures */

/* Figures for plans where nothing was measured: orders of magnitude, in units a
 * second. */
typedef enum hri_guessed {
    HRI_GUESS_PRODUCT, /* flop/s of a small product */
    HRI_GUESS_PRODUCT_ON_GPU,
    HRI_GUESS_PRODUCT_WITHOUT_ROOM, /* where not even the smallest product fits:
                                       such an accelerator gets little work
                                       anyway */
    HRI_GUESS_FILTER,               /* products/s */
    HRI_GUESS_TRANSFORM, /* so low that a small filter does not load the library
                            of transforms */
    HRI_GUESS_LINK,      /* bytes/s */
    HRI_GUESS_MEMORY,    /* bytes/s */
    HRI_GUESSES
} hri_guessed;

double hri_guess(hri_guessed what);

/* Whether work of so many operations takes less time than measuring. Such work
 * is planned with figures that are known or guessed. */
bool hri_model_skips_measuring(double operations);

/* A number that changes with each figure. Any thread. */
uint64_t hri_model_version(const hr_context *context);

/* A figure that only one engine uses, in units a second. If it is not known
 * under this name, the trial measures it: its jobs of size n do units(data, n)
 * units. Small work is not measured. It gets `guess`, and so does work when not
 * even the first job fits into memory. *figure is kept for later processes if
 * `keep` is set and the trial was settled. The caller does not hold the
 * context's lock. */
typedef struct hri_question {
    const char *name;
    int64_t shape;     /* a number that matters, such as the length of rows; 0:
                          none */
    double operations; /* of the work that is planned */
    double guess;
    bool keep;
    const hri_trial *trial;
    double (*units)(const void *data, int64_t size);
    void (*release)(void *data); /* frees what tries have made; NULL: nothing */
    void *data; /* of the trial and of these functions. They are called with */
    size_t bytes; /* a copy, as hri_measure says, which is copied back */
} hri_question;

hr_status hri_model_ask(hri_accelerator *accelerator, const hri_question *q,
                        double *figure);

/* ---- products */

/* A and B have one type, C another. */
typedef struct hri_product_kind {
    hr_type type, c_type;
    hr_compute compute;
} hri_product_kind;

/* How products are formed, as it ends a message: "", " by tf32" ... */
const char *hri_compute_phrase(hr_compute compute);

/* Whether the accelerator's device offers such products. */
bool hri_accelerator_multiplies(const hri_accelerator *accelerator,
                                hri_product_kind kind);

/* The rate of such products in flop/s. On first use it is measured with small
 * products of random numbers (some milliseconds). */
hr_status hri_accelerator_rate(hri_accelerator *accelerator,
                               hri_product_kind kind, double *flops_per_second);

/* The same if it is known without measuring, else 0. */
double hri_accelerator_known_rate(const hri_accelerator *accelerator,
                                  hri_product_kind kind);

/* The rate in flop/s that was measured, else a guess: for the host in place
 * from the number of its CPUs, for any GPU the same. */
double hri_accelerator_likely_rate(const hri_accelerator *accelerator,
                                   hri_product_kind kind);

/* Learn from a product that ran in place, with the device to itself, and took
 * so many seconds of arithmetic. If these were many, and it was clearly faster
 * than measured, then other work disturbed the measurement. So the rate is
 * corrected. */
void hri_accelerator_learn_rate(hri_accelerator *accelerator,
                                hri_product_kind kind, double flops,
                                double seconds);

/* The rates on tiles with the edges hri_tile_edges, with a deep k. They are 0
 * where the accelerator works in host memory. Called after
 * hri_accelerator_rate. */
hr_status hri_accelerator_tile_rates(hri_accelerator *accelerator,
                                     hri_product_kind kind,
                                     double rates[HRI_TILE_RATES]);

/* Multiply once on every kind of tile whose rate an earlier process kept.
 * Libraries load their kernels on first use, which takes longer than many a
 * product. Memory is not initialised. Errors are left for later calls to find.
 * One caller at a time for an accelerator. */
void hri_accelerator_warm(hri_accelerator *accelerator);

/* The highest rate, measured now with products of up to a tenth of a second. It
 * is neither taken from the tuning cache nor kept there. */
hr_status hri_accelerator_top_rate(hri_accelerator *accelerator,
                                   hri_product_kind kind, double *rate);

/* ---- links */

/* What links carry, bytes/s; 0: not known. */
typedef hr_link_rates hri_link;

/* The kinds of copies: from pinned memory, and from ordinary memory through
 * copy pools. */
enum { HRI_PINNED, HRI_STAGED, HRI_LINKS };

/* The link of one accelerator while others use theirs. */
typedef struct hri_link_use {
    const hri_accelerator *accelerator;
    bool staged_up,
        staged_down; /* ordinary memory, copied through copy pools */
    hri_link own;    /* the whole link's rates when others do nothing */
    hri_link alone;  /* the accelerator's share of them; and */
    hri_link beside; /* its share when all uses are under way */
} hri_link_use;

/* The use of an own link, as far as it is known. Rates are 0 in place, and
 * where nothing is known. */
hri_link_use hri_model_link_use(const hri_accelerator *accelerator,
                                bool staged_up, bool staged_down);

/* Set `alone` and `beside` of all uses. All links together carry no more than
 * was measured for all, and accelerators of one device share a link. */
void hri_model_link_uses(const hr_context *context, hri_link_use *flows,
                         uint32_t count);

/* Measure the link from and to pinned memory, unless it is known. The second
 * function does so for all that flows need. Nothing is measured in place. */
hr_status hri_accelerator_link(hri_accelerator *accelerator);
hr_status hri_model_know_link(hr_context *context, hri_accelerator *a);

/* ---- memory */

/* Bytes/s that kernels read and write in its memory. Measured once, in some
 * milliseconds. */
hr_status hri_bandwidth_know(hr_context *context, hri_accelerator *accelerator,
                             double *rate);

/* Work in host memory at the same time. */
typedef struct hri_host_load {
    double rate;     /* bytes/s of the host's memory; 0: no limit */
    double in_place; /* bytes that the host reads and writes itself, */
    double copied;   /* that copies of other accelerators read or write, */
    double staged;   /* and those of them that go through copy pools */
} hri_host_load;

double hri_host_memory_seconds(const hri_host_load *load);

/* ---- launches and copies */

/* Seconds that enqueueing takes, measured with long sequences of tiny commands.
 * launch is for a kernel or fill, copy for a copy from pinned memory. wait is
 * from enqueueing a launch until a thread has waited for it. Those not measured
 * yet are guessed if they are not to be measured now. */
typedef struct hri_overheads {
    double launch, copy, wait;
    double task;    /* for a task of a plan: the product, the waits for its two
                       panels, its record, and the time until another queue sees
                       it */
    double busy;    /* of these, the CPU's time: most of a long wait is idle */
    double carried; /* for a copy of a plan: the copy, a wait and its record */
} hri_overheads;

hr_status hri_model_overheads(hri_accelerator *accelerator, bool measure,
                              hri_overheads *overheads);

/* Seconds that a copy of ordinary memory takes beside its bytes. Copy pools
 * have to distribute the pieces, and to wait for the last one. Boxes of 2 to 16
 * MiB took 0.3 to 0.5 ms longer than their bytes on H200s while other boxes
 * were under way, before copy pools spun for their locks. A part of that is
 * assumed for a box alone (November 2026). */
static const double hri_model_staged_copy = 1e-4;

/* Seconds that a product in place takes beside its arithmetic, on so many CPUs:
 * threads share it. OpenBLAS on 16 CPUs of a Xeon took 20 to 90 microseconds
 * longer than its rate says, from 128 to 512 cubed (November 2026). */
static inline double hri_model_in_place(uint32_t cpus)
{
    return cpus > 1 ? 6e-5 : 0.0;
}

/* The part of the host's rate that one thread has while the others sleep: more
 * than its share, since its core is its own and runs at a higher clock. Small
 * products have no more. Of 16 CPUs of a Xeon one had 150 of 1,140 GFLOP/s in
 * float and 90 of 640 in double (November 2026). */
static inline double hri_model_one_cpu(uint32_t cpus)
{
    return cpus > 4 ? 2.0 / cpus : cpus > 1 ? 0.5 : 1.0;
}

/* Bytes/s of few bytes of ordinary memory, which one thread copies: 11 to 17
 * GB/s on an H100, by the driver and through pinned memory (November 2026). */
static const double hri_model_one_thread = 1.35e10;

/* Seconds that a product of a batch takes in place beside its arithmetic. An
 * order of magnitude. */
static const double hri_model_small_product = 3e-7;

/* Seconds that moving work to other accelerators takes beside copying its data,
 * for new arrays and for queues that run empty. An order of magnitude. */
static const double hri_model_moving = 2e-3;

/* Seconds that starting and joining the threads of an executor add to a run.
 * Products of 64 and of 256 cubed take 0.2 to 0.35 ms on one H200 (November
 * 2026). The host works in place, in the caller's thread. */
static inline double hri_model_executor(bool host)
{
    return host ? 1e-4 : 3e-4;
}

/* The same for a product of one task, where there is memory to be copied: its
 * thread and the caller wait awake for each other. Products of 64 cubed took 48
 * microseconds on an H100, and cuBLAS with three copies 39 (November 2026). */
static const double hri_model_brief = 4e-5;

/* ---- kernels */

/* Seconds for a row of so many points of a kernel, when the accelerator has the
 * device to itself. Launches that are done by now count. 0: not known. */
double hri_model_kernel(hri_accelerator *accelerator, const hr_kernel *kernel,
                        int64_t points);

/* Whether to time a launch that is planned the same whatever it takes: until
 * its seconds are known, and now and then later. Timing takes longer than
 * launching. */
bool hri_model_is_curious(hri_accelerator *accelerator, const hr_kernel *kernel,
                          int64_t points);

/* Time a kernel that goes to the default queue. Returns where to put the fence
 * right before it. Each row counts as often as accelerators share the device.
 * An earlier launch that is not done by now is no longer timed. */
hri_fence **hri_model_time_kernel(hri_accelerator *accelerator,
                                  const hr_kernel *kernel, int64_t points,
                                  double rows);

/* ---- predictions */

enum { HRI_ENGINES = HR_ENGINE_GRID + 1 };

/* Note that an engine's work was predicted to take `predicted` seconds and took
 * others. Any thread. */
void hri_model_saw(hri_model *model, hr_engine engine, double predicted,
                   double seen);

/* Work with the same number `like` has plans that are wrong in the same way.
 * The first function gives the seconds to expect when the plan adds up to
 * `planned`, after what earlier plans showed. The second notes another result.
 * Any thread. */
double hri_model_expect(hri_model *model, uint64_t like, double planned);
void hri_model_correct(hri_model *model, uint64_t like, double planned,
                       double seen);

/* Add what this context has seen to the tuning cache. */
void hri_predictions_keep(hr_context *context);

#endif
