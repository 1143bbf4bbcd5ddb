/* SPDX-License-Identifier: MIT */
#include "filter/fft.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "base/environment.h"
#include "base/library.h"
#include "base/size.h"
#include "filter/kernels.h"

/* SYM(result, name, arguments): the functions of FFTW 3 [Frigo2005]. They have
 * the prefix fftwf_ in libfftw3f and fftw_ in libfftw3. Real and complex data
 * are pointers to either type. New-array execution is the only call that
 * threads may make at the same time. */
#define FFTW                                                                   \
    SYM(void *, plan_dft_r2c_2d,                                               \
        (int rows, int cols, void *in, void *out, unsigned flags))             \
    SYM(void *, plan_dft_c2r_2d,                                               \
        (int rows, int cols, void *in, void *out, unsigned flags))             \
    SYM(void, execute_dft_r2c, (const void *plan, void *in, void *out))        \
    SYM(void, execute_dft_c2r, (const void *plan, void *in, void *out))        \
    SYM(void, destroy_plan, (void *plan))

struct hri_fftw {
#define SYM(result, name, args) result(*name) args;
    FFTW
#undef SYM
};

#define REAL       float
#define NAME(word) word##_float
#include "filter/fft.inc"
#undef REAL
#undef NAME

#define REAL       double
#define NAME(word) word##_double
#include "filter/fft.inc"
#undef REAL
#undef NAME

/* ---- FFTW */

static const char *const libraries[] = {"libfftw3f.so.3", "libfftw3.so.3"};

#define SYM(result, name, args)                                                \
    {"fftwf_" #name, offsetof(hri_fftw, name), true},
static const hri_symbol symbols_float[] = {FFTW};
#undef SYM

#define SYM(result, name, args) {"fftw_" #name, offsetof(hri_fftw, name), true},
static const hri_symbol symbols_double[] = {FFTW};
#undef SYM

/* FFTW's planner, and finding FFTW, are for one thread at a time. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

static hr_status load(int which, hri_fftw *api)
{
    const char *choice = hri_environment("HEADRACE_FFTW");
    if (choice != NULL && strcmp(choice, "off") == 0) {
        return hri_fail(
            HR_ERROR_UNSUPPORTED,
            "filter: transforms need FFTW, but HEADRACE_FFTW is off");
    }
    if (choice != NULL && choice[0] != '\0') {
        return hri_fail(HR_ERROR_INVALID, "HEADRACE_FFTW is \"%.64s\", not off",
                        choice);
    }
    const hr_status status = hri_library_load(
        libraries[which], which == 0 ? symbols_float : symbols_double,
        sizeof symbols_float / sizeof symbols_float[0], api);
    if (status != HR_OK) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "filter: no library for Fourier transforms: %s",
                        hr_last_error());
    }
    return HR_OK;
}

/* A child of fork() gets the planner while no thread uses it. */
static void hold_planner(void)
{
    pthread_mutex_lock(&planner);
}

static void drop_planner(void)
{
    pthread_mutex_unlock(&planner);
}

__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(hold_planner, drop_planner, drop_planner);
}

hr_status hri_fft_find(hr_type type, const hri_fftw **api)
{
    static hri_fftw found[2];
    static bool known[2];
    const int which = type == HR_F64;
    hr_status status = HR_OK;
    pthread_mutex_lock(&planner);
    if (!known[which]) {
        status = load(which, &found[which]);
        known[which] = status == HR_OK;
    }
    pthread_mutex_unlock(&planner);
    *api = &found[which];
    return status;
}

/* ---- blocks */

double hri_fft_blocks(const hri_filter_job *job, int64_t edge)
{
    const int64_t valid = edge - 2 * job->window->reach;
    return (double)hri_ceil_div(job->out.rows, valid) *
           (double)hri_ceil_div(job->out.cols, valid);
}

/* Choose the edge of blocks. Powers of two, and one and a half times these, are
 * fast to transform. The best of these edges has the fewest operations for each
 * CPU, as CPUs take blocks in turn. Edges above MAX_EDGE leave the cache. */
int64_t hri_fft_edge(const hri_filter_job *job)
{
    enum { MIN_EDGE = 32, MAX_EDGE = 2048 };
    const double processors = hri_thread_count();
    int64_t best = job->edge;
    double least = INFINITY;
    if (best > 0) {
        return best;
    }
    for (int64_t power = MIN_EDGE; best == 0 || power <= MAX_EDGE; power *= 2) {
        for (int64_t edge = power; edge <= power + power / 2;
             edge += power / 2) {
            if (edge < 4 * job->window->reach) {
                continue;
            }
            const double turns = ceil(hri_fft_blocks(job, edge) / processors);
            const double cost =
                turns * (double)edge * (double)edge * log2((double)edge);
            best = cost < least ? edge : best;
            least = cost < least ? cost : least;
        }
    }
    return best;
}

hr_status hri_fft_init(hri_fft *fft, const hri_filter_job *job)
{
    enum { ESTIMATE = 1 << 6 };
    const int64_t edge = hri_fft_edge(job);
    *fft = (hri_fft){.edge = edge};
    HRI_TRY(hri_fft_find(job->in.type, &fft->api));
    const size_t bytes =
        (size_t)hri_fft_scratch(edge) * hr_type_size(job->in.type);
    fft->spectrum = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (fft->spectrum != NULL) {
        void *x = fft->spectrum;
        const int n = (int)edge;
        pthread_mutex_lock(&planner);
        fft->forward = fft->api->plan_dft_r2c_2d(n, n, x, x, ESTIMATE);
        fft->backward = fft->api->plan_dft_c2r_2d(n, n, x, x, ESTIMATE);
        pthread_mutex_unlock(&planner);
    }
    if (fft->forward == NULL || fft->backward == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "filter: no memory to transform %lldx%lld elements",
                        (long long)edge, (long long)edge);
    }
    if (job->in.type == HR_F32) {
        make_spectrum_float(fft, job);
    } else {
        make_spectrum_double(fft, job);
    }
    return HR_OK;
}

void hri_fft_finish(hri_fft *fft)
{
    pthread_mutex_lock(&planner);
    if (fft->forward != NULL) {
        fft->api->destroy_plan(fft->forward);
    }
    if (fft->backward != NULL) {
        fft->api->destroy_plan(fft->backward);
    }
    pthread_mutex_unlock(&planner);
    free(fft->spectrum);
    *fft = (hri_fft){0};
}
