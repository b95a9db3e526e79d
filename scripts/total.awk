# Reads `cargo test --quiet` and then a line "cargo-status N"; passes on what a reader wants to see,
# and ends with the total over all test programs.
/^cargo-status / { status = $2; next }
/^test result:/ {
    passed += $4; failed += $6; ignored += $8
    if ($6 > 0) print
    next
}
/^running 0 tests$/ || /^$/ { next }
{ print; fflush() }
END {
    if (status != 0 && failed == 0) print "cargo test ended with status " status
    printf "%d passed, %d failed, %d skipped\n", passed, failed, ignored
    exit status != 0
}
