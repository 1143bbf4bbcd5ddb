/* SPDX-License-Identifier: MIT */
/* A profiler that NVTX_INJECTION64_PATH may name. It appends a line to the file
 * NVTX_TOOL_FILE for each range that begins ("THREAD push DOMAIN NAME") or ends
 * ("THREAD pop DOMAIN"), and for what the program does wrong ("bad ..."). With
 * NVTX_TOOL_REFUSES it wants to see nothing. */
#define _GNU_SOURCE /* gettid */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__has_include)
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#endif
#endif

#if !defined(NVTX_VERSION) /* what those headers declare, as we know it */
enum { NVTX_VERSION = 3, NVTX_MESSAGE_TYPE_ASCII = 1 };
enum { NVTX_ETID_CALLBACKS = 1, NVTX_ETID_VERSIONINFO = 3 };
enum { NVTX_CBID_CORE_SIZE = 16, NVTX_CBID_CUDA_SIZE = 9 };
enum { NVTX_CBID_OPENCL_SIZE = 15, NVTX_CBID_CUDART_SIZE = 7 };
enum { NVTX_CBID_CORE2_SIZE = 16, NVTX_CBID_SYNC_SIZE = 7 };
enum {
    NVTX_CBID_CORE2_DomainRangePushEx = 4,
    NVTX_CBID_CORE2_DomainRangePop = 5,
    NVTX_CBID_CORE2_DomainCreateA = 12
};
typedef enum NvtxCallbackModule {
    NVTX_CB_MODULE_CORE = 1,
    NVTX_CB_MODULE_CUDA,
    NVTX_CB_MODULE_OPENCL,
    NVTX_CB_MODULE_CUDART,
    NVTX_CB_MODULE_CORE2,
    NVTX_CB_MODULE_SYNC,
    NVTX_CB_MODULE_SIZE
} NvtxCallbackModule;
typedef struct nvtxEventAttributes_t {
    uint16_t version, size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType, reserved0;
    union {
        uint64_t ullValue;
    } payload;
    int32_t messageType;
    union {
        const char *ascii;
    } message;
} nvtxEventAttributes_t;
typedef void *nvtxDomainHandle_t;
typedef void (*NvtxFunctionPointer)(void);
typedef NvtxFunctionPointer **NvtxFunctionTable;
typedef struct NvtxExportTableCallbacks {
    size_t struct_size;
    int (*GetModuleFunctionTable)(NvtxCallbackModule module,
                                  NvtxFunctionTable *table, unsigned *size);
} NvtxExportTableCallbacks;
typedef struct NvtxExportTableVersionInfo {
    size_t struct_size;
    uint32_t version, reserved0;
    void (*SetInjectionNvtxVersion)(uint32_t version);
} NvtxExportTableVersionInfo;
typedef const void *(*NvtxGetExportTableFunc_t)(uint32_t table);
#endif

static int file = -1;

static void write_line(const char *what, const char *domain, const char *name)
{
    char line[256];
    const int length = snprintf(line, sizeof line, "%ld %s %s %s\n",
                                (long)gettid(), what, domain, name);
    if (write(file, line, (size_t)length) != length) {
        abort();
    }
}

static void check_call(bool good, const char *what)
{
    char line[128];
    const int length = snprintf(line, sizeof line, "bad %s\n", what);
    if (!good && write(file, line, (size_t)length) != length) {
        abort();
    }
}

static nvtxDomainHandle_t create_domain(const char *name)
{
    return (nvtxDomainHandle_t)(void *)strdup(name);
}

static int depth_of(int change)
{
    static _Thread_local int depth;
    return depth += change;
}

static int push_range(nvtxDomainHandle_t domain,
                      const nvtxEventAttributes_t *event)
{
    check_call(event->version == NVTX_VERSION && event->size == sizeof *event,
               "version or size of an event");
    check_call(event->messageType == NVTX_MESSAGE_TYPE_ASCII,
               "kind of a message");
    check_call(event->category == 0 && event->colorType == 0 &&
                   event->color == 0 && event->payloadType == 0 &&
                   event->payload.ullValue == 0 && event->reserved0 == 0,
               "members that are not given");
    write_line("push", (const char *)(void *)domain, event->message.ascii);
    return depth_of(1) - 1;
}

static int pop_range(nvtxDomainHandle_t domain)
{
    write_line("pop", (const char *)(void *)domain, "");
    return depth_of(-1);
}

/* Every module has as many places as its header says. */
static void check_modules(const NvtxExportTableCallbacks *callbacks)
{
    static const unsigned sizes[NVTX_CB_MODULE_SIZE] = {
        [NVTX_CB_MODULE_CORE] = NVTX_CBID_CORE_SIZE,
        [NVTX_CB_MODULE_CUDA] = NVTX_CBID_CUDA_SIZE,
        [NVTX_CB_MODULE_OPENCL] = NVTX_CBID_OPENCL_SIZE,
        [NVTX_CB_MODULE_CUDART] = NVTX_CBID_CUDART_SIZE,
        [NVTX_CB_MODULE_CORE2] = NVTX_CBID_CORE2_SIZE,
        [NVTX_CB_MODULE_SYNC] = NVTX_CBID_SYNC_SIZE};
    NvtxFunctionTable table = NULL;
    unsigned size = 0;
    for (int m = 1; m < NVTX_CB_MODULE_SIZE; m++) {
        check_call(callbacks->GetModuleFunctionTable((NvtxCallbackModule)m,
                                                     &table, &size) == 1 &&
                       size == sizes[m] && table[0] == NULL &&
                       table[size] == NULL,
                   "size of a module");
        for (unsigned i = 1; i < size; i++) {
            check_call(table[i] != NULL, "place of a function");
            *table[i] = NULL;
        }
    }
    check_call(callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_SIZE, &table,
                                                 &size) == 0 &&
                   callbacks->GetModuleFunctionTable((NvtxCallbackModule)0,
                                                     &table, &size) == 0,
               "modules that are none");
}

static void check_tables(NvtxGetExportTableFunc_t get)
{
    const NvtxExportTableVersionInfo *info = get(NVTX_ETID_VERSIONINFO);
    check_call(info != NULL && info->struct_size == sizeof *info &&
                   info->version == NVTX_VERSION,
               "table of the version");
    if (info != NULL) {
        info->SetInjectionNvtxVersion(NVTX_VERSION);
    }
    check_call(get(0) == NULL && get(2) == NULL && get(4) == NULL,
               "tables that are none");
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get);

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get)
{
    const char *path = getenv("NVTX_TOOL_FILE");
    const NvtxExportTableCallbacks *callbacks = get(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table = NULL;
    unsigned size = 0;
    file = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (file < 0 || callbacks == NULL ||
        callbacks->struct_size < sizeof *callbacks) {
        return 0;
    }
    check_tables(get);
    check_modules(callbacks);
    if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table,
                                          &size) == 0) {
        return 0;
    }
    *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push_range;
    *table[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop_range;
    *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create_domain;
    return getenv("NVTX_TOOL_REFUSES") == NULL;
}
