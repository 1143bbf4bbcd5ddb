/* SPDX-License-Identifier: MIT */
/* Any text as JSON. It is read to its end, or something is wanted at a place in
 * it. Text that was cut off is missing at its end. */
#include "fuzz.h"

#include <string.h>

#include "base/json.h"

/* Whether the text is one value. *at is where reading ended. */
static bool is_value(const char *text, size_t length, size_t *at)
{
    hri_json reader = {.at = text, .end = text + length};
    const bool read = hri_json_any(&reader) && hri_json_end(&reader);
    fuzz_promise(reader.at >= text && reader.at <= text + length,
                 "reading ends inside the text");
    fuzz_promise(read == (reader.wanted == NULL), "a fault has a reason");
    fuzz_promise(!read || reader.depth == 0, "all brackets are closed");
    *at = (size_t)(reader.at - text);
    return read;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = fuzz_text(bytes, size);
    const size_t length = strlen(text);
    size_t at = 0, cut = 0;
    const bool object = text[0] == '{' || text[0] == '[';
    if (is_value(text, length, &at) && object) {
        size_t last = length - 1;
        while (strchr(" \t\r\n", text[last]) != NULL) {
            last--;
        }
        text[last] = '\0';
        fuzz_promise(!is_value(text, last, &cut) && cut == last,
                     "a value without its last bracket misses its end");
    }
    free(text);
    return 0;
}
