# Two services that run the same program are told apart, and so are a container and a session; the
# daemon and a recording say the same of them.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/daemon.sh"
need_cpu_sampling
need_root
need_command jq

# a hierarchy that systemd would make its groups in
mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
[ -n "$mount" ] || mount=$(awk '$3 == "cgroup" && $4 ~ /(^|,)name=systemd(,|$)/ { print $2; exit }' /proc/mounts)
[ -n "$mount" ] || skip "no control groups are mounted"
slice=$mount/culpritTest$$.slice
id=$(printf '%064x' $$)
one=$slice/one.service two=$slice/two.service
container=$slice/docker-$id.scope session=$slice/session-7.scope
odd=$slice/$(printf 'red\033[31m.service')
busy=
rest() {
	for pid in $busy; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	busy=
}
leave() {
	rest
	for attempt in 1 2 3 4 5 6 7 8 9 10; do
		rmdir "$one/inner" "$one" "$two" "$container" "$session" "$odd" "$slice" 2>/dev/null || true
		[ -e "$slice" ] || break
		sleep 0.05
	done
	clean_daemon
}
trap leave EXIT
mkdir "$slice" 2>err || skip "cannot make a control group: $(cat err)"
mkdir "$one" "$one/inner" "$two" "$container" "$session" "$odd"
for group in "$one/inner" "$two" "$container" "$session" "$odd"; do
	"$KERNELS/busy" split 120 &
	busy="$busy $!"
	echo $! >"$group/cgroup.procs" || skip "cannot put a process into a control group"
done
# A process that comes while it is recorded, and starts its program in the group.
sh -c 'echo $$ >"$1/cgroup.procs" && exec "$2" split 120' - "$two" "$KERNELS/busy" &
busy="$busy $!"

# Each sample once, in the row of where it was.
profiles=
for engine in ring bpf; do
	culprit record --quiet -F 1000 -a --engine $engine -e cpu-clock --no-stash --duration 1s -o $engine.prof 2>err || {
		[ $engine = bpf ] && is_without_kernel_counts "$(cat err)" || fail "--engine $engine: $(cat err)"
		echo "no --engine bpf here: $(cat err)"
		continue
	}
	profiles="$profiles $engine.prof"
done
daemon --merge-interval 500ms --no-stash --no-stacks
await_figure samples 1000
stop
rest

# rows PROFILE OPTION...: service, container, cgroup and samples of the program
rows() {
	culprit report --quiet --json --process busy --by service,container,cgroup --min 0 --limit 0 "$@" |
		jq -r '.rows[] | [.service // "-", .container // "-", .cgroup, .self[0].samples] | @tsv'
}
name=/culpritTest$$.slice
for profile in $profiles db; do
	rows $profile >rows
	expect_equal "places in $profile" "$(cut -f 1-3 rows | grep -F "$name" | LC_ALL=C sort)" "$(
		printf '%s\t%s\t%s\n' - - "$name/$(printf 'red\033[31m.service')" \
			- - "$name/session-7.scope" - "$id" "$name/docker-$id.scope" \
			one.service - "$name/one.service/inner" two.service - "$name/two.service" | LC_ALL=C sort
	)"
	expect_equal "samples in $profile" "$(awk -F '\t' '{ sum += $4 } END { print sum + 0 }' rows)" \
		"$(merged=$profile; [ -f "$profile" ] || { culprit db merge -q all.prof db; merged=all.prof; }
		samples "$merged" 11 busy)"
done
rows ring.prof --service one --service two.service >chosen
expect_equal "two services by the filter" "$(LC_ALL=C sort chosen)" "$(rows ring.prof | grep -E '^(one|two)\.service' | LC_ALL=C sort)"
expect_equal "a container by the filter" "$(rows ring.prof --container "$id" | cut -f 2)" "$id"
# A name that would steer a terminal is no unit's, and is shown as what it is.
culprit report --quiet ring.prof --process busy --by cgroup >report
expect_match "an odd name" "$(cat report)" 'red\\x1b\[31m\.service$'
