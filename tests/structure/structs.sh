#!/bin/sh
# SPDX-License-Identifier: MIT
# structs.sh SOURCE: each public struct that starts with `uint32_t size` has a
# row in tests/unit/test_structs.c, which makes it smaller and larger. Prints
# each that has none. Fails if there is one, or if no struct is found.
set -eu
cd "$1"
test=tests/unit/test_structs.c
structs=$(awk '/^typedef struct / { name = $3 }
    name != "" && /^ *uint32_t size;/ { print name }
    /^}/ { name = "" }' include/headrace/*.h)
# Any form of the field, so that no struct is missed.
fields=$(grep -cwh 'uint32_t size' include/headrace/*.h |
    awk '{ n += $1 } END { print n }')
count=$(echo "$structs" | grep -c . || true)
bad=0
for name in $structs; do
    if ! grep -q "^ *ROW($name," $test; then
        echo "$name has no row in $test"
        bad=1
    fi
done
if [ "$count" -eq 0 ] || [ "$count" -ne "$fields" ]; then
    echo "$count structs with a size, but $fields fields"
    bad=1
fi
echo "$count structs"
exit $bad
