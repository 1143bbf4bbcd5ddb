/* SPDX-License-Identifier: MIT */
/* The fragment of CONTRIBUTING.md, which is compiled only. */
#include <support/fault_backend.h>
#include <support/simulate.h>

void in_a_test(uint64_t call);
void in_a_test(uint64_t call)
{
#include <CONTRIBUTING.md/c1>
}
