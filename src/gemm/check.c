/* SPDX-License-Identifier: MIT */
#include "gemm/check.h"

#include <float.h>
#include <math.h>

#include "base/size.h"
#include "base/status.h"

typedef long long ll; /* for %lld */

/* What C may be for factors of this type, in words. NULL: they are no
 * factors. */
static const char *c_types(hr_type type)
{
    switch (type) {
    case HR_F16:
        return "f16 or f32";
    case HR_BF16:
        return "bf16 or f32";
    case HR_I8:
        return "i32";
    default:
        return hri_types_multiply(type, type) ? hr_type_name(type) : NULL;
    }
}

static hr_status check_types(const hr_matrix *a, const hr_matrix *b,
                             const hr_matrix *c)
{
    const char *c_may_be = c_types(a->type);
    if (a->type == b->type && hri_types_multiply(a->type, c->type)) {
        return HR_OK;
    }
    if (a->type != b->type) {
        return hri_fail(
            HR_ERROR_UNSUPPORTED,
            "gemm: %s times %s is not offered: both factors must have one type",
            hr_type_name(a->type), hr_type_name(b->type));
    }
    if (c_may_be == NULL) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "gemm: factors of %s are not offered: they may be f32, "
                        "f64, c32, c64, f16, bf16 or i8",
                        hr_type_name(a->type));
    }
    return hri_fail(HR_ERROR_UNSUPPORTED,
                    "gemm: %s times %s into %s is not offered: C may be %s",
                    hr_type_name(a->type), hr_type_name(b->type),
                    hr_type_name(c->type), c_may_be);
}

static hr_status check_shapes(const hr_matrix *a, const hr_matrix *b,
                              const hr_matrix *c)
{
    if (a->cols != b->rows) {
        return hri_fail(HR_ERROR_INVALID,
                        "gemm: A is %lldx%lld but B is %lldx%lld: A has %lld "
                        "column%s and B %lld row%s",
                        (ll)a->rows, (ll)a->cols, (ll)b->rows, (ll)b->cols,
                        (ll)a->cols, hri_plural((uint64_t)a->cols), (ll)b->rows,
                        hri_plural((uint64_t)b->rows));
    }
    if (c->rows != a->rows || c->cols != b->cols) {
        return hri_fail(HR_ERROR_INVALID,
                        "gemm: C is %lldx%lld but A times B is %lldx%lld",
                        (ll)c->rows, (ll)c->cols, (ll)a->rows, (ll)b->cols);
    }
    return HR_OK;
}

/* A factor that f32 cannot hold would become infinity or zero where products
 * are formed in f32. */
static hr_status check_single(const char *name, double x, hr_type c_type)
{
    bool in_double = c_type == HR_F64 || c_type == HR_C64 || c_type == HR_I32;
    if (in_double || !isfinite(x) || x == 0.0 ||
        (fabs(x) <= FLT_MAX && fabs(x) >= FLT_MIN)) {
        return HR_OK;
    }
    return hri_fail(HR_ERROR_INVALID,
                    "gemm: %s is %g, which f32 arithmetic cannot hold", name,
                    x);
}

static hr_status check_scalar(const char *name, hr_scalar s, hr_type c_type)
{
    if (s.im != 0.0 && !hri_is_complex(c_type)) {
        return hri_fail(HR_ERROR_INVALID,
                        "gemm: %s is %g%+gi but the matrices are real", name,
                        s.re, s.im);
    }
    HRI_TRY(check_single(name, s.re, c_type));
    HRI_TRY(check_single(name, s.im, c_type));
    if (c_type == HR_I32 &&
        !(s.re == floor(s.re) && s.re >= -0x1p31 && s.re < 0x1p31)) {
        return hri_fail(HR_ERROR_INVALID,
                        "gemm: %s is %g but must be a 32-bit integer for i32",
                        name, s.re);
    }
    return HR_OK;
}

hr_status hri_gemm_check(hr_scalar alpha, const hr_matrix *a,
                         const hr_matrix *b, hr_scalar beta, const hr_matrix *c)
{
    static const char *const names[] = {"A", "B", "C"};
    const hr_matrix *const matrices[] = {a, b, c};
    for (int i = 0; i < 3; i++) {
        HRI_TRY(hri_type_check("gemm", names[i], matrices[i]->type));
    }
    HRI_TRY(check_types(a, b, c));
    for (int i = 0; i < 3; i++) {
        HRI_TRY(hri_matrix_check("gemm", names[i], matrices[i]));
    }
    HRI_TRY(check_shapes(a, b, c));
    HRI_TRY(check_scalar("alpha", alpha, c->type));
    return check_scalar("beta", beta, c->type);
}

hr_status hri_gemm_check_data(hr_scalar alpha, const hr_matrix *a,
                              const hr_matrix *b, const hr_matrix *c)
{
    if (c->rows == 0 || c->cols == 0) {
        return HR_OK;
    }
    if (c->data == NULL) {
        return hri_fail(HR_ERROR_INVALID, "gemm: C is NULL");
    }
    if (a->cols == 0 || (alpha.re == 0.0 && alpha.im == 0.0)) {
        return HR_OK; /* A and B are not read */
    }
    if (a->data == NULL || b->data == NULL) {
        return hri_fail(HR_ERROR_INVALID, "gemm: %c is NULL",
                        a->data == NULL ? 'A' : 'B');
    }
    const bool with_a = hri_matrix_overlap(c, a);
    if (with_a || hri_matrix_overlap(c, b)) {
        return hri_fail(HR_ERROR_INVALID, "gemm: C overlaps %c",
                        with_a ? 'A' : 'B');
    }
    return HR_OK;
}

static hr_scalar conjugate(hr_scalar s)
{
    return (hr_scalar){s.re, -s.im};
}

/* Set strides that are never used, since their extent is 1, to those of a
 * packed matrix. */
static hr_matrix tidy_strides(hr_matrix m)
{
    if (m.col_stride == 1) {
        m.row_stride = hri_max(m.row_stride, hri_max(m.cols, 1));
    } else {
        m.col_stride = hri_max(m.col_stride, hri_max(m.rows, 1));
    }
    if (!hri_is_complex(m.type)) {
        m.conjugate = false;
    }
    return m;
}

hri_product hri_product_normal(hr_scalar alpha, hr_matrix a, hr_matrix b,
                               hr_scalar beta, hr_matrix c, hr_compute compute)
{
    if (c.conjugate && hri_is_complex(c.type)) {
        a = hr_matrix_conjugate(a);
        b = hr_matrix_conjugate(b);
        c = hr_matrix_conjugate(c);
        alpha = conjugate(alpha);
        beta = conjugate(beta);
    }
    const bool transposed = c.col_stride != 1;
    if (transposed) {
        hr_matrix t = hr_matrix_transpose(a);
        a = hr_matrix_transpose(b);
        b = t;
        c = hr_matrix_transpose(c);
    }
    return (hri_product){
        .compute = compute,
        .m = c.rows,
        .n = c.cols,
        .k = a.cols,
        .alpha = alpha,
        .beta = beta,
        .a = tidy_strides(a),
        .b = tidy_strides(b),
        .c = tidy_strides(c),
        .transposed = transposed,
    };
}
