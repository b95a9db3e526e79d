#!/bin/sh
# Runs the native tests and checks the images in folders KEYS of BUILD, whatever else is built there:
# run.sh NATIVE BUILD CROSS BUDGET KEYS VARIANT... The last line says how many passed and failed.
set -u
native=$1 build=$2 cross=$3 budget=$4 keys=$5
shift 5
here=$(dirname "$0")
log=$(mktemp)
trap 'rm -f "$log"' EXIT

for variant; do
    # A test that ends the process (a sanitizer's finding) has printed no line of its own.
    "$native/test-$variant" < /dev/null || echo "FAIL: native $variant: exit status $?"
done > "$log"
# A world in which all bugs show.
for test in "$native"/planted-pair-*; do
    "$test" 3 0 2 3 1 0 0 > /dev/null
    case $? in
    1) echo "pass: native pair: planted bug ${test##*-} is found" ;;
    *) echo "FAIL: native pair: planted bug ${test##*-}" ;;
    esac
done >> "$log"
for test in "$native"/planted-collective-*; do
    if "$test" 1000 > /dev/null; then
        echo "FAIL: native collective: planted bug ${test##*-}"
    else
        echo "pass: native collective: planted bug ${test##*-} is found"
    fi
done >> "$log"
for key in $keys; do
    "$here/image.sh" "$build/$key" "$cross" "$budget"
done >> "$log"
cat "$log"
passed=$(grep -c '^pass: ' "$log")
failed=$(grep -c '^FAIL: ' "$log")
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
