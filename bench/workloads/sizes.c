/* SPDX-License-Identifier: MIT */
/* headrace bench sizes: products of many sizes, each with every list that a
 * program could name, beside a CBLAS called directly and cuBLAS by hand. */
#include <stdlib.h>
#include <string.h>

#include "bench/workloads/turns.h"
#include "console/context.h"

typedef struct sizes {
    bench_turns turns;
    bench_setting all; /* auto's */
    char lists[4096];  /* the lists, when no option gives them */
} sizes;

/* ---- the lists */

static bool add_list(sizes *x, const char *list)
{
    const size_t used = strlen(x->lists);
    const size_t left = sizeof x->lists - used;
    return (size_t)snprintf(x->lists + used, left, "%s%s", used > 0 ? ";" : "",
                            list) < left;
}

/* An accelerator as lists name it, or the virtual ones of a device: "4xhost".
 */
typedef struct found {
    char item[64], device[48], name[128], backend[48];
    int parts; /* virtual ones; 0: it is none */
} found;

/* Whether one before it is as good, or just of the same backend. */
static bool is_known(const found *list, uint32_t i, bool as_good)
{
    bool known = false;
    for (uint32_t j = 0; j < i; j++) {
        known =
            known || (strcmp(list[j].backend, list[i].backend) == 0 &&
                      (!as_good || (list[j].parts == list[i].parts &&
                                    strcmp(list[j].name, list[i].name) == 0)));
    }
    return known;
}

/* Add the lists of a backend: all of it where there are several, and all with
 * the host. Paths are written out, since auto may have fewer than all. */
static bool add_backend(sizes *x, const found *list, uint32_t count,
                        uint32_t first, bool host)
{
    char all[512] = "", with[600];
    int members = 0;
    for (uint32_t i = first; i < count; i++) {
        if (strcmp(list[i].backend, list[first].backend) == 0) {
            const size_t used = strlen(all);
            snprintf(all + used, sizeof all - used, "%s%s",
                     members > 0 ? "," : "", list[i].item);
            members++;
        }
    }
    snprintf(with, sizeof with, "%s,host", all);
    return (members == 1 || add_list(x, all)) && (!host || add_list(x, with));
}

/* Find the lists of what auto has: the host, each accelerator of another name,
 * and each backend. */
static bool make_lists(sizes *x, const found *list, uint32_t count)
{
    bool good = true, host = false;
    for (uint32_t i = 0; i < count; i++) {
        host = host || strcmp(list[i].item, "host") == 0;
    }
    for (uint32_t i = 0; i < count && good; i++) {
        good = is_known(list, i, true) || add_list(x, list[i].item);
    }
    for (uint32_t i = 0; i < count && good; i++) {
        good = strcmp(list[i].item, "host") == 0 || is_known(list, i, false) ||
               add_backend(x, list, count, i, host);
    }
    return good;
}

/* Note an accelerator, unless it is another virtual one of the device before.
 */
static void note_accelerator(const hr_accelerator_info *info, found *list,
                             uint32_t *count)
{
    const char *const path = info->path;
    const int device = (int)strcspn(path, "#");
    found *f = *count > 0 ? &list[*count - 1] : NULL;
    if (f == NULL || f->parts == 0 || strlen(f->device) != (size_t)device ||
        strncmp(f->device, path, (size_t)device) != 0) {
        f = &list[(*count)++];
        snprintf(f->device, sizeof f->device, "%.*s", device, path);
        snprintf(f->item, sizeof f->item, "%s", f->device);
        snprintf(f->name, sizeof f->name, "%s", info->name);
        snprintf(f->backend, sizeof f->backend, "%.*s",
                 (int)strcspn(path, ":#"), path);
    }
    if (path[device] == '#') {
        snprintf(f->item, sizeof f->item, "%dx%s", ++f->parts, f->device);
    }
}

static int describe_all(sizes *x, const hr_context *context)
{
    const uint32_t count = hr_accelerator_count(context);
    uint32_t noted = 0;
    found *list = calloc(count, sizeof *list);
    bool good = list != NULL;
    for (uint32_t i = 0; i < count && good; i++) {
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        good = hr_accelerator_describe(context, i, &info) == HR_OK;
        note_accelerator(&info, list, &noted);
    }
    good = good && make_lists(x, list, noted);
    free(list);
    return good ? CLI_OK : cli_fail("too many accelerators");
}

static int find_lists(sizes *x)
{
    benchmark *bench = x->turns.bench;
    x->all = (bench_setting){.memory_limit = bench->o.memory_limit};
    snprintf(x->all.name, sizeof x->all.name, "auto");
    hr_context *context = NULL;
    int status = CLI_OK;
    if (bench->o.accelerators == NULL) {
        status = bench_context(&x->all, &context);
        if (status == CLI_OK) {
            status = describe_all(x, context);
        }
        hr_context_destroy(context);
        bench->o.accelerators = x->lists;
    }
    return status == CLI_OK ? bench_settings(bench, NULL) : status;
}

/* ---- the contestants */

/* All contexts must be created before the CBLAS is looked for: it is the one
 * that they load. bench_settings has done so. */
static bool add_contestants(sizes *x)
{
    bench_turns *t = &x->turns;
    if (bench_turns_add(t, BENCH_AUTO, "auto", &x->all) == NULL ||
        !bench_turns_add_lists(t)) {
        return false;
    }
    const bool cblas =
        bench_turns_wants(t, BENCH_WITH_CBLAS) && bench_cblas_find(&t->cblas);
    return (!cblas ||
            bench_turns_add(t, BENCH_CBLAS, t->cblas.name, NULL) != NULL) &&
           bench_turns_add_cublas(t);
}

static int64_t one_product(const bench_turns *t)
{
    (void)t;
    return 1;
}

/* ---- rows */

/* The time of auto over the best of the lists, or of all but auto. */
static double auto_over(const bench_turns *t, bool lists)
{
    const unsigned all = ~(1u << BENCH_AUTO);
    return t->contestants[0].times[t->problem].best /
           bench_turns_best(t, lists ? 1u << BENCH_LIST : all);
}

static void add_line(const bench_turns *t, const bench_contestant *c)
{
    bench_rows *rows = &t->bench->rows;
    if (c->kind == BENCH_AUTO) {
        bench_value(rows, "over_best_list", NULL, BENCH_RATIO,
                    auto_over(t, true));
        bench_value(rows, "over_best", NULL, BENCH_RATIO, auto_over(t, false));
    }
}

static void add_cells(const bench_turns *t)
{
    bench_rows *rows = &t->bench->rows;
    bench_value(rows, NULL, "over lists", BENCH_RATIO, auto_over(t, true));
    bench_value(rows, NULL, "over all", BENCH_RATIO, auto_over(t, false));
}

int bench_sizes(benchmark *bench)
{
    sizes *x = calloc(1, sizeof *x);
    if (x == NULL) {
        return cli_fail("out of memory");
    }
    x->turns = (bench_turns){.bench = bench,
                             .subject = "sizes",
                             .products = one_product,
                             .add_line = add_line,
                             .add_cells = add_cells,
                             .pinning_setting = &x->all};
    int status = find_lists(x);
    if (status == CLI_OK) {
        status = add_contestants(x) ? bench_turns_run(&x->turns)
                                    : cli_fail("out of memory");
    }
    bench_turns_close(&x->turns);
    free(x);
    return status;
}
