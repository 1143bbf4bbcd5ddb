/* SPDX-License-Identifier: MIT */
/* The planner alone, on random problems with up to 1,000 accelerators. A plan
 * is replayed against a model that knows only its meaning: what is in which
 * slot, which tile has seen which piece of k. */
#include <math.h>

#include "base/clock.h"
#include "gemm/plan.h"
#include "gemm/plans.h"
#include "hal/precise.h"
#include "model/model.h"
#include "support/random.h"
#include "support/replay.h"
#include "test.h"

static uint64_t below(uint64_t *state, uint64_t n)
{
    random_source source = {*state};
    uint64_t value = random_next(&source);
    *state = source.state;
    return value % n;
}

/* Sizes of very different magnitude, small ones often. */
static int64_t extent(uint64_t *state, int bits)
{
    return 1 +
           (int64_t)below(state, 1ull << (1 + below(state, (uint64_t)bits)));
}

typedef struct problem {
    hri_plan_shape shape;
    hri_plan_accelerator *accelerators;
    uint32_t count;
} problem;

static problem draw(uint64_t *state, uint32_t count, int bits, int memory_bits)
{
    static const uint32_t sizes[] = {1, 2, 4, 8, 16};
    problem p = {.count = count};
    p.shape = (hri_plan_shape){
        .m = extent(state, bits),
        .n = extent(state, bits),
        .k = extent(state, bits),
        .size = sizes[below(state, 5)],
        .c_size = sizes[below(state, 5)],
        .flops = below(state, 2) ? 2.0 : 8.0,
        .reads_result = below(state, 2),
        .whole_k = below(state, 8) == 0,
    };
    p.shape.grain = p.shape.k % 4 == 1 ? 256 : 0;
    p.accelerators = calloc(count, sizeof *p.accelerators);
    int kind = (int)below(state, 3); /* all alike, uneven, very uneven */
    uint64_t least = hri_plan_min_memory(&p.shape);
    uint64_t memory = least + below(state, 1ull << memory_bits);
    for (uint32_t i = 0; i < count; i++) {
        hri_plan_accelerator *a = &p.accelerators[i];
        a->rate = 1e11;
        a->memory = memory;
        a->buffer = UINT64_MAX;
        a->up.rate = a->down.rate = 1e10;
        a->task = 1e-5;
        a->start = 1e-4;
        a->device = i;
        if (kind > 0) {
            a->rate = 1e9 * (double)(1 + below(state, kind == 1 ? 10 : 10000));
            a->memory = kind == 1 ? memory * (1 + below(state, 3))
                                  : below(state, 2 * memory);
            a->peers = (uint32_t)below(state, 1 + below(state, 4));
            a->in_place = below(state, 16) == 0;
            a->own = below(state, 2) * below(state, 1 + a->memory / 4);
            a->buffer =
                below(state, 4) == 0 ? least + a->memory / 8 : a->memory;
        }
    }
    return p;
}

/* ---- the model */

typedef struct content {
    int32_t index, chunk;
} content;

/* Replay one share: every task finds its panels in the slots that its
 * deliveries filled, no delivery overwrites what a later task still reads. */
static int replay(const hri_plan *p, const hri_flow_share *share, uint8_t *seen)
{
    content *held[2];
    int64_t *last_read[2];
    int ok = 1;
    for (int side = 0; side < 2; side++) {
        size_t n = (size_t)share->slots[side] + 1;
        held[side] = calloc(n, sizeof(content));
        last_read[side] = calloc(n, sizeof(int64_t));
        for (size_t i = 0; i < n; i++) {
            last_read[side][i] = -1;
        }
    }
    /* tasks in order; before each, the deliveries up to those it names */
    int64_t next = 0;
    for (int64_t t = 0; t < share->task_count; t++) {
        const hri_task *task = &share->tasks[t];
        int64_t need = task->a > task->b ? task->a : task->b;
        for (; next <= need; next++) {
            const hri_delivery *d = &share->deliveries[next];
            ok = ok && d->slot >= 0 && d->slot < share->slots[d->side];
            ok = ok && d->after >= last_read[d->side][d->slot];
            ok = ok && d->after < t; /* nothing waits for the future */
            held[d->side][d->slot] = (content){d->index, d->chunk};
        }
        for (int side = 0; side < 2 && !share->in_place; side++) {
            int64_t number = side == HRI_A ? task->a : task->b;
            int32_t index = side == HRI_A ? task->row : task->col;
            const hri_delivery *d = &share->deliveries[number];
            content c = held[side][d->slot];
            ok = ok && d->side == side && c.index == index &&
                 c.chunk == task->chunk;
            last_read[side][d->slot] = t;
        }
        uint64_t at =
            (uint64_t)task->row * (uint64_t)p->tile_cols + (uint64_t)task->col;
        ok = ok && seen[at] == (uint8_t)task->chunk; /* in order, once */
        seen[at]++;
    }
    ok = ok && next == share->delivery_count; /* nothing loaded for nobody */
    for (int side = 0; side < 2; side++) {
        free(held[side]);
        free(last_read[side]);
    }
    return ok;
}

