/* SPDX-License-Identifier: MIT */
/* New files of which each process writes a run of rows through a mapping.
 *
 * Machines that share a file system write whole pages, each with what it has
 * seen of them. So a page that holds rows of several processes is written once
 * more, by process 0 alone, when all others have closed the file. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/format.h"
#include "base/hash.h"
#include "base/size.h"
#include "mpi/processes.h"

struct hr_mpi_file {
    hr_mpi_context *context;
    hr_file *made;  /* in process 0 */
    char *bytes;    /* all of the file; NULL: it has been closed */
    int64_t size;   /* of the file */
    int64_t offset; /* of the elements */
    hr_file_array like;
    int64_t rows, cols;   /* of all matrices, below each other */
    hr_mpi_block *blocks; /* [processes] */
};

/* ---- rows */

static size_t row_bytes(const hr_mpi_file *f)
{
    return (size_t)f->cols * hr_type_size(f->like.type);
}

/* The first row of a process. */
static int64_t row_of(const hr_mpi_file *f, int64_t rank)
{
    return hri_even(f->rows, f->context->count, rank);
}

static void set_shape(hr_mpi_file *f)
{
    const hr_file_array *a = &f->like;
    f->cols = a->rank > 0 ? a->extents[a->rank - 1] : 1;
    f->rows = 1;
    for (int i = 0; i + 1 < a->rank; i++) {
        f->rows *= a->extents[i];
    }
}

static hr_status list_blocks(hr_mpi_file *f)
{
    f->blocks = calloc((size_t)f->context->count, sizeof *f->blocks);
    if (f->blocks == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "mpi: no memory for the parts of a file");
    }
    for (int rank = 0; rank < f->context->count; rank++) {
        const int64_t row = row_of(f, rank);
        f->blocks[rank] = (hr_mpi_block){.row = row,
                                         .rows = row_of(f, rank + 1) - row,
                                         .cols = f->cols,
                                         .owner = rank,
                                         .data = f->bytes + f->offset +
                                                 (size_t)row * row_bytes(f),
                                         .row_stride = f->cols,
                                         .col_stride = 1};
    }
    return HR_OK;
}

/* ---- making it */

static hr_status fail_errno(const char *path, const char *what)
{
    return hri_fail(HR_ERROR_IO, "mpi: %s: %s: %s", path, what,
                    strerror(errno));
}

/* Process 0 makes the file. */
static hr_status make_file(hr_mpi_file *f, const char *path)
{
    hri_mpi_file_place *place = &f->context->memory.place;
    hr_file_array array;
    struct stat info;
    HRI_TRY(hr_file_create_array(path, f->like, &f->made, &array));
    set_shape(f);
    const char *name = hr_file_temporary(f->made);
    if (stat(name, &info) != 0) {
        return fail_errno(name, "stat");
    }
    place->bytes = info.st_size;
    place->offset = info.st_size - f->rows * (int64_t)row_bytes(f);
    const int length = hri_format(place->path, sizeof place->path, "%s", name);
    return length >= 0 && (size_t)length < sizeof place->path
               ? HR_OK
               : hri_fail(HR_ERROR_IO, "mpi: %s: the name is too long", path);
}

/* A byte is mapped of an empty file. Nobody touches it. */
static size_t mapped_bytes(const hr_mpi_file *f)
{
    return f->size > 0 ? (size_t)f->size : 1;
}

/* Map the open file. */
static hr_status map_opened(hr_mpi_file *f, int fd)
{
    const hri_mpi_file_place *place = &f->context->memory.place;
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0) {
        return fail_errno(place->path, "open");
    }
    if (info.st_size != place->bytes) {
        return hri_fail(
            HR_ERROR_IO, "mpi: %s has %lld bytes in process 0 and %lld here",
            place->path, (long long)place->bytes, (long long)info.st_size);
    }
    f->size = place->bytes;
    f->offset = place->offset;
    void *bytes =
        mmap(NULL, mapped_bytes(f), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED) {
        return fail_errno(place->path, "mmap");
    }
    f->bytes = bytes;
    return HR_OK;
}

/* Map the file that process 0 has made. */
static hr_status map_file(hr_mpi_file *f)
{
    const int fd = open(f->context->memory.place.path, O_RDWR | O_CLOEXEC);
    const hr_status status = map_opened(f, fd);
    if (fd >= 0) {
        (void)close(fd);
    }
    HRI_TRY(status);
    return list_blocks(f);
}

