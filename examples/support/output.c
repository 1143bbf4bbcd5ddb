/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* realpath */
#include "output.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static _Atomic(const char *) unfinished; /* NULL: there is none */

static void remove_unfinished(int number)
{
    const char *temporary = unfinished;
    if (temporary != NULL) {
        unlink(temporary);
    }
    raise(number); /* again, to end the program this time */
}

static void watch(int number)
{
    struct sigaction now,
        then = {.sa_handler = remove_unfinished, .sa_flags = (int)SA_RESETHAND};
    if (sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_DFL) {
        sigaction(number, &then, NULL);
    }
}

static mode_t usual_mode(void)
{
    const mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* Errors are in errno. */
static FILE *open_temporary(output *o, mode_t mode)
{
    o->temporary = malloc(strlen(o->name) + sizeof ".XXXXXX");
    if (o->temporary == NULL) {
        return NULL;
    }
    strcat(strcpy(o->temporary, o->name), ".XXXXXX");
    watch(SIGINT);
    watch(SIGTERM);
    const int file = mkstemp(o->temporary);
    if (file < 0) {
        return NULL;
    }
    unfinished = o->temporary;
    fchmod(file, mode); /* some file systems have no permissions */
    FILE *stream = fdopen(file, "wb");
    if (stream == NULL) {
        close(file);
    }
    return stream;
}

static FILE *open_stream(output *o)
{
    struct stat there;
    if (stat(o->path, &there) != 0) {
        o->name = errno == ENOENT ? strdup(o->path) : NULL;
        return o->name != NULL ? open_temporary(o, usual_mode()) : NULL;
    }
    if (!S_ISREG(there.st_mode)) {
        return fopen(o->path, "wb");
    }
    /* A link stays a link, and a file without write permission is not
     * replaced. */
    o->name = realpath(o->path, NULL);
    return o->name != NULL && access(o->name, W_OK) == 0
               ? open_temporary(o, there.st_mode & 0777)
               : NULL;
}

bool output_open(const char *path, output *o)
{
    *o = (output){.path = path};
    o->stream = open_stream(o);
    return o->stream != NULL || output_close(o, false);
}

bool output_close(output *o, bool complete)
{
    int error = o->stream == NULL || ferror(o->stream) ? errno : 0;
    if (o->stream != NULL && fclose(o->stream) != 0 && error == 0) {
        error = errno;
    }
    complete = complete && error == 0;
    if (complete && o->name != NULL && rename(o->temporary, o->name) != 0) {
        error = errno;
        complete = false;
    }
    if (!complete && unfinished != NULL) {
        unlink(unfinished);
    }
    unfinished = NULL;
    if (error != 0) {
        fprintf(stderr, "%s: %s\n", o->path, strerror(error));
    }
    free(o->name);
    free(o->temporary);
    return complete;
}