static uint64_t element_bytes(const hri_plan *p, const hri_delivery *d)
{
    int64_t width =
        d->side == HRI_A
            ? hri_plan_row(p, d->index + 1) - hri_plan_row(p, d->index)
            : hri_plan_col(p, d->index + 1) - hri_plan_col(p, d->index);
    int64_t depth =
        hri_plan_chunk(p, d->chunk + 1) - hri_plan_chunk(p, d->chunk);
    return (uint64_t)(width * depth) * p->shape.size;
}

/* Pullers are where deliveries say, and each delivery from a share is in
 * exactly one of that share's lists. */
static int pullers_agree(const hri_plan *p)
{
    int64_t from_shares = 0, pullers = 0;
    int ok = 1;
    for (uint32_t i = 0; i < p->flow.share_count; i++) {
        const hri_flow_share *share = &p->flow.shares[i];
        for (int64_t n = 0; n < share->delivery_count; n++) {
            const hri_delivery *d = &share->deliveries[n];
            from_shares += d->source >= 0;
            pullers += d->puller_count;
            for (int32_t f = 0; f < d->puller_count; f++) {
                const hri_puller *to = &p->flow.pullers[d->pullers + f];
                const hri_delivery *e =
                    &p->flow.shares[to->share].deliveries[to->delivery];
                ok = ok && e->source == (int32_t)i &&
                     &share->deliveries[e->origin] == d && e->side == d->side &&
                     e->index == d->index && e->chunk == d->chunk;
            }
        }
    }
    return ok && from_shares == pullers;
}

static void check_plan(const problem *q, const hri_plan *p)
{
    size_t tiles = (size_t)(p->tile_rows * p->tile_cols);
    uint8_t *seen = calloc(tiles, 1);
    uint64_t up = 0, down = 0, peer = 0;
    int replayed = 1, inside = 1, counted = 1;
    for (uint32_t i = 0; i < p->flow.share_count; i++) {
        const hri_flow_share *share = &p->flow.shares[i];
        const hri_plan_accelerator *a = &q->accelerators[share->accelerator];
        replayed = replayed && replay(p, share, seen);
        inside = inside && share->memory == hri_flow_memory(&p->flow, share) &&
                 (a->in_place || share->memory + a->own <= a->memory);
        for (int side = HRI_A; side <= HRI_C; side++) {
            inside = inside &&
                     (a->in_place || p->flow.slot_bytes[side] <= a->buffer);
        }
        uint64_t share_up = 0, share_peer = 0;
        for (int64_t n = 0; n < share->delivery_count; n++) {
            const hri_delivery *d = &share->deliveries[n];
            *(d->source < 0 ? &share_up : &share_peer) += element_bytes(p, d);
        }
        share_up += q->shape.reads_result ? share->down : 0;
        counted = counted && share_up == share->up && share_peer == share->peer;
        up += share->up;
        down += share->down;
        peer += share->peer;
    }
    CHECK(replayed);
    CHECK(inside);
    CHECK(counted && up == p->up && down == p->down && peer == p->peer);
    CHECK(pullers_agree(p));
    int once = 1;
    for (size_t i = 0; i < tiles; i++) {
        once = once && seen[i] == (uint8_t)p->blocking.chunks;
    }
    CHECK(once);
    CHECK(hri_plan_row(p, 0) == 0 &&
          hri_plan_row(p, p->tile_rows) == q->shape.m);
    CHECK(hri_plan_col(p, 0) == 0 &&
          hri_plan_col(p, p->tile_cols) == q->shape.n);
    int rising = 1;
    for (int64_t i = 0; i < p->tile_rows; i++) {
        rising = rising && hri_plan_row(p, i) < hri_plan_row(p, i + 1);
    }
    for (int64_t i = 0; i < p->tile_cols; i++) {
        rising = rising && hri_plan_col(p, i) < hri_plan_col(p, i + 1);
    }
    CHECK(rising);
    CHECK(p->up + p->down >= p->compulsory);
    free(seen);
}

