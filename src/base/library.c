/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "base/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/environment.h"

hr_status hri_library_check_rights(const char *what)
{
    return !hri_has_more_rights()
               ? HR_OK
               : hri_fail(HR_ERROR_UNAVAILABLE,
                          "%s is off in a program with more rights than its "
                          "caller, whose environment it would obey",
                          what);
}

hr_status hri_library_check_process(const char *what, pid_t process)
{
    return process == getpid()
               ? HR_OK
               : hri_fail(HR_ERROR_UNAVAILABLE,
                          "%s does not work in a child of fork() when the "
                          "parent has looked for its devices before",
                          what);
}

hr_status hri_library_check_room(const char *what, size_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return HR_OK;
    }
    void *room =
        mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) {
        return hri_fail(HR_ERROR_UNAVAILABLE,
                        "the limit of the address space (ulimit -v) leaves "
                        "less than %zu MiB for %s",
                        bytes >> 20, what);
    }
    munmap(room, bytes);
    return HR_OK;
}

hr_status hri_library_load(const char *name, const hri_symbol *symbols,
                           size_t count, void *table)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) {
        return hri_library_resolve(library, name, symbols, count, table);
    }
    const char *why = dlerror();
    return hri_fail(HR_ERROR_UNAVAILABLE, "%s", why != NULL ? why : name);
}

hr_status hri_library_refuse(const char *variable, const char *wish,
                             const char *what)
{
    /* the loader's words begin with the name; musl has a few before it */
    char why[HRI_MESSAGE_BYTES];
    snprintf(why, sizeof why, "%s", hr_last_error());
    const size_t length = strlen(wish);
    const char *name = strstr(why, wish);
    const bool named = name != NULL && name[length] == ':';
    return hri_fail(HR_ERROR_UNAVAILABLE,
                    "%s is \"%.128s\", not a usable %s%s%.256s", variable, wish,
                    what, named ? "" : ": ", named ? name + length : why);
}

hr_status hri_library_resolve(void *library, const char *what,
                              const hri_symbol *symbols, size_t count,
                              void *table)
{
    for (size_t i = 0; i < count; i++) {
        void *address = dlsym(library, symbols[i].name);
        if (address == NULL && symbols[i].required) {
            return hri_fail(HR_ERROR_UNAVAILABLE, "%s has no symbol %s", what,
                            symbols[i].name);
        }
        memcpy((char *)table + symbols[i].offset, &address, sizeof address);
    }
    return HR_OK;
}
