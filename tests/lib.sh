# Helpers for the test scripts: . "$SOURCE/tests/lib.sh"

# A failed check says what was wrong and ends the test.
fail() {
	echo "failed: $*" >&2
	exit 1
}

# The machine cannot: not a pass, and the reason is shown.
skip() {
	echo "$*"
	exit 77
}

need_command() {
	for command_name; do
		command -v "$command_name" >/dev/null || skip "no $command_name here"
	done
}

need_root() {
	[ "$(id -u)" = 0 ] || skip "needs root"
}

# need_recording self|system: perf events of one's own programs, or of the whole machine
need_recording() {
	[ -e /proc/sys/kernel/perf_event_paranoid ] || skip "this kernel has no perf events"
	[ "$(id -u)" != 0 ] || return 0
	case $1 in
	self) paranoid_limit=2 ;;
	system) paranoid_limit=0 ;;
	esac
	paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
	[ "$paranoid" -le $paranoid_limit ] || skip "perf_event_paranoid is $paranoid and this is not root"
}

# expect_status STATUS COMMAND...
expect_status() {
	wanted_status=$1
	shift
	actual_status=0
	"$@" || actual_status=$?
	[ "$actual_status" = "$wanted_status" ] ||
		fail "'$*' ended with $actual_status, not $wanted_status"
}

# expect_equal WHAT ACTUAL WANTED
expect_equal() {
	[ "$2" = "$3" ] || fail "$1 is '$2', not '$3'"
}

# expect_between WHAT ACTUAL LOW HIGH, decimal numbers; an absent number fails.
expect_between() {
	awk -v actual="$2" -v low="$3" -v high="$4" 'BEGIN {
		number = "^-?[0-9]+([.][0-9]*)?([eE][-+]?[0-9]+)?$"
		exit !(actual ~ number && actual + 0 >= low + 0 && actual + 0 <= high + 0)
	}' || fail "$1 is '$2', outside $3 to $4"
}

# expect_match WHAT TEXT REGEX (extended)
expect_match() {
	printf '%s\n' "$2" | grep -Eq -- "$3" || fail "$1 does not match '$3': $2"
}

# ... | hide REGEX TEXT [REGEX TEXT]...: replaces what changes from run to run.
hide() {
	hide_script=
	while [ $# -gt 1 ]; do
		hide_script="$hide_script
s$(printf '\001')$1$(printf '\001')$2$(printf '\001')g"
		shift 2
	done
	sed -E "$hide_script"
}
