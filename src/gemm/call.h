/* SPDX-License-Identifier: MIT */
/* A call of hr_gemm or hr_gemm_plan, on its way from arguments to a report. */
#ifndef HRI_GEMM_CALL_H
#define HRI_GEMM_CALL_H

#include "gemm/check.h"
#include "gemm/plan.h"
#include "model/model.h"

/* The terms of a sum of products: chunks of k that have matrices of their own,
 * and that come one after another. */
typedef struct hri_terms {
    hri_run_terms come;
    hr_matrix *a, *b; /* [count] in normal form */
    int64_t *bounds;  /* [count + 1] where they begin in k, and k */
} hri_terms;

/* A call: its checked arguments, its accelerators, and its plan. */
typedef struct hri_gemm_call {
    uint64_t start_ns;
    hr_context *context;
    hr_gemm_options options;
    hri_product product;
    uint32_t count;                 /* accelerators that take part */
    hri_accelerator **accelerators; /* [count] */
    hri_plan_accelerator *inputs;   /* [count] for the planner */
    hri_link_use *links;            /* [count] */
    hri_staged *staged;             /* [count] */
    hri_plan *plan;                 /* NULL: nothing to multiply */
    hri_run_report *reports;  /* [accelerators of the context] what they did;
                               NULL before the first run */
    hri_error lost;           /* why the first accelerator was lost */
    double flops, flops_done; /* of the whole product, or batch of products, and
                                 of what is home */
    uint64_t recomputed;      /* tiles that were computed by others */
    hri_progress *progress;   /* of the whole product, or batch */
    const hri_terms *terms;   /* NULL: the product is no sum */
} hri_gemm_call;

static inline hri_product_kind hri_kind_of(const hri_product *p)
{
    return (hri_product_kind){p->a.type, p->c.type, p->compute};
}

static inline double hri_flops_of(const hri_product *p)
{
    return hri_product_flops(p->a.type, p->m, p->n, p->k);
}

/* Whether old C is read. */
static inline bool hri_reads_result(const hri_product *p)
{
    return p->beta.re != 0.0 || p->beta.im != 0.0;
}

/* Whether there is anything to multiply. */
static inline bool hri_has_product(const hri_product *p)
{
    return p->m > 0 && p->n > 0 && p->k > 0 &&
           (p->alpha.re != 0.0 || p->alpha.im != 0.0);
}

/* What an accelerator of the call did. */
static inline hri_run_report *hri_call_report(const hri_gemm_call *c,
                                              uint32_t index)
{
    return &c->reports[c->accelerators[index] - c->context->accelerators];
}

/* ---- gemm.c */

/* Add what a share of a run did. */
void hri_run_report_add(hri_run_report *sum, const hri_run_report *report);

/* Read the caller's options, which may be NULL. */
hr_status hri_call_options(hri_gemm_call *call, const hr_gemm_options *options);
/* Check the arguments, but no data pointers, and set the product. */
hr_status hri_call_open(hri_gemm_call *call, hr_context *context,
                        hr_scalar alpha, hr_matrix a, hr_matrix b,
                        hr_scalar beta, hr_matrix result);
/* Use this call's limits for what accelerators hold. The cache of earlier calls
 * counts. Afterwards the context's limits apply again. */
void hri_call_limit(const hri_gemm_call *call);
void hri_call_unlimit(const hri_gemm_call *call);
/* Carry out the call's plan, and fill the report. The caller holds the
 * context's lock. */
hr_status hri_call_run(hri_gemm_call *call, hr_gemm_report *report);
/* Carry out the call's plan, and add to `reports`. When an accelerator is lost,
 * others complete C. The caller holds the context's lock. */
hr_status hri_call_multiply(hri_gemm_call *call);

/* ---- facts.c */

/* Choose the accelerators, gather what is known of them, and plan. Afterwards
 * hri_call_close, also after an error: HR_ERROR_INVALID for a wrong list,
 * HR_ERROR_UNSUPPORTED, HR_ERROR_LOST, and those of measuring and planning. The
 * caller holds the context's lock. */
hr_status hri_call_plan(hri_gemm_call *call);
void hri_call_close(hri_gemm_call *call);

/* ---- direct.c */

/* Multiply at once in place if the product is small, the caller wants no report
 * of it, and no other accelerator could end sooner. False: it needs a plan. The
 * caller holds the context's lock. */
bool hri_gemm_directly(const hri_gemm_call *call, hr_status *status);
/* The device that does so. NULL: it needs a plan. */
hri_device *hri_direct_device(const hri_gemm_call *call);
/* A product in the caller's memory. */
hri_gemm hri_gemm_in_place(const hri_product *product);

/* Whether the plan is one product in place, of which the caller wants no
 * progress; and carry such a plan out. */
bool hri_plan_is_direct(const hri_gemm_call *call);
hr_status hri_plan_directly(const hri_gemm_call *call,
                            hri_run_outcome *outcome);

/* ---- tiles.c */

/* The engine that runs a plan of a product. terms: NULL, or of a sum. It holds
 * the plan. HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_tiles_engine(const hri_product *product, hri_plan *plan,
                           const hri_terms *terms, hri_engine *engine);

/* ---- report.c */

/* A report of the caller's, which may be NULL: check its size, read it, and
 * write it. */
hr_status hri_report_check(const hr_gemm_report *report);
hr_status hri_report_read(const hr_gemm_report *from, hr_gemm_report *report);
void hri_report_write(const hr_gemm_report *from, hr_gemm_report *report);

/* Add an entry to the caller's array of shares, if it has room. */
void hri_report_add(hr_gemm_report *report, const hr_gemm_share *entry);
/* Write the plan into the report. The caller's array of shares stays. */
void hri_report_plan(const hri_gemm_call *call, hr_gemm_report *report);
/* Rows and columns of a block and of a tile of c, as the caller has C. */
void hri_report_sizes(const hri_product *product, const int64_t block[2],
                      const int64_t tile[2], int64_t depth,
                      hr_gemm_report *report);
/* The bytes that had to move, where so many did. They are fewer than planned if
 * the host has done tiles of others in place. */
uint64_t hri_compulsory_of(const hri_gemm_call *call, uint64_t moved);
/* Replace what was planned by what was measured. */
void hri_report_run(const hri_gemm_call *call, double seconds,
                    hr_gemm_report *report);
/* Add the call to the context's timeline, if there is one, with what the report
 * has. Before hri_call_close. */
void hri_report_trace(const hri_gemm_call *call, const hr_gemm_report *report,
                      const char *name);

#endif
