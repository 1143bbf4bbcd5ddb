/* SPDX-License-Identifier: MIT */
/* Files: opened, created, committed, closed, and refused. Works in a new
 * folder inside the working folder. */
#define _GNU_SOURCE /* mkdtemp, syscall */
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "files/files.h"
#include "support/files.h"

/* A file of this text instead of any earlier one. */
static void put_file(const char *path, const char *text)
{
    files_must(files_write(path, text, strlen(text)), path);
}

static bool holds_text(const char *path, const char *text)
{
    size_t bytes = 0;
    char *read = files_read(path, &bytes);
    const bool same =
        read != NULL && bytes == strlen(text) && memcmp(read, text, bytes) == 0;
    free(read);
    return same;
}

/* How many names the folder holds. */
static int names_in(const char *path)
{
    return files_count(path, NULL, 0);
}

static mode_t mode_of(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0 ? s.st_mode & 0777 : 0;
}

static float *element_at(hr_matrix m, int64_t row, int64_t col)
{
    return (float *)m.data + row * m.row_stride + col * m.col_stride;
}

/* A file of one element. */
static hr_status create_one(const char *path, hr_file **file, hr_matrix *m)
{
    return hr_file_create(path, HR_F32, 1, 1, HR_ROW_MAJOR, file, m);
}

/* Commit a 2 x 3 matrix of 1 to 6, in row-major counting, under this name. */
static void make_file(const char *path, hr_order order)
{
    hr_file *file;
    hr_matrix m;
    if (!CHECK(hr_file_create(path, HR_F32, 2, 3, order, &file, &m) == HR_OK)) {
        return;
    }
    for (int i = 0; i < 6; i++) {
        *element_at(m, i / 3, i % 3) = (float)(i + 1);
    }
    CHECK(hr_file_commit(file) == HR_OK);
    hr_file_close(file);
}

/* Whether it is what make_file made. */
static bool is_made(const char *path)
{
    hr_file *file;
    hr_matrix m;
    if (hr_file_open(path, &file, &m) != HR_OK) {
        return false;
    }
    bool same = m.type == HR_F32 && m.rows == 2 && m.cols == 3;
    for (int i = 0; i < 6 && same; i++) {
        same = *element_at(m, i / 3, i % 3) == (float)(i + 1);
    }
    hr_file_close(file);
    return same;
}

static void files_come_back(void)
{
    TEST_CASE("row-major");
    make_file("a.npy", HR_ROW_MAJOR);
    CHECK(is_made("a.npy"));
    TEST_CASE("column-major, over an earlier file");
    make_file("a.npy", HR_COLUMN_MAJOR);
    CHECK(is_made("a.npy"));
    hr_file *file;
    hr_matrix m;
    if (CHECK(hr_file_open("a.npy", &file, &m) == HR_OK)) {
        CHECK(m.row_stride == 1 && m.col_stride == 2 && !m.conjugate);
        CHECK(hr_file_temporary(file) == NULL);
        CHECK_FAILS(hr_file_commit(file), HR_ERROR_INVALID, "not created");
        hr_file_close(file);
    }
    CHECK(names_in(".") == 1);
    unlink("a.npy");
}

static void empty_matrices_come_back(void)
{
    static const int64_t extents[][2] = {{0, 0}, {0, 3}, {3, 0}};
    TEST_CASE("empty");
    for (int i = 0; i < 6; i++) {
        hr_file *file;
        hr_matrix m;
        hr_order order = i % 2 ? HR_COLUMN_MAJOR : HR_ROW_MAJOR;
        CHECK(hr_file_create("e.npy", HR_C64, extents[i / 2][0],
                             extents[i / 2][1], order, &file, &m) == HR_OK &&
              hr_file_commit(file) == HR_OK);
        hr_file_close(file);
        if (CHECK(hr_file_open("e.npy", &file, &m) == HR_OK)) {
            CHECK(m.rows == extents[i / 2][0] && m.cols == extents[i / 2][1]);
            CHECK(hr_file_unchanged(file) == HR_OK);
            hr_file_close(file);
        }
    }
    unlink("e.npy");
}

