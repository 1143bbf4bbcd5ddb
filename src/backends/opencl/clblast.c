/* SPDX-License-Identifier: MIT */
/* CLBlast [Nugteren2018] (C. Nugteren, CLBlast: A Tuned OpenCL BLAS Library,
 * IWOCL 2018) in place of our kernel, on request: HEADRACE_CLBLAST=on, or the
 * library's file name. Unset, empty or "off" means no CLBlast.
 *
 * It is not the default, because where we could measure, our kernel is faster
 * and needs no memory. CLBlast 1.5.3, GFLOP/s, f32 / f64:
 *
 *     device, size            CLBlast         its direct form  ours
 *     H200, 8192^3            33,700/12,700   17,100/6,460     43,900/22,500
 *     PoCL 3.1, 2 cores of
 *     Zen 4, 1024^3           23/11           8/6              150/74
 *
 * Above a size that depends on the device, CLBlast copies its operands to
 * temporary buffers: at 8192^3 256 to 768 MiB in f32. No memory limit of ours
 * counts these. So even on request CLBlast gets only products for which it says
 * that it needs none. These are small ones, for which it has its direct form,
 * and packed ones of whole tiles. It cannot conjugate without transposing, and
 * its kernels count in 32 bits. Our kernel does everything else. */
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/opencl.h"
#include "base/environment.h"
#include "base/library.h"
#include "base/size.h"

typedef struct clblast_float2 {
    float re, im;
} clblast_float2;

typedef struct clblast_double2 {
    double re, im;
} clblast_double2;

enum { ROW_MAJOR = 101, NO = 111, YES = 112, CONJUGATE = 113 };

typedef struct clblast_api {
#define SYM(kind, result, name, args) result(*name) args;
#include "backends/opencl/clblast.inc"
#undef SYM
} clblast_api;

