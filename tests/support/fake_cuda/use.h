/* SPDX-License-Identifier: MIT */
/* Letting the CUDA backend use the fake library. */
#ifndef FAKE_CUDA_USE_H
#define FAKE_CUDA_USE_H

#include <dlfcn.h>
#include <stdlib.h>

#include "support/fake_cuda/fake_cuda.h"

/* The library is driver, cuBLAS and NVRTC; returns what it pretends. Ends the
 * process when it is not there. */
static inline fake_cuda_state *fake_cuda_use(const char *path)
{
    fake_cuda_state *(*get)(void) = NULL;
    setenv("HEADRACE_CUDA", path, 1);
    setenv("HEADRACE_CUBLAS", path, 1);
    setenv("HEADRACE_NVRTC", path, 1);
    void *library = dlopen(path, RTLD_NOW);
    if (library == NULL) {
        exit(1);
    }
    *(void **)(void *)&get = dlsym(library, "fake_cuda_get");
    return get();
}

#endif
