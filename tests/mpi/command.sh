#!/bin/sh
# SPDX-License-Identifier: MIT
# command.sh MPIRUN [OPTION]: headrace matmul in several processes, beside one.
# shellcheck source-path=SCRIPTDIR source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
HEADRACE_ACCELERATORS=host
export HEADRACE_ACCELERATORS

# processes N: from now on the command is started that often. MPICH's mpirun fails
# now and then when its input ends and the processes already have: so it has no end.
processes() {
    HEADRACE=$base/headrace
    cat >"$HEADRACE" <<EOF
#!/bin/sh
exec $mpirun -n $1 $real "\$@" <>$base/silent
EOF
    chmod +x "$HEADRACE"
}
mpirun="$*"
mkfifo "$base/silent"

raw() { # NAME SHAPE: bytes without a header
    generate "$1" "$(($(echo "$2" | tr x '*')))x1" i8
}

# Products of every kind of type, of fewer rows than processes, and of a column.
for product in "2 f32 97x130 130x61" "5 i8 3x40 40x50" "3 c64 400x20 20x1"; do
    # shellcheck disable=SC2086 # four words
    set -- $product
    processes "$1"
    generate A.npy "$3" "$2"
    generate B.npy "$4" "$2"
    expect 0 "verified    yes" matmul A.npy B.npy -o C.npy --verify
    check "$TOOLS/npy_check" product A.npy B.npy C.npy
done
# Factors, an added matrix, transposes, conjugates.
generate A.npy 70x41 c32
generate B.npy 33x70 c32
generate C0.npy 41x33 c32
expect 0 "" matmul A.npy B.npy -o C.npy --transpose-a --transpose-b \
    --conjugate-a --alpha 2-i --add C0.npy --beta -1 --verify
check "$TOOLS/npy_check" product A.npy B.npy C.npy ta=1 tb=1 ca=1 \
    alpha=2,-1 beta=-1,0 c0=C0.npy

# Batches, and vectors: as in one process, which integers make exact.
for shape in 4x30x20,20x7 5x6x20,5x20x9 30x20,20 20,20x9 20,20 0x20,20x9 \
    3x8x20,20 2x3x8x20,3x20x4; do
    raw A.raw "${shape%,*}"
    raw B.raw "${shape#*,}"
    set -- A.raw B.raw --shape "$shape" --input-type i8
    expect 0 "" matmul "$@" -o C.npy --verify
    check "$real" matmul "$@" -o one.npy --quiet
    check cmp C.npy one.npy
done

# Reports.
generate A.npy 300x200 f32
generate B.npy 200x100 f32
rm -f C.npy
expect 1 "processes share its memory limit" matmul A.npy B.npy -o C.npy \
    --accelerators 1xhost --memory-limit 64
expect 0 "nothing was done" matmul A.npy B.npy --dry-run
check test ! -e C.npy
expect 0 "" matmul A.npy B.npy -o C.npy --json
equal "processes" 3 "$(json processes.count)"
equal "bytes" 0 "$(json bytes.sent)"
equal "m" 300 "$(json m)"
expect 0 "" matmul A.npy B.npy -o C.npy --quiet
equal "quiet" "" "$(cat "$out")"

# What planning knows, and plans for machines that are not there.
expect 0 "messages" devices
equal "devices, once" 1 "$(grep -c "^processes  *3," "$out")"
expect 0 "" devices --json
cp "$out" machine.json
equal "processes there" 3 "$(json cluster.processes)"
HEADRACE=$real
expect 0 "64, of which" matmul A.npy B.npy --dry-run --machines 64 \
    --like machine.json
expect 0 "" matmul A.npy B.npy --dry-run --machines 1000 --like machine.json \
    --json
equal "machines" 1000 "$(json processes.count)"
echo '{"cluster": {"memory_bytes": 1000000000, "f64_flops_per_second": 1e6,
    "message_seconds": 0, "message_bytes_per_second": 1e12}}' >slow.json
expect 0 "" matmul A.npy B.npy --dry-run --machines 4 --like slow.json --json
equal "slow machines all multiply" 4 "$(($(json processes.rows) * \
    $(json processes.cols) * $(json processes.depth)))"
