/* SPDX-License-Identifier: MIT */
/* Grids of the BLACS, which come and go, and the contexts of their processes,
 * which stay until MPI ends: the next grid of the same processes has the same
 * one. */
#define _GNU_SOURCE /* RTLD_NEXT, dladdr */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas/loaded.h"
#include "pblas/pblas.h"

/* In a library that is not this one. */
static void *look_elsewhere(void *library, const char *name)
{
    Dl_info here, there;
    static const int own = 0;
    void *found = dlsym(library, name);
    return found != NULL && dladdr(&own, &here) != 0 &&
                   dladdr(found, &there) != 0 &&
                   here.dli_fbase != there.dli_fbase
               ? found
               : NULL;
}

void *pblas_find(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    return found != NULL ? found : blas_look_in_loaded(name, look_elsewhere);
}

/* Functions of the BLACS. A grid knows the number of the communicator that it
 * was made in, and the ranks of its processes there. */
typedef struct blacs {
    void (*gridinfo)(int context, int *rows, int *cols, int *row, int *col);
    void (*get)(int context, int what, int *value);
    int (*pnum)(int context, int row, int col);
    MPI_Comm (*comm)(int number);
    void (*abort)(int context, int code);
} blacs;

static const blacs *find_blacs(void)
{
    static blacs found;
    if (found.gridinfo == NULL) {
        const struct {
            const char *name;
            void *place;
        } all[] = {{"Cblacs_gridinfo", &found.gridinfo},
                   {"Cblacs_get", &found.get},
                   {"Cblacs_pnum", &found.pnum},
                   {"Cblacs2sys_handle", &found.comm},
                   {"Cblacs_abort", &found.abort}};
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
            void *function = pblas_find(all[i].name);
            memcpy(all[i].place, &function, sizeof function);
        }
    }
    return found.gridinfo != NULL && found.get != NULL && found.pnum != NULL &&
                   found.comm != NULL && found.abort != NULL
               ? &found
               : NULL;
}

bool pblas_grid_describe(int blacs_context, pblas_grid *grid)
{
    const blacs *b = find_blacs();
    if (b == NULL) {
        return false;
    }
    b->gridinfo(blacs_context, &grid->rows, &grid->cols, &grid->row,
                &grid->col);
    return grid->row >= 0 && grid->col >= 0;
}

void pblas_abort(int blacs_context, const char *why)
{
    fprintf(stderr, "headrace: %s\n", why);
    find_blacs()->abort(blacs_context, 1);
}

/* ---- contexts */

/* The processes of a grid by rows, as ranks in MPI_COMM_WORLD, and their
 * context; NULL: it could not be made. */
typedef struct member {
    struct member *next;
    int count;
    hr_mpi_context *context;
    MPI_Comm comm;
    int ranks[];
} member;

static member *members;

/* MPI is about to end. */
static int end_contexts(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    while (members != NULL) {
        member *m = members;
        members = m->next;
        hr_mpi_context_destroy(m->context);
        (void)MPI_Comm_free(&m->comm);
        free(m);
    }
    return MPI_SUCCESS;
}

/* Attributes of MPI_COMM_SELF are deleted when MPI ends. */
static void watch_end(void)
{
    static int key = MPI_KEYVAL_INVALID;
    if (key == MPI_KEYVAL_INVALID &&
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_contexts, &key,
                               NULL) == MPI_SUCCESS) {
        (void)MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    }
}

/* Find the grid's processes in MPI_COMM_WORLD. False: one is not there. */
static bool find_ranks(const blacs *b, int blacs_context,
                       const pblas_grid *grid, int *own, int *ranks)
{
    enum { COMMUNICATOR = 10 };
    const int count = grid->rows * grid->cols;
    int number = 0;
    MPI_Group all = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
    b->get(blacs_context, COMMUNICATOR, &number);
    for (int i = 0; i < count; i++) {
        own[i] = b->pnum(blacs_context, i / grid->cols, i % grid->cols);
    }
    bool found =
        MPI_Comm_group(b->comm(number), &all) == MPI_SUCCESS &&
        MPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS &&
        MPI_Group_translate_ranks(all, count, own, world, ranks) == MPI_SUCCESS;
    for (int i = 0; i < count; i++) {
        found = found && ranks[i] != MPI_UNDEFINED;
    }
    (void)MPI_Group_free(&all);
    (void)MPI_Group_free(&world);
    return found;
}

static member *find_member(int count, const int *ranks)
{
    for (member *m = members; m != NULL; m = m->next) {
        if (m->count == count &&
            memcmp(m->ranks, ranks, (size_t)count * sizeof *ranks) == 0) {
            return m;
        }
    }
    return NULL;
}

/* All processes of the grid come here together. */
static void open_context(member *m)
{
    enum { TAG = 0x4852 };
    MPI_Group world = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
    (void)MPI_Comm_group(MPI_COMM_WORLD, &world);
    (void)MPI_Group_incl(world, m->count, m->ranks, &group);
    (void)MPI_Comm_create_group(MPI_COMM_WORLD, group, TAG, &m->comm);
    (void)MPI_Group_free(&world);
    (void)MPI_Group_free(&group);
    m->next = members;
    members = m;
    watch_end();
    if (hr_mpi_context_create(m->comm, NULL, &m->context) != HR_OK) {
        m->context = NULL;
    }
}

hr_mpi_context *pblas_grid_context(int blacs_context, const pblas_grid *grid)
{
    const blacs *b = find_blacs();
    const size_t count = (size_t)grid->rows * (size_t)grid->cols;
    member *made = calloc(1, sizeof *made + 2 * count * sizeof made->ranks[0]);
    if (made == NULL) {
        pblas_abort(blacs_context, "no memory for a grid of processes");
        return NULL;
    }
    made->count = (int)count;
    made->comm = MPI_COMM_NULL;
    if (!find_ranks(b, blacs_context, grid, made->ranks + count, made->ranks)) {
        free(made);
        (void)hr_set_last_error(HR_ERROR_UNSUPPORTED,
                                "a process of the grid is not in "
                                "MPI_COMM_WORLD");
        return NULL;
    }
    member *m = find_member((int)count, made->ranks);
    if (m == NULL) {
        open_context(made);
        return made->context;
    }
    free(made);
    if (m->context == NULL) {
        (void)hr_set_last_error(HR_ERROR_UNAVAILABLE,
                                "no context could be made before");
    }
    return m->context;
}
