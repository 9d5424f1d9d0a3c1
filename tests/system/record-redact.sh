# A redacted profile names no file, no function and no command line, and still tells them apart.
. "$SOURCE/tests/lib.sh"
need_cpu_sampling
cp "$KERNELS/busy" secret-program
culprit record --quiet -F 1000 --redact -o redacted.prof -- ./secret-program split 0.5
"$TOOLS/cells" redacted.prof >cells
expect_between "functions of the program" "$(awk -F '\t' '$1 == "cell" && $3 == "file" && $10 ~ /^f_[0-9a-f]+$/ { print $10 }' cells | sort -u | wc -l)" 2 50
! grep -Eq "busy_(one|two)" cells || fail "a function is named"
culprit report redacted.prof >report
! grep -Eq 'secret-program split|/secret' report || fail "a file or the command line is named"
began=$(date +%s)
culprit record --quiet --epoch 1s -F 500 -o epochs -- "$KERNELS/busy" split 2.5
expect_between "epochs" "$(find epochs -name '*.prof' | wc -l)" 2 $(($(date +%s) - began + 2))
[ -z "$(find epochs -name '*.open')" ] || fail "an epoch was left open"
culprit report epochs >report
expect_match "report of all epochs" "$(cat report)" "busy_two"
