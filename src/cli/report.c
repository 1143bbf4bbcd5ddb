/* SPDX-License-Identifier: MIT */
/* headrace report: a timeline as a page for a browser. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "commands.h"
#include "console/json.h"
#include "console/output.h"
#include "console/standard.h"
#include "console/values.h"
#include "console/whole.h"
#include "timeline.h"

extern const char cli_report_page[]; /* report.html */

typedef struct options {
    const char *output;
} options;

static const cli_option table[] = {
    {"-o", "REPORT.html", &cli_file, offsetof(options, output),
     "the file to write, whole or not at all; -: standard\n"
     "output"},
    {NULL, NULL, NULL, 0, NULL},
};

/* Write what the page should know besides the timeline. */
static int put_about(FILE *out, const char *path)
{
    char *text = NULL;
    size_t bytes = 0;
    cli_json json = {.out = open_memstream(&text, &bytes)};
    if (json.out == NULL) {
        return cli_fail("out of memory");
    }
    cli_json_begin(&json, NULL, '{');
    cli_json_text(&json, "file", cli_is_standard(path) ? NULL : path);
    cli_json_text(&json, "version", hr_version());
    cli_json_line(&json);
    const bool made = fclose(json.out) == 0;
    if (made) {
        cli_json_embed(out, text);
    }
    free(text);
    return made ? CLI_OK : cli_fail("out of memory");
}

/* Write the page up to a comment in it, and return what comes behind. */
static const char *put_until(FILE *out, const char *page, const char *comment)
{
    const char *found = strstr(page, comment);
    fwrite(page, 1, (size_t)(found - page), out);
    return found + strlen(comment);
}

static int put_page(FILE *out, const cli_timeline *timeline)
{
    const char *rest = put_until(out, cli_report_page, "/*about*/");
    HRI_TRY(put_about(out, timeline->path));
    rest = put_until(out, rest, "/*timeline*/");
    cli_json_embed(out, timeline->text);
    fputs(rest, out);
    return CLI_OK;
}

static int write_whole(cli_whole *whole, const cli_timeline *timeline)
{
    HRI_TRY(cli_whole_create(whole, whole->path));
    HRI_TRY(put_page(whole->out, timeline));
    return cli_whole_commit(whole);
}

static int write_page(const cli_timeline *timeline, const char *path)
{
    cli_whole whole = {.path = path};
    const int status = write_whole(&whole, timeline);
    cli_whole_close(&whole);
    return status;
}

static int run(int argc, char **argv)
{
    options o = {.output = NULL};
    const char *trace = NULL;
    cli_timeline timeline = {.text = NULL};
    HRI_TRY(cli_parse(&cli_report, argc, argv, &o, &trace));
    if (o.output == NULL) {
        return cli_wrong(&cli_report, "-o is missing");
    }
    HRI_TRY(cli_output_check(&cli_report, "-o", o.output, &trace, 1));
    int status = cli_timeline_read(&timeline, trace);
    if (status == CLI_OK) {
        status = write_page(&timeline, o.output);
    }
    cli_timeline_free(&timeline);
    return status;
}

const cli_command cli_report = {
    .name = "report",
    .usage = "TRACE.json -o REPORT.html",
    .summary = "turn a timeline into a page for a browser",
    .details =
        "Reads a timeline that --trace or HEADRACE_TRACE wrote. Writes one "
        "page that\n"
        "needs no network: the calls beside their predictions, what bounded "
        "them, the\n"
        "accelerators side by side, and the timeline itself.\n"
        "- stands for standard input or output.",
    .examples = "  headrace matmul A.npy B.npy -o C.npy --trace run.json\n"
                "  headrace report run.json -o run.html\n",
    .options = table,
    .operands = 1,
    .operand_names = "1 file, TRACE.json",
    .run = run,
};
