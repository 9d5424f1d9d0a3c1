# With stacks or edges an event that the kernel counts is sampled once more, at a lower rate, for samples
# that come one by one: the counts are as ever, stacks are another estimate of the same time, and the bill
# keeps the two apart.
. "$SOURCE/tests/lib.sh"
need_recording system
need_command cc jq
need_kernel_counts
cat >chain.c <<'END'
static volatile unsigned long sink;
__attribute__((noinline)) void leaf(int turns) { for (int i = 0; i < turns; i++) sink += (unsigned long)i; }
__attribute__((noinline)) void twice(void) { leaf(20000); sink++; }
__attribute__((noinline)) void once(void) { leaf(10000); sink++; }
int main(void) { for (;;) { twice(); once(); } }
END
cc -O2 -fomit-frame-pointer -o chain chain.c
./chain &
one=$!
./chain &
other=$!
trap 'kill $one $other 2>/dev/null || true' EXIT
sleep 0.2
culprit record -q -a --engine bpf -e cpu-clock -F 2000 -g --duration 4s -o apart.prof &
apart=$!
culprit record -q -a -e cpu-clock -F 500 -g --duration 4s -o ring.prof
wait $apart

# NAME.json: the report of NAME.prof, read once
figure() { # NAME FIGURE: of the event's bill
	jq ".events[0].bill.$2" "$1.json"
}
for name in apart ring; do
	culprit report --json --limit 0 $name.prof >$name.json
	culprit report --json --limit 0 --inclusive $name.prof >$name-inclusive.json
done
stored=$(figure apart stored_samples)
stacks=$(figure apart apart.stored_samples)
echo "counted: $stored, apart: $stacks, of a recording by rings: $(figure ring stored_samples)"
expect_equal "stored and lost, counted" "$((stored + $(figure apart lost_samples)))" "$(figure apart overflows)"
expect_equal "stored and lost, apart" \
	"$((stacks + $(figure apart apart.lost_ring_samples) + $(figure apart apart.lost_damaged_samples)))" \
	"$(figure apart apart.overflows)"
expect_equal "lost" "$(figure apart lost_samples)" 0
expect_between "lost, of those apart" "$(figure apart apart.lost_ring_samples)" 0 $((stacks / 50))
expect_equal "of a recording by rings" "$(figure ring apart)" null
culprit report apart.prof >flat
expect_match "what the report says" "$(cat flat)" "apart +[0-9,]+ samples one by one, with stacks or registers, beside these, [0-9,]+ lost"
culprit check apart.prof >checked || fail "$(cat checked)"

of_chain() { # NAME PROCEDURE FIGURE: "self[0].estimate" and the like
	jq "[.rows[] | select(.procedure == \"$2\" and .image == \"chain\")][0].$3" "$1.json"
}
percent() { # A B: A in percent of B
	awk "BEGIN { printf \"%.0f\", 100 * $1 / $2 }"
}
# Both estimate the time in leaf, each from samples of its own.
# (Of all that they saw: while a host takes a CPU away, a timer of 0.5 ms misses more than one of 2 ms.)
leaf=$(of_chain apart-inclusive leaf 'inclusive[0].estimate')
z=$(awk -v a="$(of_chain apart leaf 'self[0].estimate')" -v sa="$(of_chain apart leaf 'self[0].standard_error')" \
	-v b="$leaf" -v sb="$(of_chain apart-inclusive leaf 'inclusive[0].standard_error')" \
	-v all_a="$(jq '[.rows[].self[0].estimate] | add' apart.json)" \
	-v all_b="$(jq '[.rows[].self[0].estimate] | add' apart-inclusive.json)" '
	function variance(x, error, all) { return error / all * error / all * (1 - x / all) }
	BEGIN { print (a / all_a - b / all_b) / sqrt(variance(a, sa, all_a) + variance(b, sb, all_b)) }')
echo "standard errors between leaf by counts and by stacks: $z"
expect_between "standard errors between leaf by counts and by stacks" "$z" -4.5 4.5
# A stack that comes before the rules of its files are read, as on a busy machine, has no callers, and says so.
cut=$(culprit export apart.prof | awk '/^chain;\[unknown/ && / ?;?leaf [0-9]+$/ { n += $NF } END { print n + 0 }')
expect_between "main, in percent of leaf" \
	"$(percent "$(of_chain apart-inclusive main 'inclusive[0].estimate')" "($leaf - $cut)")" 100 110
expect_between "twice, in percent of once" \
	"$(percent "$(of_chain apart-inclusive twice 'inclusive[0].estimate')" "$(of_chain apart-inclusive once 'inclusive[0].estimate')")" 150 265
# No time of theirs is there twice: neither view has the rest of the other.
for profile in apart.prof ring.prof; do
	culprit flame -o "$profile.svg" "$profile"
	culprit export "$profile" >"$profile.folded"
	awk '/^chain;/ { if (/;main;(twice|once);leaf /) n += $NF; all += $NF } END { exit !(n > 0.85 * all) }' "$profile.folded" ||
		fail "$profile: chain's stacks are not whole: $(grep '^chain;' "$profile.folded" | head)"
done
expect_between "stacks exported, in percent of leaf by stacks" \
	"$(percent "$(awk '/^chain;/ { n += $NF } END { print n }' apart.prof.folded)" "$leaf")" 100 115

# A rate of their own; and edges alone leave no stacks.
# (Periods that are drawn, twice a second, would have either number off by a tenth.)
culprit record -q -a --engine bpf -e cpu-clock -F 1000 --no-random -g --stacks-frequency 100 --duration 2s -o rare.prof
culprit report --json rare.prof >rare.json
# ms NAME: that were counted, or that the bill says no sample was of, as a host took the CPU away
ms() {
	echo $(($(figure "$1" stored_samples) + $(figure "$1" shortfall_ns) / 1000000))
}
expect_between "tenths of samples counted for one apart" "$(($(ms rare) * 10 / $(figure rare apart.stored_samples)))" 90 110
culprit record -q -a --engine bpf -e cpu-clock -F 1000 --no-random -g --duration 2s -o quarter.prof
culprit report --json quarter.prof >quarter.json
expect_between "samples apart, in percent of those counted" \
	"$(($(figure quarter apart.stored_samples) * 100 / $(ms quarter)))" 23 27
culprit record -q -a --engine bpf -e cpu-clock -F 1000 --edges --duration 1s -o edges.prof
culprit report --json edges.prof >edges.json
expect_equal "stacks beside edges alone" "$(jq .stacks.recorded edges.json)" false
expect_between "branches seen beside edges alone" "$(figure edges interpreted.branches)" 100 10000000
expect_status 2 culprit record --stacks-frequency 100 -g -- true 2>err
expect_match "message" "$(cat err)" "--stacks-frequency is of --engine bpf with --stacks or --edges"