/* All shares side by side, in turn and three times at random. */
static void check_replay(const hri_plan *p, uint64_t seed)
{
    random_source order = {seed};
    const char *fault = replay_plan(p, NULL);
    for (int i = 0; i < 3 && fault == NULL; i++) {
        fault = replay_plan(p, &order);
    }
    if (!CHECK(fault == NULL)) {
        fprintf(stderr, "  %s\n", fault);
    }
}

/* With one group of peers and one block, every panel crosses exactly once. */
static void check_once(const problem *q, const hri_plan *p)
{
    uint32_t group = UINT32_MAX;
    int one_group = 1;
    for (uint32_t i = 0; i < p->flow.share_count; i++) {
        const hri_plan_accelerator *a =
            &q->accelerators[p->flow.shares[i].accelerator];
        if (!a->in_place) {
            one_group = one_group && (group == UINT32_MAX || group == a->peers);
            group = a->peers;
        }
    }
    if (one_group && p->blocking.block_rows == 1 &&
        p->blocking.block_cols == 1) {
        CHECK(p->up + p->down == p->compulsory);
    }
}

/* Pieces of k start at multiples of the grain, and have elements. */
static void check_grain(const problem *q, const hri_plan *p)
{
    for (int64_t i = 0; i < p->blocking.chunks; i++) {
        CHECK(q->shape.grain == 0 ||
              hri_plan_chunk(p, i) % q->shape.grain == 0);
        CHECK(hri_plan_chunk(p, i) < hri_plan_chunk(p, i + 1));
    }
}

static void random_problems(long count)
{
    TEST_CASE("random problems");
    uint64_t state = 20260101;
    for (long i = 0; i < count; i++) {
        uint64_t seed = state;
        uint32_t accelerators = (uint32_t)extent(&state, i % 50 == 0 ? 9 : 4);
        problem q = draw(&state, accelerators, 12, 24);
        hri_plan *p = NULL;
        hr_status status =
            hri_plan_create(&q.shape, q.accelerators, q.count, &p);
        if (status == HR_OK) {
            long failures = test_state.failures;
            check_plan(&q, p);
            check_once(&q, p);
            check_grain(&q, p);
            check_replay(p, seed);
            if (test_state.failures > failures) {
                fprintf(stderr, "seed %llu: %lld %lld %lld, %u accelerators\n",
                        (unsigned long long)seed, (long long)q.shape.m,
                        (long long)q.shape.n, (long long)q.shape.k, q.count);
            }
        } else {
            /* only when nobody has the least working set */
            uint64_t least = hri_plan_min_memory(&q.shape);
            int nobody = status == HR_ERROR_OUT_OF_MEMORY;
            for (uint32_t j = 0; j < q.count; j++) {
                nobody =
                    nobody && !q.accelerators[j].in_place &&
                    (q.accelerators[j].memory < least + q.accelerators[j].own ||
                     q.accelerators[j].buffer < least);
            }
            CHECK(nobody);
        }
        hri_plan_destroy(p);
        free(q.accelerators);
    }
}

/* What src/gemm/blocking.c calls the best: for one accelerator with `memory`
 * bytes, the fewest panel bytes of any number of blocks, each of which keeps
 * its tiles and two pieces of k of depth 64, or its panels. */
static double fewest_bytes(const hri_plan_shape *s, double memory)
{
    double best = HUGE_VAL;
    double m = (double)s->m, n = (double)s->n, k = (double)s->k;
    for (double r = 1; r <= m; r++) {
        for (double c = 1; c <= n; c++) {
            double h = ceil(m / r), w = ceil(n / c);
            double once = (m + n) * k * s->size;
            double bytes = (c * m + r * n) * k * s->size;
            double tiles = h * w * s->c_size + 2 * (h + w) * 64 * s->size;
            double rows = h * k * s->size, cols = w * k * s->size;
            double ring = 64.0 * 64 * s->c_size;
            if (tiles <= memory && bytes < best) {
                best = bytes;
            }
            if (rows + 2 * fmin(cols, 64 * k * s->size) + ring <= memory) {
                best = fmin(best, (m + r * n) * k * s->size);
            }
            if (rows + cols + ring <= memory && r * c == 1) {
                best = fmin(best, once);
            }
            if (tiles <= memory) {
                break; /* more columns of blocks only move more */
            }
        }
        if (best < HUGE_VAL && r > 4 && (m + r * n) * k * s->size > 4 * best) {
            break;
        }
    }
    return best;
}

