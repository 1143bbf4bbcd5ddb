#!/bin/sh
# SPDX-License-Identifier: MIT
# model.sh ROOT: only src/model measures, learns and predicts what the machine
# does. Prints each line of an engine or client that measures, keeps a figure,
# or has a threshold or cost of its own. Fails if there is one, or if nothing
# was looked at.
set -eu
cd "$1"

files=$(find src/arrays src/blas src/checker src/context src/distribute \
    src/calls src/filter src/flow src/gemm src/grid src/kernels src/mpi src/pblas \
    src/runtime src/split src/trace src/verify \
    -name '*.[ch]' 2>/dev/null | sort)
[ -n "$files" ] || { echo "model: no sources in $1"; exit 1; }

# shellcheck disable=SC2086 # one word for each file
awk '
BEGIN {
    # Exceptions, which have a reason.
    # Events read for reports, timelines and public calls, and for what the rule
    # of learning gets (src/model/learn.h):
    may["src/flow/work.c", "clock"] = 1
    may["src/gemm/batch_run.c", "clock"] = 1
    may["src/grid/timing.c", "clock"] = 1
    may["src/arrays/event.c", "clock"] = 1
    may["src/arrays/profile.c", "clock"] = 1
    may["src/runtime/fence.c", "clock"] = 1
    may["src/trace/track.c", "clock"] = 1
    may["src/trace/traced.c", "clock"] = 1
    may["src/trace/traced.h", "clock"] = 1
    may["src/runtime/stream.h", "clock"] = 1
    # Steps of the search for cuts, which say nothing about the machine.
    may["src/gemm/blocking.c", "threshold"] = 1
    may["src/distribute/partition.c", "probe"] = 1
    # How exactly a window is factored, which is no time.
    may["src/filter/filter.c", "cost"] = 1
    may["src/filter/cost.c", "cost"] = 1
}
FNR == 1 {
    split(FILENAME, part, "/")
    engine = part[2] ~ /^(blas|distribute|filter|flow|gemm|grid|split)$/
    comment = 0
}
{
    line = strip($0)
}
line ~ /hri_tuning_|model\/tuning\.h/ {
    complain("cache", "uses the tuning cache")
}
line ~ /hri_figure_|hri_subject_of|model\/figures\.h/ {
    complain("figures", "has a figure of its own: ask model.h")
}
line ~ /hri_probe\(|hri_stopwatch_|(MIN|MAX)_TRIES|[^A-Z_]TRIES[^A-Z_]/ {
    complain("probe", "measures: hand a trial to hri_model_ask")
}
line ~ /(->|\.|_)elapsed\(/ {
    complain("clock", "times work by events")
}
engine && line ~ /[a-z_]*(blend|smooth|moving_average)[a-z_]*/ {
    complain("learning", "learns by a rule of its own: see model/learn.h")
}
engine && line ~ /(->|\.)physical[^_a-z]/ {
    complain("sharing", "says who shares a device: hri_accelerators_same_kind")
}
# Factors a little less or more than 1, except for rounding.
engine && (" " line " ") ~ \
    /[^0-9a-zA-Z_.](0?\.(8[0-9]|9)[0-9]*|1\.(0[0-9]*[1-9]|1[0-9]*))[^0-9]/ {
    complain("threshold", "has a threshold: hri_model_pays, hri_cost_risk")
}
# Microseconds to tenths of a millisecond.
engine && (" " line " ") ~ /[^0-9a-zA-Z_.][0-9.]+[eE]-0?[3-7][^0-9]/ {
    complain("cost", "has a cost in seconds: hri_model_overheads")
}
# Rates: 1e8 and more.
engine && (" " line " ") ~ \
    /[^0-9a-zA-Z_.][0-9.]+[eE]\+?(0?[89]|1[0-9])[^0-9]/ {
    complain("rate", "has a rate: hri_guess")
}
# The line without comments and what is quoted.
function strip(text,    out, at) {
    out = ""
    while (text != "") {
        if (comment) {
            at = index(text, "*/")
            comment = at == 0
            text = at == 0 ? "" : substr(text, at + 2)
        } else if (match(text, /\/\*|"([^"\\]|\\.)*"|\/\//)) {
            at = substr(text, RSTART, 2)
            if (at == "//") {
                return out substr(text, 1, RSTART - 1)
            }
            # An include names what it includes in quotes.
            out = out substr(text, 1, RSTART - 1)
            if (at != "/*" && text ~ /^[ \t]*#/) {
                out = out substr(text, RSTART, RLENGTH)
            }
            comment = at == "/*"
            text = substr(text, RSTART + (comment ? 2 : RLENGTH))
        } else {
            out = out text
            text = ""
        }
    }
    return out
}
function complain(kind, what) {
    if (!((FILENAME, kind) in may)) {
        printf "%s:%d: %s\n", FILENAME, FNR, what
        bad++
    }
}
END {
    exit bad > 0
}' $files
