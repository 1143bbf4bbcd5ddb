/* SPDX-License-Identifier: MIT */
/* The drop-in BLAS during a program's life: threads that call at once, forks
 * before and after the first call. `test_process [CALLS]`: only 64 threads,
 * each with so many calls. The environment decides what is multiplied where. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blas/names.h"
#include "support/random.h"
#include "test.h"

enum { THREADS = 8, MANY = 64, MAX_EXTENT = 160 };

/* C = A B of integers, which any order of sums makes the same. */
static int multiply_square(random_source *source, plain_int n)
{
    const size_t count = (size_t)n * (size_t)n;
    double *a = malloc(3 * count * sizeof *a), *b = a + count, *c = b + count;
    const double one = 1, none = 0;
    int wrong = 0;
    for (size_t i = 0; i < 2 * count; i++) {
        a[i] = (double)random_between(source, -9, 9);
    }
    dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &none, c, &n, 1, 1);
    for (int probe = 0; probe < 50; probe++) {
        const plain_int row = (plain_int)random_between(source, 0, n - 1);
        const plain_int col = (plain_int)random_between(source, 0, n - 1);
        double want = 0;
        for (plain_int p = 0; p < n; p++) {
            want += a[row + p * n] * b[p + col * n];
        }
        wrong += c[row + col * n] != want;
    }
    free(a);
    return wrong;
}

typedef struct user {
    pthread_t thread;
    uint64_t seed;
    int calls, wrong;
} user;

static void *make_calls(void *data)
{
    user *w = data;
    random_source source = {w->seed};
    for (int i = 0; i < w->calls; i++) {
        w->wrong += multiply_square(
            &source, (plain_int)random_between(&source, 1, MAX_EXTENT));
    }
    return NULL;
}

static void call_at_once(int threads, int calls)
{
    TEST_CASE("threads that call at once");
    user users[MANY];
    for (int i = 0; i < threads; i++) {
        users[i] = (user){.seed = (uint64_t)i + 1, .calls = calls};
        CHECK(pthread_create(&users[i].thread, NULL, make_calls, &users[i]) ==
              0);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(users[i].thread, NULL);
        CHECK(users[i].wrong == 0);
    }
}

/* Multiply in a child. */
static int multiply_in_child(uint64_t seed)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        random_source source = {seed};
        const int wrong = multiply_square(&source, MAX_EXTENT) +
                          multiply_square(&source, 3) +
                          multiply_square(&source, MAX_EXTENT);
        _exit(wrong == 0 ? 0 : 1);
    }
    waitpid(child, &status, 0);
    return status;
}

static void call_around_forks(void)
{
    random_source source = {11};
    TEST_CASE("a fork before the first call");
    CHECK(multiply_in_child(1) == 0);
    TEST_CASE("a fork after calls");
    CHECK(multiply_square(&source, MAX_EXTENT) == 0);
    CHECK(multiply_in_child(2) == 0);
    CHECK(multiply_square(&source, MAX_EXTENT) == 0);
}

int main(int argc, char **argv)
{
    const int calls = argc > 1 ? atoi(argv[1]) : 0;
    if (calls > 0) {
        TEST(call_at_once(MANY, calls));
    } else {
        TEST(call_around_forks());
        TEST(call_at_once(THREADS, 20));
    }
    return test_end();
}
