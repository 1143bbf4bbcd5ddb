/* SPDX-License-Identifier: MIT */
/* What a product did, or would do, as a table or as JSON. */
#ifndef CONSOLE_REPORT_H
#define CONSOLE_REPORT_H

#include "json.h"
#include "product.h"

/* A table for people. Returns an exit status. */
int cli_report_table(const hr_context *context, const cli_product *product,
                     const cli_outcome *outcome);

/* One JSON object on one line. Returns an exit status. */
int cli_report_json(const hr_context *context, const cli_product *product,
                    const cli_outcome *outcome);

/* The members "bytes" and "accelerators" of such an object. */
void cli_report_members(cli_json *json, const hr_context *context,
                        const hr_gemm_report *report);

#endif