static void tight_memory(void)
{
    TEST_CASE("within 10 per cent of the best that blocking allows");
    static const int64_t shapes[][3] = {
        {2048, 2048, 2048}, {4096, 1024, 2048}, {1000, 3000, 5000},
        {6144, 6144, 6144}, {513, 8191, 700},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (uint64_t memory = 1 << 20; memory <= 256 << 20; memory *= 2) {
            hri_plan_shape s = {.m = shapes[i][0],
                                .n = shapes[i][1],
                                .k = shapes[i][2],
                                .size = 4,
                                .c_size = 4,
                                .flops = 2.0};
            hri_plan_accelerator a = {.memory = memory,
                                      .buffer = memory,
                                      .rate = 1e11,
                                      .up.rate = 1e10,
                                      .down.rate = 1e10};
            hri_plan *p = NULL;
            if (!CHECK(hri_plan_create(&s, &a, 1, &p) == HR_OK)) {
                continue;
            }
            double best = fewest_bytes(&s, (double)memory);
            double moved = (double)p->up;
            printf("%5lld x %5lld x %5lld, %4llu MiB: %.3f of the best, "
                   "%.2f of compulsory\n",
                   (long long)s.m, (long long)s.n, (long long)s.k,
                   (unsigned long long)memory >> 20, moved / best,
                   (double)(p->up + p->down) / (double)p->compulsory);
            CHECK(moved <= 1.10 * best);
            hri_plan_destroy(p);
        }
    }
}

static void thousand(void)
{
    TEST_CASE("1,000 uneven accelerators");
    uint64_t state = 7;
    problem q = draw(&state, 1000, 4, 30);
    q.shape = (hri_plan_shape){.m = 100000,
                               .n = 100000,
                               .k = 100000,
                               .size = 4,
                               .c_size = 4,
                               .flops = 2.0};
    for (uint32_t i = 0; i < q.count; i++) {
        q.accelerators[i].rate = 1e12 * (double)(1 + below(&state, 50));
        q.accelerators[i].memory = (1ull + below(&state, 64)) << 30;
        q.accelerators[i].buffer = q.accelerators[i].memory;
        q.accelerators[i].in_place = false;
    }
    uint64_t start = hri_clock_ns();
    hri_plan *p = NULL;
    CHECK(hri_plan_create(&q.shape, q.accelerators, q.count, &p) == HR_OK);
    printf("planning %u accelerators: %.3f s, %u used, ratio %.3f\n", q.count,
           hri_seconds_since(start), p->flow.share_count,
           (double)(p->up + p->down) / (double)p->compulsory);
    check_plan(&q, p);
    check_replay(p, state);
    hri_plan_destroy(p);
    free(q.accelerators);
}

/* The shortest row of all copies of a plan, in bytes. */
static double shortest_row(const hri_plan *p)
{
    const hri_flow_share *share = &p->flow.shares[0];
    double least = HUGE_VAL;
    for (int64_t i = 0; i < share->delivery_count; i++) {
        const hri_delivery *d = &share->deliveries[i];
        const double depth =
            (double)hri_plan_length(p, hri_plan_chunk, d->chunk);
        const double edge = (double)hri_plan_length(
            p, d->side == HRI_A ? hri_plan_row : hri_plan_col, d->index);
        const bool of_a = d->side == HRI_A;
        least =
            fmin(least, hri_row_bytes(&p->shape, d->side, of_a ? edge : depth,
                                      of_a ? depth : edge));
    }
    for (int64_t i = 0; i < p->tile_cols; i++) {
        least = fmin(
            least, hri_row_bytes(&p->shape, HRI_C, 1.0,
                                 (double)hri_plan_length(p, hri_plan_col, i)));
    }
    return least;
}

