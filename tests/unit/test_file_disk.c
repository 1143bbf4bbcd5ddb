/* SPDX-License-Identifier: MIT */
/* .npy files on disks that are full or that fail, without memory, or too large
 * to map.
 *
 * The functions below stand in front of the C library's: each does its work, or
 * fails as the armed row says. Those named __wrap_ are put there by the linker
 * (tests/CMakeLists.txt). */
#define _GNU_SOURCE /* unshare, fallocate, syscall */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/status.h"
#include "support/files.h"

typedef enum call {
    NONE,
    MEMORY,
    RANDOM,
    STATVFS,
    FALLOCATE,
    PWRITE,
    MSYNC,
    FSYNC,
    RENAME
} call;

char *__real_realpath(const char *path, char *resolved);
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t length);
int __real_fstatvfs(int fd, struct statvfs *disk);
char *__wrap_realpath(const char *path, char *resolved);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t length);
int __wrap_fstatvfs(int fd, struct statvfs *disk);

static struct {
    call call;
    int after; /* calls that still succeed */
    int times; /* calls that then fail */
    int error;
} armed;

static bool roomy;      /* a disk seems to have enough room, when first asked */
static bool kept;       /* most of a disk's free space seems to be */
static int allocations; /* calls of posix_fallocate */

static void arm_fault(call which, int after, int times, int error)
{
    armed.call = which;
    armed.after = after;
    armed.times = times;
    armed.error = error;
}

static bool is_refused(call which)
{
    if (armed.call != which || armed.after-- > 0 || armed.times == 0) {
        return false;
    }
    armed.times--;
    errno = armed.error;
    return true;
}

void *__wrap_malloc(size_t bytes)
{
    return is_refused(MEMORY) ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return is_refused(MEMORY) ? NULL : __real_calloc(count, bytes);
}

char *__wrap_strdup(const char *text)
{
    return is_refused(MEMORY) ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t length)
{
    return is_refused(MEMORY) ? NULL : __real_strndup(text, length);
}

char *__wrap_realpath(const char *path, char *resolved)
{
    return is_refused(MEMORY) ? NULL : __real_realpath(path, resolved);
}

int __wrap_fstatvfs(int fd, struct statvfs *disk)
{
    int status = is_refused(STATVFS) ? -1 : __real_fstatvfs(fd, disk);
    if (status == 0 && roomy) {
        disk->f_bfree = disk->f_bavail = disk->f_blocks = 1 << 20;
    }
    if (status == 0 && kept) {
        disk->f_bfree = disk->f_blocks = 1 << 20;
        disk->f_bavail = 10;
        disk->f_frsize = 4096;
    }
    roomy = false;
    return status;
}

ssize_t getrandom(void *bytes, size_t count, unsigned flags)
{
    return is_refused(RANDOM) ? -1
                              : syscall(SYS_getrandom, bytes, count, flags);
}

int posix_fallocate(int fd, off_t offset, off_t length)
{
    allocations++;
    if (armed.call == PWRITE) {
        return EOPNOTSUPP;
    }
    int before = errno;
    if (is_refused(FALLOCATE)) {
        errno = before;
        return armed.error;
    }
    return fallocate(fd, 0, offset, length) == 0 ? 0 : errno;
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset)
{
    /* Short writes are allowed: half of it each time. */
    return is_refused(PWRITE)
               ? -1
               : syscall(SYS_pwrite64, fd, bytes, (count + 1) / 2, offset);
}

int msync(void *start, size_t length, int flags)
{
    return is_refused(MSYNC) ? -1
                             : (int)syscall(SYS_msync, start, length, flags);
}

int fsync(int fd)
{
    return is_refused(FSYNC) ? -1 : fdatasync(fd);
}

int rename(const char *from, const char *to)
{
    return is_refused(RENAME) ? -1 : renameat(AT_FDCWD, from, AT_FDCWD, to);
}

static void put_earlier(const char *path)
{
    files_must(files_write(path, "earlier", 7), path);
}

