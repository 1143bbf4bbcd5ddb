/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */
#include "support/files.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_CHILDREN = 32 };

void files_must(bool ok, const char *what)
{
    if (!ok) {
        perror(what);
        exit(1);
    }
}

void files_make_folder(char *path, size_t bytes)
{
    snprintf(path, bytes, "/tmp/headrace-test-XXXXXX");
    files_must(mkdtemp(path) != NULL, "mkdtemp");
}

void files_make_cache(char *path, size_t bytes)
{
    files_make_folder(path, bytes);
    setenv("HEADRACE_CACHE", path, 1);
    unsetenv("HEADRACE_ACCELERATORS");
    unsetenv("HEADRACE_MEMORY_LIMIT");
}

void files_remove_folder(const char *path)
{
    char command[256];
    snprintf(command, sizeof command, "chmod -R u+rwx %s && rm -r %s", path,
             path);
    if (system(command) != 0) {
        fprintf(stderr, "%s stays\n", path);
    }
}

int files_count(const char *folder, char *last, size_t bytes)
{
    int count = 0;
    const struct dirent *entry;
    DIR *d = opendir(folder);
    while (d != NULL && (entry = readdir(d)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0) {
            count++;
            if (last != NULL) {
                snprintf(last, bytes, "%s/%s", folder, entry->d_name);
            }
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    return count;
}

char *files_read(const char *path, size_t *bytes)
{
    enum { CHUNK = 4096 };
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t got = 0, chunk = CHUNK;
    while (file != NULL && chunk == CHUNK) { /* files of /proc tell no size */
        text = realloc(text, got + CHUNK + 1);
        chunk = fread(text + got, 1, CHUNK, file);
        got += chunk;
    }
    if (file != NULL) {
        text[got] = '\0';
        *bytes = got;
        fclose(file);
    }
    return text;
}

bool files_write(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return false;
    }
    bool written = fwrite(bytes, 1, count, file) == count;
    return fclose(file) == 0 && written;
}

/* musl-gcc does not find the kernel's headers, which have these numbers. */
void files_heed_permissions(bool heed)
{
    enum { VERSION = 0x20080522, DAC_OVERRIDE = 1, DAC_READ_SEARCH = 2 };
    struct {
        uint32_t version;
        int process;
    } header = {VERSION, 0};
    struct {
        uint32_t effective, permitted, inheritable;
    } sets[2];
    const uint32_t rights = 1u << DAC_OVERRIDE | 1u << DAC_READ_SEARCH;
    bool done = syscall(SYS_capget, &header, sets) == 0;
    sets[0].effective = heed ? sets[0].effective & ~rights
                             : sets[0].effective | (sets[0].permitted & rights);
    done = done && syscall(SYS_capset, &header, sets) == 0;
    files_must(done, "capset");
}

int files_in_children(int count, int (*function)(int number))
{
    pid_t children[MAX_CHILDREN];
    int sum = 0;
    fflush(NULL);
    for (int i = 0; i < count && i < MAX_CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            exit(function(i));
        }
    }
    for (int i = 0; i < count && i < MAX_CHILDREN; i++) {
        int status = 0;
        bool ended = children[i] > 0 && waitpid(children[i], &status, 0) > 0 &&
                     WIFEXITED(status);
        sum += ended ? WEXITSTATUS(status) : 100;
    }
    return sum;
}
