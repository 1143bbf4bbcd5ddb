/* SPDX-License-Identifier: MIT */
#include "backends/host/compiler.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/hash.h"
#include "base/library.h"
#include "base/machine.h"
#include "base/program.h"
#include "hal/backend.h"

enum { MAX_SECONDS = 120 }; /* of a compilation */

#ifdef __aarch64__ /* clang has no -march=native there */
#define NATIVE "-mcpu=native"
#else
#define NATIVE "-march=native"
#endif

/* What is an error for devices' compilers is one here. */
static const char *const options[] = {
    "-std=gnu11",
    "-O3",
    NATIVE,
    "-fno-math-errno",
    "-fsigned-char", /* as on GPUs and x86 */
    "-fvisibility=hidden",
    "-fPIC",
    "-shared",
    "-Werror=implicit-function-declaration",
    "-Werror=int-conversion",
    "-Werror=incompatible-pointer-types",
    "-x",
    "c",
};

/* Added for reproducible kernels. Their source says that they are. */
static const char strict[] = "-ffp-contract=off";

enum { OPTIONS = sizeof options / sizeof options[0], OTHERS = 8 };

/* ---- finding it */

static bool is_program(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) && access(path, X_OK) == 0;
}

/* Find a program in PATH. Folders that are relative do not count: they depend
 * on where the process is. */
static bool find_in_path(const char *name, host_compiler *compiler)
{
    char path[PATH_MAX];
    const char *at = hri_environment("PATH");
    while (at != NULL) {
        const int length = (int)strcspn(at, ":");
        const int all =
            snprintf(path, sizeof path, "%.*s/%s", length, at, name);
        if (*at == '/' && all > 0 && all < PATH_MAX && is_program(path)) {
            strcpy(compiler->path, path);
            return true;
        }
        at = at[length] == ':' ? at + length + 1 : NULL;
    }
    return false;
}

static hr_status find_named(const char *name, host_compiler *compiler)
{
    bool found = false;
    if (strcmp(name, "off") == 0) {
        return hri_fail(HR_ERROR_UNAVAILABLE, "HEADRACE_CC is off");
    }
    if (strchr(name, '/') == NULL) {
        found = find_in_path(name, compiler);
    } else if (strlen(name) < PATH_MAX) {
        strcpy(compiler->path, name);
        found = is_program(name);
    }
    return found ? HR_OK
                 : hri_fail(HR_ERROR_UNAVAILABLE,
                            "HEADRACE_CC names no program: %s", name);
}

hr_status hri_host_compiler_find(host_compiler *compiler)
{
    static const char *const names[] = {"cc", "gcc", "clang"};
    const char *own = hri_environment("HEADRACE_CC");
    HRI_TRY(hri_library_check_rights("the C compiler"));
    if (own != NULL && own[0] != '\0') {
        return find_named(own, compiler);
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (find_in_path(names[i], compiler)) {
            return HR_OK;
        }
    }
    return hri_fail(HR_ERROR_UNAVAILABLE,
                    "there is no cc, gcc or clang in PATH");
}

/* Asking a compiler for its version takes as long as loading what it has made.
 * So its file stands for it. An update makes another one. */
void hri_host_compiler_target(const host_compiler *compiler, char *text,
                              size_t bytes)
{
    const char *path = compiler->path;
    struct stat s;
    text[0] = '\0';
    if (stat(path, &s) != 0) {
        return;
    }
    uint64_t hash = hri_hash(HRI_HASH_INIT, path, strlen(path));
    hash = hri_hash(hash, &s.st_ino, sizeof s.st_ino);
    hash = hri_hash(hash, &s.st_size, sizeof s.st_size);
    hash = hri_hash(hash, &s.st_mtim.tv_sec, sizeof s.st_mtim.tv_sec);
    hash = hri_hash(hash, &s.st_mtim.tv_nsec, sizeof s.st_mtim.tv_nsec);
    int length =
        snprintf(text, bytes, "host, compiler %016" PRIx64 ", CPU %016" PRIx64,
                 hash, hri_machine_code());
    for (size_t i = 0; i < OPTIONS && length < (int)bytes; i++) {
        length +=
            snprintf(text + length, bytes - (size_t)length, " %s", options[i]);
    }
}