/* Whether the folder holds so many names, and the file so many bytes. */
static bool holds_files(const char *folder, int count, const char *path,
                        off_t bytes)
{
    struct stat s;
    return files_count(folder, NULL, 0) == count && stat(path, &s) == 0 &&
           s.st_size == bytes;
}

static const struct {
    const char *name;
    call call;
    int after, times, error;
    const char *says; /* NULL: it goes well all the same */
} rows[] = {
    {"no fault", NONE, 0, 0, 0, NULL},
    {"no random numbers", RANDOM, 0, 1, ENOSYS, "a file beside it"},
    {"a disk that does not tell how much is free", STATVFS, 0, 1, ENOSYS, NULL},
    {"an error without words", FALLOCATE, 0, 1, 9999,
     "no disk space can be reserved: "},
    {"a disk that fails while zeros are written", PWRITE, 2, 1, EIO,
     "no disk space can be reserved"},
    {"a signal while zeros are written", PWRITE, 2, 1, EINTR, NULL},
    {"a full disk", FALLOCATE, 0, 1, ENOSPC,
     "the disk is full: 200128 bytes wanted"},
    {"a used-up quota", FALLOCATE, 0, 1, EDQUOT, "the disk is full"},
    {"a disk that fails", FALLOCATE, 0, 1, EIO,
     "no disk space can be reserved"},
    {"a signal while space is set aside", FALLOCATE, 0, 3, EINTR, NULL},
    {"a file system that cannot set space aside", FALLOCATE, 0, 1, EOPNOTSUPP,
     NULL},
    {"one that says so in another way", FALLOCATE, 0, 1, EINVAL, NULL},
    {"pages that cannot be written", MSYNC, 0, 1, EIO, "written to disk"},
    {"a file that cannot be written", FSYNC, 0, 1, ENOSPC, "written to disk"},
    {"a folder that cannot be renamed in", RENAME, 0, 1, EROFS, "its name"},
    {"a folder that cannot be written out", FSYNC, 1, 1, EINVAL, NULL},
};

/* Create and commit a file of 200,128 bytes while rows[i] is armed. Pages that
 * could not be written are lost: a second commit must not hide it. */
static hr_status write_file(const char *path)
{
    hr_file *file = NULL;
    hr_matrix m;
    HRI_TRY(hr_file_create(path, HR_F32, 50000, 1, HR_ROW_MAJOR, &file, &m));
    const unsigned char *bytes = m.data;
    CHECK(bytes[0] == 0 && memcmp(bytes, bytes + 1, 199999) == 0);
    memset(m.data, 1, 200000);
    const hr_status status = hr_file_commit(file);
    CHECK((status == HR_OK) == (hr_file_temporary(file) == NULL));
    if (status != HR_OK && armed.call != RENAME) {
        CHECK_FAILS(hr_file_commit(file), HR_ERROR_IO, "before");
    }
    hr_file_close(file);
    return status;
}

/* Of 64 KiB, of which an earlier file takes 4. */
static const char full_disk[] =
    "the disk is full: 200128 bytes wanted, 61440 free";

static void keep_earlier_file(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        TEST_CASE(rows[i].name);
        put_earlier("a.npy");
        arm_fault(rows[i].call, rows[i].after, rows[i].times, rows[i].error);
        if (rows[i].says == NULL) {
            CHECK(write_file("a.npy") == HR_OK);
            CHECK(holds_files(".", 1, "a.npy", 200128));
        } else {
            CHECK_FAILS(write_file("a.npy"), HR_ERROR_IO, rows[i].says);
            CHECK(holds_files(".", 1, "a.npy", 7));
        }
        CHECK(rows[i].call == NONE || armed.times == 0);
        armed.call = NONE;
    }
}

static void refuse_kept_space(void)
{
    TEST_CASE("a disk that keeps most of its free space");
    put_earlier("a.npy");
    kept = true;
    allocations = 0;
    CHECK_FAILS(write_file("a.npy"), HR_ERROR_IO,
                "the disk is full: 200128 bytes wanted, 40960 free");
    CHECK(allocations == 0 && holds_files(".", 1, "a.npy", 7));
    kept = false;
}

