/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "product.h"
#include "text.h"

/* The path and name of a share's accelerator. */
static hr_accelerator_info describe(const hr_context *context, uint32_t index)
{
    hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
    if (hr_accelerator_describe(context, index, &info) != HR_OK) {
        snprintf(info.path, sizeof info.path, "#%" PRIu32, index);
    }
    return info;
}

static uint32_t share_count(const hr_gemm_report *report)
{
    return (uint32_t)hri_min(report->share_count, report->share_capacity);
}

void cli_report_head(const cli_product *p, const cli_outcome *o)
{
    printf("%s = %s x %s%s%s\n",
           cli_path_text(p->output != NULL ? p->output : "C").text,
           cli_path_text(p->a).text, cli_path_text(p->b).text,
           p->add != NULL ? " + " : "",
           cli_path_text(p->add != NULL ? p->add : "").text);
    printf("%-11s %s of %s, from %s and %s of %s\n", "shape",
           cli_extents_text(o->shape.extents, o->shape.rank).text,
           hr_type_name(o->c_type),
           cli_extents_text(o->factors[0].extents, o->factors[0].rank).text,
           cli_extents_text(o->factors[1].extents, o->factors[1].rank).text,
           hr_type_name(o->type));
}

/* Print a report, with a note behind its first line, which has the time. */
static int print_text(const hr_context *context, const hr_gemm_report *report,
                      const char *note)
{
    const size_t size = hr_gemm_report_text(context, report, NULL, 0) + 1;
    char *text = malloc(size);
    if (text == NULL) {
        return cli_fail("out of memory");
    }
    hr_gemm_report_text(context, report, text, size);
    const size_t line = strcspn(text, "\n");
    printf("%.*s (%s)%s", (int)line, text, note, text + line);
    free(text);
    return CLI_OK;
}

static void print_left_out(const hr_context *context,
                           const cli_outcome *outcome)
{
    for (uint32_t i = 0; i < outcome->left_out_count; i++) {
        const cli_left_out *left = &outcome->left_out[i];
        printf("%s%-11s %s: %s\n", i == 0 ? "\n" : "", i == 0 ? "left out" : "",
               describe(context, left->accelerator).path, left->reason);
    }
}

int cli_report_table(const hr_context *context, const cli_product *product,
                     const cli_outcome *outcome)
{
    const hr_verify_report *check = &outcome->check;
    char note[80] = "predicted; nothing was done";
    if (!product->dry_run) {
        snprintf(note, sizeof note, "%s with its files",
                 hri_seconds_text(outcome->seconds).text);
    }
    cli_report_head(product, outcome);
    if (check->trials > 0) {
        printf("%-11s yes: %" PRIu32 " random vectors in %s\n", "verified",
               check->trials, hri_seconds_text(check->seconds).text);
    }
    const int printed = print_text(context, &outcome->report, note);
    print_left_out(context, outcome);
    return printed;
}

static void write_bytes(cli_json *json, const hr_gemm_report *r)
{
    cli_json_begin(json, "bytes", '{');
    cli_json_count(json, "compulsory", r->compulsory);
    cli_json_count(json, "host_to_device", r->host_to_device);
    cli_json_count(json, "device_to_host", r->device_to_host);
    cli_json_count(json, "peer", r->peer);
    cli_json_count(json, "stolen", r->stolen);
    cli_json_number(json, "ratio", r->ratio);
    cli_json_count(json, "pinned", r->pinned_bytes);
    cli_json_end(json, '}');
}

static void write_share(cli_json *json, const hr_context *context,
                        const hr_gemm_share *s)
{
    hr_accelerator_info info = describe(context, s->accelerator);
    cli_json_begin(json, NULL, '{');
    cli_json_text(json, "path", info.path);
    cli_json_text(json, "name", info.name);
    cli_json_number(json, "seconds_busy", s->seconds_busy);
    cli_json_number(json, "flops", s->flops);
    cli_json_count(json, "tiles", s->tiles);
    cli_json_count(json, "tiles_stolen", s->tiles_stolen);
    cli_json_begin(json, "bytes", '{');
    cli_json_count(json, "host_to_device", s->host_to_device);
    cli_json_count(json, "device_to_host", s->device_to_host);
    cli_json_count(json, "peer", s->peer);
    cli_json_end(json, '}');
    cli_json_count(json, "memory_bytes", s->memory_bytes);
    cli_json_count(json, "memory_limit", s->memory_limit);
    cli_json_end(json, '}');
}

