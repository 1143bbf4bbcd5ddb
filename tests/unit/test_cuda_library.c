/* SPDX-License-Identifier: MIT */
/* What the CUDA backend reports about libraries that are missing, too old or
 * something else. Each case is a process of its own, since a library is looked
 * for once. */
#define _DEFAULT_SOURCE /* mkdtemp */
#include "hal/hal.h"
#include "support/child.h"

enum { EMPTY, STRANGER, FAKE, NOWHERE, OFF, FILES };

static const char *files[FILES] = {
    [FAKE] = FAKE_CUDA, [NOWHERE] = "/nowhere/libcuda.so.1", [OFF] = "off"};

typedef struct library_case {
    const char *name;
    int cuda, cublas, nvrtc; /* of files */
    const char *variable, *value;
    bool there;       /* the backend has devices */
    const char *says; /* a part of the sentence, or of the arithmetic */
} library_case;

static const library_case cases[] = {
    {"no driver", NOWHERE, FAKE, FAKE, NULL, NULL, false,
     "/nowhere/libcuda.so.1"},
    {"an empty file for a driver", EMPTY, FAKE, FAKE, NULL, NULL, false,
     "libcuda.so.1: "},
    {"a library that is no driver", STRANGER, FAKE, FAKE, NULL, NULL, false,
     "has no symbol cuGetErrorName"},
    {"no GPU", FAKE, FAKE, FAKE, "FAKE_CUDA_INIT", "100", false,
     "offers no GPU: CUDA_ERROR_NO_DEVICE (100)"},
    {"a driver with an empty list", FAKE, FAKE, FAKE, "FAKE_CUDA_DEVICES", "0",
     false, "CUDA_ERROR_NO_DEVICE"},
    {"a driver that does not suit its module", FAKE, FAKE, FAKE,
     "FAKE_CUDA_INIT", "803", false, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
    {"a driver that is too old", FAKE, FAKE, FAKE, "FAKE_CUDA_VERSION", "10020",
     false, "supports CUDA 10.2, but 11.0 or later is needed"},
    {"nothing to multiply with", FAKE, NOWHERE, EMPTY, NULL, NULL, false,
     "neither cuBLAS nor NVRTC"},
    {"neither is wanted", FAKE, OFF, OFF, NULL, NULL, false,
     "neither cuBLAS nor NVRTC"},
    {"everything", FAKE, FAKE, FAKE, NULL, NULL, true,
     "cuBLAS 99.1, NVRTC 99.2"},
    {"no cuBLAS", FAKE, STRANGER, FAKE, NULL, NULL, true,
     "NVRTC 99.2, since HEADRACE_CUBLAS names no cuBLAS that can be loaded"},
    {"cuBLAS is not wanted", FAKE, OFF, FAKE, NULL, NULL, true, "NVRTC 99.2"},
    {"no NVRTC", FAKE, FAKE, NOWHERE, NULL, NULL, true,
     "cuBLAS 99.1, no NVRTC"},
};

static size_t row; /* of the cases, for the child */

/* What a device answers without cuBLAS or without NVRTC. */
static void check_offers(const library_case *c)
{
    hri_device *device = NULL;
    if (!CHECK(hri_backend_cuda.open(0, 2, &device) == HR_OK)) {
        return;
    }
    const hri_device_ops *ops = device->ops;
    CHECK(ops->gemm_offered(device, HR_F32, HR_F32, HR_COMPUTE_NATIVE));
    CHECK(ops->gemm_offered(device, HR_I8, HR_I32, HR_COMPUTE_NATIVE) ==
          (c->nvrtc == FAKE));
    CHECK(ops->gemm_offered(device, HR_F16, HR_F16, HR_COMPUTE_NATIVE) ==
          (c->nvrtc == FAKE)); /* for old C */
    CHECK(ops->gemm_offered(device, HR_F16, HR_F32, HR_COMPUTE_NATIVE));
    CHECK(ops->gemm_offered(device, HR_F32, HR_F32, HR_COMPUTE_TF32) ==
          (c->cublas == FAKE));
    CHECK((device->info.gemm_bytes > 0) == (c->cublas == FAKE));
    ops->close(device);
}

static int look_for_libraries(void)
{
    const library_case *c = &cases[row];
    uint32_t count = 77;
    hri_device_info info;
    setenv("HEADRACE_CUDA", files[c->cuda], 1);
    setenv("HEADRACE_CUBLAS", files[c->cublas], 1);
    setenv("HEADRACE_NVRTC", files[c->nvrtc], 1);
    if (c->variable != NULL) {
        setenv(c->variable, c->value, 1);
    }
    if (!c->there) {
        CHECK_FAILS(hri_backend_cuda.probe(&count), HR_ERROR_UNAVAILABLE,
                    c->says);
        CHECK_FAILS(hri_backend_cuda.probe(&count), HR_ERROR_UNAVAILABLE,
                    c->says);
        CHECK(count == 77);
    } else if (CHECK(hri_backend_cuda.probe(&count) == HR_OK)) {
        CHECK(count == 2);
        CHECK(hri_backend_cuda.describe(0, &info) == HR_OK &&
              strcmp(info.arithmetic, c->says) == 0);
        CHECK(strcmp(info.physical_id, "pci:0000:c0:01.0") == 0);
        check_offers(c);
    }
    return 0;
}

static void look_in_children(void)
{
    for (row = 0; row < sizeof cases / sizeof cases[0]; row++) {
        TEST_CASE(cases[row].name);
        CHECK(test_in_child(look_for_libraries) == 0);
    }
}

int main(void)
{
    char folder[] = "/tmp/headrace-XXXXXX", empty[64];
    if (!CHECK(mkdtemp(folder) != NULL)) {
        return test_end();
    }
    snprintf(empty, sizeof empty, "%s/libcuda.so.1", folder);
    FILE *file = fopen(empty, "w");
    if (CHECK(file != NULL)) {
        fclose(file);
    }
    files[EMPTY] = empty;
    files[STRANGER] = "libm.so.6";
    TEST(look_in_children());
    unlink(empty);
    rmdir(folder);
    return test_end();
}