static void nothing_appears_before_commit(void)
{
    TEST_CASE("before commit there is the temporary name alone");
    hr_file *file;
    hr_matrix m;
    put_file("a.npy", "earlier");
    CHECK(hr_file_create("a.npy", HR_F32, 2, 3, HR_ROW_MAJOR, &file, &m) ==
          HR_OK);
    *element_at(m, 1, 2) = 6.0f;
    const char *temporary = hr_file_temporary(file);
    if (CHECK(temporary != NULL)) {
        const char *name = strrchr(temporary, '/');
        char process[32];
        snprintf(process, sizeof process, "-%ld-", (long)getpid());
        CHECK(name != NULL && strncmp(name, "/.a.npy.headrace-", 17) == 0 &&
              strncmp(name + 34, process, strlen(process)) == 0 &&
              strlen(name) == 34 + strlen(process) + 6);
        CHECK(access(temporary, R_OK) == 0);
    }
    CHECK(holds_text("a.npy", "earlier") && names_in(".") == 2);
    CHECK_FAILS(hr_file_unchanged(file), HR_ERROR_INVALID, "created");
    TEST_CASE("close without commit leaves the earlier file");
    hr_file_close(file);
    CHECK(holds_text("a.npy", "earlier") && names_in(".") == 1);
    unlink("a.npy");
}

static void commit_comes_once(void)
{
    TEST_CASE("commit, use, commit, close");
    hr_file *file;
    hr_matrix m;
    CHECK(hr_file_create("a.npy", HR_F32, 2, 3, HR_ROW_MAJOR, &file, &m) ==
          HR_OK);
    CHECK(hr_file_commit(file) == HR_OK);
    CHECK(hr_file_temporary(file) == NULL);
    CHECK(*element_at(m, 0, 0) == 0.0f); /* still mapped */
    CHECK_FAILS(hr_file_commit(file), HR_ERROR_INVALID, "committed already");
    hr_file_close(file);
    CHECK(names_in(".") == 1 && unlink("a.npy") == 0);
    hr_file_close(NULL);
}

static void permissions_are_ordinary(void)
{
    mode_t mask = umask(027);
    TEST_CASE("a new file is as any other program makes it");
    make_file("a.npy", HR_ROW_MAJOR);
    CHECK(mode_of("a.npy") == 0640);
    TEST_CASE("an earlier file's permissions stay");
    files_must(chmod("a.npy", 0606) == 0, "chmod");
    make_file("a.npy", HR_ROW_MAJOR);
    CHECK(mode_of("a.npy") == 0606);
    umask(mask);
    unlink("a.npy");
}

static void links_stay(void)
{
    hr_file *file;
    hr_matrix m;
    files_must(
        mkdir("there", 0777) == 0 && symlink("there/b.npy", "a.npy") == 0 &&
            symlink("a.npy", "c.npy") == 0 && symlink("loop", "loop") == 0,
        "links");
    TEST_CASE("a link to a file that is not there yet");
    make_file("a.npy", HR_ROW_MAJOR);
    CHECK(names_in("there") == 1 && is_made("there/b.npy"));
    TEST_CASE("a link to a link to a file");
    put_file("there/b.npy", "earlier");
    make_file("c.npy", HR_ROW_MAJOR);
    CHECK(names_in("there") == 1 && is_made("there/b.npy"));
    char target[64] = {0};
    CHECK(readlink("c.npy", target, 63) == 5 && strcmp(target, "a.npy") == 0);
    TEST_CASE("a link to itself");
    CHECK_FAILS(create_one("loop", &file, &m), HR_ERROR_IO,
                "loop: it cannot be used");
    TEST_CASE("a link into nowhere");
    files_must(unlink("loop") == 0 && symlink("/nowhere/x", "loop") == 0,
               "links");
    CHECK_FAILS(create_one("loop", &file, &m), HR_ERROR_IO,
                "its folder cannot be used");
    unlink("loop"), unlink("c.npy"), unlink("a.npy"), unlink("there/b.npy");
    rmdir("there");
    CHECK(names_in(".") == 0);
}

