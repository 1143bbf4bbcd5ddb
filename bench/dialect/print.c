/* SPDX-License-Identifier: MIT */
/* Rows for people, and as JSON lines. */
#include <stdio.h>
#include <string.h>

#include "bench.h"

typedef struct text {
    char of[32];
} text;

static text seconds_text(double seconds)
{
    text t = {"-"};
    if (seconds >= 1.0) {
        snprintf(t.of, sizeof t.of, "%.3g s", seconds);
    } else if (seconds >= 1e-3) {
        snprintf(t.of, sizeof t.of, "%.3g ms", seconds * 1e3);
    } else if (seconds > 0.0) {
        snprintf(t.of, sizeof t.of, "%.3g us", seconds * 1e6);
    }
    return t;
}

void bench_print_head(const bench_options *o)
{
    if (!o->json) {
        printf("%-7s %-24s %-15s %10s %10s %10s %10s %8s  %s\n", "section",
               "kernel", "shape", "hand 1st", "hand best", "dial. 1st",
               "dial. best", "ratio", "target");
    }
}

static void print_plain(const bench_row *row)
{
    char ratio[32] = "-", target[48] = "-";
    const bool seconds = strcmp(row->what, "seconds") == 0;
    if (seconds) {
        snprintf(ratio, sizeof ratio, "-");
        snprintf(target, sizeof target, "<= %s", seconds_text(row->target).of);
    } else if (row->ratio > 0.0) {
        snprintf(ratio, sizeof ratio, "%.3f", row->ratio);
        snprintf(target, sizeof target, row->target > 0.0 ? "%s %.2f" : "-",
                 row->at_most ? "<=" : ">=", row->target);
    }
    const bool met =
        row->at_most ? row->ratio <= row->target : row->ratio >= row->target;
    const bool judged = row->ratio > 0.0 && row->target > 0.0;
    printf("%-7s %-24s %-15s %10s %10s %10s %10s %8s  %s%s\n", row->section,
           row->kernel, row->shape, seconds_text(row->hand_first).of,
           seconds_text(row->hand_best).of, seconds_text(row->dialect_first).of,
           seconds_text(row->dialect_best).of, ratio, target,
           !judged ? ""
           : met   ? " met"
                   : " MISSED");
}

/* Names of devices have no control characters. */
static void print_text(const char *key, const char *value)
{
    printf("\"%s\": \"", key);
    for (; *value != '\0'; value++) {
        if (*value == '"' || *value == '\\') {
            putchar('\\');
        }
        putchar(*value);
    }
    printf("\", ");
}

static void print_number(const char *key, double value)
{
    if (value > 0.0) {
        printf("\"%s\": %.6g, ", key, value);
    } else {
        printf("\"%s\": null, ", key);
    }
}

static void print_json(const bench_row *row)
{
    printf("{");
    print_text("bench", "dialect");
    print_text("commit", HEADRACE_COMMIT);
    print_text("compiler", __VERSION__);
    print_text("section", row->section);
    print_text("device", row->device);
    print_text("kernel", row->kernel);
    print_text("shape", row->shape);
    print_text("what", row->what);
    print_number("hand_first_seconds", row->hand_first);
    print_number("hand_best_seconds", row->hand_best);
    print_number("dialect_first_seconds", row->dialect_first);
    print_number("dialect_best_seconds", row->dialect_best);
    print_number("ratio", row->ratio);
    print_number("target", row->target);
    printf("\"at_most\": %s, \"verified\": true}\n",
           row->at_most ? "true" : "false");
}

void bench_print_row(const bench_options *o, const bench_row *row)
{
    if (o->json) {
        print_json(row);
    } else {
        print_plain(row);
    }
    fflush(stdout);
}

void bench_print_missing(const bench_options *o, const char *section,
                         const char *reason)
{
    if (o->json) {
        printf("{");
        print_text("bench", "dialect");
        print_text("section", section);
        print_text("missing", reason);
        printf("\"verified\": false}\n");
    } else {
        printf("%-7s not compared: %s\n", section, reason);
    }
    fflush(stdout);
}
