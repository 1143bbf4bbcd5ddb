/* SPDX-License-Identifier: MIT */
/* Benchmarks from files, in a folder of their own below TMPDIR (or /var/tmp,
 * which unlike /tmp is on a disk). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/workloads/matmul.h"
#include "console/output.h"
#include "console/product.h"
#include "console/signals.h"

static const char *const names[MATMUL_FILES] = {"A.npy", "B.npy", "C.npy"};

static int write_random(const char *path, hr_matrix like, uint64_t seed)
{
    int status = cli_output_random(path, like, HR_ROW_MAJOR, seed, NULL);
    cli_signals_phase(CLI_AT_ONCE);
    return status;
}

int matmul_files_create(matmul *x)
{
    const char *parent = getenv("TMPDIR");
    int length =
        snprintf(x->folder, sizeof x->folder, "%s/headrace-bench-XXXXXX",
                 parent != NULL && *parent ? parent : "/var/tmp");
    if (length >= (int)sizeof x->folder || mkdtemp(x->folder) == NULL) {
        int status = cli_fail("%s: cannot make the folder: %s", x->folder,
                              strerror(errno));
        x->folder[0] = '\0';
        return status;
    }
    cli_remember(x->folder);
    for (int i = 0; i < MATMUL_FILES; i++) {
        snprintf(x->paths[i], sizeof x->paths[i], "%s/%s", x->folder, names[i]);
        cli_remember(x->paths[i]);
    }
    int status = write_random(x->paths[0], x->operands.a, 1);
    return status == CLI_OK ? write_random(x->paths[1], x->operands.b, 2)
                            : status;
}

void matmul_files_remove(matmul *x)
{
    if (x->folder[0] == '\0') {
        return;
    }
    for (int i = 0; i < MATMUL_FILES; i++) {
        unlink(x->paths[i]);
        cli_forget();
    }
    rmdir(x->folder);
    cli_forget();
    x->folder[0] = '\0';
}

/* Make the system forget the file's pages. They have been written to the
 * disk. */
static int drop_pages(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    int error =
        file >= 0 ? posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) : errno;
    if (file >= 0) {
        close(file);
    }
    return error == 0 ? CLI_OK : cli_fail("%s: %s", path, strerror(error));
}

int matmul_files_run(matmul *x, matmul_entry *entry, double *seconds)
{
    int status = CLI_OK;
    for (int i = 0; i < 2 && status == CLI_OK; i++) {
        status = entry->kind == MATMUL_COLD ? drop_pages(x->paths[i]) : CLI_OK;
    }
    if (status != CLI_OK) {
        return status;
    }
    const cli_product product = {.a = x->paths[0],
                                 .b = x->paths[1],
                                 .output = x->paths[2],
                                 .alpha = hr_real(1.0),
                                 .type = x->number.c_type,
                                 .compute = x->number.compute,
                                 .quiet = true};
    cli_outcome outcome;
    status = cli_multiply(&entry->context, &product, &outcome);
    cli_signals_phase(CLI_AT_ONCE); /* more work follows */
    *seconds = outcome.seconds;
    cli_outcome_free(&outcome);
    return status;
}
