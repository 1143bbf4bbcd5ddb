/* SPDX-License-Identifier: MIT */
#include "bench/plot.h"

#include <string.h>

#include "base/status.h"
#include "console/output.h"

extern const char bench_plot_text[]; /* plot.py, by the build */

static bool take_path(const char *text, void *field)
{
    static const char end[] = ".svg";
    const size_t length = strlen(text), least = sizeof end;
    *(const char **)field = text;
    return length >= least && strcmp(text + length - least + 1, end) == 0;
}

const cli_kind bench_plot_file = {.take = take_path,
                                  .wants = "a file name that ends in .svg"};

int bench_plot_start(bench_plot *plot, const char *path, bench_rows *rows)
{
    HRI_TRY(cli_output_check(&bench_command, "--plot", path, NULL, 0));
    if (!bench_python_start(&plot->process, bench_plot_text, "--serve")) {
        return cli_fail("--plot: no python3 with Matplotlib is in PATH or "
                        "in /usr/bin");
    }
    HRI_TRY(cli_whole_create(&plot->file, path));
    rows->plot = plot->process.to;
    return CLI_OK;
}

/* Copy the process's answer into the file. */
static int copy_answer(const bench_plot *plot)
{
    FILE *from = plot->process.from;
    char text[4096];
    if (fgets(text, sizeof text, from) == NULL) {
        return cli_fail("--plot: the process that draws has ended");
    }
    if (strncmp(text, "error ", 6) == 0) {
        text[strcspn(text, "\n")] = '\0';
        return cli_fail("--plot: %s", text + 6);
    }
    /* lines of text, of which the last one is the end of the picture */
    bool whole = false;
    do {
        whole = strcmp(text, "</svg>\n") == 0;
        fputs(text, plot->file.out);
    } while (fgets(text, sizeof text, from) != NULL);
    return whole && !ferror(from)
               ? CLI_OK
               : cli_fail("--plot: the process that draws ended in the middle");
}

int bench_plot_finish(bench_plot *plot, const bench_rows *rows)
{
    const bool sent = fclose(plot->process.to) == 0;
    plot->process.to = NULL;
    if (!sent || rows->failed) {
        return cli_fail("--plot: the rows cannot be written to python3");
    }
    HRI_TRY(copy_answer(plot));
    return cli_whole_commit(&plot->file);
}

void bench_plot_close(bench_plot *plot)
{
    bench_peer_stop(&plot->process);
    cli_whole_close(&plot->file);
}
