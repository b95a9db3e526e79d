#!/bin/sh
# The sizes that lanai-link printed against the budget: size.sh SIZES BUDGET. Fails when one is exceeded.
set -eu
awk -F'[, ]+' '
    FNR == NR { limit[$1] = $2; next }
    $1 in limit {
        printf "%-10s %7d of %7d bytes\n", $1, $3, limit[$1]
        if ($3 > limit[$1]) { print $1 " is over its budget" > "/dev/stderr"; bad = 1 }
        next
    }
    { print }
    END { exit bad }' "$2" "$1"