/* A GPU with the link of an H200. */
static hri_plan_accelerator gpu_of(double rate)
{
    return (hri_plan_accelerator){
        .memory = 126ull << 30,
        .buffer = UINT64_MAX,
        .rate = rate,
        .tile_rates = {0.5 * rate, 0.8 * rate, 0.95 * rate},
        .up = {55e9, 55e9, 8e-6, 0.0},
        .down = {55e9, 55e9, 8e-6, 0.0},
        .both = {102e9, 102e9, 0.0, 0.0},
        .task = 6e-6,
        .start = 3e-4,
    };
}

/* From pinned memory, products of narrow types go in whole rows, or in half
 * rows that are long enough: 64 KiB. */
static void whole_rows(void)
{
    static const struct {
        const char *name;
        int64_t n;
        uint32_t size, c_size;
        bool whole_k;
        double rate;
    } cases[] = {
        {"bf16 32768 into f32", 32768, 2, 4, false, 858e12},
        {"bf16 32768", 32768, 2, 2, true, 858e12},
        {"tf32 32768", 32768, 4, 4, false, 469e12},
        {"i8 32768", 32768, 1, 4, false, 1300e12},
        {"bf16 16384 into f32", 16384, 2, 4, false, 800e12},
        {"tf32 16384", 16384, 4, 4, false, 440e12},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        TEST_CASE(cases[i].name);
        const int64_t n = cases[i].n;
        const hri_plan_shape shape = {.m = n,
                                      .n = n,
                                      .k = n,
                                      .size = cases[i].size,
                                      .c_size = cases[i].c_size,
                                      .flops = 2.0,
                                      .whole_k = cases[i].whole_k,
                                      .dense = {true, true, true}};
        hri_plan_accelerator gpu = gpu_of(cases[i].rate);
        hri_plan *p = NULL;
        if (!CHECK(hri_plan_create(&shape, &gpu, 1, &p) == HR_OK)) {
            continue;
        }
        printf("%s: tiles of %lld x %lld, k in %lld, rows of %.0f bytes\n",
               cases[i].name, (long long)hri_plan_row(p, 1),
               (long long)hri_plan_col(p, 1), (long long)p->blocking.chunks,
               shortest_row(p));
        const problem q = {shape, &gpu, 1};
        check_plan(&q, p);
        check_once(&q, p);
        CHECK(shortest_row(p) >= fmin(65536.0, (double)n * shape.c_size));
        hri_plan_destroy(p);
    }
}

/* Small products from pinned memory on an H200 or its host's 16 CPUs, by what
 * both took there. */