void cli_report_members(cli_json *json, const hr_context *context,
                        const hr_gemm_report *report)
{
    write_bytes(json, report);
    cli_json_begin(json, "accelerators", '[');
    for (uint32_t i = 0; i < share_count(report); i++) {
        write_share(json, context, &report->shares[i]);
    }
    cli_json_end(json, ']');
}

static void write_left_out(cli_json *json, const hr_context *context,
                           const cli_outcome *outcome)
{
    cli_json_begin(json, "left_out", '[');
    for (uint32_t i = 0; i < outcome->left_out_count; i++) {
        const cli_left_out *left = &outcome->left_out[i];
        cli_json_begin(json, NULL, '{');
        cli_json_text(json, "path", describe(context, left->accelerator).path);
        cli_json_text(json, "reason", left->reason);
        cli_json_end(json, '}');
    }
    cli_json_end(json, ']');
}

static void write_shape(cli_json *json, const char *name,
                        const hr_file_array *array)
{
    cli_json_begin(json, name, '[');
    for (int i = 0; i < array->rank; i++) {
        cli_json_count(json, NULL, (uint64_t)array->extents[i]);
    }
    cli_json_end(json, ']');
}

static void write_blocks(cli_json *json, const hr_gemm_report *r)
{
    cli_json_begin(json, "block", '[');
    cli_json_count(json, NULL, (uint64_t)r->block_rows);
    cli_json_count(json, NULL, (uint64_t)r->block_cols);
    cli_json_end(json, ']');
    cli_json_begin(json, "tile", '[');
    cli_json_count(json, NULL, (uint64_t)r->tile_rows);
    cli_json_count(json, NULL, (uint64_t)r->tile_cols);
    cli_json_count(json, NULL, (uint64_t)r->tile_depth);
    cli_json_end(json, ']');
}

int cli_report_json(const hr_context *context, const cli_product *product,
                    const cli_outcome *outcome)
{
    const hr_gemm_report *r = &outcome->report;
    cli_json json = {.out = stdout};
    cli_json_begin(&json, NULL, '{');
    cli_json_bool(&json, "dry_run", product->dry_run);
    cli_json_count(&json, "m", (uint64_t)outcome->m);
    cli_json_count(&json, "n", (uint64_t)outcome->n);
    cli_json_count(&json, "k", (uint64_t)outcome->k);
    write_shape(&json, "shape", &outcome->shape);
    write_shape(&json, "shape_a", &outcome->factors[0]);
    write_shape(&json, "shape_b", &outcome->factors[1]);
    cli_json_text(&json, "type", hr_type_name(outcome->type));
    cli_json_text(&json, "output_type", hr_type_name(outcome->c_type));
    cli_json_number(&json, "seconds", r->seconds);
    if (!product->dry_run) { /* in a dry run it is the time of planning */
        cli_json_number(&json, "seconds_with_files", outcome->seconds);
    }
    cli_json_number(&json, "flops", r->flops);
    cli_json_number(&json, "tflops",
                    r->seconds > 0.0 ? r->flops / r->seconds * 1e-12 : 0.0);
    cli_json_text(&json, "bound",
                  r->flops > 0.0 ? hr_bound_name(r->bound) : NULL);
    cli_json_count(&json, "lost", r->lost);
    cli_json_count(&json, "late", r->late);
    cli_json_count(&json, "recomputed", r->recomputed);
    cli_report_members(&json, context, r);
    write_left_out(&json, context, outcome);
    write_blocks(&json, r);
    if (outcome->check.trials > 0) {
        cli_json_bool(&json, "verified", true);
        cli_json_number(&json, "seconds_verifying", outcome->check.seconds);
    } else {
        cli_json_null(&json, "verified");
    }
    cli_json_line(&json);
    return CLI_OK;
}
