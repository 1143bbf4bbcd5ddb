/* SPDX-License-Identifier: MIT */
/* Other libraries: a CBLAS called directly, and libraries in processes of their
 * own. Such a process runs this program again, as `headrace-bench peer WHICH
 * [CORE]`. It answers lines of text with lines of text.
 *
 * A peer begins with a line that names it. That is "openblas" with its core
 * type, or "cublasxt" or "cublas" with its version. CORE is the core type to
 * use, if OpenBLAS accepts it: it can only be chosen before the library is
 * loaded. Without a library the peer writes "error SENTENCE" and exits. To
 *
 *     TYPE M N K REPEAT pinned|ordinary GPU,GPU,... [COUNT]
 *
 * it answers "BLOCK FIRST BEST MEDIAN" for each block dimension, in seconds,
 * and "end"; or "error SENTENCE". OpenBLAS has no blocks and multiplies once.
 * cuBLAS has none either; it multiplies once, then times calls as
 * bench_time_calls does, also COUNT products in one call. All keep their
 * operands for the next request and exit at the end of their input. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "backends/host/cblas.h"
#include "base/library.h"
#include "bench/bench.h"

/* ---- peer.c */

typedef struct bench_peer {
    pid_t process; /* 0: none */
    FILE *to, *from;
    char name[64];
} bench_peer;

typedef struct bench_request {
    bench_operands_wish wish; /* of one type; the peer allocates them */
    int64_t repeat;           /* 1 to BENCH_PEER_REPEATS */
    bool pinned;
    const char *gpus; /* "0,1"; "-": none */
} bench_request;

enum { BENCH_PEERS_MAX = 8, BENCH_PEER_REPEATS = 100 };

/* The times of its best block dimension, in seconds. */
typedef struct bench_answer {
    int block;
    double first, best, median;
} bench_answer;

/* Start the peer, or `program` instead of it, and read its name. core may be
 * NULL. What it writes to standard error is lost. False also when its library
 * does not exist. */
bool bench_peer_start(bench_peer *peer, const char *program, const char *which,
                      const char *core);

/* Start the program that `file` names, if need be by PATH, as a peer. arguments
 * end with NULL and begin with a name. */
bool bench_peer_spawn(bench_peer *peer, const char *file,
                      char *const arguments[]);

/* Start a python3 with the text of a script, and this argument or none if that
 * is NULL, as a peer. The first python3 whose script does not name an error is
 * taken. */
bool bench_python_start(bench_peer *peer, const char *text, const char *word);

/* Start headrace-bench-NAME, which lies beside this program, to read what it
 * writes; pclose ends it. bench/run-gpu makes such programs. NULL: it could not
 * be started. */
FILE *bench_beside(const char *name, const char *arguments);

/* Send a line and read the line that answers it. False when the process has
 * ended. */
bool bench_peer_ask(bench_peer *peer, const char *request, char *line,
                    size_t size);

/* Run a request. False, with a message in error, when it fails. The peer frees
 * all memory of GPUs before it answers. */
bool bench_peer_run(bench_peer *peer, const bench_request *request,
                    bench_answer *answer, char *error, size_t size);

/* End its input and wait until it has exited. Accepts a zeroed struct. */
void bench_peer_stop(bench_peer *peer);

/* Be a peer: print its name, then answer requests. Returns an exit status. */
int bench_be_peer(const char *which, const char *core);

/* For peers: read a request's GPUs, "0,1". Returns how many; 0: the text is
 * wrong. */
enum { BENCH_GPUS_MAX = 64 };
int bench_read_gpus(const char *text, int gpus[BENCH_GPUS_MAX]);

/* For peers: whether the product is right, or of several the first and the last
 * one. The bound is generous, since this only has to find blunders. */
bool bench_peer_is_right(const bench_operands *o);

/* How a peer does this. It finds the library, and prints its name or why there
 * is none. Then it prints the lines of an answer but for the last. On an error
 * it prints what is wrong and returns false. */
typedef struct bench_library {
    bool (*open)(const char *core, char *name, size_t size);
    bool (*answer)(const bench_request *request, const bench_operands *o);
    bool batches; /* it answers about several products */
} bench_library;

extern const bench_library bench_openblas, bench_cublasxt, bench_cublas;

/* ---- cblas.c */

typedef struct bench_cblas {
    hri_cblas products;
    const char *(*core)(void); /* the core type of OpenBLAS; else NULL */
    void (*set_threads)(int);  /* sets its number of threads; else NULL */
    int (*get_threads)(void);
    int (*get_processors)(void);
    char name[96]; /* "libopenblas.so.0 SkylakeX" */
} bench_cblas;

/* Find the CBLAS that this process has loaded (a context has been created), so
 * that it is the same instance with the same core type. Otherwise load OpenBLAS
 * with the core type that the environment says. */
bool bench_cblas_find(bench_cblas *cblas);

/* Let it use as many threads as Headrace. The result is for the second
 * function, which gives it those it had. */
int bench_cblas_begin(const bench_cblas *cblas);
void bench_cblas_end(const bench_cblas *cblas, int before);

/* Let it use so many. */
void bench_cblas_use(const bench_cblas *cblas, int threads);

/* C := A B, of matrices by rows without gaps. False, with nothing done, when it
 * does not offer the type or the size. */
bool bench_cblas_gemm(const bench_cblas *cblas, hr_matrix a, hr_matrix b,
                      hr_matrix c);

/* Start one process for each core type that OpenBLAS accepts on this CPU, its
 * own choice first. Returns how many: 0 when there is no OpenBLAS. */
int bench_openblas_start(bench_peer peers[BENCH_PEERS_MAX]);

/* ---- cublas.c: cuBLASXt, for which HEADRACE_CUBLASXT may name another
 * program, and cuBLAS as a program would use it by hand */

bool bench_xt_start(bench_peer *peer);
bool bench_cublas_start(bench_peer *peer);

#endif