/* Where there is no fallocate and the disk fills up while zeros are written:
 * the second function fails, too. What it wrote counts as free again. */
static void refuse_zeros(void)
{
    TEST_CASE("the disk fills up while zeros are written");
    put_earlier("full/a.npy");
    arm_fault(FALLOCATE, 0, 1, EOPNOTSUPP);
    roomy = true;
    CHECK_FAILS(write_file("full/a.npy"), HR_ERROR_IO, full_disk);
    CHECK(armed.times == 0);
    CHECK(holds_files("full", 1, "full/a.npy", 7));
    armed.call = NONE;
}

/* Do what the path is for with the n-th allocation refused, for every n. */
static void refuse_memory(hr_status (*work)(const char *path), int at_least)
{
    for (int n = 0; n < 100; n++) {
        arm_fault(MEMORY, n, 1, ENOMEM);
        const hr_status status = work("link.npy");
        armed.call = NONE;
        CHECK(holds_files(".", 2, "a.npy", 200128));
        if (status != HR_ERROR_OUT_OF_MEMORY) {
            CHECK(status == HR_OK && n >= at_least);
            return;
        }
        CHECK(strstr(hr_last_error(), strerror(ENOMEM)) != NULL);
    }
    CHECK(false); /* memory never suffices */
}

static hr_status open_file(const char *path)
{
    hr_file *file = NULL;
    hr_matrix m;
    hr_status status = hr_file_open(path, &file, &m);
    CHECK((status == HR_OK) == (file != NULL));
    hr_file_close(file);
    return status;
}

static void run_out_of_memory(void)
{
    CHECK(write_file("a.npy") == HR_OK);
    files_must(symlink("a.npy", "link.npy") == 0, "link.npy");
    TEST_CASE("creating while memory runs out");
    refuse_memory(write_file, 8);
    TEST_CASE("opening while memory runs out");
    refuse_memory(open_file, 4);
    unlink("link.npy");
}

static void refuse_full_disk(void)
{
    TEST_CASE("a disk of 64 KiB");
    put_earlier("full/a.npy");
    allocations = 0;
    CHECK_FAILS(write_file("full/a.npy"), HR_ERROR_IO, full_disk);
    CHECK(holds_files("full", 1, "full/a.npy", 7));
    TEST_CASE("nothing is taken of it");
    CHECK(allocations == 0);
}

/* Linux maps at most 2^56 bytes; tmpfs takes files of nearly 2^63. */
static void refuse_to_map(void)
{
    TEST_CASE("a file of 2^60 bytes");
    hr_file *file = NULL;
    hr_matrix m;
    fclose(fopen("full/a.npy", "a"));
    files_must(truncate("full/a.npy", (off_t)1 << 60) == 0, "truncate");
    CHECK_FAILS(hr_file_open("full/a.npy", &file, &m), HR_ERROR_OUT_OF_MEMORY,
                "1152921504606846976 bytes cannot be mapped");
    CHECK(file == NULL);
}

/* A disk of 64 KiB in the folder full, seen by this process alone. Root may. */
static bool mount_small_disk(void)
{
    return unshare(CLONE_NEWNS) == 0 &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", "full", "tmpfs", 0, "size=64k") == 0;
}

int main(void)
{
    char folder[] = "npy-disk-XXXXXX";
    files_must(mkdtemp(folder) != NULL && chdir(folder) == 0, "mkdtemp");
    TEST(keep_earlier_file());
    TEST(refuse_kept_space());
    TEST(run_out_of_memory());
    unlink("a.npy");
    files_must(mkdir("full", 0777) == 0, "mkdir");
    if (mount_small_disk()) {
        TEST(refuse_full_disk());
        TEST(refuse_zeros());
        TEST(refuse_to_map());
        umount2("full", MNT_DETACH);
    } else {
        printf("not run: a small disk cannot be mounted here: %s\n",
               strerror(errno));
    }
    files_must(rmdir("full") == 0 && chdir("..") == 0 && rmdir(folder) == 0,
               folder);
    return test_end();
}
