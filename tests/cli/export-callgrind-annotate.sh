# callgrind_annotate reads it without a warning and adds up what we added up.
. "$SOURCE/tests/lib.sh"
need_command callgrind_annotate
"$TOOLS/make-code-profile" x86 code.prof
culprit export -f callgrind -o callgrind.out.1 code.prof
callgrind_annotate --auto=no callgrind.out.1 >text 2>warnings
[ ! -s warnings ] || fail "it warns: $(cat warnings)"
shown=$(awk '/PROGRAM TOTALS/ { gsub(/,|\([^)]*\)/, ""); print $1, $2, $3, $4 }' text)
expect_equal totals "$shown" "$(sed -n 's/^totals: //p' callgrind.out.1)"