/* Long names: the temporary one is cut, the message ends. */
static void long_names(void)
{
    char name[512];
    hr_file *file;
    hr_matrix m;
    memset(name, 'n', sizeof name);
    name[255] = 0;
    TEST_CASE("a name of 255 bytes");
    make_file(name, HR_ROW_MAJOR);
    CHECK(is_made(name) && unlink(name) == 0);
    TEST_CASE("a name of 256 bytes");
    name[255] = 'n';
    name[256] = 0;
    CHECK_FAILS(create_one(name, &file, &m), HR_ERROR_IO, "too long");
    CHECK_FAILS(hr_file_open(name, &file, &m), HR_ERROR_IO, "too long");
    CHECK(strspn(hr_last_error(), "n") == 160);
    static char path[10000];
    TEST_CASE("a path longer than any");
    for (size_t i = 0; i + 2 < sizeof path; i += 2) {
        memcpy(path + i, "./", 2);
    }
    strcpy(path + sizeof path - 2, "a");
    CHECK_FAILS(hr_file_open(path, &file, &m), HR_ERROR_IO, "too long");
}

static const struct {
    const char *name, *path;
    const char *open_says, *create_says;
} refused[] = {
    {"nothing there", "none.npy", "No such file", NULL},
    {"no folder", "none/a.npy", "No such file", "its folder cannot be used"},
    {"a file as folder", "text/a.npy", "Not a directory", "Not a directory"},
    {"a folder", "folder", "a folder", "a folder"},
    {"a folder and a slash", "folder/", "a folder", "a folder"},
    {"this folder", ".", "a folder", "a folder"},
    {"the root", "/", "a folder", "a folder"},
    {"the name is empty", "", "No such file", "the name is empty"},
    {"a pipe", "pipe", "not an ordinary file", "not an ordinary file"},
    {"a device", "/dev/null", "not an ordinary file", "not an ordinary file"},
    {"a text", "text", "not a .npy, .npz or safetensors file", NULL},
    {"an empty file", "empty", "safetensors file: its 0 bytes", NULL},
    {"a header alone", "cut.npy",
     "want 24 bytes after the first 128, but only "
     "23",
     NULL},
};

static void what_is_no_file_is_refused(void)
{
    make_file("cut.npy", HR_ROW_MAJOR);
    files_must(truncate("cut.npy", 128 + 23) == 0, "truncate");
    put_file("text", "Call me Ishmael.");
    put_file("empty", "");
    files_must(mkdir("folder", 0777) == 0 && mkfifo("pipe", 0666) == 0,
               "mkfifo");
    int names = names_in(".");
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        TEST_CASE(refused[i].name);
        hr_file *file = NULL;
        hr_matrix m = {.rows = -7};
        CHECK_FAILS(hr_file_open(refused[i].path, &file, &m), HR_ERROR_IO,
                    refused[i].open_says);
        CHECK(strncmp(hr_last_error(), refused[i].path,
                      strlen(refused[i].path)) == 0);
        if (refused[i].create_says != NULL) {
            CHECK_FAILS(create_one(refused[i].path, &file, &m), HR_ERROR_IO,
                        refused[i].create_says);
        }
        CHECK(file == NULL && m.rows == -7 && names_in(".") == names);
    }
    unlink("cut.npy"), unlink("text"), unlink("empty"), unlink("pipe");
    rmdir("folder");
}

static void open_files_are_not_replaced(void)
{
    TEST_CASE("a name of an open file");
    hr_file *file = NULL;
    hr_matrix m;
    put_file("open", "earlier");
    const int fd = open("open", O_RDWR | O_CLOEXEC);
    char path[32];
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    const int names = names_in(".");
    CHECK_FAILS(create_one(path, &file, &m), HR_ERROR_IO,
                "it stands for an open file");
    CHECK(names_in(".") == names && file == NULL);
    close(fd);
    unlink("open");
}

