. "$SOURCE/tests/lib.sh"
# Names, events and stacks of simpleperf's own recordings against what simpleperf's stackcollapse made
# of them. It leaves out the frames of the Java runtime, marks code made at run time with _[j], and
# shows a function that runs both interpreted and compiled once; both sides are brought to that.
# beside others
corpus="$SOURCE/../shared/corpus/perfdata/simpleperf"
[ -d "$corpus" ] || skip "no folder with outside recordings"
need_command perl

one_spelling() {
	perl -I"$SOURCE/tests/corpus" -MStacks -e 'spell {
		my @kept;
		for (@_) {
			s/_\[j\]$//;
			next if /^(art[:_]|void art|mterp|Mterp|artQ|artU)/ || $_ eq "\@plt";
			next if $_ eq "unknown" || /^\[kernel/ || @kept && $kept[-1] eq $_;
			push @kept, $_;
		}
		return @kept }'
}
culprit export -q "$corpus/simpleperf-perf_with_jit_symbol.data" >jit.folded
one_spelling <jit.folded >ours
# simpleperf takes MainActivity$1.run, compiled, for the same frame as its caller's and drops both
run='BusyThread;__start_thread;__pthread_start(void*);java.lang.Thread.run'
one_spelling <"$corpus/simpleperf-perf_with_jit_symbol.foldedstack" |
	awk -v run="$run" -v dropped=';com.android.simpleperf.debuggable.MainActivity$1.run' '
		{ stack = substr($0, 1, length($0) - length($NF) - 1) }
		stack == run { stack = run dropped }
		{ sum[stack] += $NF }
		END { for (stack in sum) print stack, sum[stack] }' | LC_ALL=C sort >theirs
cmp -s ours theirs || fail "jit: $(diff theirs ours)"
expect_equal "frames made at run time" "$(grep -c 'MainActivity\$1.run' jit.folded)" \
	"$(wc -l <jit.folded)"
culprit report -q "$corpus/simpleperf-perf_with_jit_symbol.data" >report
grep -q '\[JIT app cache\] *com.android.simpleperf.debuggable.MainActivity' report ||
	fail "no [JIT app cache] in: $(cat report)"

# Two events, each by itself.
culprit export -q -e cycles:HG "$corpus/simpleperf-perf_with_two_event_types.data" |
	sed -E 's/;.* / /' | awk '{ sum[$1] += $NF } END { for (c in sum) print c, sum[c] }' |
	LC_ALL=C sort >ours
cmp -s ours "$corpus/simpleperf-perf_with_two_event_types.foldedstack" || fail "cycles: $(cat ours)"
culprit export -q -e cpu-clock:HG "$corpus/simpleperf-perf_with_two_event_types.data" |
	awk '{ sum += $NF } END { print "sleep", sum }' >ours
cmp -s ours "$corpus/simpleperf-perf_with_two_event_types.foldedstack_cpu_clock" ||
	fail "cpu-clock: $(cat ours)"

# Names that lie in the file, and an event that only META_INFO names.
culprit report -q --stash-only "$corpus/simpleperf-perf_with_symbols.data" >report
grep -q ' 572 .* t2 .* main' report && grep -q ' 360 .* t2 .* func2(int, int)' report ||
	fail "$(cat report)"
culprit report -q "$corpus/simpleperf-perf_with_meta_info.data" | grep -q '^event *cpu-cycles' ||
	fail "the event has no name"
echo "stacks, events and names of 4 recordings"