static hr_status check_arguments(const char *path, const hr_file_array *like,
                                 hr_mpi_file **file)
{
    if (path == NULL || file == NULL) {
        return hri_fail(HR_ERROR_INVALID, "mpi: the file's %s is NULL",
                        path == NULL ? "name" : "place");
    }
    if (like->rank < 0 || like->rank > HR_MAX_RANK ||
        like->order != HR_ROW_MAJOR) {
        return hri_fail(HR_ERROR_INVALID,
                        "mpi: %s: an array of %d dimensions in %s order", path,
                        (int)like->rank,
                        like->order == HR_ROW_MAJOR ? "row" : "column");
    }
    return HR_OK;
}

static hr_status open_file(hr_mpi_file *f, const char *path)
{
    hr_mpi_context *context = f->context;
    hri_mpi_file_place *place = &context->memory.place;
    HRI_TRY(
        hr_mpi_agree(context, context->rank == 0 ? make_file(f, path) : HR_OK));
    set_shape(f); /* of sizes that process 0 has checked */
    HRI_TRY(hri_mpi_broadcast(context, place, sizeof *place));
    return hr_mpi_agree(context, map_file(f));
}

/* Check the arguments, and make the file's object. */
static hr_status new_file(hr_mpi_context *context, const char *path,
                          const hr_file_array *like, hr_mpi_file **file,
                          hr_mpi_file **made, uint64_t *hash)
{
    HRI_TRY(check_arguments(path, like, file));
    const int64_t kind[] = {like->type, like->rank};
    *hash = hri_hash(*hash, kind, sizeof kind);
    *hash = hri_hash(*hash, like->extents,
                     (size_t)like->rank * sizeof *like->extents);
    *hash = hri_hash(*hash, path, strlen(path));
    *made = calloc(1, sizeof **made);
    if (*made == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "mpi: no memory");
    }
    (*made)->context = context;
    (*made)->like = *like;
    return HR_OK;
}

hr_status hr_mpi_file_create(hr_mpi_context *context, const char *path,
                             hr_file_array like, hr_mpi_file **file)
{
    HRI_TRY(hri_mpi_context_check(context));
    uint64_t hash = HRI_HASH_INIT;
    hr_mpi_file *f = NULL;
    hr_status status = new_file(context, path, &like, file, &f, &hash);
    status = hri_mpi_agree_on(context, status, hash);
    if (status == HR_OK) {
        status = open_file(f, path);
    }
    if (status != HR_OK) {
        hr_mpi_file_close(f);
        return status;
    }
    *file = f;
    return HR_OK;
}

hr_mpi_matrix hr_mpi_file_matrix(const hr_mpi_file *f)
{
    return f != NULL ? hr_mpi_matrix_blocks(f->like.type, f->rows, f->cols,
                                            f->blocks, f->context->count)
                     : (hr_mpi_matrix){0};
}

const char *hr_mpi_file_temporary(const hr_mpi_file *f)
{
    return f != NULL ? hr_file_temporary(f->made) : NULL;
}

/* ---- writing it */

static int64_t page_bytes(void)
{
    return sysconf(_SC_PAGESIZE);
}

/* The process's bytes of its first page and of its last one, if others have
 * something there, too. */
static void find_edges(const hr_mpi_file *f, int rank, int64_t begin[2],
                       int64_t end[2])
{
    const int64_t page = page_bytes();
    const int64_t width = (int64_t)row_bytes(f);
    const int64_t from = rank == 0 ? 0 : f->offset + row_of(f, rank) * width;
    const int64_t to = f->offset + row_of(f, rank + 1) * width;
    begin[0] = from;
    end[0] = hri_min(to, hri_round_up(from, page));
    begin[1] = hri_max(end[0], to / page * page);
    end[1] = to;
    if (to == f->size) { /* nobody is behind it */
        end[1] = begin[1];
    }
}

/* Process 0 gets the edges of process `rank`, and writes them. */
static hr_status write_edges(hr_mpi_file *f, int rank, const char *edges,
                             int fd)
{
    int64_t begin[2], end[2];
    find_edges(f, rank, begin, end);
    for (int i = 0; i < 2; i++) {
        for (int64_t at = begin[i]; at < end[i];) {
            const ssize_t wrote =
                pwrite(fd, edges + i * page_bytes() + (at - begin[i]),
                       (size_t)(end[i] - at), (off_t)at);
            if (wrote < 0 && errno != EINTR) {
                return fail_errno(hr_file_temporary(f->made), "pwrite");
            }
            at += wrote > 0 ? wrote : 0;
        }
    }
    return HR_OK;
}