static void host_or_gpu(void)
{
    TEST_CASE("the host for 64 and 128, a GPU from 256 on");
    static const struct {
        int64_t m, n, k;
        uint32_t size;
        double gpu_rate, host_rate;
        bool host;
    } cases[] = {
        {64, 64, 64, 4, 50e12, 1140e9, true},
        {128, 128, 128, 4, 50e12, 1140e9, true},
        {256, 256, 256, 4, 50e12, 1140e9, false},
        {512, 512, 512, 4, 50e12, 1140e9, false},
        {64, 64, 64, 8, 60e12, 690e9, true},
        {256, 256, 256, 8, 60e12, 690e9, false},
        {512, 512, 512, 8, 60e12, 690e9, false},
        /* memory binds these: one thread has little of it */
        {1, 4096, 4096, 4, 50e12, 1140e9, false},
        {4096, 4, 4096, 4, 50e12, 1140e9, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint32_t size = cases[i].size;
        const hri_plan_shape shape = {.m = cases[i].m,
                                      .n = cases[i].n,
                                      .k = cases[i].k,
                                      .size = size,
                                      .c_size = size,
                                      .flops = 2.0,
                                      .dense = {true, true, true}};
        const hri_plan_accelerator both[2] = {
            {.memory = 126ull << 30,
             .buffer = UINT64_MAX,
             .rate = cases[i].gpu_rate,
             .up = {55e9, 55e9, 8e-6, 55e9},
             .down = {55e9, 55e9, 8e-6, 55e9},
             .both = {102e9, 102e9, 0.0, 0.0},
             .task = 6e-6,
             .start = 3e-4,
             .brief = hri_model_brief},
            {.rate = cases[i].host_rate,
             .single = cases[i].host_rate * hri_model_one_cpu(16),
             .brief = hri_model_in_place(16),
             .start = 1e-4,
             .sharers = 1,
             .peers = 1,
             .device = 1,
             .in_place = true}};
        hri_plan *p = NULL;
        CHECK(hri_plan_create(&shape, both, 2, &p) == HR_OK);
        CHECK(p->flow.share_count == 1 &&
              p->flow.shares[0].in_place == cases[i].host);
        hri_plan_destroy(p);
    }
}

/* Tasks of a tenth of a second, also where tiles could be wider. */
static void short_tasks(void)
{
    TEST_CASE("no task is long, whatever k");
    static const int64_t depths[] = {32768, 1 << 20, 1 << 22};
    for (int i = 0; i < 6; i++) {
        const hri_plan_shape shape = {.m = 16384,
                                      .n = 65536,
                                      .k = depths[i % 3],
                                      .size = 2,
                                      .c_size = 2,
                                      .flops = 2.0,
                                      .whole_k = i < 3,
                                      .dense = {true, true, true}};
        const hri_plan_accelerator gpu = gpu_of(858e12);
        hri_plan *p = NULL;
        CHECK(hri_plan_create(&shape, &gpu, 1, &p) == HR_OK);
        const double products =
            (double)hri_plan_row(p, 1) * (double)hri_plan_col(p, 1) *
            (double)hri_cut_depth_max(&p->blocking, shape.k);
        CHECK(2.0 * products <= 0.1 * gpu.rate);
        hri_plan_destroy(p);
    }
}

/* Tiles are as wide as C or a half of it, and high enough. */
static void low_tiles(void)
{
    TEST_CASE("no wide tile is too low");
    for (int i = 0; i < 2; i++) {
        const hri_plan_shape shape = {.m = 32768,
                                      .n = 32768,
                                      .k = 32768,
                                      .size = 4,
                                      .c_size = 4,
                                      .flops = 2.0,
                                      .dense = {true, true, true},
                                      .tf32 = i == 1};
        hri_plan_accelerator two[2] = {gpu_of(424e12), gpu_of(424e12)};
        two[1].device = 1;
        hri_plan *p = NULL;
        CHECK(hri_plan_create(&shape, two, 2, &p) == HR_OK);
        const int64_t height = hri_plan_row(p, 1), width = hri_plan_col(p, 1);
        CHECK(width > 4 * height && (height >= 2048) == i);
        hri_plan_destroy(p);
    }
}

/* In place tasks become longer rather than too many. */
static void large_in_place(void)
{
    TEST_CASE("a product that takes months on the host");
    const int64_t n = 1 << 22;
    const hri_plan_shape shape = {.m = n,
                                  .n = n,
                                  .k = n,
                                  .size = 8,
                                  .c_size = 8,
                                  .flops = 2.0,
                                  .dense = {true, true, true}};
    const hri_plan_accelerator host = {
        .rate = 1e11, .sharers = 1, .peers = 1, .in_place = true};
    hri_plan *p = NULL;
    CHECK(hri_plan_create(&shape, &host, 1, &p) == HR_OK);
    CHECK(p->flow.shares[0].task_count > 1 << 18 &&
          p->flow.shares[0].task_count < 1 << 21);
    hri_plan_destroy(p);
}

/* A plan lists its products; more than it can are refused with numbers. */
static void too_many(void)
{
    TEST_CASE("memory that wants too many products");
    const hri_plan_shape shape = {.m = 100000,
                                  .n = 100000,
                                  .k = 100000,
                                  .size = 4,
                                  .c_size = 4,
                                  .flops = 2.0};
    hri_plan_accelerator one = {
        .memory = 4 << 20, .buffer = 4 << 20, .rate = 1e11};
    hri_plan *p = NULL;
    CHECK_FAILS(hri_plan_create(&shape, &one, 1, &p), HR_ERROR_OUT_OF_MEMORY,
                "100000 x 100000 x 100000 needs more than 4194304 tile "
                "products on 1 accelerator; limits of 16777216 bytes are");
    one.memory = one.buffer = 16 << 20;
    CHECK(hri_plan_create(&shape, &one, 1, &p) == HR_OK);
    hri_plan_destroy(p);
    one.memory = one.buffer = 1 << 30;
    CHECK(hri_plan_create(&shape, &one, 1, &p) == HR_OK);
    CHECK(p == NULL ||
          p->tile_rows * p->tile_cols * p->blocking.chunks <= (int64_t)1 << 22);
    hri_plan_destroy(p);
    TEST_CASE("months of short products, whatever the memory");
    const int64_t n = 1 << 20;
    const hri_plan_shape large = {
        .m = n, .n = n, .k = n, .size = 4, .c_size = 4, .flops = 2.0};
    one.memory = one.buffer = (uint64_t)1 << 60;
    CHECK_FAILS(hri_plan_create(&large, &one, 1, &p), HR_ERROR_OUT_OF_MEMORY,
                "with any amount of memory; the host in place takes it");
}

/* Medium products from pinned memory to a GPU are one task, whether their rows
 * lie without gaps or not. What is predicted is the sum of its steps. */
static void one_task(void)
{
    const hri_way up = {5.4e10, 5.4e10, 1e-5, 5.4e10};
    const hri_plan_accelerator one = {.memory = (uint64_t)1 << 32,
                                      .buffer = (uint64_t)1 << 32,
                                      .rate = 6e13,
                                      .up = up,
                                      .down = up,
                                      .both = {9e10, 9e10, 0.0, 0.0},
                                      .task = 1e-5,
                                      .start = 1e-4,
                                      .brief = 4e-5};
    for (int i = 0; i < 4; i++) {
        const int64_t n = i % 2 == 0 ? 320 : 768;
        const bool dense = i < 2;
        const hri_plan_shape s = {.m = n,
                                  .n = n,
                                  .k = n,
                                  .size = 8,
                                  .c_size = 8,
                                  .flops = 2.0,
                                  .dense = {dense, dense, dense}};
        hri_plan *p = NULL;
        TEST_CASE("medium products are one task");
        CHECK(hri_plan_create(&s, &one, 1, &p) == HR_OK);
        CHECK(hri_flow_is_brief(&p->flow));
        const double bytes = 8.0 * (double)(n * n);
        const double copies = 3 * bytes / up.rate;
        const double compute = 2.0 * (double)(n * n * n) / one.rate;
        const double least = one.brief + copies + compute + one.task;
        CHECK(p->flow.seconds > least);
        CHECK(!dense || n > 500 || p->flow.seconds < 1.1 * least);
        hri_plan_destroy(p);
    }
}

/* ---- plans that are kept: the same one for the same inputs, a new one when a
 * single input differs, and no more than some */

enum { EDGE = 512, MANY = 40 };

static const hri_plan_shape kept_shape = {
    .m = EDGE, .n = EDGE, .k = EDGE, .size = 4, .c_size = 4, .flops = 2.0};

static hri_plan_accelerator kept_input_of(uint32_t index)
{
    hri_plan_accelerator input = gpu_of(1e12);
    input.memory = 1u << 30;
    input.brief = 4e-5;
    input.peers = input.device = index;
    return input;
}

/* Get a plan and give it back. The address stays the same while it is kept. */
static const hri_plan *get_plan(hri_plans **plans, const hri_plan_shape *s,
                                const hri_plan_accelerator *inputs,
                                uint32_t count)
{
    hri_plan *plan = NULL;
    CHECK(hri_plans_get(plans, s, inputs, count, &plan) == HR_OK);
    CHECK(plan != NULL && plan->shape.m == s->m && plan->shape.k == s->k);
    hri_plan_destroy(plan);
    return plan;
}

static void same_inputs(void)
{
    TEST_CASE("the same plan for the same inputs");
    hri_plans *plans = NULL;
    hri_plan_accelerator inputs[2] = {kept_input_of(0), kept_input_of(1)};
    const hri_plan *first = get_plan(&plans, &kept_shape, inputs, 2);
    CHECK(get_plan(&plans, &kept_shape, inputs, 2) == first);
    CHECK(get_plan(&plans, &kept_shape, inputs, 1) != first);
    CHECK(get_plan(&plans, &kept_shape, inputs, 2) == first);

    TEST_CASE("another one when an input differs");
    hri_plan_shape other = kept_shape;
    other.dense[HRI_B] = true;
    CHECK(get_plan(&plans, &other, inputs, 2) != first);
    other = kept_shape;
    other.by_columns[HRI_A] = true;
    CHECK(get_plan(&plans, &other, inputs, 2) != first);
    other = kept_shape;
    other.reads_result = true;
    CHECK(get_plan(&plans, &other, inputs, 2) != first);
    other = kept_shape;
    other.k++;
    CHECK(get_plan(&plans, &other, inputs, 2) != first);
    inputs[1].memory--;
    CHECK(get_plan(&plans, &kept_shape, inputs, 2) != first);
    inputs[1] = kept_input_of(1);
    inputs[1].tile_rates[2] = 1e11;
    CHECK(get_plan(&plans, &kept_shape, inputs, 2) != first);
    inputs[1] = kept_input_of(1);
    inputs[0].both.alone = 1e9;
    CHECK(get_plan(&plans, &kept_shape, inputs, 2) != first);
    inputs[0] = kept_input_of(0);
    inputs[0].single = 1e11;
    CHECK(get_plan(&plans, &kept_shape, inputs, 2) != first);
    inputs[0] = kept_input_of(0);
    CHECK(get_plan(&plans, &kept_shape, inputs, 2) == first);
    hri_plans_destroy(plans);
}

static void few_are_kept(void)
{
    TEST_CASE("the one that was not used for longest goes");
    hri_plans *plans = NULL;
    const hri_plan_accelerator input = kept_input_of(0);
    hri_plan *held = NULL;
    CHECK(hri_plans_get(&plans, &kept_shape, &input, 1, &held) == HR_OK);
    hri_plan_shape other = kept_shape;
    for (int i = 0; i < MANY; i++) { /* used in between: it stays */
        other.m++;
        get_plan(&plans, &other, &input, 1);
        CHECK(get_plan(&plans, &kept_shape, &input, 1) == held);
    }
    for (int i = 0; i < MANY; i++) {
        other.m++;
        get_plan(&plans, &other, &input, 1);
    }
    CHECK(get_plan(&plans, &kept_shape, &input, 1) != held);
    CHECK(held->shape.m == EDGE); /* a holder's plan stays */
    hri_plan_destroy(held);
    hri_plans_destroy(plans);
}

static void errors_are_not_kept(void)
{
    TEST_CASE("no plan");
    hri_plans *plans = NULL;
    hri_plan *plan = NULL;
    hri_plan_accelerator input = kept_input_of(0);
    CHECK_FAILS(hri_plans_get(&plans, &kept_shape, &input, 0, &plan),
                HR_ERROR_INVALID, "no accelerators");
    input.memory = 1;
    CHECK_FAILS(hri_plans_get(&plans, &kept_shape, &input, 1, &plan),
                HR_ERROR_OUT_OF_MEMORY, "least working set");
    CHECK(plans == NULL);
    hri_plans_destroy(plans);
}

/* A smaller tile and a shorter panel fit where larger ones do. */
static void precise_memory_grows(void)
{
    static const hr_type types[] = {HR_F32, HR_F64, HR_C32, HR_C64};
    static const int64_t extents[] = {1,    63,   64,   511,   512,   3712,
                                      4096, 8192, 8300, 16000, 32768, 70000};
    enum { COUNT = sizeof extents / sizeof extents[0] };
    TEST_CASE("memory of precise products");
    for (int t = 0; t < 4; t++) {
        for (int i = 0; i < COUNT * COUNT; i++) {
            const int64_t rows = extents[i / COUNT], cols = extents[i % COUNT];
            int64_t height = rows, width = cols;
            const uint64_t scratch = hri_precise_scratch(types[t], rows, cols);
            const uint64_t panel = hri_precise_bytes(types[t], 1, rows, cols);
            hri_precise_block(types[t], &height, &width);
            CHECK(hri_precise_scratch(types[t], height, width) <= scratch);
            CHECK(height <= rows && width <= cols && height < 1 << 16);
            for (int j = 0; j <= i % COUNT; j++) {
                CHECK(hri_precise_scratch(types[t], rows, extents[j]) <=
                      scratch);
                CHECK(hri_precise_bytes(types[t], 1, rows, extents[j]) <=
                      panel);
                CHECK(hri_precise_bytes(types[t], 1, extents[j], rows) <=
                      hri_precise_bytes(types[t], 1, cols, rows));
            }
        }
    }
}

int main(void)
{
    TEST(precise_memory_grows());
    TEST(whole_rows());
    TEST(host_or_gpu());
    TEST(short_tasks());
    TEST(low_tiles());
    TEST(large_in_place());
    TEST(too_many());
    TEST(one_task());
    TEST(random_problems(5000));
    TEST(tight_memory());
    TEST(thousand());
    TEST(same_inputs());
    TEST(few_are_kept());
    TEST(errors_are_not_kept());
    return test_end();
}
