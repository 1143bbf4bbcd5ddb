/* SPDX-License-Identifier: MIT */
/* Timelines of the accelerators of argv[1]: bars have the bytes and operations
 * of reports, bars of a queue do not overlap, and files are whole. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "support/bed.h"
#include "support/files.h"

extern const hr_kernel run1;

enum { MAX_TRACKS = 4096, N = 192 };

/* What the bars of a file sum up to. */
typedef struct timeline {
    int bars, calls, unequal; /* lines that are none */
    int predicted, enqueued; /* calls with a prediction, and that do not wait */
    int measured;            /* bars of measuring */
    int overlaps;
    double up, down, peer, flop;
    double end[MAX_TRACKS]; /* of the last bar of each thread */
    bool whole;
} timeline;

static char folder[64];
static const char *set;

static const char *path_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* The number behind a name of a bar. */
static double number_behind(const char *line, const char *name)
{
    const char *found = strstr(line, name);
    return found != NULL ? strtod(found + strlen(name), NULL) : 0.0;
}

static void read_bar(timeline *t, const char *line)
{
    const double bytes = number_behind(line, "\"bytes\":");
    const double begin = number_behind(line, "\"ts\":");
    const int track = (int)number_behind(line, "\"tid\":");
    t->bars++;
    t->calls += strstr(line, "\"cat\":\"call\"") != NULL;
    t->predicted += number_behind(line, "\"predicted\":") > 0;
    t->enqueued += strstr(line, "\"enqueued\":true") != NULL;
    t->measured += strstr(line, "\"cat\":\"measure\"") != NULL;
    t->up += strstr(line, "\"cat\":\"up\"") != NULL ? bytes : 0;
    t->down += strstr(line, "\"cat\":\"down\"") != NULL ? bytes : 0;
    t->peer += strstr(line, "\"cat\":\"peer\"") != NULL ? bytes : 0;
    t->flop += strstr(line, "\"cat\":\"compute\"") != NULL
                   ? number_behind(line, "\"flop\":")
                   : 0;
    CHECK(track < MAX_TRACKS);
    if (track < MAX_TRACKS && strstr(line, "\"pid\":0") == NULL) {
        t->overlaps += begin < t->end[track] - 0.002; /* rounded twice */
        t->end[track] = begin + number_behind(line, "\"dur\":");
    }
}

static timeline read_file(const char *path)
{
    timeline t = {0};
    char line[4096];
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "{\"ph\":\"X\"", 9) == 0) {
            read_bar(&t, line);
        } else if (strncmp(line, "{\"ph\":\"M\"", 9) != 0 &&
                   strncmp(line, "{\"display", 9) != 0 &&
                   strcmp(line, "]}\n") != 0) {
            t.unequal++;
        }
        t.whole = strcmp(line, "]}\n") == 0; /* the last line */
    }
    if (file != NULL) {
        fclose(file);
    }
    return t;
}

/* C = A B of N x N ones. */
static void multiply_ones(hr_context *context, hr_gemm_report *report)
{
    static float a[N * N], c[N * N];
    int wrong = 0;
    for (int i = 0; i < N * N; i++) {
        a[i] = 1;
        c[i] = 0;
    }
    const hr_matrix ma = hr_matrix_row_major(a, HR_F32, N, N, 0);
    const hr_matrix mc = hr_matrix_row_major(c, HR_F32, N, N, 0);
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.report = report;
    CHECK(hr_gemm(context, hr_real(1), ma, ma, hr_real(0), mc, &options) ==
          HR_OK);
    for (int i = 0; i < N * N; i++) {
        wrong += c[i] != N;
    }
    CHECK(wrong == 0);
}

/* Whether products may write C to host memory themselves, without a copy. */
static bool reaches_host(const bed *b)
{
    bool any = false;
    for (uint32_t i = 0; i < b->count; i++) {
        any = any || b->context->accelerators[i].device->info.reaches;
    }
    return any;
}

