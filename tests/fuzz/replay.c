/* SPDX-License-Identifier: MIT */
/* Drives a fuzzer without libFuzzer: replay FOLDER MUTATIONS runs it on every
 * file of the folder, then on so many mutations of them, always the same. */
#include "fuzz.h"

#include <dirent.h>
#include <stdbool.h>
#include <string.h>

#include "support/files.h"
#include "support/random.h"

enum { FILES = 256, MAX_MUTATED_BYTES = 4096, MAX_GROWTH = 64 };

typedef struct input {
    uint8_t *bytes;
    size_t size;
} input;

static input inputs[FILES];

static void must_hold(bool ok, const char *what)
{
    if (!ok) {
        perror(what);
        exit(1);
    }
}

/* Run on a block of exactly its size, so that ASan sees a read beyond. */
static void run_input(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    must_hold(copy != NULL, "malloc");
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

/* Read and run the folder's files, in the order of their names. */
static size_t run_folder(const char *folder)
{
    struct dirent **entries;
    size_t used = 0;
    int count = scandir(folder, &entries, NULL, alphasort);
    must_hold(count >= 0, folder);
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && used < FILES) {
            input *in = &inputs[used++];
            in->bytes = (uint8_t *)files_read(path, &in->size);
            must_hold(in->bytes != NULL, path);
            run_input(in->bytes, in->size);
        }
        free(entries[i]);
    }
    free(entries);
    return used;
}

static size_t random_below(random_source *random, size_t limit)
{
    return limit > 0 ? (size_t)random_between(random, 0, (int64_t)limit - 1)
                     : 0;
}

/* Write a part of the bytes over another. */
static size_t copy_part(random_source *random, uint8_t *bytes, size_t size)
{
    size_t from = random_below(random, size + 1);
    size_t to = random_below(random, size + 1);
    size_t most = size - (from > to ? from : to);
    size_t count = random_below(random, most < 16 ? most + 1 : 17);
    memmove(bytes + to, bytes + from, count);
    return size;
}

static size_t insert_part(random_source *random, uint8_t *bytes, size_t size)
{
    size_t at = random_below(random, size + 1);
    size_t from = random_below(random, size + 1);
    size_t count = random_below(random, size - from < 8 ? size - from + 1 : 9);
    uint8_t part[8];
    memcpy(part, bytes + from, count);
    memmove(bytes + at + count, bytes + at, size - at);
    memcpy(bytes + at, part, count);
    return size + count;
}

static size_t recopy_part(random_source *random, uint8_t *bytes, size_t size)
{
    size_t at = random_below(random, size + 1);
    size_t count = random_below(random, size - at < 8 ? size - at + 1 : 9);
    memmove(bytes + at, bytes + at + count, size - at - count);
    return size - count;
}

/* One change in place, out of those that parsers stumble over. */
static size_t change_byte(random_source *random, uint8_t *bytes, size_t size)
{
    static const char telling[] = "0123456789-,:'\"(){}[]<>|=\\ \n\tLTFu";
    if (size > 0) {
        size_t at = random_below(random, size);
        switch (random_below(random, 3)) {
        case 0:
            bytes[at] ^= (uint8_t)(1u << random_below(random, 8));
            break;
        case 1:
            bytes[at] = (uint8_t)telling[random_below(random, sizeof telling)];
            break;
        default:
            bytes[at] = (uint8_t)random_below(random, 256);
        }
    }
    return size;
}

static void run_mutation(random_source *random, size_t count)
{
    static size_t (*const mutations[])(random_source *, uint8_t *, size_t) = {
        change_byte, change_byte, copy_part, insert_part, recopy_part};
    uint8_t bytes[MAX_MUTATED_BYTES + MAX_GROWTH];
    const input *in = &inputs[random_below(random, count)];
    size_t size = in->size < MAX_MUTATED_BYTES ? in->size : MAX_MUTATED_BYTES;
    memcpy(bytes, in->bytes, size);
    size_t changes = 1 + random_below(random, 4);
    for (size_t i = 0; i < changes; i++) {
        size = mutations[random_below(random, 5)](random, bytes, size);
    }
    run_input(bytes, size);
}

int main(int argc, char **argv)
{
    random_source random = {1};
    must_hold(argc == 3, "usage: replay FOLDER MUTATIONS");
    size_t count = run_folder(argv[1]);
    must_hold(count > 0, "no file in the folder");
    long mutations = strtol(argv[2], NULL, 10);
    for (long i = 0; i < mutations; i++) {
        run_mutation(&random, count);
    }
    for (size_t i = 0; i < count; i++) {
        free(inputs[i].bytes);
    }
    printf("%zu files, %ld mutations: all promises kept\n", count, mutations);
    return 0;
}
