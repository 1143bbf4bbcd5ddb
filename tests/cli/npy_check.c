/* SPDX-License-Identifier: MIT */
/* npy_check COMMAND...: what the command's tests ask of .npy files.
 *     same A B                      equal elements, whatever the order
 *     differ A B                    not so
 *     within A LOW HIGH             every part of every element
 *     describe A                    prints "f32 3x4 row" or "... column"
 *     product A B C [NAME=VALUE...] C is the product, within the bound of
 *         tests/support/reference.h; names: alpha, beta (re,im), c0 (a file),
 *         ta, tb, ca, cb (1: transposed, conjugated)
 * Exit status 0 if so, 1 if not. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "support/reference.h"

enum { FILES_MAX = 4 };

static hr_file *files[FILES_MAX]; /* open until the end */

static hr_matrix open_file(const char *path)
{
    hr_matrix m;
    int free_one = 0;
    while (free_one < FILES_MAX - 1 && files[free_one] != NULL) {
        free_one++;
    }
    if (hr_file_open(path, &files[free_one], &m) != HR_OK) {
        fprintf(stderr, "npy_check: %s\n", hr_last_error());
        exit(1);
    }
    return m;
}

static int is_same(const char *one, const char *other)
{
    hr_matrix a = open_file(one), b = open_file(other);
    if (a.type != b.type || a.rows != b.rows || a.cols != b.cols) {
        return 1;
    }
    for (int64_t r = 0; r < a.rows; r++) {
        for (int64_t c = 0; c < a.cols; c++) {
            double x[2], y[2];
            reference_load(&a, r, c, &x[0], &x[1]);
            reference_load(&b, r, c, &y[0], &y[1]);
            if (memcmp(x, y, sizeof x) != 0) {
                return 1;
            }
        }
    }
    return 0;
}

static int is_within(const char *path, double low, double high)
{
    hr_matrix a = open_file(path);
    double least = 0.0, most = 0.0;
    for (int64_t r = 0; r < a.rows; r++) {
        for (int64_t c = 0; c < a.cols; c++) {
            double re, im;
            reference_load(&a, r, c, &re, &im);
            least = re < least ? re : im < least ? im : least;
            most = re > most ? re : im > most ? im : most;
        }
    }
    printf("from %g to %g\n", least, most);
    return !(least >= low && most <= high);
}

static int describe_file(const char *path)
{
    hr_matrix a = open_file(path);
    printf("%s %" PRId64 "x%" PRId64 " %s\n", hr_type_name(a.type), a.rows,
           a.cols, a.col_stride == 1 ? "row" : "column");
    return 0;
}

static hr_scalar read_scalar(const char *text)
{
    char *rest;
    double re = strtod(text, &rest);
    return hr_complex(re, *rest == ',' ? strtod(rest + 1, NULL) : 0.0);
}

static void apply_option(reference_problem *p, hr_matrix *c0,
                         const char *argument)
{
    const char *value = strchr(argument, '=');
    value = value != NULL ? value + 1 : "";
    if (strncmp(argument, "alpha=", 6) == 0) {
        p->alpha = read_scalar(value);
    } else if (strncmp(argument, "beta=", 5) == 0) {
        p->beta = read_scalar(value);
    } else if (strncmp(argument, "c0=", 3) == 0) {
        *c0 = open_file(value);
    } else if (strcmp(argument, "ta=1") == 0) {
        p->a = hr_matrix_transpose(p->a);
    } else if (strcmp(argument, "tb=1") == 0) {
        p->b = hr_matrix_transpose(p->b);
    } else if (strcmp(argument, "ca=1") == 0) {
        p->a = hr_matrix_conjugate(p->a);
    } else if (strcmp(argument, "cb=1") == 0) {
        p->b = hr_matrix_conjugate(p->b);
    } else {
        fprintf(stderr, "npy_check: what is %s?\n", argument);
        exit(1);
    }
}

static int check_product(int argc, char **argv)
{
    hr_matrix c = open_file(argv[2]), c0 = c;
    reference_problem p = {.alpha = hr_real(1.0),
                           .beta = hr_real(0.0),
                           .a = open_file(argv[0]),
                           .b = open_file(argv[1])};
    for (int i = 3; i < argc; i++) {
        apply_option(&p, &c0, argv[i]);
    }
    if (c.rows != p.a.rows || c.cols != p.b.cols || p.a.cols != p.b.rows ||
        c0.rows != c.rows || c0.cols != c.cols || c0.type != c.type) {
        fprintf(stderr, "npy_check: the shapes or types do not match\n");
        return 1;
    }
    p.c = c0;
    reference r;
    reference_miss miss;
    if (!reference_init(&r, &p)) {
        return 1;
    }
    int64_t wrong = reference_compare(&r, &c, &miss);
    if (wrong > 0) {
        char text[256];
        reference_describe(&miss, text, sizeof text);
        fprintf(stderr, "npy_check: %" PRId64 " wrong, first %s\n", wrong,
                text);
    }
    reference_finish(&r);
    return wrong > 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "same") == 0 && argc == 4) {
        return is_same(argv[2], argv[3]);
    }
    if (strcmp(what, "differ") == 0 && argc == 4) {
        return !is_same(argv[2], argv[3]);
    }
    if (strcmp(what, "within") == 0 && argc == 5) {
        return is_within(argv[2], atof(argv[3]), atof(argv[4]));
    }
    if (strcmp(what, "describe") == 0 && argc == 3) {
        return describe_file(argv[2]);
    }
    if (strcmp(what, "product") == 0 && argc >= 5) {
        return check_product(argc - 2, argv + 2);
    }
    fprintf(stderr, "npy_check: wrong arguments\n");
    return 1;
}
