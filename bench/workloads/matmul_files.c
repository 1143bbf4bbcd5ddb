/* SPDX-License-Identifier: MIT */
/* Benchmarks from files, in a folder of their own under TMPDIR (/var/tmp, which
 * unlike /tmp is on a disk). */
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

static const char *const names[] = {"A.npy", "B.npy", "C.npy"};

enum { FILES = 3, PATH_BYTES = 600 };

static void make_path(const matmul *x, int index, char *path)
{
    snprintf(path, PATH_BYTES, "%s/%s", x->folder, names[index]);
}

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
    char path[FILES][PATH_BYTES];
    for (int i = 0; i < FILES; i++) {
        make_path(x, i, path[i]);
        cli_remember(path[i]);
    }
    int status = write_random(path[0], x->operands.a, 1);
    return status == CLI_OK ? write_random(path[1], x->operands.b, 2) : status;
}

void matmul_files_remove(matmul *x)
{
    if (x->folder[0] == '\0') {
        return;
    }
    for (int i = 0; i < FILES; i++) {
        char path[PATH_BYTES];
        make_path(x, i, path);
        unlink(path);
        cli_forget();
    }
    rmdir(x->folder);
    cli_forget();
    x->folder[0] = '\0';
}

/* Have the system forget the file's pages, which have been written to the disk.
 */
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
    char path[FILES][PATH_BYTES];
    int status = CLI_OK;
    for (int i = 0; i < FILES; i++) {
        make_path(x, i, path[i]);
        if (i < 2 && entry->kind == MATMUL_COLD && status == CLI_OK) {
            status = drop_pages(path[i]);
        }
    }
    if (status != CLI_OK) {
        return status;
    }
    cli_product product = {.a = path[0], .b = path[1], .output = path[2]};
    product.alpha = hr_real(1.0);
    product.type = x->number.c_type;
    product.compute = x->number.compute;
    product.quiet = true;
    cli_outcome outcome;
    status = cli_multiply(entry->context, &product, &outcome);
    cli_signals_phase(CLI_AT_ONCE); /* there is more to do */
    *seconds = outcome.seconds;
    cli_outcome_free(&outcome);
    return status;
}
