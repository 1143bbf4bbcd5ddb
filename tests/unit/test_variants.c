/* SPDX-License-Identifier: MIT */
/* The forms of a kernel for AVX2 and AVX-512 (headrace/dialect/host.h), each
 * alone, on the host's accelerators of argv[1]. They give what plain C gives,
 * to the bit: the build fuses nothing in this file. */
#include "kernels/variants.c" /* NOLINT(bugprone-suspicious-include) */

#include "test.h"

enum { N = 1003, ROWS = 37, COLS = 53, KERNELS = 4 };

/* What the kernel does on the host: the form that a test is about. */
typedef void (*host_function)(const hr_domain *, const void *);

typedef struct form {
    const char *name;
    bool runs; /* the processor has what it needs */
    host_function of[KERNELS];
} form;

#define FORM(suffix)                                                           \
    {                                                                          \
        smooth_##suffix, collatz_##suffix, draw_##suffix, tally_##suffix       \
    }

static int list_forms(form list[4])
{
    int many = 0;
    list[many++] = (form){"the processor's", true, FORM(host)};
#if HR_HAS_VARIANTS_
    list[many++] = (form){"plain", true, FORM(plain)};
    list[many++] = (form){
        "avx2", __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"),
        FORM(avx2)};
    list[many++] = (form){"avx512", HR_HAS_AVX512_, FORM(avx512)};
#endif
    return many;
}

static hr_kernel kernel_with(const hr_kernel *kernel, host_function function)
{
    hr_kernel copy = *kernel;
    copy.host = function;
    return copy;
}

/* ---- beside plain C */

static float pixel_at(const float *x, int i, int j)
{
    return i < 0 || i >= ROWS || j < 0 || j >= COLS ? 0.0f : x[i * COLS + j];
}

static void check_smooth(hr_context *context, const hr_kernel *kernel)
{
    float x[ROWS * COLS], y[ROWS * COLS];
    int wrong = 0;
    for (int i = 0; i < ROWS * COLS; i++) {
        x[i] = (float)(i * 37 % 101) / 7.0f;
    }
    CHECK(hr_run(context, kernel, hr_extent2(ROWS, COLS),
                 HR_ARGUMENTS(hr_in(x, ROWS, COLS), hr_out(y, ROWS, COLS)),
                 NULL) == HR_OK);
    for (int i = 0; i < ROWS * COLS; i++) {
        const int r = i / COLS, c = i % COLS;
        const float around = pixel_at(x, r - 1, c) + pixel_at(x, r + 1, c) +
                             pixel_at(x, r, c - 1) + pixel_at(x, r, c + 1);
        wrong += y[i] != 0.3f * x[i] + 0.175f * around;
    }
    CHECK(wrong == 0);
}

static int steps_from(long n)
{
    int steps = 0;
    for (; n > 1; steps++) {
        n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    }
    return steps;
}

static void check_collatz(hr_context *context, const hr_kernel *kernel)
{
    int steps[N], wrong = 0;
    CHECK(hr_run(context, kernel, hr_extent1(N), HR_ARGUMENTS(hr_out(steps, N)),
                 NULL) == HR_OK);
    for (int i = 0; i < N; i++) {
        wrong += steps[i] != steps_from(i);
    }
    CHECK(wrong == 0);
}

static void check_draw(hr_context *context, const hr_kernel *kernel)
{
    float x[N];
    int wrong = 0;
    CHECK(hr_run(context, kernel, hr_extent1(N), HR_ARGUMENTS(hr_out(x, N)),
                 NULL) == HR_OK);
    for (int i = 0; i < N; i++) {
        const hr_random4 r = hr_philox(5, 3, (unsigned long)i / 4);
        wrong += x[i] != hr_normal_f32(r.word[i % 4]);
    }
    CHECK(wrong == 0);
}

static void check_tally(hr_context *context, const hr_kernel *kernel)
{
    int x[N], total[1] = {7}, want = 7;
    hr_array *in = NULL, *sum = NULL;
    hr_queue *queue = NULL;
    for (int i = 0; i < N; i++) {
        x[i] = i * i % 17 - 8;
        want += x[i];
    }
    CHECK(hr_array_wrap(context, x, sizeof *x, hr_extent1(N), 0, &in) == HR_OK);
    CHECK(hr_array_wrap(context, total, sizeof *total, hr_extent1(1), 0,
                        &sum) == HR_OK);
    CHECK(hr_queue_default(context, 0, &queue) == HR_OK);
    CHECK(hr_launch(queue, kernel, hr_extent1(N), NULL,
                    HR_ARGUMENTS(hr_in(hr_view_of(in)),
                                 hr_inout(hr_view_of(sum)))) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(sum)) == HR_OK);
    CHECK(total[0] == want);
    hr_array_destroy(in);
    hr_array_destroy(sum);
}

static void run_form(hr_context *context, const form *f)
{
    TEST_CASE(f->name);
    const hr_kernel own[KERNELS] = {
        kernel_with(&smooth, f->of[0]), kernel_with(&collatz, f->of[1]),
        kernel_with(&draw, f->of[2]), kernel_with(&tally, f->of[3])};
    check_smooth(context, &own[0]);
    check_collatz(context, &own[1]);
    check_draw(context, &own[2]);
    check_tally(context, &own[3]);
}

int main(int count, char **arguments)
{
    hr_context *context = test_context(count > 1 ? arguments[1] : "host", 0);
    form list[4];
    const int many = list_forms(list);
    for (int i = 0; i < many; i++) {
        if (list[i].runs) {
            TEST(run_form(context, &list[i]));
        } else {
            test_note("%s: not on this processor\n", list[i].name);
        }
    }
    hr_context_destroy(context);
    return test_end();
}
