/* SPDX-License-Identifier: MIT */
/* Machine code that is kept between processes: files that are whole, damaged,
 * foreign, too many, or written by several at once. No device is needed. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/draft.h"
#include "kernels/kernels.h"
#include "support/files.h"
#include "test.h"

enum { IMAGE = 37, MAX_FILES = 256, WRITERS = 8, ROUNDS = 100 };
enum { HEADER = 48 }; /* bytes: a name and five numbers */

static const char target[] = "a device, its driver", source[] = "a kernel";
static char folder[64], modules[96], file[256];

static void image_of(unsigned char bytes[IMAGE], int number)
{
    for (int i = 0; i < IMAGE; i++) {
        bytes[i] = (unsigned char)(i * 7 + number);
    }
}

static void keep_image(const char *t, const char *s, int number)
{
    unsigned char bytes[IMAGE];
    const hri_image image = {.bytes = bytes, .count = sizeof bytes};
    image_of(bytes, number);
    hri_module_cache_keep(t, s, &image);
}

/* -1: nothing; -2: wrong bytes; else the number that was kept. */
static int find_image(const char *t, const char *s)
{
    unsigned char want[IMAGE];
    hri_image image = {0};
    if (!hri_module_cache_find(t, s, &image)) {
        return image.bytes == NULL ? -1 : -2;
    }
    int number = ((unsigned char *)image.bytes)[0];
    image_of(want, number);
    bool right = image.count == IMAGE && memcmp(image.bytes, want, IMAGE) == 0;
    free(image.bytes);
    return right ? number : -2;
}

static void empty_folder(void)
{
    files_remove_folder(folder);
    files_make_folder(folder, sizeof folder);
    snprintf(modules, sizeof modules, "%s/modules", folder);
    CHECK(setenv("HEADRACE_CACHE", folder, 1) == 0);
}

static void images_are_whole(void)
{
    TEST_CASE("nothing at first; folders are made; the last one counts");
    CHECK(find_image(target, source) == -1);
    CHECK(files_count(modules, NULL, 0) == 0);
    keep_image(target, source, 1);
    CHECK(find_image(target, source) == 1);
    keep_image(target, source, 2);
    CHECK(find_image(target, source) == 2);
    CHECK(files_count(modules, file, sizeof file) == 1);

    TEST_CASE("targets and sources are whole, and each has its own");
    CHECK(find_image("a device, its drive", source) == -1);
    CHECK(find_image("a device, its driver ", source) == -1);
    CHECK(find_image(target, "a kerne") == -1);
    CHECK(find_image(source, target) == -1);
    CHECK(find_image("a device, its drivera", " kernel") == -1);
    keep_image(target, "another", 3);
    keep_image("another", source, 4);
    CHECK(find_image(target, source) == 2 &&
          find_image(target, "another") == 3);
    CHECK(find_image("another", source) == 4);
    CHECK(files_count(modules, NULL, 0) == 3);

    TEST_CASE("an image of nothing is not kept");
    const hri_image none = {.bytes = file, .count = 0};
    hri_module_cache_keep("none", source, &none);
    CHECK(files_count(modules, NULL, 0) == 3);
}

/* What is at the file's place is as good as nothing, and mended. */
static void check_mended(int number)
{
    CHECK(find_image(target, source) == -1);
    keep_image(target, source, number);
    CHECK(find_image(target, source) == number);
    CHECK(files_count(modules, NULL, 0) == 1);
}

static void bytes_that_are_wrong(void)
{
    size_t count = 0;
    empty_folder();
    keep_image(target, source, 9);
    CHECK(files_count(modules, file, sizeof file) == 1);
    char *bytes = files_read(file, &count);
    CHECK(count == HEADER + strlen(target) + strlen(source) + IMAGE);
    TEST_CASE("cut at every length");
    for (size_t i = 0; i < count; i++) {
        CHECK(files_write(file, bytes, i));
        check_mended(10);
    }
    TEST_CASE("every byte");
    for (size_t i = 0; i < count; i++) {
        bytes[i] = (char)(bytes[i] ^ 1 << i % 8);
        CHECK(files_write(file, bytes, count));
        check_mended(11);
        bytes[i] = (char)(bytes[i] ^ 1 << i % 8);
    }
    TEST_CASE("a byte more; and not one of these");
    CHECK(files_write(file, bytes, count + 1));
    check_mended(12);
    CHECK(files_write(file, bytes, count));
    CHECK(find_image(target, source) == 9);
    TEST_CASE("the file of another source under this name");
    CHECK(unlink(file) == 0);
    keep_image(target, "another", 13);
    CHECK(files_count(modules, file, sizeof file) == 1);
    CHECK(files_write(file, bytes, count));
    CHECK(find_image(target, "another") == -1);
    keep_image(target, "another", 14);
    CHECK(find_image(target, "another") == 14 &&
          find_image(target, source) == -1);
    free(bytes);
}

