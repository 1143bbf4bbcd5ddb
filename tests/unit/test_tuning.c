/* SPDX-License-Identifier: MIT */
/* Measured speeds that are kept between processes. */
#include "test.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "model/tuning.h"
#include "support/files.h"

static char folder[64], file[96];

static void check_kept(void)
{
    double value = 7.0;
    TEST_CASE("nothing is known at first; folders are made");
    CHECK(!hri_tuning_find("f32", "a device", &value) && value == 7.0);
    hri_tuning_keep("f32", "a device", 1.5e12);
    CHECK(hri_tuning_find("f32", "a device", &value) && value == 1.5e12);

    TEST_CASE("kinds and keys are whole words and whole lines");
    CHECK(!hri_tuning_find("f3", "a device", &value));
    CHECK(!hri_tuning_find("f32", "a devic", &value));
    CHECK(!hri_tuning_find("f32", "a device ", &value));

    TEST_CASE("a new value takes the place of the old one, others stay");
    hri_tuning_keep("f64", "a device", 2e11);
    hri_tuning_keep("f32", "another, 4 units", 3e10);
    hri_tuning_keep("f32", "a device", 1e12);
    CHECK(hri_tuning_find("f32", "a device", &value) && value == 1e12);
    CHECK(hri_tuning_find("f64", "a device", &value) && value == 2e11);
    CHECK(hri_tuning_find("f32", "another, 4 units", &value) && value == 3e10);
}

static void check_damaged(void)
{
    static const char damaged[] =
        "x f32 k\n-1 f32 k\nnan f32 k\ninf f32 k\n0 f32 k\n500 f32\n"
        "99999999999999999999 f32 k\n 7 f32 k\n4000000000 up k\n30 f32 k";
    static unsigned char rubbish[100000];
    double value = 7.0;
    hri_tuning_keep("up", "k", 1); /* the folders are there */
    TEST_CASE("lines that cannot be are not believed, and go");
    CHECK(files_write(file, damaged, strlen(damaged)));
    CHECK(!hri_tuning_find("f32", "k", &value) && value == 7.0);
    CHECK(hri_tuning_find("up", "k", &value) && value == 4e9);
    hri_tuning_keep("down", "k", 6e9);
    CHECK(hri_tuning_find("up", "k", &value) && value == 4e9);
    CHECK(hri_tuning_find("down", "k", &value) && value == 6e9);
    struct stat s;
    CHECK(stat(file, &s) == 0 && s.st_size < 50);

    TEST_CASE("binary rubbish");
    for (int i = 0; i < (int)sizeof rubbish; i++) {
        rubbish[i] = (unsigned char)(i * 7919 >> 3 & 255);
    }
    CHECK(files_write(file, rubbish, sizeof rubbish));
    CHECK(!hri_tuning_find("f32", "k", &value));
    hri_tuning_keep("f32", "k", 1e9);
    CHECK(hri_tuning_find("f32", "k", &value) && value == 1e9);
}

static void check_no_file(void)
{
    double value = 7.0;
    TEST_CASE("set to nothing: no file");
    CHECK(setenv("HEADRACE_CACHE", "", 1) == 0);
    hri_tuning_keep("f32", "k", 1e9);
    CHECK(!hri_tuning_find("f32", "k", &value));

    TEST_CASE("a folder that cannot be");
    CHECK(setenv("HEADRACE_CACHE", "/dev/null/x", 1) == 0);
    hri_tuning_keep("f32", "k", 1e9);
    CHECK(!hri_tuning_find("f32", "k", &value));

    TEST_CASE("a pipe in its place does not hold anybody up");
    char pipe_folder[80], pipe_name[96];
    snprintf(pipe_folder, sizeof pipe_folder, "%s/pipe", folder);
    snprintf(pipe_name, sizeof pipe_name, "%s/rates", pipe_folder);
    CHECK(mkdir(pipe_folder, 0700) == 0 && mkfifo(pipe_name, 0600) == 0);
    CHECK(setenv("HEADRACE_CACHE", pipe_folder, 1) == 0);
    CHECK(!hri_tuning_find("f32", "k", &value));

    TEST_CASE("more lines than are kept: the newest stay");
    CHECK(setenv("HEADRACE_CACHE", folder, 1) == 0);
    for (int i = 0; i < 1010; i++) {
        char key[16];
        snprintf(key, sizeof key, "key%d", i);
        hri_tuning_keep("f32", key, 1e9);
    }
    CHECK(hri_tuning_find("f32", "key1009", &value));
    CHECK(hri_tuning_find("f32", "key10", &value));
    CHECK(!hri_tuning_find("f32", "key9", &value));

    TEST_CASE("the usual places");
    CHECK(unsetenv("HEADRACE_CACHE") == 0);
    CHECK(setenv("XDG_CACHE_HOME", folder, 1) == 0);
    hri_tuning_keep("f32", "k", 2e9);
    CHECK(hri_tuning_find("f32", "k", &value) && value == 2e9);
    CHECK(unsetenv("XDG_CACHE_HOME") == 0 && setenv("HOME", folder, 1) == 0);
    CHECK(!hri_tuning_find("f32", "k", &value));
    hri_tuning_keep("f32", "k", 3e9);
    CHECK(hri_tuning_find("f32", "k", &value) && value == 3e9);
}

int main(void)
{
    char deep[80];
    files_make_folder(folder, sizeof folder);
    snprintf(deep, sizeof deep, "%s/a/b", folder);
    snprintf(file, sizeof file, "%s/rates", deep);
    CHECK(setenv("HEADRACE_CACHE", deep, 1) == 0);
    TEST(check_kept());
    TEST(check_damaged());
    TEST(check_no_file());
    files_remove_folder(folder);
    return test_end();
}
