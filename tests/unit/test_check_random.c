/* SPDX-License-Identifier: MIT */
/* The checker on the accelerators of argv[1] against a model, with argv[2]
 * random programs: it finds each kind of fault that there is, and no other. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "base/status.h"
#include "support/check_model.h"
#include "support/random.h"
#include "test.h"

extern const hr_kernel uses_in_tiles, uses_in_rows;

enum { PARAMETERS = 11, WAYS = 3, MAX_ACCELERATORS = 3 };

/* ---- random programs */

static int choose_how(random_source *r, model_view view, bool copied)
{
    const int64_t n = random_between(r, 0, 99);
    if (view == MODEL_IN) {
        return n < 97 ? MODEL_READ : MODEL_WRITE;
    }
    if (n < 60) {
        return n < 40 ? MODEL_WRITE : MODEL_READ;
    }
    if (view == MODEL_OUT_SHORT) {
        return n < 80 ? MODEL_MAX : MODEL_MIN;
    }
    if (copied) { /* copies have other values, so all must change them */
        return n < 70 ? MODEL_ADD : MODEL_ATOMIC_ADD;
    }
    return (int)random_between(r, MODEL_ADD, MODEL_ATOMIC_MAX);
}

static model_use make_use(random_source *r, const model_program *p, int number)
{
    const bool between = p->rows != MODEL_OWN && random_between(r, 0, 9) == 0;
    const int tiles = (p->items - 1) / p->tile + 1;
    const int item = (int)random_between(r, 0, p->items - 1);
    const int64_t near = random_between(r, 0, 99);
    model_use u = {
        .block = (int)random_between(r, 0, p->blocks - 1),
        .item = between ? -1 - (int)random_between(r, 0, tiles - 1) : item,
        .view = (int)random_between(r, 0, MODEL_VIEWS - 1),
        /* sums of few of them and single ones are different */
        .value = 1000 + number * 97 + (int)random_between(r, 0, 15) * 1237};
    u.how = choose_how(r, (model_view)u.view, p->rows != MODEL_ANY);
    u.x = near < 60   ? item
          : near < 80 ? (int)random_between(r, 0, p->items - 1)
          : near < 99 ? item + (int)random_between(r, -2, 2)
                      : p->items + 3;
    return u;
}

/* Let the item keep to the rules: it has elements of its own, and writes an OUT
 * one first. Of all items' uses only reads and atomics remain. */
static void tame_use(const model_program *p, int number, model_use *u)
{
    bool first = true;
    for (int k = 0; k < number; k++) {
        first =
            first && (p->uses[k].view != u->view || p->uses[k].x != u->item);
    }
    if (u->item < 0) {
        u->view = MODEL_IN;
    }
    if (u->view == MODEL_IN) {
        u->how = MODEL_READ;
    }
    if (u->view >= MODEL_OUT && first) {
        u->how = MODEL_WRITE;
        u->block = 0;
    }
    u->x = u->item < 0 ? (-1 - u->item) * p->tile : u->item;
}

/* Let many items use two elements of a view, in each block in about the same
 * way: one item writes, or all read, or all are atomic. */
static void crowd_uses(random_source *r, model_program *p)
{
    static const int hows[] = {MODEL_WRITE, MODEL_READ, MODEL_ATOMIC_ADD};
    int64_t how[MODEL_BLOCKS], item[MODEL_BLOCKS];
    for (int b = 0; b < MODEL_BLOCKS; b++) {
        how[b] = random_between(r, 0, 2);
        item[b] = random_between(r, 0, p->items - 1);
    }
    for (int k = 0; k < p->count; k++) {
        model_use *u = &p->uses[k];
        const bool other = random_between(r, 0, 19) == 0;
        u->how = hows[other ? random_between(r, 0, 2) : how[u->block]];
        u->item = u->how == MODEL_WRITE ? (int)item[u->block] : u->item;
        u->view = MODEL_INOUT;
        u->x = (int)random_between(r, 0, 1) % p->items;
    }
}

