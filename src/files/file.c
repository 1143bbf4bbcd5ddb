/* SPDX-License-Identifier: MIT */
#include "files/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/draft.h"
#include "base/kind.h"
#include "base/member.h"
#include "base/size.h"

_Static_assert(sizeof(size_t) == 8 && sizeof(off_t) == 8,
               "files are mapped whole: this wants 64-bit addresses");

struct hr_file {
    enum { OPENED, CREATED, COMMITTED } state;
    int fd;
    uint8_t *map; /* NULL: not mapped */
    size_t map_bytes;
    hri_file_content content; /* of an opened file */
    char *path;         /* absolute; of a created file also without symbolic
                           links */
    char *temporary;    /* of a created file; it exists until committed */
    bool lost;          /* a write to the disk has failed */
    struct stat opened; /* of an opened file, when it was opened */
};

/* The caller's pointers. */
static hr_status check_pointers(const char *path, hr_file *const *file,
                                const void *array)
{
    if (path == NULL || file == NULL || array == NULL) {
        return hri_fail(HR_ERROR_INVALID, "file: %s is NULL",
                        path == NULL   ? "the path"
                        : file == NULL ? "file"
                                       : "array or matrix");
    }
    return HR_OK;
}

static hr_status new_file(const char *path, hr_file **out)
{
    hr_file *f = calloc(1, sizeof *f);
    if (f == NULL) {
        return hri_file_fail(path, "its description", ENOMEM);
    }
    f->fd = -1;
    *out = f;
    return HR_OK;
}

static hr_status map_file(hr_file *f, const char *path, uint64_t bytes,
                          int protection)
{
    void *map = mmap(NULL, bytes, protection, MAP_SHARED, f->fd, 0);
    if (map == MAP_FAILED) {
        const int error = errno;
        char what[80];
        snprintf(what, sizeof what,
                 "its %llu bytes cannot be mapped into memory",
                 (unsigned long long)bytes);
        return hri_file_fail(path, what, error);
    }
    f->map = map;
    f->map_bytes = bytes;
    return HR_OK;
}

/* Put the file's name before the message about its header. */
static hr_status with_name(hr_status status, const char *path)
{
    return status == HR_OK ? HR_OK
                           : hri_fail(status, "%s: %s", hri_file_name(path),
                                      hr_last_error());
}

/* Open the file. Without O_NONBLOCK, opening a pipe would wait for a writer. */
static hr_status open_regular(hr_file *f, const char *path)
{
    f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (f->fd < 0 || fstat(f->fd, &f->opened) != 0) {
        return hri_file_fail(path, "it cannot be opened", errno);
    }
    if (!S_ISREG(f->opened.st_mode)) {
        return hri_fail(HR_ERROR_IO, "%s: it is %s, not an ordinary file",
                        hri_file_name(path), hri_kind_of(f->opened.st_mode));
    }
    return HR_OK;
}

/* Map the open file and find the array. An empty file cannot be mapped. */
static hr_status read_file(hr_file *f, const char *path, const char *member,
                           const hr_file_array *raw)
{
    uint64_t bytes = (uint64_t)f->opened.st_size;
    if (bytes > 0) {
        HRI_TRY(map_file(f, path, bytes, PROT_READ));
    }
    return with_name(hri_file_read(f->map, bytes, member, raw, &f->content),
                     path);
}

static hr_status open_member(hr_file *f, const char *name, const char *path,
                             const char *member, const hr_file_array *raw)
{
    HRI_TRY(open_regular(f, path));
    HRI_TRY(hri_file_absolute(path, &f->path));
    if (raw != NULL) {
        HRI_TRY(with_name(hri_file_check_array(raw), name));
    }
    return read_file(f, path, member, raw);
}

static hr_status open_file(hr_file *f, const char *name,
                           const hr_file_array *raw)
{
    const char *member = hri_member_of(name);
    const size_t length =
        member != NULL ? (size_t)(member - name) - 1 : strlen(name);
    char *path = strndup(name, length);
    if (path == NULL) {
        return hri_file_fail(name, "its name", ENOMEM);
    }
    const hr_status status = open_member(f, name, path, member, raw);
    free(path);
    return status;
}

hr_status hr_file_open_array(const char *name, const hr_file_array *raw,
                             hr_file **file, hr_file_array *array)
{
    hr_file *f = NULL;
    HRI_TRY(check_pointers(name, file, array));
    HRI_TRY(new_file(name, &f));
    const hr_status status = open_file(f, name, raw);
    if (status != HR_OK) {
        hr_file_close(f);
        return status;
    }
    *array = f->content.array;
    *file = f;
    return HR_OK;
}

