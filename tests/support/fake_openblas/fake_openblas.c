/* SPDX-License-Identifier: MIT */
/* A library that looks like an OpenBLAS which does not know this CPU. It takes
 * its core type from OPENBLAS_CORETYPE when it is loaded, else its oldest one.
 * Its products leave C as it is. That of f32 notes the number of threads in the
 * environment. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char core[32] = "Prescott";
static int threads = 1;

__attribute__((constructor)) static void choose(void)
{
    const char *wish = getenv("OPENBLAS_CORETYPE");
    if (wish != NULL && strlen(wish) < sizeof core) {
        strcpy(core, wish);
    }
    if (getenv("FAKE_OPENBLAS_SETS") != NULL) { /* while it is being loaded */
        setenv("BEFORE", "2", 1);
        unsetenv("FAKE_OPENBLAS_SETS");
    }
}

const char *openblas_get_corename(void);
const char *openblas_get_config(void);
int openblas_get_num_threads(void);
void openblas_set_num_threads(int count);
void cblas_sgemm(void);
void cblas_dgemm(void);
void cblas_cgemm(void);
void cblas_zgemm(void);

const char *openblas_get_corename(void)
{
    return core;
}

/* The test says by a variable of its own that integers have 64 bits. */
const char *openblas_get_config(void)
{
    return getenv("FAKE_OPENBLAS_64") != NULL
               ? "OpenBLAS 9.8.7 USE64BITINT DYNAMIC_ARCH"
               : "OpenBLAS 9.8.7 DYNAMIC_ARCH";
}

int openblas_get_num_threads(void)
{
    return threads;
}

void openblas_set_num_threads(int count)
{
    threads = count;
}

void cblas_sgemm(void)
{
    char text[16];
    snprintf(text, sizeof text, "%d", threads);
    setenv("FAKE_OPENBLAS_THREADS", text, 1);
}

void cblas_dgemm(void)
{
}

void cblas_cgemm(void)
{
}

void cblas_zgemm(void)
{
}