static model_program make_program(random_source *r)
{
    model_program p = {.items = (int)random_between(r, 1, MODEL_ITEMS),
                       .tile = (int)random_between(r, 1, 6),
                       .blocks = (int)random_between(r, 1, MODEL_BLOCKS),
                       .count = (int)random_between(r, 1, MODEL_USES),
                       .barriers =
                           (int)random_between(r, 0, (1 << MODEL_BLOCKS) - 1),
                       .rows = (model_rows)random_between(r, 0, 2),
                       .before = (int)random_between(r, 0, 2),
                       .after = (int)random_between(r, 0, 2)};
    if (p.rows == MODEL_OWN) {
        p.tile = p.items;
        p.barriers = 0;
    }
    const int64_t wild = random_between(r, -MODEL_USES, 2 * MODEL_USES);
    for (int k = 0; k < p.count; k++) {
        p.uses[k] = make_use(r, &p, k);
        if (wild < MODEL_USES && k != wild) { /* all are tame, or all but one */
            tame_use(&p, k, &p.uses[k]);
        }
    }
    if (random_between(r, 0, 3) == 0) {
        crowd_uses(r, &p);
    }
    return p;
}

/* ---- launches */

static int in[MODEL_ITEMS], inout[MODEL_ITEMS], out[MODEL_ITEMS];
static double out_double[MODEL_ITEMS], result[MODEL_ITEMS];
static short out_short[MODEL_ITEMS];

static bool goes_on(void *data, double done, double total)
{
    (void)data;
    (void)done;
    (void)total;
    return true;
}

static void make_arguments(const model_program *p, hr_argument *a)
{
    const hr_extent extent = hr_extent1(p->items);
    const hr_argument arguments[PARAMETERS] = {
        hr_in_data(p->uses, NULL, sizeof *p->uses, hr_extent1(p->count), 0),
        hr_value_typed(&p->count, "int", sizeof p->count),
        hr_value_typed(&p->blocks, "int", sizeof p->blocks),
        hr_value_typed(&p->barriers, "int", sizeof p->barriers),
        hr_near(hr_in_data(in, "int", sizeof *in, extent, 0), p->before,
                p->after),
        hr_combined(hr_inout_data(inout, "int", sizeof *inout, extent, 0),
                    HR_COMBINE_SUM),
        hr_out_data(out, "int", sizeof *out, extent, 0),
        hr_out_data(out_double, "double", sizeof *out_double, extent, 0),
        hr_out_data(out_short, "short", sizeof *out_short, extent, 0),
        hr_out_data(result, "double", sizeof *result, extent, 0),
        hr_tile_bytes(sizeof(int))};
    memcpy(a, arguments, sizeof arguments);
}

/* Arrays around the memory of views. */
static hr_status wrap_arguments(hr_context *context, hr_argument *a,
                                hr_array *arrays[PARAMETERS])
{
    for (int i = 0; i < PARAMETERS; i++) {
        if (a[i].kind == HR_PARAMETER_VIEW) {
            HRI_TRY(hr_array_wrap_typed(context, (void *)(uintptr_t)a[i].value,
                                        a[i].view.type, a[i].view.element_bytes,
                                        a[i].view.extent, 0, &arrays[i]));
            a[i] = a[i].access == HR_IN    ? hr_in(hr_view_of(arrays[i]))
                   : a[i].access == HR_OUT ? hr_out(hr_view_of(arrays[i]))
                                           : hr_inout(hr_view_of(arrays[i]));
        }
    }
    return HR_OK;
}

static hr_status launch_program(hr_context *context, const model_program *p,
                                hr_argument *a)
{
    hr_array *arrays[PARAMETERS] = {NULL};
    const hr_extent tile = hr_extent1(p->tile);
    hr_queue *queue = NULL;
    HRI_TRY(hr_queue_default(context, 0, &queue));
    hr_status status = wrap_arguments(context, a, arrays);
    if (status == HR_OK) {
        status = hr_launch(queue, &uses_in_tiles, hr_extent1(p->items), &tile,
                           a, PARAMETERS);
    }
    for (int i = 0; i < PARAMETERS; i++) {
        hr_array_destroy(arrays[i]);
    }
    return status;
}

/* hr_run: as the library chooses, on all accelerators, or in pieces. */
static hr_status run_program(hr_context *context, const model_program *p,
                             const hr_argument *a, int64_t way)
{
    static const double weights[MAX_ACCELERATORS] = {1, 1, 1};
    const hr_extent tile = hr_extent1(p->tile);
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    options.weights = way == 1 ? weights : NULL;
    options.progress = way == 2 ? goes_on : NULL;
    options.tile = p->rows == MODEL_OF_TILE ? &tile : NULL;
    return hr_run(context,
                  p->rows == MODEL_OF_TILE ? &uses_in_tiles : &uses_in_rows,
                  hr_extent1(p->items), a, PARAMETERS, &options);
}

