/* SPDX-License-Identifier: MIT */
#include "support/check_model.h"

#include <math.h>
#include <string.h>

/* What an item does with an element from one block's begin to its end. */
typedef struct access {
    int tile, phase, item, view, x; /* item -1: all items of the tile */
    bool plain, atomic, changed;
    double before;
} access;

enum { MAX_ACCESSES = MODEL_USES };

/* A run in which elements without a value hold the number `poison`. All that
 * kernels do with numbers is monotonic. So a result depends on such an element
 * if it differs between a very low and a very high number. */
typedef struct run {
    const model_program *program;
    double of[MODEL_VIEWS][MODEL_ITEMS];
    bool set[MODEL_VIEWS][MODEL_ITEMS]; /* it has a value */
    bool written[MODEL_VIEWS][MODEL_ITEMS];
    double sums[MODEL_ITEMS], all[MODEL_ITEMS]; /* of items, of tiles */
    access accesses[MAX_ACCESSES];
    int count, first; /* accesses; the first of what runs now */
    unsigned found, maybe;
} run;

static access *find_access(run *r, int tile, int phase, int item,
                           const model_use *u)
{
    int i = r->first;
    while (i < r->count &&
           (r->accesses[i].view != u->view || r->accesses[i].x != u->x)) {
        i++;
    }
    if (i == r->count) {
        r->accesses[r->count++] = (access){.tile = tile,
                                           .phase = phase,
                                           .item = item,
                                           .view = u->view,
                                           .x = u->x,
                                           .before = r->of[u->view][u->x]};
    }
    return &r->accesses[i];
}

/* Note the rules that the access breaks by itself. False: the element is not
 * there. */
static bool judge_use(run *r, int row, int rows, const model_use *u)
{
    const model_program *p = r->program;
    const bool near = u->view == MODEL_IN;
    if (u->x < 0 || u->x >= p->items) {
        r->found |= MODEL_OUTSIDE;
        return false;
    }
    if (p->rows != MODEL_ANY && u->view != MODEL_INOUT &&
        (u->x < row - (near ? p->before : 0) ||
         u->x >= row + rows + (near ? p->after : 0))) {
        r->found |= MODEL_FAR;
    }
    if (u->view == MODEL_IN && u->how != MODEL_READ) {
        r->found |= MODEL_CONST;
    }
    if (u->view >= MODEL_OUT && u->how != MODEL_WRITE &&
        !r->set[u->view][u->x]) {
        r->found |= MODEL_UNSET;
    }
    return true;
}

static void carry_out(run *r, const model_use *u, double *sum)
{
    double *x = &r->of[u->view][u->x];
    if (u->how == MODEL_READ) {
        *sum += *x;
        return;
    }
    *x = u->how == MODEL_WRITE                               ? u->value
         : u->how == MODEL_ADD || u->how == MODEL_ATOMIC_ADD ? *x + u->value
         : u->how == MODEL_MIN ? fmin(*x, u->value)
                               : fmax(*x, u->value);
    r->set[u->view][u->x] = r->set[u->view][u->x] || u->how == MODEL_WRITE;
    r->written[u->view][u->x] = true;
}

/* Run what an item does in a block, or, with item -1 - tile, what all items do
 * before it. */
static void run_item(run *r, int tile, int phase, int block, int item)
{
    const model_program *p = r->program;
    const bool all = item < 0;
    const int row = p->rows == MODEL_OWN ? item : tile * p->tile;
    const int rows = p->rows == MODEL_OWN ? 1 : p->tile;
    r->first = r->count;
    for (int k = 0; k < p->count; k++) {
        const model_use *u = &p->uses[k];
        if (u->block != block || u->item != item ||
            !judge_use(r, row, rows, u)) {
            continue;
        }
        access *a = find_access(r, tile, phase,
                                !all          ? item
                                : p->tile > 1 ? -1
                                              : tile,
                                u);
        a->plain = a->plain || u->how < MODEL_ATOMIC_ADD;
        a->atomic = a->atomic || u->how >= MODEL_ATOMIC_ADD;
        carry_out(r, u, all ? &r->all[tile] : &r->sums[item]);
    }
    for (int i = r->first; i < r->count; i++) {
        access *a = &r->accesses[i];
        a->changed = a->plain && r->of[a->view][a->x] != a->before;
        if (a->changed && a->item < 0 && a->view != MODEL_IN) {
            *(a->atomic ? &r->maybe : &r->found) |= MODEL_UNIFORM;
        }
    }
}

/* Whether the accesses of two items meet. */
static bool is_conflict(const access *a, const access *b)
{
    const bool two =
        a->tile != b->tile || (a->phase == b->phase && a->item != b->item);
    const bool mixed = (a->plain && b->atomic) || (a->atomic && b->plain);
    const bool all = a->tile == b->tile && a->phase == b->phase &&
                     a->item < 0 && b->item < 0;
    return a->view == b->view && a->x == b->x && a->view != MODEL_IN &&
           ((two &&
             (mixed || (a->plain && b->plain && (a->changed || b->changed)))) ||
            (all && mixed));
}

static void find_conflicts(run *r)
{
    for (int i = 0; i < r->count; i++) {
        for (int j = 0; j <= i; j++) {
            if (is_conflict(&r->accesses[i], &r->accesses[j])) {
                r->found |= MODEL_CONFLICT;
            }
        }
    }
}

static void run_program(run *r, const model_program *p, double poison)
{
    memset(r, 0, sizeof *r);
    r->program = p;
    for (int v = 0; v < MODEL_VIEWS; v++) {
        for (int x = 0; x < MODEL_ITEMS; x++) {
            r->of[v][x] = v >= MODEL_OUT ? poison : -1 - x;
        }
    }
    for (int tile = 0; tile * p->tile < p->items; tile++) {
        for (int block = 0, phase = 0; block < p->blocks; block++) {
            run_item(r, tile, phase, block, -1 - tile);
            for (int i = tile * p->tile;
                 i < (tile + 1) * p->tile && i < p->items; i++) {
                run_item(r, tile, phase, block, i);
            }
            phase += p->barriers >> block & 1;
        }
    }
    find_conflicts(r);
}

static bool do_differ(const run *a, const run *b)
{
    bool any = memcmp(a->sums, b->sums, sizeof a->sums) != 0 ||
               memcmp(a->all, b->all, sizeof a->all) != 0;
    for (int v = MODEL_INOUT; v < MODEL_VIEWS; v++) {
        for (int x = 0; x < MODEL_ITEMS; x++) {
            any = any || (a->written[v][x] && a->of[v][x] != b->of[v][x]);
        }
    }
    return any;
}

/* Where accesses go elsewhere, or values are none, others may be found. */
model_findings model_check(const model_program *program)
{
    run least, most;
    run_program(&least, program, -1e12);
    run_program(&most, program, 1e12);
    model_findings f = {.must = least.found,
                        .may = least.found | most.found | least.maybe |
                               most.maybe};
    if (!do_differ(&least, &most)) {
        f.must &= ~(unsigned)MODEL_UNSET;
    }
    if ((f.must & (MODEL_OUTSIDE | MODEL_FAR)) != 0) {
        f.must &= MODEL_OUTSIDE | MODEL_FAR;
    }
    if ((f.may & (MODEL_OUTSIDE | MODEL_FAR | MODEL_UNSET)) != 0) {
        f.may |= MODEL_UNSET | MODEL_CONFLICT | MODEL_UNIFORM;
    }
    return f;
}
