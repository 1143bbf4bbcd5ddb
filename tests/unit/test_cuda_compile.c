/* SPDX-License-Identifier: MIT */
/* The gemm kernel compiles for every type and every GPU that the NVRTC of this
 * machine knows, newer and older ones, and so do kernels in the dialect; no GPU
 * is needed. */
#include <stdlib.h>

#include "backends/cuda/cuda.h"
#include "filter/kernels.h"
#include "kernels/kernels.h"
#include "test.h"

extern const hr_kernel axpy, integers, broken, matmul_blocked,
    transpose_blocked, run_nbody, run_histogram;
extern const hr_kernel nine, eighteen, thirty_two;
extern const hr_kernel lists2, lists3, lists_mixed; /* tests/kernels/lists.c */
extern const hr_kernel step, half, float4, new;     /* tests/kernels/names.c */
extern const hr_kernel philox_words, hri_random_bits_rows;
extern const hr_kernel hri_fill8_line, hri_fill128_slices, hri_combine_f64,
    hri_histogram_f32_cells, hri_histogram_i32_lines;
extern const hr_kernel hri_reduce_f32_cells, hri_reduce_bf16_pair_lines,
    hri_reduce_i8_exact_cells, hri_scan_f32_cells, hri_scan_i32_i64_lines,
    hri_scan_f32_short_lines;
extern const hr_kernel hri_sort_u32_scatter, hri_sort_u8_merge,
    hri_sort_u64_u64_scatter, hri_sort_u16_u32_merge, hri_sort_u32_sweep,
    hri_sort_u8_u64_sweep_in_place;
extern const char hri_reduce_with_text[]; /* kernels/dialect/reduce_with.c */
extern const char bench_cuda_text[];      /* bench/dialect/by_hand.cu */

static void compile_text(const char *source)
{
    const char *none[] = {NULL};
    char *image = NULL;
    size_t bytes = 0;
    CHECK(hri_nvrtc_compile("cuda:0", NULL, source, 90, none, &image, &bytes) ==
          HR_OK);
    CHECK(image != NULL && bytes > 0);
    free(image);
}

static void compile_dialect(void)
{
    const hr_kernel *good[] = {&axpy,
                               &integers,
                               &nine,
                               &eighteen,
                               &thirty_two,
                               &lists2,
                               &lists3,
                               &lists_mixed,
                               &step,
                               &half,
                               &float4,
                               &new,
                               &philox_words,
                               &hri_random_bits_rows,
                               &hri_fill8_line,
                               &hri_fill128_slices,
                               &hri_combine_f64,
                               &hri_histogram_f32_cells,
                               &hri_histogram_i32_lines,
                               &matmul_blocked,
                               &transpose_blocked,
                               &run_nbody,
                               &run_histogram,
                               &hri_filter_across_float,
                               &hri_filter_across_double,
                               &hri_reduce_f32_cells,
                               &hri_reduce_bf16_pair_lines,
                               &hri_reduce_i8_exact_cells,
                               &hri_scan_f32_cells,
                               &hri_scan_i32_i64_lines,
                               &hri_scan_f32_short_lines,
                               &hri_sort_u32_scatter,
                               &hri_sort_u8_merge,
                               &hri_sort_u64_u64_scatter,
                               &hri_sort_u16_u32_merge,
                               &hri_sort_u32_sweep,
                               &hri_sort_u8_u64_sweep_in_place};
    const char *none[] = {NULL};
    char *source = NULL, *image = NULL;
    size_t bytes = 0;
    TEST_CASE("kernels in the dialect");
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        source = hri_kernel_source(good[i], HRI_SOURCE_DEVICE);
        compile_text(source);
        free(source);
    }
    source = hri_kernel_source(&broken, HRI_SOURCE_DEVICE);
    CHECK_FAILS(
        hri_nvrtc_compile("cuda:0", &broken, source, 90, none, &image, &bytes),
        HR_ERROR_BUILD, "cuda:0: broken of broken.c did not compile");
    CHECK(strstr(hr_last_error(), "broken.c(12)") != NULL);
    free(source);
}

