# The same command counted by perf stat: what does not depend on the moment is the same, and fields
# stand in the same order.
# beside others
. "$SOURCE/tests/lib.sh"
need_command perf
need_recording self
perf stat -x , -e page-faults -o probe true 2>/dev/null || skip "perf cannot count here"
# fields FILE EVENT: the value
value() {
	awk -F , -v event="$2" '$3 ~ "^" event { print $1 }' "$1"
}
events=task-clock,page-faults,context-switches,cpu-migrations
i=0
while [ $i -lt 5 ]; do
	perf stat -x , -e $events -o perf.$i -- dd if=/dev/zero of=/dev/null bs=64M count=4 2>/dev/null
	culprit stat -q -x , -e $events -o ours.$i -- dd if=/dev/zero of=/dev/null bs=64M count=4 2>/dev/null
	value perf.$i page-faults >>perf-faults
	value ours.$i page-faults >>our-faults
	i=$((i + 1))
done
least() {
	sort -n "$1" | head -n 1
}
# the loader's faults differ by a few from run to run; huge pages may come or not
perf_faults=$(least perf-faults)
expect_between "page faults, beside perf's $perf_faults" "$(least our-faults)" $((perf_faults * 98 / 100 - 3)) $((perf_faults * 102 / 100 + 3))
# perf begins a file of results with a comment
grep -v -e '^#' -e '^$' perf.0 | cut -d , -f 2,3 >perf-names
cut -d , -f 2,3 ours.0 >our-names
cmp perf-names our-names || fail "fields differ from perf's: $(cat ours.0)"
expect_equal "fields in a line" "$(awk -F , '{ print NF }' ours.0 | sort -u)" "$(grep page-faults perf.0 | awk -F , '{ print NF }')"
for column in 5 7; do
	expect_equal "field $column of page-faults" "$(awk -F , -v c=$column '$3 ~ /page-faults/ { print $c == "/sec" ? "K/sec" : $c }' ours.0)" \
		"$(awk -F , -v c=$column '$3 ~ /page-faults/ { print $c == "/sec" ? "K/sec" : $c }' perf.0)"
done
# CPU time by two measures of the kernel: the task's clock from exec on, and what wait4(2) says. Time that
# the host gives others is in the first only: as much as /proc/stat has of it.
stolen_ticks() {
	awk '$1 == "cpu'"$cpu"'" { print $9 }' /proc/stat
}
cpu=$(taskset -cp $$ | sed 's/.*[ ,-]//')
before=$(stolen_ticks)
taskset -c "$cpu" culprit stat --json -e task-clock -o json -- sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done'
stolen=$(($(stolen_ticks) - before))
python3 - "$stolen" "$(getconf CLK_TCK)" <<'END' || fail "CPU times do not agree, of $stolen stolen ticks: $(cat json)"
import json, sys
# A tick is what two readings of it may miss, which leaves half of the 20 ms.
stolen = (int(sys.argv[1]) + 1) * 1e9 / int(sys.argv[2])
page = json.load(open("json"))
clock = page["rows"][0]["events"][0]["value"]
used = page["user_ns"] + page["system_ns"]
assert used - 20e6 <= clock * 1.02 + 20e6 and clock - stolen <= used * 1.02 + 10e6, (clock, used, stolen)
assert clock <= page["elapsed_ns"] * 1.02, page
END