static void wrong_arguments_make_no_file(void)
{
    TEST_CASE("a wrong argument");
    hr_file *file = NULL;
    hr_matrix m = {.rows = -7};
    CHECK_FAILS(hr_file_create("a.npy", HR_F32, -1, 1, HR_ROW_MAJOR, &file, &m),
                HR_ERROR_INVALID, "a.npy: -1x1");
    CHECK_FAILS(
        hr_file_create("a.npy", (hr_type)9, 1, 1, HR_ROW_MAJOR, &file, &m),
        HR_ERROR_INVALID, "element type");
    CHECK(file == NULL && m.rows == -7 && names_in(".") == 0);
}

static void null_is_refused(void)
{
    hr_file *file = NULL;
    hr_matrix m = {.rows = -7};
    TEST_CASE("no path");
    CHECK_FAILS(hr_file_open(NULL, &file, &m), HR_ERROR_INVALID,
                "the path is NULL");
    CHECK_FAILS(create_one(NULL, &file, &m), HR_ERROR_INVALID,
                "the path is NULL");
    TEST_CASE("no place for the file");
    CHECK_FAILS(hr_file_open("a.npy", NULL, &m), HR_ERROR_INVALID,
                "file is NULL");
    CHECK_FAILS(hr_file_create("a.npy", HR_F32, 1, 1, HR_ROW_MAJOR, NULL, &m),
                HR_ERROR_INVALID, "file is NULL");
    TEST_CASE("no place for the matrix");
    CHECK_FAILS(hr_file_open("a.npy", &file, NULL), HR_ERROR_INVALID,
                "matrix is NULL");
    CHECK_FAILS(
        hr_file_create("a.npy", HR_F32, 1, 1, HR_ROW_MAJOR, &file, NULL),
        HR_ERROR_INVALID, "matrix is NULL");
    CHECK(file == NULL && m.rows == -7 && names_in(".") == 0);
    TEST_CASE("not a file");
    CHECK_FAILS(hr_file_commit(NULL), HR_ERROR_INVALID, "file is NULL");
    CHECK_FAILS(hr_file_unchanged(NULL), HR_ERROR_INVALID, "file is NULL");
    CHECK(hr_file_temporary(NULL) == NULL);
}

/* No file system keeps 2^62 bytes; the system's limit comes first where it is
 * set, below. */
static void no_disk_is_so_large(void)
{
    TEST_CASE("more than any disk holds");
    hr_file *file = NULL;
    hr_matrix m;
    put_file("a.npy", "earlier");
    CHECK(hr_file_create("a.npy", HR_I8, INT64_C(1) << 62, 1, HR_ROW_MAJOR,
                         &file, &m) == HR_ERROR_IO);
    CHECK(file == NULL && holds_text("a.npy", "earlier") && names_in(".") == 1);
    TEST_CASE("more than the process may write");
    struct rlimit limit, before;
    files_must(getrlimit(RLIMIT_FSIZE, &before) == 0, "getrlimit");
    limit = before;
    limit.rlim_cur = 4096;
    signal(SIGXFSZ, SIG_IGN);
    files_must(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
    CHECK_FAILS(
        hr_file_create("a.npy", HR_F32, 1000, 1, HR_ROW_MAJOR, &file, &m),
        HR_ERROR_IO, "a.npy: ");
    files_must(setrlimit(RLIMIT_FSIZE, &before) == 0, "setrlimit");
    signal(SIGXFSZ, SIG_DFL);
    CHECK(file == NULL && holds_text("a.npy", "earlier") && names_in(".") == 1);
    unlink("a.npy");
}

static void permissions_are_heeded(void)
{
    static const struct {
        const char *name, *path, *says;
    } rows[] = {
        {"a folder that may not be written", "closed/b.npy",
         "Permission denied"},
        {"a file in a folder that may not be written", "closed/a.npy",
         "a file beside it cannot be made: Permission denied"},
        {"an earlier file that is write-protected", "kept.npy",
         "must not be replaced: Permission denied"},
    };
    hr_file *file = NULL;
    hr_matrix m;
    files_must(mkdir("closed", 0777) == 0, "mkdir");
    put_file("closed/a.npy", "earlier");
    put_file("kept.npy", "kept");
    files_must(chmod("closed", 0555) == 0 && chmod("kept.npy", 0444) == 0,
               "chmod");
    files_heed_permissions(true);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        TEST_CASE(rows[i].name);
        CHECK_FAILS(create_one(rows[i].path, &file, &m), HR_ERROR_IO,
                    rows[i].says);
        CHECK(file == NULL && holds_text("closed/a.npy", "earlier"));
        CHECK(names_in("closed") == 1 && holds_text("kept.npy", "kept"));
    }
    TEST_CASE("a file that may not be read");
    files_must(chmod("kept.npy", 0) == 0, "chmod");
    CHECK_FAILS(hr_file_open("kept.npy", &file, &m), HR_ERROR_IO,
                "Permission denied");
    files_heed_permissions(false);
    files_must(chmod("closed", 0777) == 0, "chmod");
    unlink("closed/a.npy"), unlink("kept.npy"), rmdir("closed");
    CHECK(file == NULL && names_in(".") == 0);
}

