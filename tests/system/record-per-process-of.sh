# Of chosen commands, images and control groups each process is by itself; a storm of others is one
# row, and all that was counted is there once. The daemon and a recording do the same.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/daemon.sh"
need_cpu_sampling
need_root

for name in keeper mapped grouped short; do
	cp "$KERNELS/busy" $name
done
ln -s "$PWD/mapped" link
# the hierarchy that recordings read first, unless a process is at its root
mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
[ -n "$mount" ] || mount=$(awk '$3 == "cgroup" && $4 ~ /(^|,)name=systemd(,|$)/ { print $2; exit }' /proc/mounts)
group=$mount/culprit-test-$$
[ -n "$mount" ] && mkdir "$group" 2>err || skip "cannot make a control group: $(cat err)"
leave() {
	for attempt in 1 2 3 4 5 6 7 8 9 10; do
		rmdir "$group" 2>/dev/null && break
		sleep 0.05
	done
	clean_daemon
}
trap leave EXIT

cat >load <<'END'
./keeper split 0.2 & ./keeper split 0.2 &
./mapped split 0.2 & ./mapped split 0.2 &
for i in 1 2; do
	sh -c 'echo $$ >"$1/cgroup.procs" && exec ./grouped split 0.2' - "$1" &
done
for i in $(seq 50); do
	./short split 0.01
done
wait
END

# processes COMMAND: how many have samples of their own, in `cells`
processes() {
	awk -F '\t' -v name="$1" '$1 == "cell" && $11 == name && $12 != "-" { print $12 }' cells | sort -u | wc -l
}
# counted [COMMAND [PROCESS]]: samples
counted() {
	awk -F '\t' -v name="${1:-}" -v process="${2:-}" '
		$1 == "cell" && (name == "" || $11 == name) && (process == "" || $12 == process) { sum += $6 }
		END { print sum + 0 }' cells
}

# judge PROFILE: what is apart in it, and what is not
judge() {
	"$TOOLS/cells" "$1" >cells
	for name in keeper mapped grouped; do
		expect_equal "processes of $name in $1" "$(processes $name)" 2
	done
	expect_equal "samples of keeper without a process in $1" "$(counted keeper -)" 0
	expect_equal "processes of short in $1" "$(processes short)" 0
	expect_between "samples of short in $1" "$(counted short)" 50 100000
	expect_equal "all samples in $1" "$(counted)" \
		"$(awk -F '\t' '$1 == "bill" && $4 == "stored" { sum += $5 } END { print sum + 0 }' cells)"
	culprit report --quiet "$1" --by process --min 0 --limit 0 >report
	expect_equal "rows of keeper in $1" "$(grep -c ' [0-9][0-9]* *keeper$' report)" 2
	expect_equal "rows of short in $1" "$(grep -c ' short$' report)" 1
	expect_match "row of short in $1" "$(cat report)" ' - +short$'
}

set -- --per-process-of keeper --per-process-of "image:$PWD/link" --per-process-of "cgroup:/culprit-test-$$"
culprit record --quiet --engine ring -F 1000 "$@" -o command.prof -- sh load "$group"
judge command.prof

# Samples of the whole machine are counted in the kernel, where that may be.
printf '%s\n' "per-process-of = keeper" "per-process-of = image:$PWD/link" \
	"per-process-of = cgroup:/culprit-test-$$" "no-stacks" "no-stash" "frequency = 1000" >settings
daemon --config settings
sh load "$group"
stop
culprit db merge --quiet daemon.prof db
judge daemon.prof
