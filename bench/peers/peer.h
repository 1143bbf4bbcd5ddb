/* SPDX-License-Identifier: MIT */
/* Other libraries in processes of their own, which answer lines of text with
 * lines of text: this program again, as `headrace-bench peer WHICH`.
 *
 * A peer begins with a line that names it. "openblas" names its core type (or
 * nothing: there is no OpenBLAS), because that can be chosen only before it is
 * loaded; to each "TYPE M N K" it answers the seconds of one product, negative
 * when it cannot. "cublasxt" names its version, or says "error SENTENCE"; to
 *
 *     TYPE M N K REPEAT pinned|ordinary GPU,GPU,...
 *
 * it answers "BLOCK FIRST BEST MEDIAN" for each block dimension, in seconds,
 * and "end"; or "error SENTENCE". Both keep their operands for the next request
 * and exit at the end of their input. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include <headrace/headrace.h>

typedef struct bench_peer {
    pid_t process; /* 0: none */
    FILE *to, *from;
    char name[64];
} bench_peer;

enum { BENCH_PEERS_MAX = 8 };

/* ---- peer.c */

/* Start the peer, or `program` in its place, with its environment, and read its
 * name. What it writes to standard error is lost. */
bool bench_peer_start(bench_peer *peer, const char *which, const char *program,
                      char *const *environment);

/* Send a request, and read a line of what it answers. False at its end. */
bool bench_peer_ask(bench_peer *peer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool bench_peer_read(bench_peer *peer, char *line, size_t size);

/* End its input and wait until it has exited. Accepts a zeroed one. */
void bench_peer_stop(bench_peer *peer);

/* What a peer does: answers requests, after its name. Returns an exit status.
 */
int bench_be_peer(const char *which);
int bench_be_openblas(void);
int bench_be_cublasxt(void);

/* ---- openblas.c */

/* Start one process for each core type that OpenBLAS accepts on this CPU, its
 * own choice first. Returns how many: 0 when there is no OpenBLAS. */
int bench_openblas_start(bench_peer peers[BENCH_PEERS_MAX]);

/* Have a peer multiply once. False when it cannot. */
bool bench_openblas_run(bench_peer *peer, hr_type type, const int64_t mnk[3],
                        double *seconds);

/* ---- cublasxt.c */

typedef struct bench_xt_request {
    const char *type; /* its name */
    int64_t m, n, k, repeat;
    bool pinned;
    const char *gpus; /* "0,1" */
} bench_xt_request;

/* Of its best block dimension; seconds. */
typedef struct bench_xt_result {
    int block;
    double first, best, median;
} bench_xt_result;

/* False when cuBLAS or the driver is not there. HEADRACE_CUBLASXT may name
 * another program. */
bool bench_xt_start(bench_peer *peer);

/* False with a sentence in error when it has not worked. It frees all memory of
 * the GPUs before it answers. */
bool bench_xt_run(bench_peer *peer, const bench_xt_request *request,
                  bench_xt_result *result, char *error, size_t size);

#endif
