/* SPDX-License-Identifier: MIT */
/* Opening cuBLAS and the CUDA driver. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/peers/cublasxt.h"

typedef struct cu_object *cu_context;

/* Of the driver. */
static struct {
    int (*init)(unsigned);
    int (*get_device)(int *, int);
    int (*retain)(cu_context *, int);
    int (*set_current)(cu_context);
    int (*allocate)(void **, size_t, unsigned);
    int (*release)(void *);
    bool ready;
} driver;

xt_api xt;

/* ISO C has no cast from an object to a function pointer. */
static bool resolve(void *library, const char *name, void *function)
{
    void *address = dlsym(library, name);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

/* The library that the variable names, else the first of names that is found by
 * the loader or in the toolkit's folders. */
static void *open_library(const char *variable, const char *const *names)
{
    static const char *const folders[] = {
        "", "/usr/local/cuda/lib64/",
        "/usr/local/cuda/targets/x86_64-linux/lib/"};
    const char *wish = getenv(variable);
    if (wish != NULL && wish[0] != '\0') {
        return dlopen(wish, RTLD_NOW | RTLD_LOCAL);
    }
    for (size_t f = 0; f < sizeof folders / sizeof folders[0]; f++) {
        for (const char *const *name = names; *name != NULL; name++) {
            char path[256];
            snprintf(path, sizeof path, "%s%s", folders[f], *name);
            void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            if (library != NULL) {
                return library;
            }
        }
    }
    return NULL;
}

static bool fail(char *sentence, size_t size)
{
    const char *why = dlerror();
    snprintf(sentence, size, "%s", why != NULL ? why : "not found");
    sentence[strcspn(sentence, "\n")] = '\0';
    return false;
}

bool xt_open(char *sentence, size_t size)
{
    static const char *const blas[] = {"libcublas.so.13", "libcublas.so.12",
                                       "libcublas.so.11", NULL};
    static const char *const cuda[] = {"libcuda.so.1", NULL};
    int major = 0, minor = 0;
    void *library = open_library("HEADRACE_CUBLAS", blas);
    bool good = library != NULL;
#define XT_SYM(result, name, arguments)                                        \
    good = good && resolve(library, #name, &xt.name);
    XT_SYMBOLS
#undef XT_SYM
    if (!good) {
        return fail(sentence, size);
    }
    library = open_library("HEADRACE_CUDA", cuda);
    if (library == NULL || !resolve(library, "cuInit", &driver.init) ||
        !resolve(library, "cuDeviceGet", &driver.get_device) ||
        !resolve(library, "cuDevicePrimaryCtxRetain", &driver.retain) ||
        !resolve(library, "cuCtxPushCurrent_v2", &driver.set_current) ||
        !resolve(library, "cuMemHostAlloc", &driver.allocate) ||
        !resolve(library, "cuMemFreeHost", &driver.release)) {
        return fail(sentence, size);
    }
    xt.cublasGetProperty(0, &major);
    xt.cublasGetProperty(1, &minor);
    snprintf(sentence, size, "cuBLASXt %d.%d", major, minor);
    return true;
}

/* The first GPU's primary context, which cuBLAS uses too. */
static bool enter(void)
{
    int device = 0;
    cu_context context = NULL;
    if (!driver.ready) {
        driver.ready = driver.init(0) == 0 &&
                       driver.get_device(&device, 0) == 0 &&
                       driver.retain(&context, device) == 0 &&
                       driver.set_current(context) == 0;
    }
    return driver.ready;
}

static void *allocate(void *data, size_t bytes)
{
    enum { PORTABLE = 1 }; /* for every GPU */
    void *memory = NULL;
    (void)data;
    return enter() && driver.allocate(&memory, bytes, PORTABLE) == 0 ? memory
                                                                     : NULL;
}

static void release(void *data, void *memory)
{
    (void)data;
    if (memory != NULL && enter()) {
        driver.release(memory);
    }
}

const bench_memory xt_pinned = {allocate, release, NULL};