/* ---- files */

hr_status hri_host_folder_create(host_folder *folder)
{
    const char *own = hri_environment("TMPDIR");
    const char *in = own != NULL && own[0] == '/' ? own : "/tmp";
    enum { ROOM = PATH_MAX - 64 };
    if (strlen(in) > ROOM) {
        return hri_fail(HR_ERROR_UNAVAILABLE,
                        "host: the path in TMPDIR is too long");
    }
    snprintf(folder->path, ROOM + 32, "%s/headrace-XXXXXX", in);
    if (mkdtemp(folder->path) == NULL) {
        return hri_fail(HR_ERROR_UNAVAILABLE,
                        "host: no folder for compiling can be made in %s", in);
    }
    const int length = (int)strlen(folder->path);
    snprintf(folder->source, PATH_MAX, "%.*s/kernel.c", length, folder->path);
    snprintf(folder->library, PATH_MAX, "%.*s/kernel.so", length, folder->path);
    snprintf(folder->messages, PATH_MAX, "%.*s/messages", length, folder->path);
    return HR_OK;
}

void hri_host_folder_remove(const host_folder *folder)
{
    (void)unlink(folder->source);
    (void)unlink(folder->library);
    (void)unlink(folder->messages);
    (void)rmdir(folder->path);
}

hr_status hri_host_folder_write(const char *path, const void *bytes,
                                size_t count)
{
    FILE *file = fopen(path, "wxe");
    bool written = file != NULL && fwrite(bytes, 1, count, file) == count;
    written = file != NULL && fclose(file) == 0 && written;
    return written ? HR_OK
                   : hri_fail(HR_ERROR_UNAVAILABLE,
                              "host: the file %s could not be written", path);
}

char *hri_host_folder_read(const char *path, size_t *count)
{
    struct stat s;
    FILE *file = fopen(path, "re");
    char *bytes = NULL;
    if (file != NULL && fstat(fileno(file), &s) == 0) {
        *count = (size_t)s.st_size;
        bytes = calloc(1, *count + 1);
    }
    if (bytes != NULL && fread(bytes, 1, *count, file) != *count) {
        free(bytes);
        bytes = NULL;
    }
    if (file != NULL) {
        fclose(file);
    }
    return bytes;
}

/* ---- compiling */

static hr_status run_compiler(const host_compiler *compiler,
                              const hr_kernel *kernel,
                              const host_folder *folder, int *code)
{
    const char *all[OPTIONS + OTHERS] = {compiler->path};
    size_t count = 1;
    for (size_t i = 0; i < OPTIONS; i++) {
        all[count++] = options[i];
    }
    if (kernel->reproducible) {
        all[count++] = strict;
    }
    all[count++] = folder->source;
    all[count++] = "-o";
    all[count++] = folder->library;
    all[count++] = "-lm";
    return hri_program_run(all, folder->messages, MAX_SECONDS, code);
}

/* If the code is not known, the library tells whether it was made. */
hr_status hri_host_compile(const host_compiler *compiler,
                           const hr_kernel *kernel, const char *source,
                           const host_folder *folder)
{
    struct stat s;
    int code = 0;
    size_t bytes;
    HRI_TRY(hri_host_folder_write(folder->source, source, strlen(source)));
    HRI_TRY(run_compiler(compiler, kernel, folder, &code));
    if (code == 0 ||
        (code == HRI_CODE_UNKNOWN && stat(folder->library, &s) == 0)) {
        return HR_OK;
    }
    char *messages = hri_host_folder_read(folder->messages, &bytes);
    hr_status status =
        hri_build_failed("host", kernel, compiler->path, messages, NULL);
    free(messages);
    return status;
}
