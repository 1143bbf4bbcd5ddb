/* SPDX-License-Identifier: MIT */
#include "bench/bench.h"

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

#define NUMBERS "f32 f64 c32 c64 f16 bf16 i8 tf32"

static bool take_number(const char *word, void *field)
{
    bench_numbers *list = field;
    const int found = cli_find_name(word, NUMBERS);
    if (found < 0 || list->count == BENCH_NUMBERS_MAX) {
        return false;
    }
    list->list[list->count++] = numbers[found];
    return true;
}

static bool take_size(const char *word, void *field)
{
    bench_problems *list = field;
    static const cli_kind sizes = {.least = 1, .most = 1 << 19};
    int64_t size;
    if (list->count == BENCH_PROBLEMS_MAX || !cli_take(&sizes, word, &size)) {
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

static bool take_memory(const char *word, void *field)
{
    bench_memories *list = field;
    const int found = cli_find_name(word, "ordinary pinned");
    if (list->count == 2 || found < 0) {
        return false;
    }
    list->pinned[list->count++] = found == 1;
    return true;
}

static bool take_peer(const char *word, void *field)
{
    bench_peers_wish *wish = field;
    const int found =
        cli_find_name(word, "cblas openblas cublasxt cublas none");
    wish->given = true;
    wish->peers |= found >= 0 && found < 4 ? 1u << found : 0; /* BENCH_WITH_ */
    return found >= 0;
}

const cli_kind bench_number_list = {
    .take = take_number,
    .wants = "a list of types such as f32,tf32 (" NUMBERS ")",
    .list_bytes = sizeof(bench_numbers)};
const cli_kind bench_size_list = {
    .take = take_size,
    .wants = "a list of up to 32 sizes from 1 to 524288",
    .list_bytes = sizeof(bench_problems)};
const cli_kind bench_shapes = {.take = take_shape,
                               .wants = "up to 32 shapes such as 4096x512x1000",
                               .list_bytes = sizeof(bench_problems)};
const cli_kind bench_memory_list = {
    .take = take_memory,
    .wants = "ordinary or pinned, or both as ordinary,pinned",
    .list_bytes = sizeof(bench_memories)};
const cli_kind bench_peers_list = {
    .take = take_peer,
    .wants = "a list of cblas, openblas, cublasxt and cublas, or none",
    .list_bytes = sizeof(bench_peers_wish)};
const cli_kind bench_repeats = {
    .wants = "a whole number from 1 to 10000", .least = 1, .most = 10000};
const cli_kind bench_steps = {
    .wants = "a whole number from 1 to 10^9", .least = 1, .most = 1000000000};
const cli_kind bench_period = {
    .wants = "a whole number up to 10^9", .least = 0, .most = 1000000000};