/* How many pairs of accelerators copy from each other. */
static int count_peers(const bed *b)
{
    int count = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        hri_device *one = b->context->accelerators[i].device;
        for (uint32_t j = 0; j < i; j++) {
            hri_device *other = b->context->accelerators[j].device;
            count += one->ops->is_peer(one, other);
        }
    }
    return count;
}

static void bars_of_products(bed *b)
{
    TEST_CASE("bars of a product have its bytes and operations");
    hr_gemm_report report = HR_GEMM_REPORT_INIT, sum = HR_GEMM_REPORT_INIT;
    const char *path = path_of("product.json");
    multiply_ones(b->context, NULL); /* speeds are measured before */
    const int before = count_peers(b);
    CHECK(hr_context_trace(b->context, path) == HR_OK);
    CHECK(count_peers(b) == before);
    for (int i = 0; i < 3; i++) {
        multiply_ones(b->context, &report);
        sum.host_to_device += report.host_to_device;
        sum.device_to_host += report.device_to_host;
        sum.peer += report.peer;
    }
    CHECK(hr_context_trace(b->context, NULL) == HR_OK);
    multiply_ones(b->context, NULL);
    const timeline t = read_file(path_of("product.json"));
    CHECK(t.whole && t.unequal == 0 && t.overlaps == 0);
    CHECK(t.calls == 3 && t.predicted == 3 && t.enqueued == 0);
    CHECK(t.up == (double)sum.host_to_device);
    CHECK(reaches_host(b) ? t.down <= (double)sum.device_to_host
                          : t.down == (double)sum.device_to_host);
    CHECK(t.peer == (double)sum.peer);
    CHECK(t.flop >= 3 * 2.0 * N * N * N);
}

static void measuring_is_apart(bed *b)
{
    TEST_CASE("what is measured is none of a product's");
    enum { ROOM = 16 << 20 }; /* so that it does not take long */
    hr_accelerator_rates rates = HR_ACCELERATOR_RATES_INIT;
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    const hri_accelerator *first = &b->context->accelerators[0];
    if (first->in_place) {
        return;
    }
    hr_context *context =
        test_context(set, first->device->info.gemm_bytes + ROOM);
    told_patience(context);
    CHECK(hr_context_trace(context, path_of("measured.json")) == HR_OK);
    CHECK(hr_accelerator_measure(context, 0, &rates) == HR_OK);
    multiply_ones(context, &report);
    hr_context_destroy(context);
    const timeline t = read_file(path_of("measured.json"));
    CHECK(t.whole && t.unequal == 0 && t.overlaps == 0 && t.calls == 1);
    CHECK(t.measured > 0);
    CHECK(t.up == (double)report.host_to_device);
    CHECK(reaches_host(b) ? t.down <= (double)report.device_to_host
                          : t.down == (double)report.device_to_host);
    CHECK(t.peer == (double)report.peer);
    CHECK(t.flop == report.flops);
}

static void bars_of_launches(bed *b)
{
    enum { ELEMENTS = 3001 };
    static float x[ELEMENTS], y[ELEMENTS];
    TEST_CASE("kernels, and queues that were there before");
    const hr_traffic before = hr_context_traffic(b->context);
    hr_array *from = bed_wrap(b, x, sizeof *x, hr_extent1(ELEMENTS));
    hr_array *to = bed_wrap(b, y, sizeof *y, hr_extent1(ELEMENTS));
    int wrong = 0;
    for (int i = 0; i < ELEMENTS; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }
    CHECK(hr_context_trace(b->context, path_of("launch.json")) == HR_OK);
    for (uint32_t q = 0; q < b->count; q++) {
        CHECK(hr_launch(b->queues[q], &run1, hr_extent1(ELEMENTS), NULL,
                        HR_ARGUMENTS(hr_value(1.0F), hr_in(hr_view_of(from)),
                                     hr_inout(hr_view_of(to)))) == HR_OK);
    }
    CHECK(hr_synchronize(hr_view_of(to)) == HR_OK);
    CHECK(hr_context_trace(b->context, NULL) == HR_OK);
    const hr_traffic after = hr_context_traffic(b->context);
    for (int i = 0; i < ELEMENTS; i++) {
        wrong += y[i] != 1 + (float)b->count * x[i];
    }
    CHECK(wrong == 0);
    const timeline t = read_file(path_of("launch.json"));
    CHECK(t.whole && t.unequal == 0 && t.overlaps == 0);
    CHECK(t.bars >= (int)b->count);
    CHECK(t.up == (double)(after.up - before.up));
    CHECK(t.down == (double)(after.down - before.down));
    hr_array_destroy(from);
    hr_array_destroy(to);
}

