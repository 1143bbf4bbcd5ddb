/* SPDX-License-Identifier: MIT */
/* Any bytes as a file of the module cache. If an image is found, it is a part
 * of them, and the next image replaces it. */
#include "fuzz.h"

#include <string.h>

#include "kernels/kernels.h"
#include "support/files.h"

/* The file of this target and source. */
static const char target[] = "a device", source[] = "a kernel";
static const char name[] = "modules/6b0462782e07a28e-ad52c7e1d03280e9";

static void check_found(const hri_image *image, const uint8_t *bytes,
                        size_t size)
{
    fuzz_promise(image->count > 0 && image->count < size,
                 "an image is a part of its file");
    fuzz_promise(
        memcmp(image->bytes, bytes + size - image->count, image->count) == 0,
        "an image is the end of its file");
    free(image->bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char next[] = "the next image";
    const hri_image kept = {.bytes = next, .count = sizeof next};
    hri_image image = {0};
    char folder[128];
    fuzz_cache_file(name, bytes, size);
    if (hri_module_cache_find(target, source, &image)) {
        check_found(&image, bytes, size);
    } else {
        fuzz_promise(image.bytes == NULL, "what is not found has no bytes");
    }
    hri_module_cache_keep(target, source, &kept);
    fuzz_promise(hri_module_cache_find(target, source, &image) &&
                     image.count == sizeof next &&
                     memcmp(image.bytes, next, sizeof next) == 0,
                 "what is kept is found");
    snprintf(folder, sizeof folder, "%s/modules", getenv("HEADRACE_CACHE"));
    fuzz_promise(files_count(folder, NULL, 0) == 1, "in the place of the file");
    free(image.bytes);
    return 0;
}
