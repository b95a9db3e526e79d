#!/bin/sh
# Checks of a cross-compiled image: image.sh FOLDER CROSS BUDGET. Prints as the native tests do.
set -u
out=$1 cross=$2 budget=$3
key=$(basename "$out")
elf=$out/seastar.elf
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
entry_at_text() { [ "$("${cross}readelf" -h "$elf" | awk '/Entry/ { print $4 }')" = 0xfffe0000 ]; }
little_endian() { "${cross}readelf" -h "$elf" | grep -q "little endian"; }
says_options() {
    grep -aq 'CACHE=.* INLINE=.* SHADOW_FIFOS=.* TRACE=.* PINNED_REGS=' "$out/seastar.bin"
}
has_lines() { "${cross}readelf" -S "$elf" | grep -q debug_line; }
swapped() {
    "${cross}objcopy" -I binary -O binary --reverse-bytes=4 "$out/seastar.img" "$code.back" &&
        cmp -s "$code.back" "$out/seastar.bin" && ! cmp -s "$out/seastar.img" "$out/seastar.bin"
}
# 4 KB, the last word a branch backwards in big-endian order.
shim_is_a_page() {
    [ "$(wc -c < "$out/shim.bin")" -eq 4096 ] &&
        tail -c 4 "$out/shim.bin" | od -An -tx1 | grep -q '^ 4b ff'
}
# r13 belongs to the trace ring: only its set-up and its readers touch it.
r13_is_reserved() {
    awk '/^[0-9a-f]+ <.*>:$/ { f = $2 }
        f ~ /second_start|trace_record/ || /mr +r[0-9]+,r13/ { next }
        /[ ,(]r13/ { bad = 1; print f, $0 }
        END { exit bad }' "$code"
}
# Pinned globals are never saved: no function stores r22..r31 to its frame.
pinned_stay() {
    case $key in
    *pinned-on*) lacks 'stw +r(2[2-9]|3[01]),[0-9]+\(r1\)' "$code" ;;
    *) grep -Eq 'stw +r(2[2-9]|3[01]),[0-9]+\(r1\)' "$code" ;;
    esac
}
traced() {
    case $key in
    *trace-on*) grep -q 'bl .*<trace_record>' "$code" ;;
    *) lacks trace_record "$code" ;;
    esac
}

case $key in
*collectives-on*) budget=${budget%.csv}-collecting.csv ;;
*overflow-nic*) budget=${budget%.csv}-recovering.csv ;;
*accelerated-on*) budget=${budget%.csv}-accelerated.csv ;;
esac
fits_budget() { "$here/size.sh" "$out" "$cross" "$budget" > /dev/null; }

check "no floating point" lacks '	(f[a-z]+|lf[sd]u?x?|stf[sd]u?x?)\.? ' "$code"
check "no load or store multiple or string" lacks '	(lmw|stmw|lsw|stsw)' "$code"
check "no relocation is left" no_relocations
check "entered at the text base" entry_at_text
check "little endian" little_endian
check "options are in the image" says_options
check "line numbers are in the ELF" has_lines
check "image is the binary with its words swapped" swapped
check "shim fills its page and ends with the reset branch" shim_is_a_page
check "r13 is reserved" r13_is_reserved
check "pinned registers are as the option says" pinned_stay
check "trace points are as the option says" traced
check "sizes are within the budget" fits_budget