static void bars_of_split_launches(bed *b)
{
    enum { ELEMENTS = 3001 };
    static float x[ELEMENTS], y[ELEMENTS];
    TEST_CASE("split launches, and hr_run, which waits");
    hr_array *from = bed_wrap(b, x, sizeof *x, hr_extent1(ELEMENTS));
    hr_array *to = bed_wrap(b, y, sizeof *y, hr_extent1(ELEMENTS));
    CHECK(hr_context_trace(b->context, path_of("split.json")) == HR_OK);
    CHECK(hr_launch_split(b->context, &run1, hr_extent1(ELEMENTS),
                          HR_ARGUMENTS(hr_value(1.0F), hr_in(hr_view_of(from)),
                                       hr_inout(hr_view_of(to))),
                          NULL) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(to)) == HR_OK);
    hr_array_destroy(from);
    hr_array_destroy(to);
    CHECK(hr_run(b->context, &run1, hr_extent1(ELEMENTS),
                 HR_ARGUMENTS(hr_value(1.0F), hr_in(x, ELEMENTS),
                              hr_inout(y, ELEMENTS)),
                 NULL) == HR_OK);
    CHECK(hr_context_trace(b->context, NULL) == HR_OK);
    const timeline t = read_file(path_of("split.json"));
    CHECK(t.whole && t.unequal == 0 && t.overlaps == 0);
    CHECK(t.calls == 2 && t.enqueued == 1);
    CHECK(t.predicted == (b->count > 1 ? 2 : 0)); /* there was a choice */
}

static void many_commands(bed *b)
{
    enum { LAUNCHES = 9000 };
    static float x[8], y[8];
    TEST_CASE("many commands");
    hr_array *from = bed_wrap(b, x, sizeof *x, hr_extent1(8));
    hr_array *to = bed_wrap(b, y, sizeof *y, hr_extent1(8));
    CHECK(hr_context_trace(b->context, path_of("many.json")) == HR_OK);
    for (int i = 0; i < LAUNCHES; i++) {
        CHECK(hr_launch(b->queues[0], &run1, hr_extent1(8), NULL,
                        HR_ARGUMENTS(hr_value(1.0F), hr_in(hr_view_of(from)),
                                     hr_inout(hr_view_of(to)))) == HR_OK);
    }
    CHECK(hr_synchronize(hr_view_of(to)) == HR_OK);
    CHECK(hr_context_trace(b->context, NULL) == HR_OK);
    const timeline t = read_file(path_of("many.json"));
    CHECK(t.whole && t.unequal == 0 && t.overlaps == 0);
    CHECK(t.bars >= LAUNCHES);
    hr_array_destroy(from);
    hr_array_destroy(to);
}

static void traces_follow_each_other(bed *b)
{
    enum { EVENTS = 4 }; /* before, in a trace, between two, in another */
    TEST_CASE("events and queues outlive a trace; another one has them, too");
    hr_event *events[EVENTS] = {NULL};
    for (int i = 0; i < EVENTS; i++) {
        const char *path = path_of(i == 1 ? "first.json" : "second.json");
        CHECK(hr_context_trace(b->context, i % 2 == 1 ? path : NULL) == HR_OK);
        multiply_ones(b->context, NULL);
        CHECK(hr_queue_record(b->queues[0], &events[i]) == HR_OK);
        CHECK(hr_queue_wait(b->queues[0], events[i]) == HR_OK);
        CHECK(hr_event_wait(events[i]) == HR_OK);
    }
    CHECK(hr_context_trace(b->context, NULL) == HR_OK);
    for (int i = 0; i < EVENTS; i++) {
        bool done = false;
        double seconds = -1;
        CHECK(hr_event_query(events[i], &done) == HR_OK && done);
        CHECK(hr_event_elapsed(events[i], events[(i + 1) % EVENTS], &seconds) ==
              HR_OK);
        CHECK(i + 1 < EVENTS ? seconds > 0 : seconds == 0);
    }
    for (int i = 0; i < EVENTS; i++) {
        hr_event_destroy(events[i]);
    }
    const timeline first = read_file(path_of("first.json"));
    const timeline second = read_file(path_of("second.json"));
    CHECK(first.whole && first.calls == 1 && first.overlaps == 0);
    CHECK(second.whole && second.calls == 1 && second.overlaps == 0);
}