/* With a function of two elements, as src/calls/reduce.c writes it. */
static void compile_reductions(void)
{
    static const char *const functions[][2] = {{"float", "fmax(a, b)"},
                                               {"hr_c32", "hr_c32_mul(a, b)"},
                                               {"double", "a + b"},
                                               {"signed char", "a ^ b"}};
    static const char *const names[] = {"reduce_cells", "reduce_lines"};
    TEST_CASE("reductions by functions of the caller's");
    hr_context *context = test_context("host", 0);
    for (size_t i = 0; i < 2 * sizeof functions / sizeof functions[0]; i++) {
        const hr_kernel *kernel = NULL;
        char *text = malloc(strlen(hri_reduce_with_text) + 200);
        sprintf(text,
                "typedef %s element; HR_FUNCTION element "
                "joined(const element a, const element b) { return (%s\n); }\n"
                "%s",
                functions[i / 2][0], functions[i / 2][1], hri_reduce_with_text);
        CHECK(hr_kernel_create(context, text, names[i % 2], "reduction",
                               &kernel) == HR_OK);
        char *source = hri_kernel_source(kernel, HRI_SOURCE_DEVICE);
        compile_text(source);
        free(source);
        free(text);
    }
    hr_context_destroy(context);
}

int main(void)
{
    static const int capabilities[] = {75, 90, 999};
    const char *image = NULL, *again = NULL;
    char *text = NULL;
    if (hri_nvrtc_load() != HR_OK) {
        return test_skip(hr_last_error());
    }
    test_note("%s\n", hri_nvrtc_name());
    for (hr_type type = HR_F32; type <= HR_I8; type++) {
        TEST_CASE(hr_type_name(type));
        for (size_t i = 0; i < sizeof capabilities / sizeof capabilities[0];
             i++) {
            /* All of them for one type, a usual one for the others. */
            if (type == HR_F16 || capabilities[i] == 90) {
                CHECK(hri_cuda_kernel_compile("cuda:0", capabilities[i], type,
                                              HRI_CUDA_PLAIN, &image) == HR_OK);
                CHECK(type == HR_I8 || hri_cuda_kernel_compile(
                                           "cuda:0", capabilities[i], type,
                                           HRI_CUDA_ORDERED, &again) == HR_OK);
                CHECK(image != again);
                CHECK((type != HR_F16 && type != HR_BF16) ||
                      hri_cuda_kernel_compile("cuda:0", capabilities[i], type,
                                              HRI_CUDA_ADD, &again) == HR_OK);
            }
        }
    }
    TEST_CASE("what was compiled is kept");
    CHECK(hri_cuda_kernel_compile("cuda:0", 999, HR_F16, HRI_CUDA_PLAIN,
                                  &image) == HR_OK);
    CHECK(hri_cuda_kernel_compile("cuda:1", 999, HR_F16, HRI_CUDA_PLAIN,
                                  &again) == HR_OK);
    CHECK(image == again && strncmp(image, "//", 2) == 0); /* PTX */
    TEST_CASE("GPUs that are too old");
    CHECK_FAILS(
        hri_cuda_kernel_compile("cuda:0", 20, HR_F32, HRI_CUDA_PLAIN, &image),
        HR_ERROR_UNSUPPORTED, "capability 2.0");
    TEST_CASE("a source that does not compile");
    const char *none[] = {NULL};
    CHECK_FAILS(hri_nvrtc_compile("cuda:0", NULL,
                                  "__device__ int f() { return x; }", 90, none,
                                  &text, NULL),
                HR_ERROR_BUILD, "identifier \"x\" is undefined");
    CHECK(text == NULL && strchr(hr_last_error(), '\n') == NULL);
    TEST(compile_dialect());
    TEST(compile_reductions());
    TEST_CASE("kernels written by hand, of bench/dialect");
    TEST(compile_text(bench_cuda_text));
    return test_end();
}