static void things_that_are_no_files(void)
{
    char inside[300];
    empty_folder();
    keep_image(target, source, 20);
    CHECK(files_count(modules, file, sizeof file) == 1);
    TEST_CASE("a folder");
    CHECK(unlink(file) == 0 && mkdir(file, 0700) == 0);
    check_mended(21);
    TEST_CASE("a pipe holds nobody up");
    CHECK(unlink(file) == 0 && mkfifo(file, 0600) == 0);
    check_mended(22);
    TEST_CASE("links to nothing and to themselves");
    CHECK(unlink(file) == 0 && symlink("/nowhere/at/all", file) == 0);
    check_mended(23);
    CHECK(unlink(file) == 0 && symlink(file, file) == 0);
    check_mended(24);
    TEST_CASE("a file of 8 TB, with holes");
    CHECK(truncate(file, (off_t)1 << 43) == 0 || truncate(file, 1) == 0);
    check_mended(25);
    TEST_CASE("a file that others may write to is not believed");
    CHECK(chmod(file, 0620) == 0);
    check_mended(28);
    CHECK(chmod(file, 0602) == 0);
    check_mended(29);
    if (geteuid() != 0) {
        TEST_CASE("a file that may not be read");
        CHECK(chmod(file, 0) == 0);
        check_mended(26);
    } else if (chown(file, 12345, (gid_t)-1) == 0) {
        TEST_CASE("a file of another user's is not believed");
        check_mended(26);
    }
    TEST_CASE("a folder with something in it stays, and nothing is kept");
    CHECK(unlink(file) == 0 && mkdir(file, 0700) == 0);
    snprintf(inside, sizeof inside, "%s/inside", file);
    CHECK(files_write(inside, "x", 1));
    keep_image(target, source, 27);
    CHECK(find_image(target, source) == -1);
    CHECK(files_count(modules, NULL, 0) == 1);
    CHECK(files_count(file, NULL, 0) == 1);
}

static void no_folder(void)
{
    char path[128];
    TEST_CASE("set to nothing: nothing is kept");
    empty_folder();
    CHECK(setenv("HEADRACE_CACHE", "", 1) == 0);
    CHECK(!hri_module_cache_wanted());
    keep_image(target, source, 30);
    CHECK(find_image(target, source) == -1);
    TEST_CASE("folders that cannot be");
    static const char *const names[] = {"/dev/null/x", "/proc/x"};
    for (int i = 0; i < 2; i++) {
        CHECK(setenv("HEADRACE_CACHE", names[i], 1) == 0);
        CHECK(hri_module_cache_wanted());
        keep_image(target, source, 30);
        CHECK(find_image(target, source) == -1);
    }
    TEST_CASE("a file in the place of the folder");
    CHECK(setenv("HEADRACE_CACHE", folder, 1) == 0);
    CHECK(files_write(modules, "x", 1));
    keep_image(target, source, 30);
    CHECK(find_image(target, source) == -1);
    TEST_CASE("a path that is too long");
    static char length[PATH_MAX + 20];
    memset(length, 'x', sizeof length - 1);
    length[0] = '/';
    CHECK(setenv("HEADRACE_CACHE", length, 1) == 0);
    CHECK(!hri_module_cache_wanted());
    length[PATH_MAX - 20] = '\0'; /* too long for the file alone */
    CHECK(setenv("HEADRACE_CACHE", length, 1) == 0);
    keep_image(target, source, 30);
    CHECK(find_image(target, source) == -1);
    if (geteuid() != 0) {
        TEST_CASE("a folder that is for reading only: what is there is used");
        empty_folder();
        keep_image(target, source, 31);
        CHECK(chmod(modules, 0500) == 0);
        keep_image(target, source, 32);
        keep_image(target, "another", 33);
        CHECK(find_image(target, source) == 31 &&
              find_image(target, "another") == -1);
        CHECK(files_count(modules, NULL, 0) == 1);
    }
    TEST_CASE("the usual place");
    empty_folder();
    CHECK(unsetenv("HEADRACE_CACHE") == 0);
    CHECK(setenv("XDG_CACHE_HOME", folder, 1) == 0);
    keep_image(target, source, 34);
    CHECK(find_image(target, source) == 34);
    snprintf(path, sizeof path, "%s/headrace/modules", folder);
    CHECK(files_count(path, NULL, 0) == 1);
}

/* Files grow no longer than 64 bytes here. */
static int on_a_full_disk(int number)
{
    const struct rlimit limit = {64, 64};
    (void)number;
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
        return 1;
    }
    keep_image(target, source, 41);
    keep_image(target, "another", 42);
    return (find_image(target, source) != 40) +
           (find_image(target, "another") != -1);
}

static void old_file_stays(void)
{
    TEST_CASE("on a full disk the old file stays, and no part of a new one");
    empty_folder();
    keep_image(target, source, 40);
    CHECK(files_in_children(1, on_a_full_disk) == 0);
    CHECK(files_count(modules, NULL, 0) == 1);
}

