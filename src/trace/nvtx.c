/* SPDX-License-Identifier: MIT */
/* The program's side of NVTX 3. The profiler's library gets a function that
 * hands out tables. The one of callbacks has a table of each module, with
 * places where the profiler puts its functions. We call three of them. NVIDIA
 * declares all this in nvtx3/nvtxDetail/nvtxTypes.h and nvtx3/nvToolsExt.h. */
#include "trace/nvtx.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/environment.h"
#include "base/library.h"

enum { VERSION = 3, MESSAGE_ASCII = 1 };
enum { TABLE_CALLBACKS = 1, TABLE_VERSION = 3 };
enum { MODULE_CORE2 = 5, MODULES = 7, MAX_FUNCTIONS = 16 };
enum { DOMAIN_RANGE_PUSH = 4, DOMAIN_RANGE_POP = 5, DOMAIN_CREATE = 12 };

/* What an event is. Members that are 0 are not given. */
typedef struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const char *message;
} attributes;

typedef void (*any_function)(void);
typedef void *domain_create(const char *name);
typedef int domain_range_push(void *domain, const attributes *event);
typedef int domain_range_pop(void *domain);

typedef struct callbacks {
    size_t size;
    int (*get_module)(int module, any_function ***table, unsigned *count);
} callbacks;

typedef struct version_info {
    size_t size;
    uint32_t version, reserved;
    void (*set_version)(uint32_t version);
} version_info;

typedef const void *get_table(uint32_t id);

typedef struct profiler {
    int (*initialize)(get_table *get);
} profiler;

/* The functions of modules CORE, CUDA, OPENCL, CUDART, CORE2 and SYNC, from 1
 * on. Most are never called, but a profiler looks for their places. */
static const unsigned counts[MODULES] = {0, 16, 9, 15, 7, 16, 7};
static any_function functions[MODULES][MAX_FUNCTIONS];
static any_function *tables[MODULES][MAX_FUNCTIONS + 1];

static bool loaded;
static void *domain;

static int get_module(int module, any_function ***table, unsigned *count)
{
    if (module < 1 || module >= MODULES) {
        return 0;
    }
    if (count != NULL) {
        *count = counts[module];
    }
    if (table != NULL) {
        *table = tables[module];
    }
    return 1;
}

static void set_version(uint32_t version)
{
    (void)version;
}

static const void *get(uint32_t id)
{
    static const callbacks all = {sizeof all, get_module};
    static const version_info info = {sizeof info, VERSION, 0, set_version};
    return id == TABLE_CALLBACKS ? &all
           : id == TABLE_VERSION ? (const void *)&info
                                 : NULL;
}

static any_function function_of(int function)
{
    return functions[MODULE_CORE2][function];
}

/* That there is no profiler is no error. */
static hr_status load(void)
{
    static const hri_symbol symbols[] = {
        {"InitializeInjectionNvtx2", offsetof(profiler, initialize), REQ}};
    const char *path = hri_environment("NVTX_INJECTION64_PATH");
    profiler p;
    if (path == NULL || hri_library_load(path, symbols, 1, &p) != HR_OK) {
        return HR_OK;
    }
    for (int m = 1; m < MODULES; m++) {
        for (unsigned f = 1; f < counts[m]; f++) {
            tables[m][f] = &functions[m][f];
        }
    }
    if (p.initialize(get) == 0 || function_of(DOMAIN_RANGE_PUSH) == NULL ||
        function_of(DOMAIN_RANGE_POP) == NULL) {
        return HR_OK;
    }
    if (function_of(DOMAIN_CREATE) != NULL) {
        domain = ((domain_create *)function_of(DOMAIN_CREATE))("headrace");
    }
    loaded = true;
    return HR_OK;
}

void hri_range_begin(const char *name)
{
    static hri_once once = HRI_ONCE_INIT;
    (void)hri_once_run(&once, load);
    if (loaded) {
        const attributes event = {.version = VERSION,
                                  .size = sizeof event,
                                  .message_type = MESSAGE_ASCII,
                                  .message = name};
        ((domain_range_push *)function_of(DOMAIN_RANGE_PUSH))(domain, &event);
    }
}

void hri_range_end(void)
{
    if (loaded) {
        ((domain_range_pop *)function_of(DOMAIN_RANGE_POP))(domain);
    }
}
