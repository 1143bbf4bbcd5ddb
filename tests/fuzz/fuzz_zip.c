/* SPDX-License-Identifier: MIT */
/* Any bytes as a .npz file. */
#include "fuzz.h"

#include "files/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (hri_zip_is(bytes, size)) {
        fuzz_archive(bytes, size, hri_zip_members);
    }
    return 0;
}
