/* SPDX-License-Identifier: MIT */
/* Where memory for operands starts. */
#include "base/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { PAGE = 4096, LINE = 128, COUNT = 40 };

static size_t start_of(const void *memory)
{
    return (size_t)((uintptr_t)memory % PAGE);
}

/* Starts that follow each other differ by this at least, round the page. */
static void check_apart(size_t bytes)
{
    char *memory[COUNT];
    for (int i = 0; i < COUNT; i++) {
        memory[i] = hri_scattered_pages(bytes);
        if (!CHECK(memory[i] != NULL)) {
            return;
        }
        memset(memory[i], i, bytes);
        CHECK(start_of(memory[i]) % LINE == 0);
    }
    for (int i = 0; i < COUNT; i++) {
        CHECK(memory[i][0] == i && memory[i][bytes - 1] == i);
        for (int j = i + 1; j < i + 4 && j < COUNT; j++) {
            size_t a = start_of(memory[i]), b = start_of(memory[j]);
            size_t apart = a < b ? b - a : a - b;
            CHECK(apart >= 512 && PAGE - apart >= 512);
        }
    }
    for (int i = 0; i < COUNT; i++) {
        hri_scattered_free(memory[i]);
    }
}

int main(void)
{
    TEST_CASE("operands start apart within their pages");
    TEST(check_apart(1));
    TEST(check_apart(PAGE));
    TEST(check_apart((4 << 20) + 1));
    TEST_CASE("plain pages start a page");
    void *memory = hri_pages(PAGE + 1);
    CHECK(memory != NULL && start_of(memory) == 0);
    free(memory);
    TEST_CASE("more than there is");
    CHECK(hri_pages(SIZE_MAX) == NULL);
    CHECK(hri_scattered_pages(SIZE_MAX) == NULL);
    hri_scattered_free(NULL);
    return test_end();
}