sed 's/1e12/-1/' slow.json >wrong.json
expect 1 "bytes_per_second is -1" matmul A.npy B.npy --dry-run \
    --machines 4 --like wrong.json
sed 's/memory_bytes/memory/' slow.json >wrong.json
expect 1 'has no "memory_bytes"' matmul A.npy B.npy --dry-run --machines 4 \
    --like wrong.json
echo '{"cluster": {' >wrong.json
expect 1 "is no JSON" matmul A.npy B.npy --dry-run --machines 4 --like wrong.json
echo '{}' >wrong.json
expect 1 "describes no processes" matmul A.npy B.npy --dry-run --machines 4 \
    --like wrong.json
expect 1 "none.json" matmul A.npy B.npy --dry-run --machines 4 --like none.json
expect 2 "belong together" matmul A.npy B.npy --dry-run --machines 4
expect 2 "needs --dry-run" matmul A.npy B.npy -o D.npy --machines 4 \
    --like slow.json
expect 2 "from 1 to" matmul A.npy B.npy --dry-run --machines 0 --like slow.json
expect 2 "are of this machine" matmul A.npy B.npy --dry-run --machines 4 \
    --like slow.json --threads 2
processes 3
expect 2 "without mpirun" matmul A.npy B.npy --dry-run --machines 4 \
    --like slow.json
expect 0 "headrace 0.1.0" --version
equal "version, once" 1 "$(wc -l <"$out" | tr -d ' ')"
expect 0 "usage" matmul --help
equal "help, once" 1 "$(grep -c ^usage "$out")"

# Elements without a header.
dd if=/dev/zero of=A.raw bs=1200 count=1 2>"$err"
expect 0 "" matmul A.raw A.raw -o C.raw --shape 10x30,30x10 --type f32
equal "raw" 400 "$(wc -c <C.raw | tr -d ' ')"

# Bad input: one sentence, nothing written.
expect 1 "none.npy: it cannot be opened" matmul A.npy none.npy -o D.npy
expect 1 "A is 300 x 200" matmul A.npy A.npy -o D.npy
expect 1 "/nowhere/D.npy" matmul A.npy B.npy -o /nowhere/D.npy
expect 1 "but the product is" matmul A.npy B.npy -o D.npy --add A.npy
expect 2 "takes 2 files" matmul A.npy -o D.npy
expect 2 "has no option" matmul A.npy B.npy -o D.npy --nonsense
expect 2 "cannot share" matmul - B.npy -o D.npy
expect 2 "--trace" matmul A.npy B.npy -o D.npy --trace t.json
expect 1 "is not there" matmul A.npy B.npy -o D.npy \
    --accelerators nonsense

# A signal ends all processes, and so does one that dies. mpirun may kill them
# before they have removed what they wrote, under another name: that goes with the
# next product.
generate A.npy 30x30 f64
cp A.npy C.npy
rm -f D.npy
before=$(ls -A)
mkfifo "$base/begun"
exec 8<>"$base/begun"
begin() { # the product, in the background, until each process multiplies
    # shellcheck disable=SC2016 # of the shells that those start
    BASE=$base DO='exec >/dev/null 2>&1
        echo "${OMPI_COMM_WORLD_RANK:-}${PMI_RANK:-} $PPID" >"$BASE/begun"
        while [ -e "$BASE" ]; do sleep 0.1; done' \
        $mpirun -n 3 "$TOOLS/moments" matmul A.npy A.npy -o D.npy \
        <>"$base/silent" >"$out" 2>"$err" 8>&- &
    started=$!
    for _ in 0 1 2; do
        read -r rank pid <&8
        eval "pid_of_$rank=$pid"
    done
    check [ "$before" != "$(ls -A)" ]
}
ended() { # a process that nobody has waited for yet has no program
    wait $started # whose status says nothing with MPICH
    for rank in 0 1 2; do
        eval "pid=\$pid_of_$rank"
        while [ -e "/proc/$pid/exe" ]; do
            sleep 0.1
        done
    done
    check "$real" matmul A.npy A.npy -o C.npy --quiet
    equal "what is left" "$before" "$(ls -A)"
}
begin
kill -INT $started
ended
for victim in 1 2; do
    begin
    eval "kill -KILL \$pid_of_$victim"
    ended
done
finish
