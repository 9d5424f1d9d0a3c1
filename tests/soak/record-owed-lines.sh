# What a signal cuts short while an epoch closes is asked for again when the next one does, and read
# then: a signal is no answer for good.
. "$SOURCE/tests/lib.sh"
need_root
need_command setpriv python3 objcopy cc jq
need_cpu_sampling

chmod 755 . .. ../.. 2>/dev/null || true
mkdir -m 755 theirs
stranger() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}
stranger true 2>/dev/null || skip "another user cannot run programs here"
# Its lines take seconds, and come.
"$SOURCE/tests/tools/hostile" make nested theirs/nested 2 2>make.err || skip "cannot make it: $(cat make.err)"
chown 65534:65534 theirs/nested

# CPU time, in ticks, of the busiest process that parses for the recorder.
parsing() {
	for task in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
		cat "/proc/$task/stat" 2>/dev/null || true
	done | awk '$2 == "(culprit-parse)" && $14 + $15 > most { most = $14 + $15 } END { print most + 0 }'
}
# The command does not end for the signal, and another epoch begins, in which nothing of it is sampled:
# all lines of a procedure are read where a new place in it is.
culprit record -q -a --epoch 3s --gather-limits 30s -o db -- sh -c 'trap "" INT
	setpriv --reuid 65534 --regid 65534 --clear-groups theirs/nested 1; sleep 3' 2>said &
recorder=$!
tick=$(getconf CLK_TCK)
while [ "$(parsing $recorder)" -lt $((tick / 2)) ]; do
	kill -0 $recorder 2>/dev/null || fail "nothing took long: $(cat said)"
	sleep 0.02
done
kill -INT $recorder
wait $recorder || fail "record: $(cat said)"
expect_match "what was said of an epoch" "$(cat said)" "left out, for we were asked to end: "
# a sentence names three files, the bill all
find db -name '*.prof' -exec "$TOOLS/cells" {} \; | grep -q "left_out_file_.*theirs/nested" || fail "nothing of it was left out: $(cat said)"
rm theirs/nested # or the report would read it
culprit report --json --by line --image nested db |
	jq -r '[.rows[] | { file, samples: .self[0].samples }] |
		[([.[] | select(.file == "f.c").samples] | add // 0), ([.[].samples] | add // 0)] | @tsv' >counted
read -r with_lines all <counted
expect_between "samples" "$all" 100 100000
expect_between "share of them with their lines" "$(ratio "$with_lines" "$all")" 0.95 1