static void renaming_may_fail(void)
{
    TEST_CASE("the name has become a folder");
    hr_file *file;
    hr_matrix m;
    CHECK(create_one("a.npy", &file, &m) == HR_OK);
    files_must(mkdir("a.npy", 0777) == 0, "mkdir");
    CHECK_FAILS(hr_file_commit(file), HR_ERROR_IO, "given its name");
    CHECK(hr_file_temporary(file) != NULL);
    TEST_CASE("a second try");
    files_must(rmdir("a.npy") == 0, "rmdir");
    CHECK(hr_file_commit(file) == HR_OK);
    hr_file_close(file);
    CHECK(names_in(".") == 1 && unlink("a.npy") == 0);
    TEST_CASE("the temporary file is gone");
    CHECK(create_one("a.npy", &file, &m) == HR_OK);
    files_must(unlink(hr_file_temporary(file)) == 0, "unlink");
    CHECK_FAILS(hr_file_commit(file), HR_ERROR_IO, "No such file");
    hr_file_close(file);
    CHECK(names_in(".") == 0);
}

static void the_working_folder_may_change(void)
{
    TEST_CASE("another working folder");
    hr_file *created, *opened;
    hr_matrix m;
    make_file("in.npy", HR_ROW_MAJOR);
    CHECK(hr_file_open("in.npy", &opened, &m) == HR_OK);
    CHECK(create_one("out.npy", &created, &m) == HR_OK);
    files_must(mkdir("elsewhere", 0777) == 0 && chdir("elsewhere") == 0,
               "chdir");
    CHECK(hr_file_unchanged(opened) == HR_OK);
    CHECK(hr_file_commit(created) == HR_OK);
    CHECK(names_in(".") == 0);
    files_must(chdir("..") == 0 && rmdir("elsewhere") == 0, "chdir");
    hr_file_close(created);
    hr_file_close(opened);
    CHECK(unlink("in.npy") == 0 && unlink("out.npy") == 0);
}

static void touch_file(void)
{
    const struct timespec times[2] = {{.tv_sec = 1, .tv_nsec = 1},
                                      {.tv_sec = 1, .tv_nsec = 1}};
    files_must(utimensat(AT_FDCWD, "a.npy", times, 0) == 0, "utimensat");
}

static void grow_file(void)
{
    files_must(truncate("a.npy", 1000) == 0, "truncate");
}

static void cut_file(void)
{
    files_must(truncate("a.npy", 150) == 0, "truncate");
}

static void replace_file(void)
{
    make_file("a.npy", HR_ROW_MAJOR);
}