hr_status hr_file_open(const char *name, hr_file **file, hr_matrix *matrix)
{
    hr_file *f = NULL;
    hr_file_array array;
    HRI_TRY(check_pointers(name, file, matrix));
    HRI_TRY(hr_file_open_array(name, NULL, &f, &array));
    const hr_status status = with_name(hri_file_matrix(&array, matrix), name);
    if (status != HR_OK) {
        hr_file_close(f);
        return status;
    }
    *file = f;
    return HR_OK;
}

const char *hr_file_form(const hr_file *file)
{
    return file != NULL && file->content.form != NULL ? file->content.form
                                                      : "?";
}

/* Create the temporary file. If a file has the name already, it will be
 * replaced, and its permissions are kept. */
static hr_status make_file(hr_file *f)
{
    struct stat there;
    const char *path = f->path;
    const bool earlier = lstat(path, &there) == 0;
    if (!earlier && errno != ENOENT) {
        return hri_file_fail(path, "it cannot be made", errno);
    }
    if (earlier && !S_ISREG(there.st_mode)) {
        return hri_fail(HR_ERROR_IO, "%s: it is %s, not an ordinary file",
                        hri_file_name(path), hri_kind_of(there.st_mode));
    }
    if (earlier && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0) {
        return hri_file_fail(path, "it must not be replaced", errno);
    }
    const mode_t mode = earlier ? there.st_mode & 0777 : 0666;
    const int error = hri_draft_create(path, mode, &f->fd, &f->temporary);
    if (error != 0) {
        return hri_file_fail(path, "a file beside it cannot be made", error);
    }
    if (earlier) {
        /* Set bits that the mask took. Some file systems have no
         * permissions. */
        fchmod(f->fd, mode);
    }
    return HR_OK;
}

/* Write zeros over the whole file, where the file system cannot reserve disk
 * space. Returns an error number, or 0. */
static int write_zeros(int fd, uint64_t bytes)
{
    static const uint8_t zeros[1 << 16];
    for (uint64_t done = 0; done < bytes;) {
        uint64_t left = bytes - done;
        ssize_t written = pwrite(
            fd, zeros, left < sizeof zeros ? left : sizeof zeros, (off_t)done);
        if (written < 0 && errno != EINTR) {
            return errno;
        }
        done += written > 0 ? (uint64_t)written : 0;
    }
    return 0;
}

/* Reserve disk space for the file. Returns an error number, or 0. */
static int set_aside(int fd, uint64_t bytes)
{
    int error;
    do {
        error = posix_fallocate(fd, 0, (off_t)bytes);
    } while (error == EINTR);
    return error == EOPNOTSUPP || error == EINVAL ? write_zeros(fd, bytes)
                                                  : error;
}

/* The space on the file's disk that may be used. Disks keep some free space
 * back, which root may not get either. False when the file system does not
 * tell: some do so by giving no blocks at all. */
static bool free_space(int fd, uint64_t *bytes)
{
    struct statvfs disk;
    if (fstatvfs(fd, &disk) != 0 || disk.f_blocks == 0) {
        return false;
    }
    return hri_mul(disk.f_bavail, disk.f_frsize, bytes);
}

/* Get disk space for the whole file. If the file is larger than the free space,
 * this does not begin: others would find the disk full meanwhile. */
static hr_status reserve(const hr_file *f, uint64_t bytes)
{
    uint64_t room;
    bool fits = !free_space(f->fd, &room) || bytes <= room;
    int error = fits ? set_aside(f->fd, bytes) : ENOSPC;
    if ((error == ENOSPC || error == EDQUOT) && ftruncate(f->fd, 0) == 0 &&
        free_space(f->fd, &room)) {
        return hri_fail(HR_ERROR_IO,
                        "%s: the disk is full: %llu bytes wanted, %llu free",
                        hri_file_name(f->path), (unsigned long long)bytes,
                        (unsigned long long)room);
    }
    return error == 0
               ? HR_OK
               : hri_file_fail(f->path, "no disk space can be reserved", error);
}

static bool ends_in(const char *path, const char *ending)
{
    const size_t length = strlen(path), last = strlen(ending);
    return length > last && strcmp(path + length - last, ending) == 0;
}

/* Describe the file that its name asks for. */
static hr_status plan(const char *path, hr_file_array like,
                      hri_file_header *header)
{
    if (ends_in(path, ".npz") || ends_in(path, ".safetensors")) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "files of this form are not written, only .npy, .raw "
                        "and .bin");
    }
    like.data = NULL;
    hr_status status = hri_npy_plan(like, header);
    if (ends_in(path, ".raw") || ends_in(path, ".bin")) {
        header->data_offset = 0;
    }
    return status;
}

