/* SPDX-License-Identifier: MIT */
/* Every error path of create, plan and run: the n-th call of the backend fails,
 * for every n. The result is right or the status is the one injected, nothing
 * is left behind, and the context works afterwards. */
#include <math.h>
#include <sys/prctl.h>

#include "runtime/runtime.h"
#include "support/fault_backend.h"
#include "test.h"

extern const hri_backend hri_backend_host;

enum { M = 150, N = 130, K = 170 };

/* Every call, but for a thread sanitizer, under which threads start slowly. */
#if defined(__SANITIZE_THREAD__)
enum { STEP = 7 };
#else
enum { STEP = 1 };
#endif

static float a[M * K], b[K * N], c[M * N], wanted[M * N];

static void make(void)
{
    for (int i = 0; i < M * K; i++) {
        a[i] = (float)(i * 7 % 13 - 6);
    }
    for (int i = 0; i < K * N; i++) {
        b[i] = (float)(i * 5 % 11 - 5);
    }
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            float sum = (float)(i + j); /* old C */
            for (int k = 0; k < K; k++) {
                sum += a[i * K + k] * b[k * N + j];
            }
            wanted[i * N + j] = sum; /* small integers: exact */
        }
    }
}

static hr_status multiply(hr_context *context)
{
    for (int i = 0; i < M * N; i++) {
        c[i] = (float)(i / N + i % N);
    }
    return hr_gemm(context, hr_real(1), hr_matrix_row_major(a, HR_F32, M, K, 0),
                   hr_matrix_row_major(b, HR_F32, K, N, 0), hr_real(1),
                   hr_matrix_row_major(c, HR_F32, M, N, 0), NULL);
}

static hr_status create(const char *list, hr_context **context)
{
    static const hri_backend *backends[2];
    backends[0] = fault_backend_wrap(&hri_backend_host);
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = list;
    options.memory_limit = 100 << 10; /* k is chunked, blocks are many */
    return hri_context_create_from(backends, &options, context);
}

typedef enum way { CALL, LOSE, OPERATION, WAYS } way;

static void inject(way how, uint64_t n)
{
    if (how == CALL) {
        fault_backend_fail_call(n, HR_ERROR_BACKEND);
    } else if (how == LOSE) {
        fault_backend_lose(n);
    } else {
        fault_backend_fail_operation(n, HR_ERROR_BACKEND);
    }
}

/* Returns whether call or operation n was reached. */
static bool one_fault(const char *list, int staged, way how, uint64_t n)
{
    fault_backend_reset();
    fault_backend_pretend_staged(staged);
    inject(how, n);
    hr_context *context = NULL;
    hr_status status = create(list, &context);
    if (status == HR_OK) {
        status = multiply(context);
        CHECK(status != HR_OK || memcmp(c, wanted, sizeof c) == 0);
        bool reached = how == OPERATION ? fault_backend_operations() >= n
                                        : fault_backend_calls() >= n;
        if (how != LOSE) {
            inject(how, 0);
            CHECK(multiply(context) == HR_OK);
            CHECK(memcmp(c, wanted, sizeof c) == 0);
        }
        hr_context_destroy(context);
        CHECK(fault_backend_objects() == 0 && fault_backend_breaches() == 0);
        CHECK(status == HR_OK || status == HR_ERROR_BACKEND ||
              status == HR_ERROR_LOST);
        CHECK(status == HR_OK || hr_last_error()[0] != '\0');
        return reached;
    }
    CHECK(context == NULL);
    CHECK(fault_backend_objects() == 0 && fault_backend_breaches() == 0);
    return true;
}

int main(void)
{
    static const struct {
        const char *list;
        int staged;
    } setups[] = {{"host", 0}, {"1xhost", 1}, {"3xhost", 0}, {"2xhost", 1}};
    static const char *const names[] = {"fail", "lose", "fail later"};
    /* Thousands of contexts: clearing huge pages would take most time. */
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    make();
    for (size_t s = 0; s < sizeof setups / sizeof setups[0]; s++) {
        for (way how = CALL; how < WAYS; how++) {
            TEST_CASE(setups[s].list);
            uint64_t n = 1;
            while (one_fault(setups[s].list, setups[s].staged, how, n)) {
                n += STEP;
            }
            printf("%s%s, %s: %llu calls\n", setups[s].list,
                   setups[s].staged ? " staged" : "", names[how],
                   (unsigned long long)n - 1);
            CHECK(n > 1);
        }
    }
    return test_end();
}
