/* SPDX-License-Identifier: MIT */
#include "whole.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "args.h"
#include "base/draft.h"
#include "base/kind.h"
#include "signals.h"
#include "standard.h"
#include "text.h"

/* ---- reading */

typedef struct input {
    const char *name; /* in messages */
    char *text;
    size_t bytes, max_bytes;
} input;

static int fail_input(const input *in, const char *what)
{
    return cli_fail("%s: %s: %s", in->name, what, strerror(errno));
}

/* Make room for more text. */
static int grow(input *in, size_t *capacity)
{
    *capacity = 2 * *capacity;
    char *larger = realloc(in->text, *capacity + 1);
    if (larger == NULL) {
        return cli_fail("%s: out of memory", in->name);
    }
    in->text = larger;
    return CLI_OK;
}

static int read_all(input *in, int file)
{
    size_t capacity = 1 << 16;
    HRI_TRY(grow(in, &capacity));
    for (;;) {
        const ssize_t count =
            read(file, in->text + in->bytes, capacity - in->bytes);
        if (count < 0 && errno != EINTR) {
            return fail_input(in, "it cannot be read");
        }
        if (count == 0) {
            in->text[in->bytes] = '\0';
            return CLI_OK;
        }
        in->bytes += count > 0 ? (size_t)count : 0;
        if (in->bytes > in->max_bytes) {
            return cli_fail("%s: it has more than %s, which is too much",
                            in->name, hri_bytes_text(in->max_bytes).text);
        }
        if (in->bytes == capacity) {
            HRI_TRY(grow(in, &capacity));
        }
    }
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int read_open(input *in, int file)
{
    struct stat before, after;
    if (fstat(file, &before) != 0) {
        return fail_input(in, "it cannot be read");
    }
    if (!S_ISREG(before.st_mode)) {
        return cli_fail("%s: it is %s, not an ordinary file", in->name,
                        hri_kind_of(before.st_mode));
    }
    HRI_TRY(read_all(in, file));
    return fstat(file, &after) == 0 && is_same(&before, &after)
               ? CLI_OK
               : cli_fail("%s: it changed while it was read: a program still "
                          "writes it",
                          in->name);
}

/* Opening a pipe would wait for a writer without O_NONBLOCK. */
static int read_file(input *in)
{
    const int file =
        open(in->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) {
        return fail_input(in, "it cannot be opened");
    }
    const int status = read_open(in, file);
    close(file);
    return status;
}

int cli_whole_read(const char *path, size_t max_bytes, char **text,
                   size_t *bytes)
{
    const bool standard = cli_is_standard(path);
    input in = {.name = standard ? "standard input" : path,
                .max_bytes = max_bytes};
    const int status = standard ? read_all(&in, STDIN_FILENO) : read_file(&in);
    *text = in.text;
    *bytes = in.bytes;
    return status;
}

/* ---- writing */

static int fail(const cli_whole *w, const char *what, int error)
{
    return cli_fail("%s: %s: %s",
                    cli_is_standard(w->path) ? "standard output" : w->path,
                    what, strerror(error));
}

/* Create a file on its way to standard output. Nobody else may read it. Returns
 * an error number, or 0. */
static int create_for_standard(cli_whole *w, int *fd)
{
    char name[PATH_MAX];
    cli_standard_name(w->path, name);
    w->temporary = strdup(name);
    *fd = w->temporary == NULL
              ? -1
              : open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return *fd < 0 ? errno : 0;
}

static int create(cli_whole *w)
{
    int fd = -1;
    const int error =
        cli_is_standard(w->path)
            ? create_for_standard(w, &fd)
            : hri_draft_replace(w->path, &fd, &w->temporary, &w->target);
    if (error != 0) {
        free(w->temporary);
        w->temporary = NULL;
        return fail(w, "it cannot be made", error);
    }
    w->out = fdopen(fd, "w");
    if (w->out == NULL) {
        const int status = fail(w, "it cannot be made", errno);
        close(fd);
        return status;
    }
    return CLI_OK;
}

int cli_whole_create(cli_whole *w, const char *path)
{
    *w = (cli_whole){.path = path};
    cli_signals_phase(CLI_HELD);
    int status = create(w);
    if (w->temporary != NULL && !cli_remember(w->temporary)) {
        status = fail(w, "it cannot be made", ENAMETOOLONG);
    }
    cli_signals_phase(CLI_AT_ONCE);
    HRI_TRY(status);
    return cli_check_cancelled();
}

int cli_whole_commit(cli_whole *w)
{
    if (fflush(w->out) != 0 || ferror(w->out) || fsync(fileno(w->out)) != 0) {
        return fail(w, "it cannot be written", errno);
    }
    if (cli_is_standard(w->path)) {
        return cli_standard_send(w->temporary);
    }
    cli_signals_phase(CLI_COMMITTING);
    if (rename(w->temporary, w->target) != 0) {
        return fail(w, "it cannot be given its name", errno);
    }
    free(w->temporary);
    w->temporary = NULL;
    cli_forget();
    return CLI_OK;
}

void cli_whole_close(cli_whole *w)
{
    if (w->out != NULL) {
        fclose(w->out);
    }
    if (w->temporary != NULL) {
        unlink(w->temporary);
        cli_forget();
    }
    free(w->temporary);
    free(w->target);
}
