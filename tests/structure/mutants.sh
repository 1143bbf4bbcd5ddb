#!/bin/sh
# SPDX-License-Identifier: MIT
# mutants.sh ROOT COMPILER: tools/mutants finds the places that two versions
# share, and tells tests that see an error from tests that do not.
set -eu
unset HEADRACE_MUTANT HEADRACE_MUTANTS_REACHED # of a run that this test is in
root=$1
compiler=$2
for tool in python3 cmake ctest; do
    command -v $tool >/dev/null || { echo "skip: no $tool here"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# version NAME NUMBER CONDITION: a tree with one place of each kind, a line of
# its own, and tests: one that passes if the condition holds, one that is
# skipped, one that always fails, and one that is not to run.
version() {
    mkdir -p "$folder/$1/src/toy" "$folder/$1/src/cli"
    cat >"$folder/$1/src/toy/toy.c" <<END
/* A comment: if (a) */
enum { ODD = 1, EVEN = 2, LIMIT = 3 };
static int notes;
static void take(void)
{
    notes++;
}
int differs(int a)
{
    if (a == ODD) {
        return ODD;
    }
    return EVEN;
}
int taken(void)
{
    take();
    return notes;
}
int constant(int a)
{
    static const int table[] = {7, 7};
    return table[a] + 4;
}
int within(int a)
{
    return a < LIMIT;
}
int own(int a)
{
    return a + $2;
}
END
    echo 'int left_out(void) { return 5; }' >"$folder/$1/src/cli/main.c"
    cat >"$folder/$1/test.c" <<END
int differs(int), taken(void), constant(int), within(int), own(int);
int main(void)
{
    const int a = differs(1), b = taken(), c = constant(1), d = within(3);
    (void)a, (void)b, (void)c, (void)d;
    return own(0) == $2 && $3 ? 0 : 1;
}
END
    cat >"$folder/$1/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.20)
project(toy C)
enable_testing()
add_executable(toy src/toy/toy.c test.c)
add_test(NAME whole COMMAND toy)
add_test(NAME skipped COMMAND sh -c "exit 77")
set_tests_properties(skipped PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME broken COMMAND sh -c "exit 1")
add_test(NAME gone COMMAND sh -c "exit 1")
set_tests_properties(gone PROPERTIES LABELS long)
END
}
version weak 2 'a == 1 && c == 11'
version strong 3 'a == 1 && b == 1 && c == 11 && d == 0'

# try RESULT OLD NEW LINE...: plan and run; the result and what is printed.
try() {
    want=$1 old=$2 new=$3 got=0
    shift 3
    out=$folder/of_$old
    {
        python3 "$root/tools/mutants" plan --count 4 "$folder/$old" \
            "$folder/$new" "$out" &&
            python3 "$root/tools/mutants" run --jobs 2 \
                --cmake=-DCMAKE_C_COMPILER="$compiler" "$out"
    } >"$folder/log" 2>&1 || got=$?
    for line; do
        grep -qF -e "$line" "$folder/log" || got="no line: $line"
    done
    if [ "$got" != "$want" ]; then
        echo "$old to $new: wanted $want, got $got"
        cat "$folder/log" "$out/old/build.log"
        exit 1
    fi
}
try 0 weak strong '4 places' \
    'toy.c:10 differs: a == ODD -> !(a == ODD)' \
    'toy.c:17 taken: take(); -> nothing' \
    'toy.c:23 constant: 4 -> 5' \
    'toy.c:27 within: a < LIMIT -> a <= LIMIT' \
    'old: 1 tests pass without a mutant, 1 are skipped' \
    'new: left out, fails without a mutant: broken' \
    'all               4            4      2            4      4' \
    'only new finds: 2 drop' 'only new finds: 4 off by one'
try 1 strong weak \
    'all               4            4      4            4      2' \
    'only old finds: 2 drop'

# It goes on where it was stopped, with the line that was half written.
found=$out/new/mutants.jsonl
last=$(tail -n 1 "$found")
sed '$d' "$found" >"$folder/kept"
printf '%.20s' "$last" | cat "$folder/kept" - >"$found"
try 1 strong weak 'all               4            4      4            4      2'
if [ "$(wc -l <"$found")" -ne 4 ] ||
    [ "$(grep -c '^new .*/' "$folder/log")" -ne 1 ]; then
    echo "it did not go on where it was stopped"
    cat "$folder/log"
    exit 1
fi
