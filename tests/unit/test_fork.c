/* SPDX-License-Identifier: MIT */
/* Children of fork() while other threads are inside the library. */
#include "test.h"

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/status.h"

/* Whether the function returns true in a child. A child that hangs is ended. */
static bool is_true_in_child(bool (*function)(void))
{
    int how = 0;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(function() ? 0 : 1);
    }
    return child > 0 && waitpid(child, &how, 0) == child && WIFEXITED(how) &&
           WEXITSTATUS(how) == 0;
}

/* ---- what a process tries once */

static hri_once slow_once = HRI_ONCE_INIT, forking_once = HRI_ONCE_INIT;
static atomic_bool begun;
static bool child_was_right;

static hr_status be_slow(void)
{
    const struct timespec some = {.tv_nsec = 300000000};
    atomic_store(&begun, true);
    nanosleep(&some, NULL);
    return HR_OK;
}

static void *run_slowly(void *unused)
{
    (void)unused;
    CHECK(hri_once_run(&slow_once, be_slow) == HR_OK);
    return NULL;
}

static bool runs_once(void)
{
    return hri_once_run(&slow_once, be_slow) == HR_OK;
}

static bool is_child(void)
{
    return true;
}

static hr_status be_forking(void)
{
    child_was_right = is_true_in_child(is_child);
    return HR_OK;
}

static void once(void)
{
    TEST_CASE("while another thread tries something");
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run_slowly, NULL) == 0);
    while (!atomic_load(&begun)) {
    }
    CHECK(is_true_in_child(runs_once));
    pthread_join(thread, NULL);
    TEST_CASE("by what is tried");
    CHECK(hri_once_run(&forking_once, be_forking) == HR_OK && child_was_right);
}

/* ---- products on other threads */

static hr_context *open_list(const char *list)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    options.accelerators = list;
    return hr_context_create(&options, &context) == HR_OK ? context : NULL;
}

static bool multiplies(void)
{
    enum { EDGE = 200 };
    float a[EDGE * EDGE], c[EDGE * EDGE];
    hr_context *context = open_list("host");
    for (int i = 0; i < EDGE * EDGE; i++) {
        a[i] = 1.0F;
    }
    const hr_matrix factor = hr_matrix_row_major(a, HR_F32, EDGE, EDGE, 0);
    bool right =
        context != NULL &&
        hr_gemm(context, hr_real(1), factor, factor, hr_real(0),
                hr_matrix_row_major(c, HR_F32, EDGE, EDGE, 0), NULL) == HR_OK;
    for (int i = 0; i < EDGE * EDGE; i++) {
        right = right && c[i] == (float)EDGE;
    }
    hr_context_destroy(context);
    return right;
}

static atomic_bool over;

static void *multiply_often(void *unused)
{
    (void)unused;
    while (!atomic_load(&over)) {
        CHECK(multiplies());
    }
    return NULL;
}

static void products(void)
{
    enum { THREADS = 2, CHILDREN = 20 };
    TEST_CASE("while other threads multiply");
    pthread_t threads[THREADS];
    CHECK(multiplies()); /* so that the CBLAS is loaded */
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, multiply_often, NULL) == 0);
    }
    for (int i = 0; i < CHILDREN; i++) {
        CHECK(is_true_in_child(multiplies));
    }
    atomic_store(&over, true);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
}

/* ---- OpenCL */

static bool is_refused_opencl(void)
{
    return open_list("opencl") == NULL &&
           strstr(hr_last_error(), "a child of fork()") != NULL && multiplies();
}

static void opencl(void)
{
    TEST_CASE("after the parent has found OpenCL devices");
    hr_context *context = open_list("opencl");
    if (context != NULL) {
        CHECK(is_true_in_child(is_refused_opencl));
    }
    hr_context_destroy(context);
}

int main(void)
{
    TEST(once());
    TEST(products());
    TEST(opencl());
    return test_end();
}
