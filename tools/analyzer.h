/* SPDX-License-Identifier: MIT */
/* Put before every file of src/ when clang-tidy looks at it, and never else: it
 * tells the analyser what hri_fail promises, that an error is never HR_OK. */
#include "../src/base/status.h"

#define hri_fail(status, ...) ((void)(hri_fail)(status, __VA_ARGS__), (status))