static void contexts_share_a_file(bed *b)
{
    TEST_CASE("contexts of one file, one after the other and at once");
    const char *path = path_of("both.json");
    hr_context *other[2];
    for (int i = 0; i < 2; i++) {
        other[i] = test_context("2xhost", 0);
        CHECK(hr_context_trace(other[i], path) == HR_OK);
        multiply_ones(other[i], NULL);
    }
    for (int i = 0; i < 2; i++) {
        hr_context_destroy(other[i]);
    }
    timeline t = read_file(path_of("both.json"));
    CHECK(t.whole && t.unequal == 0 && t.calls == 2);
    const int bars = t.bars;
    CHECK(hr_context_trace(b->context, path_of("both.json")) == HR_OK);
    multiply_ones(b->context, NULL);
    CHECK(hr_context_trace(b->context, NULL) == HR_OK);
    t = read_file(path_of("both.json"));
    CHECK(t.whole && t.unequal == 0 && t.calls == 3 && t.bars > bars);
}

/* In a child of fork(). ThreadSanitizer starts no threads there. */
static pid_t multiply_in_child(void)
{
    int status = 0;
    if (TEST_TSAN) {
        return 0;
    }
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        hr_context *mine = test_context("2xhost", 0);
        multiply_ones(mine, NULL);
        hr_context_destroy(mine);
        _exit(test_state.failures == 0 ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    return child;
}

static void variable_and_child(bed *b)
{
    TEST_CASE("HEADRACE_TRACE, and a child of fork()");
    (void)b;
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    char name[64];
    CHECK(setenv("HEADRACE_TRACE", path_of("env.json"), 1) == 0);
    hr_context *context = test_context("2xhost", 0);
    multiply_ones(context, NULL);
    const pid_t child = multiply_in_child();
    hr_context_destroy(context);
    timeline t = read_file(path_of("env.json"));
    CHECK(t.whole && t.unequal == 0 && t.calls == 1);
    if (child > 0) {
        snprintf(name, sizeof name, "env.json.%ld", (long)child);
        t = read_file(path_of(name));
        CHECK(t.whole && t.unequal == 0 && t.calls == 1);
    }
    CHECK(setenv("HEADRACE_TRACE", path_of("%p.json"), 1) == 0);
    hr_context_destroy(test_context("2xhost", 0));
    snprintf(name, sizeof name, "%ld.json", (long)getpid());
    t = read_file(path_of(name));
    CHECK(t.whole && t.unequal == 0 && t.calls == 0);
    CHECK(setenv("HEADRACE_TRACE", path_of("none/x.json"), 1) == 0);
    options.accelerators = "2xhost";
    CHECK_FAILS(hr_context_create(&options, &context), HR_ERROR_IO,
                "none/x.json cannot be written: No such file");
    CHECK(unsetenv("HEADRACE_TRACE") == 0);
}

static bool is_text(const char *name, const char *text)
{
    size_t bytes = 0;
    char *found = files_read(path_of(name), &bytes);
    const bool same = found != NULL && strcmp(found, text) == 0;
    free(found);
    return same;
}

static void file_appears_whole(bed *b)
{
    TEST_CASE("a file has its name when it is complete");
    char before[512];
    CHECK(files_write(path_of("old.json"), "old", 3));
    CHECK(symlink("old.json", path_of("link.json")) == 0);
    CHECK(getcwd(before, sizeof before) != NULL && chdir(folder) == 0);
    CHECK(hr_context_trace(b->context, "link.json") == HR_OK);
    CHECK(chdir(before) == 0);
    multiply_ones(b->context, NULL);
    CHECK(is_text("old.json", "old"));
    CHECK(hr_context_trace(b->context, NULL) == HR_OK);
    timeline t = read_file(path_of("old.json"));
    CHECK(t.whole && t.calls == 1);
    char target[16] = "";
    CHECK(readlink(path_of("link.json"), target, sizeof target) == 8);

    /* Another file has taken its place. It is not continued. */
    CHECK(hr_context_trace(b->context, path_of("new.json")) == HR_OK);
    CHECK(access(path_of("new.json"), F_OK) != 0);
    multiply_ones(b->context, NULL);
    CHECK(hr_context_trace(b->context, NULL) == HR_OK);
    CHECK(unlink(path_of("new.json")) == 0);
    CHECK(hr_context_trace(b->context, path_of("new.json")) == HR_OK);
    CHECK(access(path_of("new.json"), F_OK) != 0);
    multiply_ones(b->context, NULL);
    CHECK(hr_context_trace(b->context, NULL) == HR_OK);
    t = read_file(path_of("new.json"));
    CHECK(t.whole && t.unequal == 0 && t.calls == 1);
}

/* No draft can be made there. */
static void in_place(bed *b)
{
    TEST_CASE("a file in a folder that may not be written");
    static char old[100000];
    char path[512];
    memset(old, 'x', sizeof old);
    snprintf(path, sizeof path, "%s/closed", folder);
    CHECK(mkdir(path, 0700) == 0);
    snprintf(path, sizeof path, "%s/closed/t.json", folder);
    CHECK(files_write(path, old, sizeof old));
    CHECK(chmod(path_of("closed"), 0500) == 0);
    files_heed_permissions(true);
    for (int i = 1; i <= 2; i++) { /* the second goes on in the file */
        CHECK(hr_context_trace(b->context, path) == HR_OK);
        multiply_ones(b->context, NULL);
        CHECK(hr_context_trace(b->context, NULL) == HR_OK);
        const timeline t = read_file(path);
        CHECK(t.whole && t.unequal == 0 && t.calls == i);
    }
    CHECK(files_count(path_of("closed"), NULL, 0) == 1);
    CHECK_FAILS(hr_context_trace(b->context, path_of("closed/new.json")),
                HR_ERROR_IO, "new.json cannot be written: Permission denied");
    files_heed_permissions(false);
    CHECK(chmod(path_of("closed"), 0700) == 0);
}

static void refused_paths(bed *b)
{
    TEST_CASE("what is refused");
    CHECK_FAILS(hr_context_trace(NULL, "x"), HR_ERROR_INVALID,
                "trace: the context is NULL");
    CHECK_FAILS(hr_context_trace(b->context, ""), HR_ERROR_INVALID,
                "trace: the path is empty");
    CHECK_FAILS(hr_context_trace(b->context, path_of("no/file.json")),
                HR_ERROR_IO, "cannot be written: No such file");
    CHECK(hr_context_trace(b->context, NULL) == HR_OK);
    CHECK(hr_context_trace(b->context, "/dev/full") == HR_OK);
    multiply_ones(b->context, NULL);
    CHECK_FAILS(hr_context_trace(b->context, NULL), HR_ERROR_IO,
                "trace: writing /dev/full failed: ");
    multiply_ones(b->context, NULL);
}

static void all_cases(bed *b)
{
    files_make_folder(folder, sizeof folder);
    TEST(bars_of_products(b));
    TEST(measuring_is_apart(b));
    TEST(bars_of_launches(b));
    TEST(bars_of_split_launches(b));
    TEST(many_commands(b));
    TEST(traces_follow_each_other(b));
    TEST(contexts_share_a_file(b));
    TEST(variable_and_child(b));
    TEST(file_appears_whole(b));
    TEST(in_place(b));
    TEST(refused_paths(b));
    files_remove_folder(folder);
}

int main(int argc, char **argv)
{
    set = argc > 1 ? argv[1] : "3xhost";
    return bed_main(set, all_cases);
}
