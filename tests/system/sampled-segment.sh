# A segment that a program samples by itself (culprit/sampler.h): its file is one of perf's. perf and culprit
# find the same stacks in it, with the names of the program, of a library that it loads meanwhile and
# of a thread; nothing of what runs outside the segment; and an ordinary user may do so.
# beside others
. "$SOURCE/tests/lib.sh"
need_recording self

# The stacks of FILE as perf finds them, folded as ours.
folded_by_perf() {
	perf script -i "$1" -F comm,ip,sym 2>/dev/null | awk '
		function out() { if (stack) print comm stack; stack = "" }
		/^[^ \t]/ { out(); comm = $1; next }
		NF { $1 = ""; sub(/^ /, ""); stack = ";" $0 stack }
		END { out() }' | sort | uniq -c | awk '{ count = $1; sub(/^ *[0-9]+ /, ""); print $0, count }'
}

"$TOOLS/sampled" cycles:u segment.data "$TOOLS/sampled-library.so" 2>said || fail "it cannot be sampled: $(cat said)"
read -r taken event lost <said
expect_between "samples" "$taken" 20 100000
expect_equal "lost samples" "$lost" 0
expect_match "what is sampled" "$event" '^(cpu-clock|cycles):u$'
culprit export --samples segment.data >ours
for name in work_in_program work_deeper work_in_thread; do
	grep -q ";$name " ours || fail "no samples of $name: $(cat ours)"
done
grep -q '^sampled;.*main;.*repeat.*;work_deeper ' ours || fail "the library has no caller: $(cat ours)"
! grep -q work_outside ours || fail "samples of what is outside the segment: $(cat ours)"
expect_equal "samples in the file" "$(awk '{ sum += $NF } END { print sum }' ours)" "$taken"
culprit import -q segment.data -o segment.prof
expect_equal "samples of the profile" "$(samples segment.prof)" "$taken"
culprit report segment.prof >report
expect_match "what was sampled" "$(cat report)" "^event +${event%:u}"
expect_match "its command" "$(cat report)" 'sampled cycles:u segment.data'

if command -v perf >/dev/null; then
	folded_by_perf segment.data >theirs
	expect_equal "samples that perf finds" "$(awk '{ sum += $NF } END { print sum }' theirs)" "$taken"
	# of the C library's functions the names may be other aliases
	for file in ours theirs; do
		grep ';work_' $file | sort >$file.work
	done
	diff ours.work theirs.work || fail "perf finds other stacks"
	perf report -i segment.data --stdio >report 2>&1 || fail "perf report: $(cat report)"
	expect_match "perf's report" "$(cat report)" "event '$event'"
fi

# through a pipe
"$TOOLS/sampled" cycles:u - "$TOOLS/sampled-library.so" 2>said | culprit report - >report
expect_match "a report of a pipe" "$(cat report)" 'work_in_program'

# the kernel, where it may be seen: where it lies is in the file
if [ "$(id -u)" = 0 ] && command -v perf >/dev/null &&
	[ "$(sed -n 's/^\([0-9a-f]*\) . _text$/\1/p' /proc/kallsyms | tr -d 0)" ]; then
	"$TOOLS/sampled" cycles kernel.data "$TOOLS/sampled-library.so" 2>said || fail "with the kernel: $(cat said)"
	read -r taken event lost <said
	expect_match "what is sampled" "$event" '^(cpu-clock|cycles)$'
	perf script -i kernel.data --show-mmap-events >shown 2>/dev/null
	grep -q 'PERF_RECORD_MMAP .*\[kernel.kallsyms\]_text' shown || fail "the kernel's text is not in the file"
	culprit report kernel.data >report
	! grep -q 'no symbol' report || fail "code without a name: $(cat report)"
fi
