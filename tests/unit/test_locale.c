/* SPDX-License-Identifier: MIT */
/* A program whose numbers have a decimal comma: the library reads and writes
 * them with a point all the same. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "support/files.h"
#include "test.h"

static const char *const name = "de_DE.UTF-8";

static char folder[256];

static void remove_folder(void)
{
    files_remove_folder(folder);
}

/* The system's German locale, or one that is made of its sources. */
static bool set_german(void)
{
    char command[600];
    files_make_folder(folder, sizeof folder);
    (void)atexit(remove_folder);
    snprintf(command, sizeof command,
             "localedef -i de_DE -f UTF-8 '%s/%s' >'%s/log' 2>&1", folder, name,
             folder);
    if (setlocale(LC_ALL, name) != NULL) {
        return true;
    }
    return system(command) == 0 && setenv("LOCPATH", folder, 1) == 0 &&
           setlocale(LC_ALL, name) != NULL;
}

static bool has_comma(void)
{
    char text[16];
    snprintf(text, sizeof text, "%.1f", 1.5);
    return strcmp(text, "1,5") == 0;
}

static void numbers_have_points(void)
{
    char text[64], *end;
    TEST_CASE("numbers");
    CHECK(has_comma());
    CHECK(hri_format(text, sizeof text, "%s %.2f %g", "x", 1.25, 1e-3) == 12);
    CHECK(strcmp(text, "x 1.25 0.001") == 0);
    CHECK(hri_read_number("2.75GiB", &end) == 2.75 && strcmp(end, "GiB") == 0);
    CHECK(hri_read_number("2,75", &end) == 2.0 && strcmp(end, ",75") == 0);
    CHECK(has_comma());
}

static void sizes_are_read(void)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
    hr_context *context = NULL;
    TEST_CASE("sizes in variables");
    options.accelerators = "2xhost";
    CHECK(setenv("HEADRACE_MEMORY_LIMIT", "1.5MiB", 1) == 0);
    CHECK(hr_context_create(&options, &context) == HR_OK);
    CHECK(hr_accelerator_describe(context, 0, &info) == HR_OK &&
          info.memory_limit == 3 << 19);
    hr_context_destroy(context);
    CHECK(setenv("HEADRACE_MEMORY_LIMIT", "1,5MiB", 1) == 0);
    CHECK_FAILS(hr_context_create(&options, &context), HR_ERROR_INVALID,
                "HEADRACE_MEMORY_LIMIT is \"1,5MiB\"");
    CHECK(unsetenv("HEADRACE_MEMORY_LIMIT") == 0);
}

static void sentences_have_points(void)
{
    float data = 0.0f;
    const hr_matrix m = hr_matrix_row_major(&data, HR_F32, 1, 1, 0);
    TEST_CASE("numbers in sentences");
    hr_context *context = test_context("host", 0);
    CHECK_FAILS(
        hr_gemm(context, (hr_scalar){1.5, 2.5}, m, m, hr_real(0), m, NULL),
        HR_ERROR_INVALID, "alpha is 1.5+2.5i");
    CHECK(has_comma());
    hr_context_destroy(context);
}

int main(void)
{
    if (!set_german()) {
        return test_skip("there is no German locale (package locales)");
    }
    if (!has_comma()) {
        return test_skip("this C library knows no decimal comma");
    }
    TEST(numbers_have_points());
    TEST(sizes_are_read());
    TEST(sentences_have_points());
    return test_end();
}
