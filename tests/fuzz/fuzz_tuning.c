/* SPDX-License-Identifier: MIT */
/* Any bytes as the file of the tuning cache. A value read from it is a positive
 * number. A value kept afterwards is found, as are the values found before, but
 * for the last of 1000 lines, which a new line pushes out. */
#include "fuzz.h"

#include "model/tuning.h"

enum { MAX_LINES = 1000, LINE = 512 };

/* At least as many as are read: longer ones count as several. */
static size_t count_lines(const uint8_t *bytes, size_t size)
{
    size_t count = size / (LINE - 1);
    for (size_t i = 0; i < size; i++) {
        count += bytes[i] == '\n';
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    double old = -1, kept = -1, again = -1;
    fuzz_cache_file("rates", bytes, size);
    const bool found = hri_tuning_find("copy", "device 0", &old);
    fuzz_promise(found ? old >= 1 : old == -1, "a rate is positive");
    hri_tuning_keep("launch", "device 1", 12345);
    fuzz_promise(hri_tuning_find("launch", "device 1", &kept) && kept == 12345,
                 "what is kept is found");
    fuzz_promise(count_lines(bytes, size) >= MAX_LINES ||
                     (hri_tuning_find("copy", "device 0", &again) == found &&
                      again == old),
                 "keeping one line leaves the others");
    return 0;
}
