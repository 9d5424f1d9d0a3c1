# For tests of a running daemon, after tests/lib.sh: daemon ARGUMENT... starts one in ./db with its
# socket ./socket, waits until it samples, and $daemon is its process; ctl REQUEST... asks it.
need_recording system
daemon=
clean_daemon() {
	# One that is stopped takes no other signal.
	[ -z "$daemon" ] || kill -KILL "$daemon" 2>/dev/null || true
}
trap clean_daemon EXIT

ctl() {
	culprit ctl --socket socket "$@"
}

# state: what the daemon says that it does; "gone" when nobody answers
state() {
	ctl status --json 2>/dev/null | sed -n 's/^ *"state":"\(.*\)",$/\1/p' | grep . || echo gone
}

# await_state STATE [SECONDS]
await_state() {
	for i in $(seq $((${2:-20} * 10))); do
		[ "$(state)" != "$1" ] || return 0
		sleep 0.1
	done
	fail "the daemon is not $1 but $(state): $(cat daemon.said)"
}

daemon() {
	culprit daemon --config /dev/null -o db --socket socket -e cpu-clock "$@" 2>daemon.said &
	daemon=$!
	await_state sampling
	await_figure epoch_seconds 0
}

# figure NAME: a number of the daemon's status; nothing when it is not known
figure() {
	ctl status --json | sed -n "s/^ *\"$1\":\\(-\\{0,1\\}[0-9.e+-]*\\),\\{0,1\\}\$/\\1/p"
}

# await_figure NAME LEAST: until the figure is larger
await_figure() {
	for i in $(seq 200); do
		! awk -v value="$(figure "$1")" -v least="$2" \
			'BEGIN { exit !(value != "" && value + 0 > least + 0) }' || return 0
		sleep 0.1
	done
	fail "$1 did not become more than $2: $(ctl status --json)"
}

# stop: asks it to, and waits until it is gone
stop() {
	ctl stop
	stopped_status=0
	wait "$daemon" || stopped_status=$?
	daemon=
	[ "$stopped_status" = 0 ] || fail "the daemon ended with $stopped_status: $(cat daemon.said)"
}

# samples_in_all: of all epochs that the database has, as far as they are merged
samples_in_all() {
	culprit db list --samples --json db | sed -n 's/^ *"samples":\([0-9]*\),\{0,1\}$/\1/p' |
		awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}

# epochs [ARGUMENT...]: how many the database has
epochs() {
	culprit db list --json db "$@" | grep -c '"epoch":' || true
}
