#!/bin/sh
# Runs the native tests and the image checks: run.sh NATIVE BUILD CROSS BUDGET VARIANT...
# The last line says how many passed and failed.
set -u
native=$1 build=$2 cross=$3 budget=$4
shift 4
here=$(dirname "$0")
log=$(mktemp)
trap 'rm -f "$log"' EXIT

for variant; do
    # A test that ends the process (a sanitizer's finding) has printed no line of its own.
    "$native/test-$variant" < /dev/null || echo "FAIL: native $variant: exit status $?"
done > "$log"
for folder in "$build"/cache-*; do
    "$here/image.sh" "$folder" "$cross" "$budget"
done >> "$log"
cat "$log"
passed=$(grep -c '^pass: ' "$log")
failed=$(grep -c '^FAIL: ' "$log")
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
