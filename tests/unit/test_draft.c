/* SPDX-License-Identifier: MIT */
/* Drafts that a killed process left are removed by the next one, and nothing
 * else is. */
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/draft.h"
#include "support/files.h"

static char folder[64];

/* The path of a name in the folder. Each call overwrites the one before. */
static const char *in_folder(const char *name)
{
    static char path[192];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void make_npy(void)
{
    hr_file *file;
    hr_matrix m;
    CHECK(hr_file_create(in_folder("a.npy"), HR_F32, 2, 3, HR_ROW_MAJOR, &file,
                         &m) == HR_OK);
}

static void make_cache_file(void)
{
    static hri_draft draft;
    CHECK(hri_draft_begin(in_folder("rates"), &draft));
}

/* Run make in a process that is killed then. */
static void make_and_kill(void (*make)(void))
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

static void remove_of_killed(void)
{
    TEST_CASE("a .npy file of a killed process");
    make_and_kill(make_npy);
    CHECK(files_count(folder, NULL, 0) == 1);
    make_and_remove();
    CHECK(files_count(folder, NULL, 0) == 0);
    TEST_CASE("a file of the cache of a killed process");
    make_and_kill(make_cache_file);
    CHECK(files_count(folder, NULL, 0) == 1);
    make_and_remove();
    CHECK(files_count(folder, NULL, 0) == 0);
}

static void keep_in_use(void)
{
    TEST_CASE("drafts in use stay");
    hr_file *file;
    hr_matrix m;
    hri_draft draft;
    char rates[192];
    CHECK(hr_file_create(in_folder("a.npy"), HR_F32, 2, 3, HR_ROW_MAJOR, &file,
                         &m) == HR_OK);
    snprintf(rates, sizeof rates, "%s", in_folder("rates"));
    CHECK(hri_draft_begin(rates, &draft));
    make_and_remove();
    CHECK(files_count(folder, NULL, 0) == 2);
    fputs("1 a b\n", draft.file);
    hri_draft_end(&draft);
    CHECK(hr_file_commit(file) == HR_OK);
    hr_file_close(file);
    CHECK(files_count(folder, NULL, 0) == 2 && access(rates, R_OK) == 0 &&
          access(in_folder("a.npy"), R_OK) == 0);
    unlink(rates);
    unlink(in_folder("a.npy"));
}

/* Names that look almost like a draft's, such as rsync's. */
static const char *const others[] = {
    ".a.npy.AbCdEf",
    "a.npy.headrace-MACHINE--START----1-abcdef",
    ".a.npy.headrace-MACHINE--START----abcdef",
    ".a.npy.headrace-MACHINE--START-----abcdef",
    ".a.npy.headrace-MACHINE--START----1-abcde",
    ".a.npy.headrace-MACHINE--START----1-abcdefg",
    ".a.npy.headrace-MACHINE--START----1-abc.e",
    ".a.npy.headrace-MACHINE--START---0-1-abcdef",
    ".a.npy.headrace-1-abcdef",
    ".headrace"};

enum { OTHERS = sizeof others / sizeof others[0] };

/* The machine and the start in the names of this machine's drafts: eight digits
 * each, with lines between them. */
enum { ORIGIN = 17 };
static char origin[ORIGIN + 1];

static void find_origin(void)
{
    int fd = -1;
    char *name = NULL;
    CHECK(hri_draft_create(in_folder("b"), 0600, &fd, &name) == 0);
    snprintf(origin, sizeof origin, "%s",
             strstr(name, ".headrace-") + strlen(".headrace-"));
    close(fd);
    unlink(name);
    free(name);
}

/* The path of a name in which the origin stands for MACHINE--START---. */
static const char *with_origin(const char *name)
{
    static const char word[] = "MACHINE--START---";
    char changed[96];
    snprintf(changed, sizeof changed, "%s", name);
    char *at = strstr(changed, word);
    if (at != NULL) {
        memcpy(at, origin, ORIGIN);
    }
    return in_folder(changed);
}

static const char *const special[] = {".l.headrace-MACHINE--START----1-abcdef",
                                      ".f.headrace-MACHINE--START----1-abcdef",
                                      ".d.headrace-MACHINE--START----1-abcdef"};

static void keep_other_files(void)
{
    TEST_CASE("files of others, links and pipes stay");
    for (size_t i = 0; i < OTHERS; i++) {
        CHECK(files_write(with_origin(others[i]), "a", 1));
    }
    CHECK(symlink("away", with_origin(special[0])) == 0);
    CHECK(mkfifo(with_origin(special[1]), 0600) == 0);
    CHECK(mkdir(with_origin(special[2]), 0700) == 0);
    make_and_remove();
    CHECK(files_count(folder, NULL, 0) == OTHERS + 3);
    for (size_t i = 0; i < OTHERS; i++) {
        unlink(with_origin(others[i]));
    }
    unlink(with_origin(special[0]));
    unlink(with_origin(special[1]));
    rmdir(with_origin(special[2]));
}

/* Whether a draft without a lock stays whose name has other digits for the
 * machine, for its start, or for both. */
static bool keeps_draft(bool other_machine, bool other_start)
{
    char name[96];
    snprintf(name, sizeof name, ".a.headrace-%s-1-abcdef", origin);
    char *machine = name + strlen(".a.headrace-"), *start = machine + 9;
    if (other_machine) {
        memcpy(machine, "00000000", 8);
    }
    if (other_start) {
        memcpy(start, "00000000", 8);
    }
    CHECK(files_write(in_folder(name), "a", 1));
    make_and_remove();
    const bool there = access(in_folder(name), F_OK) == 0;
    unlink(in_folder(name));
    return there;
}

static void keep_of_machines(void)
{
    TEST_CASE("drafts of other machines stay, whose locks may not show here");
    CHECK(keeps_draft(true, true));
    TEST_CASE("drafts of this machine go, also of a container and from before");
    CHECK(!keeps_draft(false, false));
    CHECK(!keeps_draft(true, false));
    CHECK(access("/etc/machine-id", R_OK) != 0 || !keeps_draft(false, true));
}

/* Without a free descriptor. */
static void refuse_without_lock(void)
{
    hri_draft draft;
    struct rlimit limit, tight;
    char rates[192];
    TEST_CASE("a file whose lock cannot be kept is not made");
    snprintf(rates, sizeof rates, "%s", in_folder("rates"));
    CHECK(hri_draft_begin(rates, &draft));
    fputs("1 a b\n", draft.file);
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    tight = limit;
    tight.rlim_cur = (rlim_t)fileno(draft.file) + 1;
    CHECK(setrlimit(RLIMIT_NOFILE, &tight) == 0);
    hri_draft_end(&draft);
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK(files_count(folder, NULL, 0) == 0);
    unlink(rates);
}

int main(void)
{
    files_make_folder(folder, sizeof folder);
    find_origin();
    TEST(remove_of_killed());
    TEST(keep_in_use());
    TEST(keep_other_files());
    TEST(keep_of_machines());
    TEST(refuse_without_lock());
    files_remove_folder(folder);
    return test_end();
}
