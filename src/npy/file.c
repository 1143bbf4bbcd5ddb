/* SPDX-License-Identifier: MIT */
#include "npy/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/draft.h"
#include "base/kind.h"
#include "base/size.h"

_Static_assert(sizeof(size_t) == 8 && sizeof(off_t) == 8,
               "files are mapped whole: this wants 64-bit addresses");

struct hr_npy {
    enum { OPENED, CREATED, COMMITTED } state;
    int fd;
    uint8_t *map; /* NULL: not mapped */
    size_t map_bytes;
    char *path;         /* absolute; of a created file also without symbolic
                           links */
    char *temporary;    /* of a created file; it exists until committed */
    bool lost;          /* a write to the disk has failed */
    struct stat opened; /* of an opened file, when it was opened */
};

/* Make the struct. `path`, `file` and `matrix` are the caller's pointers to
 * check. */
static hr_status new_file(const char *path, hr_npy *const *file,
                          const hr_matrix *matrix, hr_npy **out)
{
    if (path == NULL || file == NULL || matrix == NULL) {
        return hri_fail(HR_ERROR_INVALID, ".npy file: %s is NULL",
                        path == NULL   ? "the path"
                        : file == NULL ? "file"
                                       : "matrix");
    }
    hr_npy *npy = calloc(1, sizeof *npy);
    if (npy == NULL) {
        return hri_npy_fail(path, "its description", ENOMEM);
    }
    npy->fd = -1;
    *out = npy;
    return HR_OK;
}

static hr_status map_file(hr_npy *npy, const char *path, uint64_t bytes,
                          int protection)
{
    void *map = mmap(NULL, bytes, protection, MAP_SHARED, npy->fd, 0);
    if (map == MAP_FAILED) {
        const int error = errno;
        char what[80];
        snprintf(what, sizeof what,
                 "its %llu bytes cannot be mapped into memory",
                 (unsigned long long)bytes);
        return hri_npy_fail(path, what, error);
    }
    npy->map = map;
    npy->map_bytes = bytes;
    return HR_OK;
}

/* Give file and matrix to the caller, unless something failed. */
static hr_status give(hr_status status, hr_npy *npy,
                      const hri_npy_header *header, hr_npy **file,
                      hr_matrix *matrix)
{
    if (status != HR_OK) {
        hr_npy_close(npy);
        return status;
    }
    const uint8_t *data = npy->map + header->data_offset;
    *matrix = header->order == HR_ROW_MAJOR
                  ? hr_matrix_row_major(data, header->type, header->rows,
                                        header->cols, 0)
                  : hr_matrix_column_major(data, header->type, header->rows,
                                           header->cols, 0);
    *file = npy;
    return HR_OK;
}

/* Put the file's name before the message about its header. */
static hr_status with_name(hr_status status, const char *path)
{
    return status == HR_OK ? HR_OK
                           : hri_fail(status, "%s: %s", hri_npy_name(path),
                                      hr_last_error());
}

/* Open the file. Without O_NONBLOCK, opening a pipe would wait for a writer. */
static hr_status open_regular(hr_npy *npy, const char *path)
{
    npy->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (npy->fd < 0 || fstat(npy->fd, &npy->opened) != 0) {
        return hri_npy_fail(path, "it cannot be opened", errno);
    }
    if (!S_ISREG(npy->opened.st_mode)) {
        return hri_fail(HR_ERROR_IO, "%s: it is %s, not an ordinary file",
                        hri_npy_name(path), hri_kind_of(npy->opened.st_mode));
    }
    return HR_OK;
}

/* Map the open file and read its header. An empty file cannot be mapped. */
static hr_status read_header(hr_npy *npy, const char *path,
                             hri_npy_header *header)
{
    uint64_t bytes = (uint64_t)npy->opened.st_size;
    hr_status status =
        bytes > 0 ? map_file(npy, path, bytes, PROT_READ) : HR_OK;
    return status == HR_OK
               ? with_name(hri_npy_parse(npy->map, bytes, header), path)
               : status;
}

hr_status hr_npy_open(const char *path, hr_npy **file, hr_matrix *matrix)
{
    hr_npy *npy = NULL;
    hri_npy_header header;
    hr_status status = new_file(path, file, matrix, &npy);
    if (status == HR_OK) {
        status = open_regular(npy, path);
    }
    if (status == HR_OK) {
        status = hri_npy_absolute(path, &npy->path);
    }
    if (status == HR_OK) {
        status = read_header(npy, path, &header);
    }
    return give(status, npy, &header, file, matrix);
}

/* Create the temporary file. If a file has the name already, it will be
 * replaced, and its permissions are kept. */