static void remove_file(void)
{
    files_must(unlink("a.npy") == 0, "unlink");
}

static void read_file(void)
{
    CHECK(is_made("a.npy"));
}

static void changes_are_seen(void)
{
    static const struct {
        const char *name;
        void (*change)(void);
        const char *says; /* NULL: no change */
    } rows[] = {
        {"it is only read", read_file, NULL},
        {"its time changes", touch_file, "written to"},
        {"it grows", grow_file, "had 152 bytes and has 1000"},
        {"it is cut", cut_file, "had 152 bytes and has 150"},
        {"another takes its place", replace_file, "another file"},
        {"it is removed", remove_file, "taken away"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        TEST_CASE(rows[i].name);
        hr_file *file;
        hr_matrix m;
        make_file("a.npy", HR_ROW_MAJOR);
        if (!CHECK(hr_file_open("a.npy", &file, &m) == HR_OK)) {
            continue;
        }
        CHECK(hr_file_unchanged(file) == HR_OK);
        rows[i].change();
        if (rows[i].says == NULL) {
            CHECK(hr_file_unchanged(file) == HR_OK);
        } else {
            CHECK_FAILS(hr_file_unchanged(file), HR_ERROR_IO, rows[i].says);
        }
        hr_file_close(file);
    }
    unlink("a.npy");
}

/* A file of 5 GiB that is a hole but for its last element. */
static void offsets_have_64_bits(void)
{
    TEST_CASE("an element beyond 4 GiB");
    const int64_t n = 5 * (INT64_C(1) << 28) / 1024; /* rows of 4 KiB */
    float last = 42.0f;
    hr_file *file;
    hr_matrix m;
    hri_file_header header;
    uint8_t head[HRI_NPY_HEADER_BYTES];
    CHECK(hri_npy_plan(
              (hr_file_array){.type = HR_F32, .rank = 2, .extents = {n, 1024}},
              &header) == HR_OK);
    hri_npy_format(&header, head);
    put_file("a.npy", "");
    int fd = open("a.npy", O_WRONLY);
    files_must(fd >= 0 && pwrite(fd, head, sizeof head, 0) == 128, "pwrite");
    if (pwrite(fd, &last, sizeof last, 128 + 4096 * n - 4) == sizeof last) {
        files_must(ftruncate(fd, 128 + 4096 * n - 1) == 0, "ftruncate");
        CHECK_FAILS(hr_file_open("a.npy", &file, &m), HR_ERROR_IO,
                    "want 5368709120 bytes");
        files_must(pwrite(fd, &last, sizeof last, 128 + 4096 * n - 4) == 4,
                   "pwrite");
        if (CHECK(hr_file_open("a.npy", &file, &m) == HR_OK)) {
            CHECK(*element_at(m, n - 1, 1023) == 42.0f);
            hr_file_close(file);
        }
    } else {
        printf("not run: this disk takes no file of 5 GiB with a hole\n");
    }
    close(fd);
    unlink("a.npy");
}

int main(void)
{
    char folder[] = "npy-XXXXXX";
    files_must(mkdtemp(folder) != NULL && chdir(folder) == 0, "mkdtemp");
    TEST(files_come_back());
    empty_matrices_come_back();
    TEST(nothing_appears_before_commit());
    TEST(commit_comes_once());
    TEST(permissions_are_ordinary());
    TEST(links_stay());
    TEST(long_names());
    TEST(what_is_no_file_is_refused());
    TEST(open_files_are_not_replaced());
    TEST(wrong_arguments_make_no_file());
    TEST(null_is_refused());
    TEST(no_disk_is_so_large());
    TEST(permissions_are_heeded());
    TEST(renaming_may_fail());
    TEST(the_working_folder_may_change());
    TEST(changes_are_seen());
    TEST(offsets_have_64_bits());
    CHECK(names_in(".") == 0);
    files_must(chdir("..") == 0 && rmdir(folder) == 0, folder);
    return test_end();
}
