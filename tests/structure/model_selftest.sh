#!/bin/sh
# SPDX-License-Identifier: MIT
# model_selftest.sh: model.sh accepts right lines and finds planted faults.
set -eu
# shellcheck source=tests/structure/selftest.sh
. "$(dirname "$0")/selftest.sh"
comment='/* a comment,
 * 0.9 of it */'

try pass src/gemm/a.c 'if (hri_model_pays(with, without)) {'
try pass src/gemm/a.c 'double x = 1.0 + 0.5 * y - 1.25e2;'
try pass src/gemm/a.c 'double x = y; /* 0.9 of 1e-5 */'
try pass src/gemm/a.c 'double x = y; // 0.9'
try pass src/gemm/a.c 'hri_fail(HR_ERROR_INVALID, "0.9 is 1e-5, blend");'
try pass src/gemm/a.c 'if (sum >= total * (1 - 1e-9)) {'
try pass src/verify/elements.c 'double u = 0.95 * 1e-6;'
try pass src/flow/work.c 'hri_event_elapsed(begun, done, &ns);'
try pass src/filter/a.c 'hri_model_ask(a, &question, &rate);'
try pass src/filter/filter.c 'const double usual = 1e-6;'
try pass src/runtime/a.c 'struct timespec moment = {0, 1e6};'
try fail src/gemm/a.c 'const double clearly = 0.98;'
try fail src/gemm/a.c 'const double clearly = .9;'
try fail src/grid/a.c 'if (with < 0.95 * without) {'
try fail src/split/a.c 'return seconds * 1.02;'
try fail src/split/a.c 'const double worse = 1.1;'
try fail src/grid/a.c 'const double launch = 15e-6;'
try fail src/filter/a.c 'static const double piece_seconds = 1e-4;'
try fail src/filter/a.c 'static const double small = 1e9;'
try fail src/gemm/a.c 'guessed_rate = 5e10;'
try fail src/filter/a.c '#include "model/tuning.h"'
try fail src/filter/a.c 'hri_tuning_keep("f32", key, rate);'
try fail src/runtime/a.c 'hri_figure_set(of, kind, 1.0);'
try fail src/filter/a.c 'hri_probe(&trial, data, &found);'
try fail src/filter/a.c 'for (int i = 0; i < TRIES; i++) {'
try fail src/filter/a.c 'start->ops->elapsed(start, end, &ns);'
try fail src/blas/a.c 'blend(&rate, seen);'
try fail src/grid/a.c 'pace = smoothed(pace, seen);'
try fail src/gemm/a.c 'same += a->physical == b->physical;'
try fail none/a.c 'int x;'
finish