/* Exchange the edges of one process: `mine` are this one's. */
static hr_status send_edges(hr_mpi_file *f, int rank, char *mine, char *edges)
{
    hr_mpi_context *context = f->context;
    const int count = (int)(2 * page_bytes());
    MPI_Request request = MPI_REQUEST_NULL;
    if (context->rank == rank) {
        HRI_TRY(hri_mpi_check(
            context,
            MPI_Isend(mine, count, MPI_BYTE, 0, 0, context->comm, &request),
            "MPI_Isend"));
    } else if (context->rank == 0) {
        HRI_TRY(hri_mpi_check(
            context,
            MPI_Irecv(edges, count, MPI_BYTE, rank, 0, context->comm, &request),
            "MPI_Irecv"));
    }
    return hri_mpi_wait(context, 1, &request);
}

/* Keep this process's edges, write the rest to the disk and close it. */
static hr_status close_mapping(hr_mpi_file *f, char *mine)
{
    int64_t begin[2], end[2];
    find_edges(f, f->context->rank, begin, end);
    for (int i = 0; i < 2; i++) {
        if (begin[i] < end[i]) {
            memcpy(mine + i * page_bytes(), f->bytes + begin[i],
                   (size_t)(end[i] - begin[i]));
        }
    }
    const hr_status status = msync(f->bytes, mapped_bytes(f), MS_SYNC) == 0
                                 ? HR_OK
                                 : fail_errno("the file", "msync");
    (void)munmap(f->bytes, mapped_bytes(f));
    f->bytes = NULL;
    for (int rank = 0; rank < f->context->count; rank++) {
        f->blocks[rank].data = NULL;
    }
    return status;
}

/* Bring the edges of all to process 0, which writes them. *failed: what went
 * wrong in this process alone. */
static hr_status gather_edges(hr_mpi_file *f, char *mine, int fd,
                              hr_status *failed)
{
    char *edges = mine + 2 * page_bytes();
    for (int rank = 0; rank < f->context->count; rank++) {
        if (rank > 0) {
            HRI_TRY(send_edges(f, rank, mine, edges));
        }
        if (fd >= 0 && *failed == HR_OK) {
            *failed = write_edges(f, rank, rank > 0 ? edges : mine, fd);
        }
    }
    return HR_OK;
}

/* Process 0 writes the edges of all, and gives the file its name. */
static hr_status complete_file(hr_mpi_file *f, char *mine)
{
    const bool first = f->context->rank == 0;
    const char *path = first ? hr_file_temporary(f->made) : NULL;
    const int fd = first ? open(path, O_WRONLY | O_CLOEXEC) : -1;
    hr_status failed = !first || fd >= 0 ? HR_OK : fail_errno(path, "open");
    hr_status status = hr_mpi_agree(f->context, failed);
    if (status == HR_OK) {
        status = gather_edges(f, mine, fd, &failed);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    HRI_TRY(status);
    if (first && failed == HR_OK) {
        failed = hr_file_commit(f->made);
    }
    return hr_mpi_agree(f->context, failed);
}

/* `mine` has room for the edges of this process, and of another one. */
static hr_status commit_file(hr_mpi_file *f, char *mine)
{
    HRI_TRY(hr_mpi_agree(f->context,
                         mine != NULL
                             ? HR_OK
                             : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                                        "mpi: no memory for pages of a file")));
    HRI_TRY(hr_mpi_agree(f->context, close_mapping(f, mine)));
    return complete_file(f, mine);
}

hr_status hr_mpi_file_commit(hr_mpi_file *f)
{
    if (f == NULL || f->bytes == NULL) {
        return hri_fail(HR_ERROR_INVALID, "mpi: the file is %s",
                        f == NULL ? "NULL" : "closed already");
    }
    HRI_TRY(hri_mpi_context_check(f->context));
    char *mine = calloc(4, (size_t)page_bytes());
    const hr_status status = commit_file(f, mine);
    if (!f->context->lost) {
        free(mine);
    }
    return status;
}

void hr_mpi_file_close(hr_mpi_file *f)
{
    if (f == NULL) {
        return;
    }
    if (f->bytes != NULL) {
        (void)munmap(f->bytes, mapped_bytes(f));
    }
    hr_file_close(f->made);
    free(f->blocks);
    free(f);
}
