/* SPDX-License-Identifier: MIT */
#include "support/faults.h"

#include <pthread.h>

#include "base/progress.h"

enum { MAX_POINTS = 1 << 16 };

bool faults_exhaustive;

static const char *const way_names[FAULT_WAYS] = {
    [FAULT_CALL] = "calls",
    [FAULT_OPERATION] = "operations",
    [FAULT_LOSS] = "losses",
    [FAULT_HOOK] = "cancelled",
    [FAULT_MEMORY] = "allocations"};

static const hr_status way_status[FAULT_WAYS] = {
    [FAULT_CALL] = HR_ERROR_BACKEND,
    [FAULT_OPERATION] = HR_ERROR_BACKEND,
    [FAULT_LOSS] = HR_ERROR_LOST,
    [FAULT_HOOK] = HR_ERROR_CANCELLED,
    [FAULT_MEMORY] = HR_ERROR_OUT_OF_MEMORY};

/* The fault of this moment. */
static struct {
    fault_way way;
    fault_point point;
    hr_status status;
    uint64_t beside; /* an operation that fails, too; 0: none */
    bool over, came;
} now;

static uint64_t operations; /* of the case, when nothing fails */

/* ---- cancelling */

/* The call waits until the program has said that it shall stop, unless it is
 * made by the thread that asks the program. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t asking;
    bool reached, said;
} stop = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .changed = PTHREAD_COND_INITIALIZER};

static void reach_call(void *data)
{
    (void)data;
    pthread_mutex_lock(&stop.lock);
    stop.reached = true;
    while (!stop.said && !pthread_equal(pthread_self(), stop.asking)) {
        pthread_cond_wait(&stop.changed, &stop.lock);
    }
    pthread_mutex_unlock(&stop.lock);
}

static bool go_on_until_reached(void *data, double done, double total)
{
    (void)data;
    (void)done;
    (void)total;
    pthread_mutex_lock(&stop.lock);
    stop.said = stop.reached;
    const bool go_on = !stop.said;
    pthread_cond_broadcast(&stop.changed);
    pthread_mutex_unlock(&stop.lock);
    return go_on;
}

hr_progress_function faults_progress(void)
{
    return now.way == FAULT_HOOK && !now.over ? go_on_until_reached : NULL;
}

/* ---- one fault */

static void inject_fault(void)
{
    if (now.way == FAULT_HOOK) {
        stop.reached = stop.said = false;
        stop.asking = pthread_self();
        fault_backend_at(now.point, reach_call, NULL);
    } else {
        fault_backend_inject(now.way, now.point, now.status);
    }
    if (now.beside > 0) {
        fault_backend_fail_operation(now.beside, HR_ERROR_BACKEND);
    }
}

bool faults_over(void)
{
    if (!now.over) {
        now.came = fault_backend_came(now.way) ||
                   (now.beside > 0 && fault_backend_came(FAULT_OPERATION));
        now.over = true;
    }
    if (now.status == HR_ERROR_LOST && now.came) {
        return false;
    }
    fault_backend_inject(now.way, (fault_point){0, 0}, HR_OK);
    fault_backend_fail_operation(0, HR_OK);
    fault_backend_hold(0, 0);
    return true;
}

fault_way faults_way(void)
{
    return now.way;
}

void faults_closed(void)
{
    CHECK(fault_backend_objects() == 0 && fault_backend_breaches() == 0);
}

hr_status faults_open(const fault_case *c, hr_context **context)
{
    static const hri_backend *hosts[2];
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hosts[0] = fault_backend_wrap(&hri_backend_host);
    options.accelerators = c->accelerators;
    options.memory_limit = c->limit;
    options.threads = c->threads;
    HRI_TRY(hri_context_create_from(c->backends != NULL ? c->backends() : hosts,
                                    &options, context));
    if (c->backends == NULL) {
        told_overheads(*context);
        for (uint32_t i = 0; i < (*context)->accelerator_count; i++) {
            told(&(*context)->accelerators[i], "memory", 1e10);
        }
    }
    if (c->prepare != NULL) {
        c->prepare(*context, c->with);
    }
    return HR_OK;
}

static bool is_told(hr_status status, bool opened)
{
    return status == now.status ||
           (now.beside > 0 && status == HR_ERROR_BACKEND) ||
           (!opened && status == HR_ERROR_UNAVAILABLE);
}