static hr_status make_file(hr_npy *npy)
{
    struct stat there;
    const char *path = npy->path;
    const bool earlier = lstat(path, &there) == 0;
    if (!earlier && errno != ENOENT) {
        return hri_npy_fail(path, "it cannot be made", errno);
    }
    if (earlier && !S_ISREG(there.st_mode)) {
        return hri_fail(HR_ERROR_IO, "%s: it is %s, not an ordinary file",
                        hri_npy_name(path), hri_kind_of(there.st_mode));
    }
    if (earlier && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0) {
        return hri_npy_fail(path, "it must not be replaced", errno);
    }
    const mode_t mode = earlier ? there.st_mode & 0777 : 0666;
    const int error = hri_draft_create(path, mode, &npy->fd, &npy->temporary);
    if (error != 0) {
        return hri_npy_fail(path, "a file beside it cannot be made", error);
    }
    if (earlier) {
        /* Set bits that the mask took. Some file systems have no
         * permissions. */
        fchmod(npy->fd, mode);
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

/* The space on the file's disk that this process may use. False when the file
 * system does not tell: some do so by giving no blocks at all. */
static bool free_space(int fd, uint64_t *bytes)
{
    struct statvfs disk;
    if (fstatvfs(fd, &disk) != 0 || disk.f_blocks == 0) {
        return false;
    }
    bool root = geteuid() == 0; /* some space may be kept for root */
    return hri_mul(root ? disk.f_bfree : disk.f_bavail, disk.f_frsize, bytes);
}

/* Get disk space for the whole file. If the file is larger than the free space,
 * this does not begin: others would find the disk full meanwhile. */
static hr_status reserve(const hr_npy *npy, uint64_t bytes)
{
    uint64_t room;
    bool fits = !free_space(npy->fd, &room) || bytes <= room;
    int error = fits ? set_aside(npy->fd, bytes) : ENOSPC;
    if ((error == ENOSPC || error == EDQUOT) && ftruncate(npy->fd, 0) == 0 &&
        free_space(npy->fd, &room)) {
        return hri_fail(HR_ERROR_IO,
                        "%s: the disk is full: %llu bytes wanted, %llu free",
                        hri_npy_name(npy->path), (unsigned long long)bytes,
                        (unsigned long long)room);
    }
    return error == 0 ? HR_OK
                      : hri_npy_fail(npy->path, "no disk space can be reserved",
                                     error);
}

hr_status hr_npy_create(const char *path, hr_type type, int64_t rows,
                        int64_t cols, hr_order order, hr_npy **file,
                        hr_matrix *matrix)
{
    hr_npy *npy = NULL;
    hri_npy_header header = {0};
    hr_status status = new_file(path, file, matrix, &npy);
    if (status == HR_OK) {
        npy->state = CREATED;
        status =
            with_name(hri_npy_plan(type, rows, cols, order, &header), path);
    }
    if (status == HR_OK) {
        status = hri_npy_follow(path, &npy->path);
    }
    if (status == HR_OK) {
        status = make_file(npy);
    }
    const uint64_t bytes = header.data_offset + header.data_bytes;
    if (status == HR_OK) {
        status = reserve(npy, bytes);
    }
    if (status == HR_OK) {
        status = map_file(npy, npy->path, bytes, PROT_READ | PROT_WRITE);
    }
    if (status == HR_OK) {
        hri_npy_format(&header, npy->map);
    }
    return give(status, npy, &header, file, matrix);
}

static hr_status check_file(const hr_npy *file)
{
    return file != NULL ? HR_OK
                        : hri_fail(HR_ERROR_INVALID, ".npy file: file is NULL");
}

hr_status hr_npy_commit(hr_npy *file)
{
    if (check_file(file) != HR_OK) {
        return HR_ERROR_INVALID;
    }
    if (file->state != CREATED) {
        return hri_fail(
            HR_ERROR_INVALID, "%s: it %s", hri_npy_name(file->path),
            file->state == OPENED
                ? "was opened, not created, so it cannot be committed"
                : "has been committed already");
    }
    /* The system reports pages that it could not write only once. */
    if (file->lost) {
        return hri_fail(HR_ERROR_IO,
                        "%s: it could not be written to disk before: create it "
                        "again",
                        hri_npy_name(file->path));
    }
    file->lost =
        msync(file->map, file->map_bytes, MS_SYNC) != 0 || fsync(file->fd) != 0;
    if (file->lost) {
        return hri_npy_fail(file->path, "it cannot be written to disk", errno);
    }
    if (rename(file->temporary, file->path) != 0) {
        return hri_npy_fail(file->path, "it cannot be given its name", errno);
    }
    file->state = COMMITTED;
    hri_npy_sync_folder(file->path);
    return HR_OK;
}

hr_status hr_npy_unchanged(const hr_npy *file)
{
    struct stat now, named;
    if (check_file(file) != HR_OK) {
        return HR_ERROR_INVALID;
    }
    if (file->state != OPENED) {
        return hri_fail(HR_ERROR_INVALID, "%s: it was created, not opened",
                        hri_npy_name(file->path));
    }
    const struct stat *then = &file->opened;
    if (fstat(file->fd, &now) != 0 || stat(file->path, &named) != 0) {
        return hri_npy_fail(file->path, "it was taken away while in use",
                            errno);
    }
    if (named.st_dev != then->st_dev || named.st_ino != then->st_ino) {
        return hri_fail(HR_ERROR_IO,
                        "%s: another file took its place while it was in use",
                        hri_npy_name(file->path));
    }
    if (now.st_size != then->st_size) {
        return hri_fail(HR_ERROR_IO,
                        "%s: it changed while in use: it had %lld bytes and "
                        "has %lld",
                        hri_npy_name(file->path), (long long)then->st_size,
                        (long long)now.st_size);
    }
    if (now.st_mtim.tv_sec != then->st_mtim.tv_sec ||
        now.st_mtim.tv_nsec != then->st_mtim.tv_nsec) {
        return hri_fail(HR_ERROR_IO, "%s: it was written to while in use",
                        hri_npy_name(file->path));
    }
    return HR_OK;
}

const char *hr_npy_temporary(const hr_npy *file)
{
    return file != NULL && file->state == CREATED ? file->temporary : NULL;
}

void hr_npy_close(hr_npy *file)
{
    if (file == NULL) {
        return;
    }
    if (hr_npy_temporary(file) != NULL) {
        unlink(file->temporary);
    }
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
