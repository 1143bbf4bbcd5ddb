/* SPDX-License-Identifier: MIT */
/* Any text as a size in bytes, as HEADRACE_MEMORY_LIMIT and --memory-limit take
 * it. If it is accepted, it is a positive number of 63 bits, and the same
 * number with a unit gives the same size. */
#include "fuzz.h"

#include <inttypes.h>

#include "base/size.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    enum { UNTOUCHED = 7 };
    char *text = fuzz_text(bytes, size);
    uint64_t number = UNTOUCHED, again;
    char plain[32];
    if (!hri_parse_bytes(text, &number)) {
        fuzz_promise(number == UNTOUCHED, "a refusal leaves the output alone");
    } else {
        fuzz_promise(text[0] >= '0' && text[0] <= '9', "it begins with digits");
        fuzz_promise(number >= 1 && number <= INT64_MAX, "it has 1 to 63 bits");
        snprintf(plain, sizeof plain, "%" PRIu64 "B", number);
        fuzz_promise(hri_parse_bytes(plain, &again) &&
                         (number > (uint64_t)1 << 53 || again == number),
                     "what was read is read again");
    }
    free(text);
    return 0;
}