/* ---- what was found */

static unsigned kind_of(const char *sentence)
{
    static const struct {
        const char *words;
        unsigned kind;
    } kinds[] = {{", outside its extent", MODEL_OUTSIDE},
                 {", but hr_near", MODEL_FAR},
                 {", but is given", MODEL_FAR},
                 {", but a point", MODEL_FAR},
                 {", which is IN", MODEL_CONST},
                 {"no value yet", MODEL_UNSET},
                 {"depends on", MODEL_UNSET},
                 {", which ", MODEL_CONFLICT},
                 {"every item of tile", MODEL_UNIFORM}};
    size_t i = 0;
    while (i + 1 < sizeof kinds / sizeof kinds[0] &&
           strstr(sentence, kinds[i].words) == NULL) {
        i++;
    }
    return kinds[i].kind;
}

static unsigned found_by(hr_context *context)
{
    unsigned found = 0;
    for (size_t i = 0; i < hr_check_count(context); i++) {
        found |= kind_of(hr_check_finding(context, i));
    }
    return found;
}

static void print_program(hr_context *context, const model_program *p,
                          model_findings want, unsigned found)
{
    static const char *const hows[] = {
        "reads",      "writes",        "adds to",          "maximum in",
        "minimum in", "atomic add to", "atomic maximum in"};
    printf("  %d items, tile %d, blocks %d, barriers %x, rows %d, near %d %d\n",
           p->items, p->tile, p->blocks, (unsigned)p->barriers, (int)p->rows,
           p->before, p->after);
    for (int k = 0; k < p->count; k++) {
        const model_use *u = &p->uses[k];
        printf("  block %d: %d %s %c[%d]: %d\n", u->block, u->item,
               hows[u->how], "abcde"[u->view], u -> x, u -> value);
    }
    printf("  must %x, may %x, found %x\n", want.must, want.may, found);
    for (size_t i = 0; i < hr_check_count(context); i++) {
        printf("  %s\n", hr_check_finding(context, i));
    }
}

/* One case. A context that has found something does not tell it again, so it is
 * destroyed. */
static bool try_program(hr_context **context, const char *accelerators,
                        uint64_t seed)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    random_source r = {seed};
    const model_program p = make_program(&r);
    const model_findings want = model_check(&p);
    hr_argument arguments[PARAMETERS];
    options.accelerators = accelerators;
    for (int x = 0; x < MODEL_ITEMS; x++) {
        in[x] = inout[x] = -1 - x;
    }
    make_arguments(&p, arguments);
    const int64_t way = random_between(&r, 0, WAYS - 1);
    if (*context == NULL &&
        !CHECK(hr_context_create(&options, context) == HR_OK)) {
        return false;
    }
    const hr_status status = p.rows == MODEL_ANY
                                 ? launch_program(*context, &p, arguments)
                                 : run_program(*context, &p, arguments, way);
    const unsigned found = found_by(*context);
    const bool ok = CHECK(status == (found != 0 ? HR_ERROR_INVALID : HR_OK)) &&
                    CHECK((want.must & ~found) == 0) &&
                    CHECK((found & ~want.may) == 0);
    if (!ok) {
        printf("seed %llu, way %d: %s\n", (unsigned long long)seed, (int)way,
               status != HR_OK ? hr_last_error() : "");
        print_program(*context, &p, want, found);
    }
    if (found != 0 || !ok) {
        hr_context_destroy(*context);
        *context = NULL;
    }
    return found != 0;
}

static void try_programs(const char *accelerators, long count)
{
    hr_context *context = NULL;
    uint64_t seed = 0;
    long faulty = 0;
    TEST_CASE("random programs");
    if (test_seed(&seed)) {
        (void)try_program(&context, accelerators, seed);
    } else {
        for (; seed < (uint64_t)count && test_state.failures < 20; seed++) {
            faulty += try_program(&context, accelerators, seed);
        }
        CHECK(faulty > count / 4 && faulty < count - count / 4);
        test_note("%ld of %ld programs are faulty\n", faulty, count);
    }
    hr_context_destroy(context);
}

int main(int argc, char **argv)
{
    const char *accelerators = argc > 1 ? argv[1] : "host";
    CHECK(setenv("HEADRACE_CHECK", "1", 1) == 0);
    TEST(try_programs(accelerators, argc > 2 ? atol(argv[2]) : 1000));
    return test_end();
}