/* Every file there was last used in 2001. */
static void make_old(void)
{
    const struct timespec times[] = {{978307200, 0}, {978307200, 0}};
    const struct dirent *entry;
    DIR *d = opendir(modules);
    while (d != NULL && (entry = readdir(d)) != NULL) {
        if (entry->d_name[0] != '.') {
            CHECK(utimensat(dirfd(d), entry->d_name, times, 0) == 0);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
}

static int find_number(int number)
{
    char name[32];
    snprintf(name, sizeof name, "kernel %d", number);
    return find_image(target, name);
}

static void keep_number(int number)
{
    char name[32];
    snprintf(name, sizeof name, "kernel %d", number);
    keep_image(target, name, number % 100);
}

/* A draft of a file of the cache. The caller closes *fd and frees the name. */
static char *draft_of(const char *hashes, int *fd)
{
    char path[192];
    char *name = NULL;
    snprintf(path, sizeof path, "%s/%s", modules, hashes);
    CHECK(hri_draft_create(path, 0600, fd, &name) == 0);
    return name;
}

/* The cache is full. */
static void drafts_go(void)
{
    int left, used;
    TEST_CASE("what a process left that ended while it wrote goes too");
    char *stale = draft_of("0123456789abcdef-0123456789abcdef", &left);
    char *own = draft_of("0123456789abcdef-0123456789abcdee", &used);
    close(left); /* and with it the lock, as when the process ends */
    make_old();
    keep_number(MAX_FILES);
    CHECK(access(stale, F_OK) != 0);
    TEST_CASE("what is being written counts as no file, and stays");
    CHECK(access(own, F_OK) == 0);
    CHECK(files_count(modules, NULL, 0) == MAX_FILES + 1);
    close(used);
    CHECK(unlink(own) == 0);
    free(stale);
    free(own);
}

static void files_are_limited(void)
{
    enum { UNUSED = 100 };
    char path[192];
    TEST_CASE("of too many files that goes which was not used for longest");
    empty_folder();
    for (int i = 0; i < MAX_FILES; i++) {
        keep_number(i);
    }
    CHECK(files_count(modules, NULL, 0) == MAX_FILES);
    make_old();
    for (int i = 0; i < MAX_FILES; i++) {
        CHECK(i == UNUSED || find_number(i) == i % 100);
    }
    keep_number(MAX_FILES);
    CHECK(files_count(modules, NULL, 0) == MAX_FILES);
    for (int i = 0; i <= MAX_FILES; i++) {
        CHECK(find_number(i) == (i == UNUSED ? -1 : i % 100));
    }
    drafts_go();
    TEST_CASE("a folder of such a name does not keep others from going");
    snprintf(path, sizeof path, "%s/0123456789abcdef-0123456789abcdef",
             modules);
    CHECK(mkdir(path, 0700) == 0);
    make_old();
    keep_number(0);
    keep_number(MAX_FILES + 2);
    CHECK(files_count(modules, NULL, 0) == MAX_FILES + 1);
    CHECK(rmdir(path) == 0);
    TEST_CASE("files of others stay, however old");
    snprintf(path, sizeof path, "%s/0123456789abcdef-0123456789abcdef.aBcDeF",
             modules);
    CHECK(files_write(path, "x", 1));
    make_old();
    keep_number(MAX_FILES + 1);
    CHECK(files_count(modules, NULL, 0) == MAX_FILES + 1);
    CHECK(access(path, F_OK) == 0 && find_number(MAX_FILES + 1) == 57);
}

/* Finds either what it kept or what another did, and never less. */
static int write_and_read(int number)
{
    int wrong = 0;
    for (int i = 0; i < ROUNDS; i++) {
        keep_image(target, source, number);
        int found = find_image(target, source);
        wrong += found < 0 || found >= WRITERS;
    }
    return wrong;
}

/* Together more files than are kept: each may go before it is found. */
static int write_many(int number)
{
    int wrong = 0;
    for (int i = 0; i < MAX_FILES / 4; i++) {
        int mine = number * 1000 + i;
        keep_number(mine);
        int found = find_number(mine);
        wrong += found != -1 && found != mine % 100;
    }
    return wrong;
}

static void processes_at_once(void)
{
    TEST_CASE("several processes at once: always a whole file");
    empty_folder();
    CHECK(files_in_children(WRITERS, write_and_read) == 0);
    CHECK(find_image(target, source) >= 0);
    CHECK(files_count(modules, NULL, 0) == 1);
    TEST_CASE("and more files than are kept");
    CHECK(files_in_children(WRITERS, write_many) == 0);
    int count = files_count(modules, NULL, 0);
    CHECK(count > 0 && count <= MAX_FILES);
}

int main(void)
{
    files_make_folder(folder, sizeof folder);
    empty_folder();
    TEST(images_are_whole());
    TEST(bytes_that_are_wrong());
    TEST(things_that_are_no_files());
    TEST(no_folder());
    TEST(old_file_stays());
    TEST(files_are_limited());
    TEST(processes_at_once());
    files_remove_folder(folder);
    return test_end();
}
