#!/bin/sh
# Runs the native tests, also with each planted bug, and checks the images in folders KEYS of BUILD:
# run.sh NATIVE BUILD CROSS BUDGET KEYS PLANTS VARIANT... The last line says how many passed and
# failed.
set -u
native=$1 build=$2 cross=$3 budget=$4 keys=$5 plants=$6
shift 6
here=$(dirname "$0")
log=$(mktemp)
trap 'rm -f "$log"' EXIT

for variant; do
    # A test that ends the process (a sanitizer's finding) has printed no line of its own.
    "$native/test-$variant" < /dev/null || echo "FAIL: native $variant: exit status $?"
done > "$log"
# A planted bug may be found by a sanitizer, too.
for plant in $(seq "$plants"); do
    said=$(PLANT=$plant "$native/test-ahead" < /dev/null 2> /dev/null) ||
        case $said in
        *FAIL*) ;;
        *) said="pass: native ahead: planted bug $plant is found by a sanitizer" ;;
        esac
    echo "$said"
done >> "$log"
for key in $keys; do
    "$here/image.sh" "$build/$key" "$cross" "$budget"
done >> "$log"
cat "$log"
passed=$(grep -c '^pass: ' "$log")
failed=$(grep -c '^FAIL: ' "$log")
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
