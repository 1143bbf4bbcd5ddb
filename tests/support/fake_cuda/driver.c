/* SPDX-License-Identifier: MIT */
/* The fake driver. It refuses what the real one refuses: a stream that is not
 * of the current context, pitches below the width, memory that it never gave.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "driver.h"

enum { INVALID_IMAGE = 200, INVALID_CONTEXT = 201, INVALID_HANDLE = 400 };
enum { MAX_CONTEXTS = 16 };
enum { STREAM_BYTES = 1 << 17 }; /* of free memory, to create one */
enum { URGENT = -5 };            /* the greatest priority of a stream */

/* The kernels of a precise product. */
static const char *const steps[] = {"find_lines", "convert_lines",
                                    "multiply_residues", "make_numbers"};
enum { STEPS = sizeof steps / sizeof steps[0] };

/* A function of a module: it begins with the text of the module's options. */
struct cu_module_object {
    char text[512];
    const void *kernel; /* of the program under test; NULL: ours */
    cu_module module;   /* the step's; NULL: this is a module, and its only
                           function */
    int step;
    struct cu_module_object *steps[STEPS]; /* NULL: not asked for */
};

static struct cu_context_object contexts[FAKE_CUDA_MAX_DEVICES];
static _Thread_local cu_context stack[MAX_CONTEXTS];
static _Thread_local int depth;
static fake_cuda_state state;

static int read_number(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? atoi(text) : otherwise;
}

__attribute__((constructor)) static void init_state(void)
{
    state.devices = read_number("FAKE_CUDA_DEVICES", 2);
    state.version = read_number("FAKE_CUDA_VERSION", 13000);
    state.init_result = read_number("FAKE_CUDA_INIT", 0);
    state.peers = read_number("FAKE_CUDA_PEERS", 1);
    state.fault_kernel = getenv("FAKE_CUDA_FAULT");
    state.fault_result = CU_ILLEGAL_ADDRESS;
    state.capability = 90;
    state.memory_bytes = (uint64_t)1 << 30;
    for (int i = 0; i < FAKE_CUDA_MAX_DEVICES; i++) {
        contexts[i].device = i;
    }
}

fake_cuda_state *fake_cuda_get(void)
{
    return &state;
}

/* Count a call; how it fails if it is its turn. */
static cu_result enter_call(const char *name)
{
    state.calls++;
    if (state.fail_name != NULL && strcmp(state.fail_name, name) == 0) {
        state.fail_name = NULL;
        return state.fail_result;
    }
    return CU_SUCCESS;
}

cu_context fake_current(void)
{
    return stack[depth - 1];
}

cu_result fake_enter_context(const char *name)
{
    HRI_TRY(enter_call(name));
    return depth == 0 ? INVALID_CONTEXT : state.sticky;
}

cu_result fake_enter_stream(const char *name, cu_stream stream)
{
    HRI_TRY(fake_enter_context(name));
    return stream->context == fake_current() ? CU_SUCCESS : INVALID_HANDLE;
}

