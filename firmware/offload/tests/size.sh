#!/bin/sh
# Sizes of an image against the budget: size.sh FOLDER CROSS BUDGET. Fails when one is exceeded.
set -eu
out=$1 cross=$2 budget=$3
elf=$out/offload.elf

section() {
    "${cross}size" -A "$elf" | awk -v name="$1" '$1 == name { n = $2 } END { print n + 0 }'
}
symbol() { "${cross}nm" -S "$elf" | awk -v name="$1" '$4 == name { print $2 }'; }

text=$(section .text)
data=$(section .data)
bss=$(section .bss)
noinit=$(section .noinit)
image=$(($(wc -c < "$out/offload.bin")))

# The compiler writes a frame size for each function and an edge for each call; the deepest path
# from main counts. There is no recursion and no call through a pointer.
stack=$(cat "$out"/*.ci | awk '
    function field(key) {
        return match($0, key ": \"[^\"]*\"") ? substr($0, RSTART + length(key) + 3,
            RLENGTH - length(key) - 4) : ""
    }
    /^node/ {
        title = field("title")
        if (match($0, /[0-9]+ bytes \(/)) frame[title] = substr($0, RSTART) + 0
        if (/\(dynamic\)/) { print "a frame of unknown size: " $0 > "/dev/stderr"; exit 1 }
    }
    /^edge/ { caller = field("sourcename"); calls[caller] = calls[caller] field("targetname") "\n" }
    function depth(f, nest,    list, n, i, d, deepest) {
        if (nest > 50) { print "recursion through " f > "/dev/stderr"; exit 1 }
        n = split(calls[f], list, "\n")
        for (i = 1; i < n; i++) { d = depth(list[i], nest + 1); if (d > deepest) deepest = d }
        return frame[f] + deepest
    }
    END { print depth("main", 0) }')

status=0
report() {
    limit=$(awk -F, -v what="$1" '$1 == what { print $2 }' "$budget")
    printf '%-9s %7d of %7d bytes\n' "$1" "$2" "$limit"
    if [ "$2" -gt "$limit" ]; then
        echo "$1 is over its budget ($budget)" >&2
        status=1
    fi
}
report text "$text"
report data "$data"
report image "$image"
report cached $((data + bss + noinit))
report stack "$stack"
exit $status
