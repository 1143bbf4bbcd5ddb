/* SPDX-License-Identifier: MIT */
/* What the library does when calls of accelerators fail, one after another:
 *
 *     test_faults [GROUP|all [each]]
 *
 * A group is a file of tests/faults. `each` makes every single call fail, and
 * not only some of those that come from one place. */
#include <sys/prctl.h>

#include "faults/groups.h"
#include "support/faults.h"
#include "support/without_compiler.h"

static const struct {
    const char *name;
    void (*run)(void);
} groups[] = {
    {"arrays", faults_arrays},
    {"context", faults_context},
    {"filter", faults_filter},
    {"gemm", faults_gemm},
    {"gemm_batch", faults_gemm_batch},
    {"gemm_sum", faults_gemm_sum},
    {"grid", faults_grid},
    {"launch", faults_launch},
    {"reduce", faults_reduce},
    {"run", faults_run},
    {"split", faults_split},
    {"text", faults_text},
};

int main(int argc, char **argv)
{
    const char *wanted = argc > 1 ? argv[1] : "all";
    const bool all = strcmp(wanted, "all") == 0;
    bool found = false;
    faults_exhaustive = argc > 2 && strcmp(argv[2], "each") == 0;
    if ((all || strcmp(wanted, "text") == 0) && has_no_compiler("host")) {
        return test_skip(hr_last_error());
    }
    /* Thousands of contexts: clearing huge pages would take most time. */
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        if (all || strcmp(wanted, groups[i].name) == 0) {
            groups[i].run();
            found = true;
        }
    }
    CHECK(found);
    return test_end();
}