static void check_memory(const hr_context *context)
{
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        const hri_accelerator *a = &context->accelerators[i];
        CHECK(a->memory_limit == 0 || a->memory_peak <= a->memory_limit);
    }
}

/* What can fail in the present way, in order, and which of it is to. */
static uint64_t paths[MAX_POINTS];
static fault_point points[MAX_POINTS];
static size_t point_count;

/* Choose after work in which nothing failed. */
static void choose_points(void)
{
    size_t count = 0;
    while (count < MAX_POINTS && fault_backend_path(now.way, count) != 0) {
        paths[count] = fault_backend_path(now.way, count);
        count++;
    }
    point_count = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t number = 0, all = 0;
        for (size_t j = 0; j < count; j++) {
            number += paths[j] == paths[i] && j <= i;
            all += paths[j] == paths[i];
        }
        if (faults_exhaustive || number == 1 || number == all) {
            points[point_count++] = (fault_point){paths[i], number};
        }
    }
}

/* Work with the present fault, and again without. The first time nothing fails,
 * and the points are chosen. */
static hr_status run_work(const fault_case *c, bool first)
{
    hr_context *context = NULL;
    fault_backend_reset();
    if (first) {
        fault_backend_trace();
    }
    now.over = false;
    if (c->pretend != NULL) {
        c->pretend(c->with);
    }
    if (now.way != FAULT_HOOK) {
        inject_fault();
    }
    hr_status status = faults_open(c, &context);
    CHECK((status == HR_OK) == (context != NULL));
    if (now.way == FAULT_HOOK) { /* nothing can be cancelled before */
        if (first) {
            fault_backend_trace();
        }
        inject_fault();
    }
    if (context != NULL) {
        status = c->work(context, c->with);
    }
    CHECK(status == HR_OK || hr_last_error()[0] != '\0');
    if (first) {
        choose_points();
        operations = fault_backend_operations();
    }
    const bool works = faults_over();
    CHECK(status == HR_OK || (now.came && is_told(status, context != NULL)));
    if (context != NULL && works && now.came) {
        CHECK(c->work(context, c->with) == HR_OK);
    }
    if (context != NULL) {
        check_memory(context);
    }
    hr_context_destroy(context);
    faults_closed();
    return status;
}

static void run_way(const fault_case *c, fault_way way, uint64_t beside)
{
    const long failures = test_state.failures;
    size_t failed = 0, done = 0;
    memset(&now, 0, sizeof now);
    now.way = way;
    now.status =
        way == FAULT_CALL && c->status != HR_OK ? c->status : way_status[way];
    point_count = 0;
    for (; done <= point_count && test_state.failures == failures; done++) {
        if (done > 0) {
            now.point = points[done - 1];
            now.beside = beside;
        }
        /* this one call of it: paths are the same */
        failed += run_work(c, done == 0) != HR_OK;
    }
    if (test_state.failures > failures) {
        fprintf(stderr, "  %s, %s, %zu of %zu, beside operation %llu\n",
                c->name, way_names[way], done - 1, point_count,
                (unsigned long long)beside);
    } else if (beside == 0) {
        printf("%s, %s: %zu of %zu failed\n", c->name, way_names[way], failed,
               point_count);
    }
    CHECK(failed > 0);
}

static void run_case(const fault_case *c)
{
    const int ways = c->ways != 0 ? c->ways : FAULTS_USUAL;
    TEST_CASE(c->name);
    for (fault_way way = 0; way < FAULT_WAYS; way++) {
        if (ways >> way & 1) {
            run_way(c, way, 0);
        }
    }
    for (uint64_t i = 0; i < c->beside; i++) {
        run_way(c, FAULT_CALL, 1 + i * operations / c->beside);
    }
}

void faults_each(const fault_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (test_chosen(cases[i].name)) {
            run_case(&cases[i]);
        }
    }
    fault_backend_reset();
}

hr_status faults_synchronize(hr_array *const *arrays, int count,
                             const void *data, const void *want, size_t bytes)
{
    hr_status first = HR_OK;
    for (int i = 0; i < count; i++) {
        const size_t at = (size_t)i * bytes;
        const hr_status status = hr_synchronize(hr_view_of(arrays[i]));
        CHECK(status != HR_OK || memcmp((const char *)data + at,
                                        (const char *)want + at, bytes) == 0);
        first = first == HR_OK ? status : first;
    }
    return first;
}

hr_split_options faults_shares(void)
{
    static const double weights[] = {1, 2, 1};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    options.weights = weights;
    return options;
}