static hr_status create_file(hr_file *f, const char *path,
                             const hri_file_header *header)
{
    const uint64_t bytes = header->data_offset + header->data_bytes;
    HRI_TRY(hri_file_follow(path, &f->path));
    HRI_TRY(make_file(f));
    if (bytes > 0) { /* an empty file cannot be mapped */
        HRI_TRY(reserve(f, bytes));
        HRI_TRY(map_file(f, f->path, bytes, PROT_READ | PROT_WRITE));
    }
    if (header->data_offset > 0) {
        hri_npy_format(header, f->map);
    }
    return HR_OK;
}

hr_status hr_file_create_array(const char *path, hr_file_array like,
                               hr_file **file, hr_file_array *array)
{
    hr_file *f = NULL;
    hri_file_header header = {0};
    HRI_TRY(check_pointers(path, file, array));
    HRI_TRY(new_file(path, &f));
    f->state = CREATED;
    hr_status status = with_name(plan(path, like, &header), path);
    if (status == HR_OK) {
        status = create_file(f, path, &header);
    }
    if (status != HR_OK) {
        hr_file_close(f);
        return status;
    }
    *array = header.array;
    array->data = f->map != NULL ? f->map + header.data_offset : NULL;
    *file = f;
    return HR_OK;
}

hr_status hr_file_create(const char *path, hr_type type, int64_t rows,
                         int64_t cols, hr_order order, hr_file **file,
                         hr_matrix *matrix)
{
    const hr_file_array like = {
        .type = type, .order = order, .rank = 2, .extents = {rows, cols}};
    hr_file_array array;
    HRI_TRY(check_pointers(path, file, matrix));
    HRI_TRY(hr_file_create_array(path, like, file, &array));
    return hri_file_matrix(&array, matrix);
}

static hr_status check_file(const hr_file *file)
{
    return file != NULL ? HR_OK
                        : hri_fail(HR_ERROR_INVALID, "file: file is NULL");
}

hr_status hr_file_commit(hr_file *file)
{
    if (check_file(file) != HR_OK) {
        return HR_ERROR_INVALID;
    }
    if (file->state != CREATED) {
        return hri_fail(
            HR_ERROR_INVALID, "%s: it %s", hri_file_name(file->path),
            file->state == OPENED
                ? "was opened, not created, so it cannot be committed"
                : "has been committed already");
    }
    /* The system reports pages that it could not write only once. */
    if (file->lost) {
        return hri_fail(HR_ERROR_IO,
                        "%s: it could not be written to disk before: create it "
                        "again",
                        hri_file_name(file->path));
    }
    file->lost = (file->map != NULL &&
                  msync(file->map, file->map_bytes, MS_SYNC) != 0) ||
                 fsync(file->fd) != 0;
    if (file->lost) {
        return hri_file_fail(file->path, "it cannot be written to disk", errno);
    }
    if (rename(file->temporary, file->path) != 0) {
        return hri_file_fail(file->path, "it cannot be given its name", errno);
    }
    file->state = COMMITTED;
    hri_file_sync_folder(file->path);
    return HR_OK;
}

hr_status hr_file_unchanged(const hr_file *file)
{
    struct stat now, named;
    if (check_file(file) != HR_OK) {
        return HR_ERROR_INVALID;
    }
    if (file->state != OPENED) {
        return hri_fail(HR_ERROR_INVALID, "%s: it was created, not opened",
                        hri_file_name(file->path));
    }
    const struct stat *then = &file->opened;
    if (fstat(file->fd, &now) != 0 || stat(file->path, &named) != 0) {
        return hri_file_fail(file->path, "it was taken away while in use",
                             errno);
    }
    if (named.st_dev != then->st_dev || named.st_ino != then->st_ino) {
        return hri_fail(HR_ERROR_IO,
                        "%s: another file took its place while it was in use",
                        hri_file_name(file->path));
    }
    if (now.st_size != then->st_size) {
        return hri_fail(HR_ERROR_IO,
                        "%s: it changed while in use: it had %lld bytes and "
                        "has %lld",
                        hri_file_name(file->path), (long long)then->st_size,
                        (long long)now.st_size);
    }
    if (now.st_mtim.tv_sec != then->st_mtim.tv_sec ||
        now.st_mtim.tv_nsec != then->st_mtim.tv_nsec) {
        return hri_fail(HR_ERROR_IO, "%s: it was written to while in use",
                        hri_file_name(file->path));
    }
    return HR_OK;
}

const char *hr_file_temporary(const hr_file *file)
{
    return file != NULL && file->state == CREATED ? file->temporary : NULL;
}

void hr_file_close(hr_file *file)
{
    if (file == NULL) {
        return;
    }
    if (hr_file_temporary(file) != NULL) {
        unlink(file->temporary);
    }
    hri_file_content_free(&file->content);
    if (file->map != NULL) {
        munmap(file->map, file->map_bytes);
    }
    if (file->fd >= 0) {
        close(file->fd);
    }
    free(file->temporary);
    free(file->path);
    free(file);
}
