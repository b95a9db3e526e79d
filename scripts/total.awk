# Reads what the firmware's tests and `cargo test --quiet` print, each followed by a line "ended N", the last
# by "all ended N". Passes on what a reader wants to see, and ends with the total over all test programs.
/^ended [0-9]+$/ { if ($2 != 0) bad = 1; next }
# Not at the end of the input: a process that a test left would keep it open.
/^all ended [0-9]+$/ { if ($3 != 0) bad = 1; exit }
# What a rank prints at the end of a test may stand before it on the line.
match($0, /test result: /) {
    split(substr($0, RSTART), words, " ")
    passed += words[4]; failed += words[6]; skipped += words[8]
    if (words[6] > 0) print
    next
}
/^[0-9]+ passed, [0-9]+ failed$/ { passed += $1; failed += $3; next }
/^pass: / || /^running [0-9]+ tests?$/ || /^[.i ]*( [0-9]+\/[0-9]+)?$/ { next }
{ print; fflush() }
END {
    if (bad && failed == 0) print "a test program did not run to its end"
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit bad
}
