/* SPDX-License-Identifier: MIT */
#include "bench/values.h"

#include <string.h>

static const bench_number numbers[BENCH_NUMBERS_MAX] = {
    {"f32", HR_F32, HR_F32, HR_COMPUTE_NATIVE},
    {"f64", HR_F64, HR_F64, HR_COMPUTE_NATIVE},
    {"c32", HR_C32, HR_C32, HR_COMPUTE_NATIVE},
    {"c64", HR_C64, HR_C64, HR_COMPUTE_NATIVE},
    {"f16", HR_F16, HR_F32, HR_COMPUTE_NATIVE},
    {"bf16", HR_BF16, HR_F32, HR_COMPUTE_NATIVE},
    {"i8", HR_I8, HR_I32, HR_COMPUTE_NATIVE},
    {"tf32", HR_F32, HR_F32, HR_COMPUTE_TF32},
};

const bench_numbers bench_default_numbers = {
    {{"f32", HR_F32, HR_F32, HR_COMPUTE_NATIVE},
     {"f64", HR_F64, HR_F64, HR_COMPUTE_NATIVE}},
    2};

bool bench_is_default(const bench_numbers *n)
{
    bool same = n->count == bench_default_numbers.count;
    for (int i = 0; i < n->count && same; i++) {
        same = strcmp(n->list[i].name, bench_default_numbers.list[i].name) == 0;
    }
    return same;
}

bool bench_take_words(const char *text, bool (*take)(const char *, void *),
                      void *field)
{
    for (;;) {
        char word[96];
        size_t length = strcspn(text, ",");
        if (length == 0 || length >= sizeof word) {
            return false;
        }
        memcpy(word, text, length);
        word[length] = '\0';
        if (!take(word, field)) {
            return false;
        }
        if (text[length] == '\0') {
            return true;
        }
        text += length + 1;
    }
}

static bool take_number(const char *word, void *field)
{
    bench_numbers *list = field;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i].name != NULL && strcmp(numbers[i].name, word) == 0 &&
            list->count < BENCH_NUMBERS_MAX) {
            list->list[list->count++] = numbers[i];
            return true;
        }
    }
    return false;
}

static bool take_numbers(const char *text, void *field)
{
    ((bench_numbers *)field)->count = 0;
    return bench_take_words(text, take_number, field);
}

static bool take_size(const char *word, void *field)
{
    bench_problems *list = field;
    int64_t size;
    if (list->count == BENCH_PROBLEMS_MAX || !cli_count.take(word, &size) ||
        size > 1 << 19) {
        return false;
    }
    list->list[list->count++] = (cli_shape){{size, size, size}};
    return true;
}

static bool take_shape(const char *word, void *field)
{
    bench_problems *list = field;
    return list->count < BENCH_PROBLEMS_MAX &&
           cli_shape3.take(word, &list->list[list->count++]);
}

static bool take_sizes(const char *text, void *field)
{
    ((bench_problems *)field)->count = 0;
    return bench_take_words(text, take_size, field);
}

static bool take_shapes(const char *text, void *field)
{
    ((bench_problems *)field)->count = 0;
    return bench_take_words(text, take_shape, field);
}

static bool take_memory(const char *word, void *field)
{
    bench_memories *list = field;
    bool pinned = strcmp(word, "pinned") == 0;
    if (list->count == 2 || (!pinned && strcmp(word, "ordinary") != 0)) {
        return false;
    }
    list->pinned[list->count++] = pinned;
    return true;
}

static bool take_memories(const char *text, void *field)
{
    ((bench_memories *)field)->count = 0;
    return bench_take_words(text, take_memory, field);
}

static bool take_peer(const char *word, void *field)
{
    static const struct {
        const char *name;
        unsigned bit;
    } peers[] = {{"none", 0},
                 {"cblas", BENCH_WITH_CBLAS},
                 {"openblas", BENCH_WITH_OPENBLAS},
                 {"cublasxt", BENCH_WITH_CUBLASXT}};
    bench_peers_wish *wish = field;
    for (size_t i = 0; i < sizeof peers / sizeof peers[0]; i++) {
        if (strcmp(peers[i].name, word) == 0) {
            wish->given = true;
            wish->who |= peers[i].bit;
            return true;
        }
    }
    return false;
}

static bool take_peers(const char *text, void *field)
{
    *(bench_peers_wish *)field = (bench_peers_wish){.given = true};
    return bench_take_words(text, take_peer, field);
}

static bool take_repeats(const char *text, void *field)
{
    return cli_count.take(text, field) && *(int64_t *)field <= 10000;
}

static bool take_period(const char *text, void *field)
{
    uint64_t period;
    if (!cli_seed.take(text, &period) || period > 1000000000) {
        return false;
    }
    *(int64_t *)field = (int64_t)period;
    return true;
}

static bool take_steps(const char *text, void *field)
{
    return take_period(text, field) && *(int64_t *)field > 0;
}

const cli_kind bench_number_list = {
    take_numbers, "a list of types such as f32,tf32 (f32 f64 c32 c64 f16 bf16 "
                  "i8 tf32)"};
const cli_kind bench_sizes = {take_sizes,
                              "up to 32 whole numbers from 1 to 524288"};
const cli_kind bench_shapes = {take_shapes,
                               "up to 32 shapes such as 4096x512x1000"};
const cli_kind bench_memory_list = {take_memories,
                                    "ordinary, pinned or both, with a comma"};
const cli_kind bench_peers_list = {
    take_peers, "a list of cblas, openblas and cublasxt, or none"};
const cli_kind bench_repeats = {take_repeats, "a whole number from 1 to 10000"};
const cli_kind bench_steps = {take_steps, "a whole number from 1 to 10^9"};
const cli_kind bench_period = {take_period, "a whole number up to 10^9"};
