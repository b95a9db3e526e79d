#!/bin/sh
# Checks of a cross-compiled image: image.sh FOLDER CROSS BUDGET. Prints as the native tests do.
set -u
out=$1 cross=$2 budget=$3
key=$(basename "$out")
elf=$out/offload.elf
here=$(dirname "$0")
code=$(mktemp)
trap 'rm -f "$code" "$code.back"' EXIT
"${cross}objdump" -d --no-show-raw-insn "$elf" > "$code"

check() {
    name=$1
    shift
    if "$@"; then echo "pass: $key: $name"; else echo "FAIL: $key: $name"; fi
}
lacks() { ! grep -Eq "$1" "$2"; }

no_relocations() { "${cross}readelf" -r "$elf" | grep -q 'no relocations'; }
entry_at_text() { [ "$("${cross}readelf" -h "$elf" | awk '/Entry/ { print $4 }')" = 0x10000000 ]; }
little_endian() { "${cross}readelf" -h "$elf" | grep -q "little endian"; }
says_options() { grep -aq 'WALK=.* SEARCH=' "$out/offload.bin"; }
has_lines() { "${cross}readelf" -S "$elf" | grep -q debug_line; }
swapped() {
    "${cross}objcopy" -I binary -O binary --reverse-bytes=4 "$out/offload.img" "$code.back" &&
        cmp -s "$code.back" "$out/offload.bin" && ! cmp -s "$out/offload.img" "$out/offload.bin"
}
# 4 KB, the last word a branch backwards in big-endian order.
shim_is_a_page() {
    [ "$(wc -c < "$out/shim.bin")" -eq 4096 ] &&
        tail -c 4 "$out/shim.bin" | od -An -tx1 | grep -q '^ 4b ff'
}
# r13 holds the address of the state: only its set-up writes it, and it is never saved.
r13_is_reserved() {
    awk '/^[0-9a-f]+ <.*>:$/ { f = $2 }
        f ~ /second_start/ { next }
        /\t(l[a-z]+|mr|addi?s?|ori?s?|li|lis|subf?) +r13,/ || /\tstwu? +r13,/ {
            bad = 1; print f, $0
        }
        END { exit bad }' "$code"
}
# A profile tells walks from the rest by these.
functions_stay() {
    for name in take_headers take_commands advance update_unit search_posted search_unexpected \
        complete; do
        grep -q "<$name>:" "$code" || return 1
    done
}
no_plant() { lacks planted_bug "$code"; }
fits_budget() { "$here/size.sh" "$out" "$cross" "$budget" > /dev/null; }

check "no floating point" lacks '	(f[a-z]+|lf[sd]u?x?|stf[sd]u?x?)\.? ' "$code"
check "no load or store multiple or string" lacks '	(lmw|stmw|lsw|stsw)' "$code"
check "no division" lacks '	divw' "$code"
check "no relocation is left" no_relocations
check "entered at the text base" entry_at_text
check "little endian" little_endian
check "options are in the image" says_options
check "line numbers are in the ELF" has_lines
check "image is the binary with its words swapped" swapped
check "shim fills its page and ends with the reset branch" shim_is_a_page
check "r13 is reserved" r13_is_reserved
check "functions of the profile are there" functions_stay
check "no planted bug" no_plant
check "sizes are within the budget" fits_budget
