/* SPDX-License-Identifier: MIT */
/* Any bytes as a safetensors file. */
#include "fuzz.h"

#include "files/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (hri_safetensors_is(bytes, size)) {
        fuzz_archive(bytes, size, hri_safetensors_members);
    }
    return 0;
}