static const hri_symbol symbols[] = {
#define SYM(kind, result, name, args)                                          \
    {#name, offsetof(clblast_api, name), kind},
#include "backends/opencl/clblast.inc"
#undef SYM
};

static clblast_api api;
static bool wanted; /* constant after load; so is name */
static const char *name = "OpenCL C kernel";

static hr_status load_clblast(void)
{
    const char *wish = hri_environment("HEADRACE_CLBLAST");
    if (wish == NULL || wish[0] == '\0' || strcmp(wish, "off") == 0) {
        return HR_OK;
    }
    if (hri_library_load(strcmp(wish, "on") == 0 ? "libclblast.so.1" : wish,
                         symbols, sizeof symbols / sizeof symbols[0],
                         &api) != HR_OK) {
        name = "none, since HEADRACE_CLBLAST names no usable CLBlast";
        return hri_library_refuse("HEADRACE_CLBLAST", wish, "CLBlast");
    }
    wanted = true;
    name = "CLBlast, OpenCL C kernel";
    return HR_OK;
}

hr_status hri_cl_clblast_load(void)
{
    static hri_once once = HRI_ONCE_INIT;
    return hri_once_run(&once, load_clblast);
}

bool hri_cl_clblast_wanted(void)
{
    return hri_cl_clblast_load() == HR_OK && wanted;
}

const char *hri_cl_arithmetic_name(void)
{
    (void)hri_cl_clblast_load();
    return name;
}

void hri_cl_clblast_forget(void)
{
    if (hri_cl_clblast_wanted()) {
        api.CLBlastClearCache();
    }
}

/* An operand as CLBlast takes it. */
typedef struct side {
    cl_int transpose;
    cl_mem memory;
    size_t offset, ld;
} side;

static side side_of(const hri_operand *o, hr_type type, int64_t rows,
                    int64_t cols)
{
    bool row_major = o->col_stride == 1;
    int64_t ld =
        row_major ? hri_max(o->row_stride, cols) : hri_max(o->col_stride, rows);
    return (side){
        .transpose = row_major      ? NO
                     : o->conjugate ? CONJUGATE
                                    : YES,
        .memory = hri_cl_memory(o->place.buffer),
        .offset = o->place.offset / hr_type_size(type),
        .ld = (size_t)ld,
    };
}

/* A product as CLBlast takes it. */
typedef struct call {
    side a, b, c;
    size_t m, n, k;
} call;

static call call_of(const hri_gemm *g)
{
    return (call){
        .a = side_of(&g->a, g->type, g->m, g->k),
        .b = side_of(&g->b, g->type, g->k, g->n),
        .c = side_of(&g->c, g->type, g->m, g->n),
        .m = (size_t)g->m,
        .n = (size_t)g->n,
        .k = (size_t)g->k,
    };
}

/* Whether the operand fits: CLBlast's kernels count elements in int, also those
 * of tiles that reach beyond it. */
static bool fits_int(const side *s, size_t rows, size_t cols)
{
    uint64_t lines = s->transpose == NO ? rows : cols, end;
    return hri_mul(lines + 256, s->ld, &end) && hri_add(end, s->offset, &end) &&
           end < INT32_MAX;
}

static bool needs_no_memory(hri_cl_queue *queue, const call *c, hr_type type)
{
    cl_int (*const ask[])(cl_int, cl_int, cl_int, size_t, size_t, size_t,
                          size_t, size_t, size_t, size_t, size_t, size_t,
                          cl_command_queue *, size_t *) = {
        [HR_F32] = api.CLBlastSGemmTempBufferSize,
        [HR_F64] = api.CLBlastDGemmTempBufferSize,
        [HR_C32] = api.CLBlastCGemmTempBufferSize,
        [HR_C64] = api.CLBlastZGemmTempBufferSize,
    };
    size_t bytes = 1;
    return ask[type](ROW_MAJOR, c->a.transpose, c->b.transpose, c->m, c->n,
                     c->k, c->a.offset, c->a.ld, c->b.offset, c->b.ld,
                     c->c.offset, c->c.ld, &queue->queue,
                     &bytes) == CL_SUCCESS &&
           bytes == 0;
}

bool hri_cl_clblast_suits(hri_cl_queue *queue, const hri_gemm *g)
{
    if (!hri_cl_clblast_wanted() || g->type > HR_C64 ||
        (g->a.conjugate && g->a.col_stride == 1) ||
        (g->b.conjugate && g->b.col_stride == 1)) {
        return false;
    }
    call c = call_of(g);
    return fits_int(&c.a, c.m, c.k) && fits_int(&c.b, c.k, c.n) &&
           fits_int(&c.c, c.m, c.n) && needs_no_memory(queue, &c, g->type);
}

/* The four differ only in the type of alpha and beta. */
#define GEMM(function, alpha, beta)                                            \
    function(ROW_MAJOR, c.a.transpose, c.b.transpose, c.m, c.n, c.k, alpha,    \
             c.a.memory, c.a.offset, c.a.ld, c.b.memory, c.b.offset, c.b.ld,   \
             beta, c.c.memory, c.c.offset, c.c.ld, &queue->queue, NULL)

hr_status hri_cl_clblast_gemm(hri_cl_queue *queue, const hri_gemm *g)
{
    const call c = call_of(g);
    const clblast_double2 alpha = {g->alpha.re, g->alpha.im};
    const clblast_double2 beta = {g->beta.re, g->beta.im};
    const clblast_float2 alpha32 = {(float)alpha.re, (float)alpha.im};
    const clblast_float2 beta32 = {(float)beta.re, (float)beta.im};
    cl_int error;
    switch (g->type) {
    case HR_F32:
        error = GEMM(api.CLBlastSgemm, alpha32.re, beta32.re);
        break;
    case HR_F64:
        error = GEMM(api.CLBlastDgemm, alpha.re, beta.re);
        break;
    case HR_C32:
        error = GEMM(api.CLBlastCgemm, alpha32, beta32);
        break;
    default:
        error = GEMM(api.CLBlastZgemm, alpha, beta);
        break;
    }
    return hri_cl_check(error, "CLBlast's gemm"); /* it uses OpenCL's error
                                                     codes */
}
