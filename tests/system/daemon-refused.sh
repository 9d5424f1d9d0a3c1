# A daemon that is not given what it asks for: few files, little locked memory, no BPF, events for the
# privileged alone, a database that nobody can write. It goes on with less and every sample is accounted for,
# or ends with a sentence that says what to do.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/daemon.sh"
need_root
need_command setpriv
paranoid=/proc/sys/kernel/perf_event_paranoid
clean() {
	restore_settings
	clean_daemon
	wait 2>/dev/null || true
	umount -l "$here/db" 2>/dev/null || true
}
here=$PWD
trap clean EXIT
chmod 755 . .. ../.. 2>/dev/null || true
settings="--config /dev/null --socket $here/socket -e cpu-clock --merge-interval 300ms --no-stacks"

# refused TEXT COMMAND...: it ends by itself, with status 1 and such a sentence
refused() {
	wanted=$1
	shift
	status=0
	timeout 60 "$@" 2>refused.said || status=$?
	expect_equal "status of '$*', which says '$(cat refused.said)'," $status 1
	expect_match "what '$*' says" "$(tail -1 refused.said)" "$wanted"
}

# await_end_of DAEMON: it samples until it is told to stop, and loses none unaccounted; what it has stored is goes-on.prof
await_end_of() {
	daemon=$1
	await_state sampling
	await_figure samples 100
	ctl status >status
	ring_kb=$(awk '/perf_event/ { ring = 1 } /^Size:/ { sum += ring * $2; ring = 0 } END { print sum + 0 }' "/proc/$daemon/smaps")
	stop
	culprit db merge -q goes-on.prof "$database"
	expect_equal "runs of '$did'" "$(bill goes-on.prof runs)" \
		"$(($(bill goes-on.prof stored) + $(bill goes-on.prof 'lost_(ring|table|damaged|skipped)')))"
}

# goes_on WITH COMMAND...: so in an empty database, with the kernel's table of counts ("table") or without ("rings")
goes_on() {
	with=$1
	shift
	did=$*
	rm -rf "${database:?}"/*
	"$@" 2>daemon.said &
	await_end_of $!
	case $with in
	table)
		expect_between "counts out of the table of '$did'" "$(bill goes-on.prof table_entries)" 1 1000000000
		expect_match "status of '$did'" "$(cat status)" "^events +cpu-clock; counted in the kernel\$"
		;;
	rings)
		expect_match "status of '$did'" "$(cat status)" "^events +cpu-clock; each sample comes through a ring\$"
		expect_match "what '$did' says" "$(cat daemon.said)" "each sample comes through a ring, which takes more CPU time: "
		expect_equal "counts out of the table of '$did'" "$(bill goes-on.prof table_entries)" 0
		expect_between "bytes out of rings of '$did'" "$(bill goes-on.prof ring_bytes)" 1000 1000000000
		;;
	esac
}

# What a daemon that is refused nothing has; a table not on every machine.
usual=table
status=0
(need_kernel_counts) >why || status=$?
if [ $status = 77 ]; then
	usual=rings
	echo "no counts in the kernel here: $(cat why)"
elif [ $status != 0 ]; then
	exit $status
fi
database=db
# shellcheck disable=SC2086
{
	# Files: at the start, whatever it opens when there are no more.
	for limit in 20 30 40; do
		refused "Too many open files; 'ulimit -n' .LimitNOFILE= of a service. says" \
			sh -c "ulimit -n $limit; exec culprit daemon -o db $settings"
	done
	goes_on $usual culprit daemon -o db $settings
	# BPF: a filter of system calls, or a right less.
	goes_on rings "$TOOLS/without-bpf" 1 culprit daemon -o db $settings
	goes_on rings setpriv --bounding-set=-bpf,-sys_admin culprit daemon -o db $settings
	refused "CAP_BPF" setpriv --bounding-set=-bpf,-sys_admin culprit daemon -o db $settings --engine bpf
}

# A user with the rights of the service, where events are for the privileged, and one without them.
mkdir -m 777 theirs
database=theirs/db
socket_settings="$settings"
settings="--config /dev/null --socket $here/theirs/socket -e cpu-clock --merge-interval 300ms --no-stacks"
user="setpriv --reuid=65501 --regid=65501 --clear-groups"
rights=+perfmon,+bpf,+sys_ptrace,+syslog
with_rights="$user --inh-caps=$rights --ambient-caps=$rights"
cp "$CULPRIT" culprit-copy
$user true 2>/dev/null || skip "another user cannot run programs here"
guard_setting $paranoid
echo 3 >$paranoid
ctl() {
	culprit ctl --socket theirs/socket "$@"
}
# shellcheck disable=SC2086
{
	goes_on $usual $with_rights ./culprit-copy daemon -o theirs/db $settings
	refused "perf_event_paranoid is 3, system-wide needs 0 or CAP_PERFMON" \
		$user ./culprit-copy daemon -o theirs/db $settings
	# Locked memory: a user's rings have what the kernel gives everybody, and then his limit. With little they are
	# smaller, with none it says what to raise.
	locked=/proc/sys/kernel/perf_event_mlock_kb
	guard_setting $locked
	echo 516 >$locked
	room_kb=$((516 * $(getconf _NPROCESSORS_ONLN) + 64))
	for limit in 64 8192; do
		database=theirs/db-$limit
		did="ulimit -l $limit"
		(ulimit -l $limit && exec $with_rights ./culprit-copy daemon -o $database $settings --engine ring) 2>daemon.said &
		await_end_of $!
		echo "rings with $limit KB of locked memory: $ring_kb KB"
		case $limit in
		64) expect_between "rings in KB" $ring_kb 64 $room_kb ;;
		8192) expect_between "rings in KB with room for all" $ring_kb $((room_kb + 1)) 1000000 ;;
		esac
	done
	echo 0 >$locked
	refused "raise kernel.perf_event_mlock_kb .0 now. or ulimit -l" \
		sh -c "ulimit -l 0; exec $with_rights ./culprit-copy daemon -o theirs/db-none $settings --engine ring"
}
restore_settings
ctl() {
	culprit ctl --socket socket "$@"
}

# A database that cannot be written, and then can.
rm -rf db
mkdir db
mount -t tmpfs tmpfs db 2>/dev/null || skip "cannot mount a tmpfs here"
mount -o remount,ro db
# shellcheck disable=SC2086
refused "Read-only file system; --output names another database" culprit daemon -o db $socket_settings
mount -o remount,rw db
database=db
# shellcheck disable=SC2086
goes_on $usual culprit daemon -o db $socket_settings