cu_result cuGetErrorName(cu_result error, const char **name)
{
    static const struct {
        cu_result error;
        const char *name;
    } names[] = {{1, "CUDA_ERROR_INVALID_VALUE"},
                 {2, "CUDA_ERROR_OUT_OF_MEMORY"},
                 {100, "CUDA_ERROR_NO_DEVICE"},
                 {200, "CUDA_ERROR_INVALID_IMAGE"},
                 {201, "CUDA_ERROR_INVALID_CONTEXT"},
                 {400, "CUDA_ERROR_INVALID_HANDLE"},
                 {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                 {719, "CUDA_ERROR_LAUNCH_FAILED"},
                 {999, "CUDA_ERROR_UNKNOWN"},
                 {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
                 {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
                 {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].error == error) {
            *name = names[i].name;
            return CU_SUCCESS;
        }
    }
    return CU_INVALID_VALUE;
}

cu_result cuInit(unsigned flags)
{
    (void)flags;
    HRI_TRY(enter_call("cuInit"));
    return state.init_result;
}

cu_result cuDriverGetVersion(int *version)
{
    *version = state.version;
    return CU_SUCCESS;
}

cu_result cuDeviceGetCount(int *count)
{
    *count = state.devices;
    return state.sticky;
}

cu_result cuDeviceGet(cu_device *device, int index)
{
    *device = index;
    return index < state.devices ? CU_SUCCESS : 101;
}

cu_result cuDeviceGetName(char *name, int bytes, cu_device device)
{
    snprintf(name, (size_t)bytes, "Fake GPU %d", device);
    return state.sticky;
}

cu_result cuDeviceTotalMem_v2(size_t *bytes, cu_device device)
{
    (void)device;
    *bytes = state.memory_bytes;
    return state.sticky;
}

cu_result cuDeviceGetAttribute(int *value, int attribute, cu_device device)
{
    switch (attribute) {
    case CU_ATTRIBUTE_MAX_BLOCK_X:
    case CU_ATTRIBUTE_MAX_BLOCK_X + 1:
        *value = 1024;
        break;
    case CU_ATTRIBUTE_MAX_BLOCK_X + 2:
        *value = 64;
        break;
    case CU_ATTRIBUTE_MAX_SHARED_BYTES:
        *value = 100 << 10;
        break;
    case CU_ATTRIBUTE_MAX_PITCH:
        *value = 300; /* small, so that tests go beyond it */
        break;
    case CU_ATTRIBUTE_MULTIPROCESSORS:
        *value = 7;
        break;
    case CU_ATTRIBUTE_PCI_BUS:
        *value = 0xc0 + device;
        break;
    case CU_ATTRIBUTE_PCI_DEVICE:
        *value = 1;
        break;
    case CU_ATTRIBUTE_PCI_DOMAIN:
        *value = 0;
        break;
    case CU_ATTRIBUTE_CAPABILITY_MAJOR:
        *value = state.capability / 10;
        break;
    case CU_ATTRIBUTE_CAPABILITY_MINOR:
        *value = state.capability % 10;
        break;
    default:
        return CU_INVALID_VALUE;
    }
    return state.sticky;
}

cu_result cuFuncGetAttribute(int *value, int attribute, cu_function function)
{
    (void)function;
    *value = attribute == CU_FUNCTION_MAX_THREADS ? 512 : 1 << 10;
    return CU_SUCCESS;
}

cu_result cuFuncSetAttribute(cu_function function, int attribute, int value)
{
    (void)function;
    return attribute == CU_FUNCTION_MAX_DYNAMIC_BYTES && value <= 227 << 10
               ? CU_SUCCESS
               : CU_INVALID_VALUE;
}

cu_result cuDevicePrimaryCtxRetain(cu_context *context, cu_device device)
{
    HRI_TRY(enter_call("cuDevicePrimaryCtxRetain"));
    HRI_TRY((cu_result)state.sticky);
    state.retained++;
    *context = &contexts[device];
    return CU_SUCCESS;
}

cu_result cuDevicePrimaryCtxRelease_v2(cu_device device)
{
    state.retained--;
    contexts[device].peers = 0;
    return CU_SUCCESS;
}

cu_result cuCtxPushCurrent_v2(cu_context context)
{
    HRI_TRY(enter_call("cuCtxPushCurrent"));
    if (depth < MAX_CONTEXTS) {
        stack[depth++] = context;
    }
    return CU_SUCCESS;
}

cu_result cuCtxPopCurrent_v2(cu_context *context)
{
    state.calls++;
    if (depth == 0) {
        return INVALID_CONTEXT;
    }
    *context = stack[--depth];
    return CU_SUCCESS;
}

/* For tests: how many contexts this thread has on its stack. */
int fake_cuda_depth(void);
int fake_cuda_depth(void)
{
    return depth;
}

cu_result cuDeviceCanAccessPeer(int *can, cu_device device, cu_device other)
{
    *can = state.peers && device != other;
    return CU_SUCCESS;
}

cu_result cuCtxEnablePeerAccess(cu_context peer, unsigned flags)
{
    const unsigned bit = 1u << peer->device;
    (void)flags;
    HRI_TRY(fake_enter_context("cuCtxEnablePeerAccess"));
    const bool already = fake_current()->peers & bit;
    fake_current()->peers |= bit;
    return already ? CU_PEER_ACCESS_ALREADY_ENABLED : CU_SUCCESS;
}

static cu_result create_stream(const char *name, cu_stream *stream,
                               unsigned flags)
{
    HRI_TRY(fake_enter_context(name));
    if (flags != CU_STREAM_NON_BLOCKING) {
        return CU_INVALID_VALUE;
    }
    if (fake_current()->used + STREAM_BYTES > state.memory_bytes) {
        return CU_OUT_OF_MEMORY; /* as on a GPU that is full */
    }
    *stream = calloc(1, sizeof **stream);
    (*stream)->context = fake_current();
    state.objects++;
    return CU_SUCCESS;
}

cu_result cuStreamCreate(cu_stream *stream, unsigned flags)
{
    return create_stream("cuStreamCreate", stream, flags);
}

cu_result cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = URGENT;
    return fake_enter_context("cuCtxGetStreamPriorityRange");
}

cu_result cuStreamCreateWithPriority(cu_stream *stream, unsigned flags,
                                     int priority)
{
    HRI_TRY(create_stream("cuStreamCreateWithPriority", stream, flags));
    state.urgent += priority == URGENT;
    return CU_SUCCESS;
}

cu_result cuStreamDestroy_v2(cu_stream stream)
{
    state.objects--;
    free(stream);
    return CU_SUCCESS;
}

cu_result cuStreamSynchronize(cu_stream stream)
{
    if (stream == NULL) { /* the default one */
        return fake_enter_context("cuStreamSynchronize");
    }
    HRI_TRY(fake_enter_stream("cuStreamSynchronize", stream));
    return fake_refuse(stream);
}

cu_result cuStreamQuery(cu_stream stream)
{
    HRI_TRY(fake_enter_stream("cuStreamQuery", stream));
    return fake_refuse(stream);
}

cu_result cuStreamWaitEvent(cu_stream stream, cu_event event, unsigned flags)
{
    (void)event;
    (void)flags;
    HRI_TRY(fake_enter_stream("cuStreamWaitEvent", stream));
    return fake_refuse(stream);
}

cu_result cuEventCreate(cu_event *event, unsigned flags)
{
    HRI_TRY(fake_enter_context("cuEventCreate"));
    if (flags != CU_EVENT_DEFAULT && flags != CU_EVENT_NO_TIME) {
        return CU_INVALID_VALUE;
    }
    *event = calloc(1, sizeof **event);
    (*event)->context = fake_current();
    (*event)->timed = (flags & CU_EVENT_NO_TIME) == 0;
    state.objects++;
    return CU_SUCCESS;
}

cu_result cuEventDestroy_v2(cu_event event)
{
    state.objects--;
    free(event);
    return CU_SUCCESS;
}

cu_result cuEventRecord(cu_event event, cu_stream stream)
{
    struct timespec now;
    HRI_TRY(fake_enter_stream("cuEventRecord", stream));
    if (event->context != stream->context) {
        return INVALID_HANDLE;
    }
    HRI_TRY(fake_refuse(stream));
    clock_gettime(CLOCK_MONOTONIC, &now);
    state.records++;
    event->recorded = true;
    event->ms = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
    return CU_SUCCESS;
}

cu_result cuEventQuery(cu_event event)
{
    (void)event;
    if (state.not_ready > 0) {
        state.not_ready--;
        if (state.asked != NULL) {
            state.asked();
        }
        return CU_NOT_READY;
    }
    return fake_enter_context("cuEventQuery");
}

cu_result cuEventElapsedTime(float *ms, cu_event from, cu_event to)
{
    HRI_TRY(fake_enter_context("cuEventElapsedTime"));
    if (!from->recorded || !to->recorded || !from->timed || !to->timed) {
        return INVALID_HANDLE;
    }
    *ms = (float)(to->ms - from->ms);
    return CU_SUCCESS;
}

cu_result cuModuleLoadData(cu_module *module, const void *image)
{
    HRI_TRY(fake_enter_context("cuModuleLoadData"));
    if (strncmp(image, "--gpu-architecture=", 19) != 0) {
        return INVALID_IMAGE;
    }
    *module = calloc(1, sizeof **module);
    snprintf((*module)->text, sizeof(*module)->text, "%s", (const char *)image);
    state.objects++;
    return CU_SUCCESS;
}

cu_result cuModuleUnload(cu_module module)
{
    state.objects--;
    for (int i = 0; i < STEPS; i++) {
        free(module->steps[i]);
    }
    free(module);
    return CU_SUCCESS;
}

/* The function of a step. */
static cu_module find_step(cu_module module, const char *name)
{
    for (int i = 0; i < STEPS; i++) {
        if (strcmp(name, steps[i]) == 0) {
            if (module->steps[i] == NULL) {
                module->steps[i] = calloc(1, sizeof *module);
                *module->steps[i] = *module;
                module->steps[i]->module = module;
                module->steps[i]->step = i;
            }
            return module->steps[i];
        }
    }
    return NULL;
}

cu_result cuModuleGetFunction(cu_function *function, cu_module module,
                              const char *name)
{
    cu_module step = find_step(module, name);
    if (step != NULL) {
        *function = (cu_function)(void *)step;
        return CU_SUCCESS;
    }
    *function = (cu_function)(void *)module;
    module->kernel = fake_find_kernel(name);
    return strcmp(name, "gemm") == 0 || strcmp(name, "add") == 0 ||
                   module->kernel != NULL
               ? CU_SUCCESS
               : 500;
}

static int read_definition(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at != NULL ? atoi(at + strlen(name)) : 0;
}

/* The other kernel of kernels/cuda/gemm.cu. */
static cu_result add_sums(hr_type type, void **arguments, int64_t threads)
{
    uint32_t n[3];
    int64_t v[4];
    for (int i = 0; i < 3; i++) {
        memcpy(&n[i], arguments[i], sizeof n[i]);
    }
    for (int i = 0; i < 4; i++) {
        memcpy(&v[i], arguments[3 + i], sizeof v[i]);
    }
    const int64_t count = (int64_t)n[0] * n[1] * n[2];
    if (threads < count || threads >= count + 256) {
        return CU_INVALID_VALUE;
    }
    const fake_sums sums = {.type = type,
                            .count = n[0],
                            .rows = n[1],
                            .cols = n[2],
                            .sums = (const float *)(uintptr_t)v[0],
                            .c = (uint16_t *)(uintptr_t)v[1],
                            .c_rows = v[2],
                            .c_step = v[3],
                            .beta = *(const float *)arguments[7]};
    fake_add(&sums);
    return CU_SUCCESS;
}

/* The product of kernels/cuda/gemm.cu, by blocks of items. */
static cu_result multiply_tiles(const char *text, void **arguments,
                                const unsigned blocks[3],
                                const unsigned items[3])
{
    int64_t n[16] = {0};
    for (int i = 0; i < 16; i++) {
        if (i != 11 && i != 12) {
            memcpy(&n[i], arguments[i], i == 13 ? 4 : 8);
        }
    }
    hr_type type = (hr_type)read_definition(text, "-DIN=");
    bool narrow = (n[13] & 8) != 0, read = (n[13] & 4) != 0;
    fake_product p = {
        .type = type,
        .c_type = type == HR_I8                                    ? HR_I32
                  : (type == HR_F16 || type == HR_BF16) && !narrow ? HR_F32
                                                                   : type,
        .m = n[0],
        .n = n[1],
        .k = n[2],
        .a = {(void *)(uintptr_t)n[3], n[4], n[5], (n[13] & 1) != 0},
        .b = {(void *)(uintptr_t)n[6], n[7], n[8], (n[13] & 2) != 0},
        .c = {(void *)(uintptr_t)n[9], n[10], 1, false},
        .mask = (const uint8_t *)(uintptr_t)n[15]};
    int tm = read_definition(text, "-DWM=") * read_definition(text, "-DRM=");
    int tn = read_definition(text, "-DWN=") * read_definition(text, "-DRN=");
    int64_t tiles = (p.n + tn - 1) / tn * ((p.m + tm - 1) / tm);
    if (tiles != blocks[0] || blocks[1] != 1 || blocks[2] != 1 ||
        (int)items[0] != read_definition(text, "-DWN=") ||
        (int)items[1] != read_definition(text, "-DWM=") || items[2] != 1 ||
        n[14] != (p.n + tn - 1) / tn) {
        return CU_INVALID_VALUE;
    }
    fake_factor(type, arguments[11], p.alpha);
    fake_factor(type, arguments[12], p.beta);
    if (!read) {
        p.beta[0] = p.beta[1] = 0.0;
    }
    state.kernel_products++;
    if (read_definition(text, "-DDEPTH=") != 0) {
        return fake_multiply_ordered(&p) ? CU_SUCCESS : CU_OUT_OF_MEMORY;
    }
    fake_multiply(&p);
    return CU_SUCCESS;
}

/* The arguments of kernels/cuda/gemm.cu, or of the program's own kernel. */
cu_result cuLaunchKernel(cu_function function, unsigned x, unsigned y,
                         unsigned z, unsigned items_x, unsigned items_y,
                         unsigned items_z, unsigned shared, cu_stream stream,
                         void **arguments, void **extra)
{
    const unsigned blocks[] = {x, y, z};
    const unsigned items[] = {items_x, items_y, items_z};
    const char *text = ((cu_module)(void *)function)->text;
    const void *kernel = ((cu_module)(void *)function)->kernel;
    HRI_TRY(fake_enter_stream("cuLaunchKernel", stream));
    if (kernel != NULL) {
        return fake_faults(kernel) ? CU_SUCCESS
                                   : fake_launch(stream, kernel, blocks, items,
                                                 shared, arguments);
    }
    HRI_TRY(fake_refuse(stream)); /* our gemm is no part of graphs */
    if (((cu_module)(void *)function)->module != NULL) {
        fake_precise_step(((cu_module)(void *)function)->step,
                          read_definition(text, "-DPARTS="), arguments);
        return CU_SUCCESS;
    }
    if (read_definition(text, "-DADD=") != 0) {
        return add_sums((hr_type)read_definition(text, "-DIN="), arguments,
                        (int64_t)x * items_x);
    }
    return shared == 0 && extra == NULL
               ? multiply_tiles(text, arguments, blocks, items)
               : CU_INVALID_VALUE;
}
