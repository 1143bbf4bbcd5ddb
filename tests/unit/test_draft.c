/* SPDX-License-Identifier: MIT */
/* Drafts that a killed process left are removed by the next one, and nothing
 * else is. */
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/draft.h"
#include "runtime/cache.h"
#include "support/files.h"

static char folder[64];

/* The path of a name in the folder. Each call overwrites the one before. */
static const char *in_folder(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void make_npy(void)
{
    hr_npy *file;
    hr_matrix m;
    CHECK(hr_npy_create(in_folder("a.npy"), HR_F32, 2, 3, HR_ROW_MAJOR, &file,
                        &m) == HR_OK);
}

static void make_cache_file(void)
{
    static hri_draft draft;
    CHECK(hri_draft_begin(in_folder("rates"), &draft));
}

/* Run make in a process that is killed then. */
static void killed(void (*make)(void))
{
    const pid_t child = fork();
    if (child == 0) {
        make();
        raise(SIGKILL);
    }
    int how = 0;
    CHECK(child > 0 && waitpid(child, &how, 0) == child && WIFSIGNALED(how));
}

/* Begin a draft and remove it: others that are stale go, too. */
static void make_and_remove(void)
{
    int fd = -1;
    char *name = NULL;
    CHECK(hri_draft_create(in_folder("b"), 0600, &fd, &name) == 0);
    close(fd);
    unlink(name);
    free(name);
}

static void killed_processes(void)
{
    TEST_CASE("a .npy file of a killed process");
    killed(make_npy);
    CHECK(files_count(folder, NULL, 0) == 1);
    make_and_remove();
    CHECK(files_count(folder, NULL, 0) == 0);
    TEST_CASE("a file of the cache of a killed process");
    killed(make_cache_file);
    CHECK(files_count(folder, NULL, 0) == 1);
    make_and_remove();
    CHECK(files_count(folder, NULL, 0) == 0);
}

static void drafts_in_use(void)
{
    TEST_CASE("drafts in use stay");
    hr_npy *file;
    hr_matrix m;
    hri_draft draft;
    char rates[128];
    CHECK(hr_npy_create(in_folder("a.npy"), HR_F32, 2, 3, HR_ROW_MAJOR, &file,
                        &m) == HR_OK);
    snprintf(rates, sizeof rates, "%s", in_folder("rates"));
    CHECK(hri_draft_begin(rates, &draft));
    make_and_remove();
    CHECK(files_count(folder, NULL, 0) == 2);
    fputs("1 a b\n", draft.file);
    hri_draft_end(&draft);
    CHECK(hr_npy_commit(file) == HR_OK);
    hr_npy_close(file);
    CHECK(files_count(folder, NULL, 0) == 2 && access(rates, R_OK) == 0 &&
          access(in_folder("a.npy"), R_OK) == 0);
    unlink(rates);
    unlink(in_folder("a.npy"));
}

/* Names that look almost like a draft's, such as rsync's. */
static const char *const others[] = {
    ".a.npy.AbCdEf",           "a.npy.headrace-12-abcdef",
    ".a.npy.headrace-abcdef",  ".a.npy.headrace--abcdef",
    ".a.npy.headrace-1-abcde", ".a.npy.headrace-1-abcdefg",
    ".a.npy.headrace-1-abc.e", ".headrace"};

enum { OTHERS = sizeof others / sizeof others[0] };

static void other_files(void)
{
    TEST_CASE("files of others, links and pipes stay");
    for (size_t i = 0; i < OTHERS; i++) {
        CHECK(files_write(in_folder(others[i]), "a", 1));
    }
    CHECK(symlink("away", in_folder(".l.headrace-1-abcdef")) == 0);
    CHECK(mkfifo(in_folder(".f.headrace-1-abcdef"), 0600) == 0);
    CHECK(mkdir(in_folder(".d.headrace-1-abcdef"), 0700) == 0);
    make_and_remove();
    CHECK(files_count(folder, NULL, 0) == OTHERS + 3);
}

int main(void)
{
    files_make_folder(folder, sizeof folder);
    TEST(killed_processes());
    TEST(drafts_in_use());
    TEST(other_files());
    for (size_t i = 0; i < OTHERS; i++) {
        unlink(in_folder(others[i]));
    }
    unlink(in_folder(".l.headrace-1-abcdef"));
    unlink(in_folder(".f.headrace-1-abcdef"));
    rmdir(in_folder(".d.headrace-1-abcdef"));
    files_remove_folder(folder);
    return test_end();
}
