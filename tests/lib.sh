# Helpers for the test scripts: . "$SOURCE/tests/lib.sh"

# A failed check says what was wrong and ends the test.
fail() {
	echo "failed: $*" >&2
	exit 1
}

# The test cannot run on this machine: not a pass, and the reason is shown.
skip() {
	echo "$*"
	exit 77
}

need_command() {
	for command_name; do
		command -v "$command_name" >/dev/null || skip "no $command_name here"
	done
}

# Limits of memory need our own malloc(), which a sanitizer replaces.
need_counted_memory() {
	need_command nm
	! nm "$CULPRIT" | grep -q -e __asan_init -e __tsan_init || skip "memory is not counted under a sanitizer"
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

# guard_setting FILE: what that setting of the kernel holds now comes back when this script has ended, also when
# a SIGKILL ends it: a process in a session of its own waits for that. Call it before the first change, and
# restore_settings in the trap of EXIT.
guarded_settings=
setting_guards=
guard_setting() {
	need_command python3 setsid
	guarded_value=$(cat "$1")
	guard_ready=$PWD/guarded-${1##*/}
	rm -f "$guard_ready"
	setsid python3 -c 'import os, select, sys
script, setting, value, ready = sys.argv[1:]
ended = os.pidfd_open(int(script))
os.chdir("/")
open(ready, "w").close()
select.select([ended], [], [])
with open(setting, "w") as file:
    file.write(value)' $$ "$1" "$guarded_value" "$guard_ready" </dev/null >/dev/null 2>"$guard_ready.said" &
	setting_guards="$setting_guards $!"
	guarded_settings="$guarded_settings $1=$guarded_value"
	until [ -e "$guard_ready" ]; do
		kill -0 $! 2>/dev/null || skip "no setting can be guarded here: $(tail -n 1 "$guard_ready.said")"
		sleep 0.01
	done
}

# restore_settings: writes back what the guarded settings held, and ends their guards
restore_settings() {
	for guarded_setting in $guarded_settings; do
		echo "${guarded_setting#*=}" >"${guarded_setting%%=*}" || return
	done
	guarded_settings=
	for setting_guard in $setting_guards; do
		kill "$setting_guard" 2>/dev/null || true
	done
	setting_guards=
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

# cpu_ms COMMAND...: the CPU time that it takes, the least of three runs, for a host that takes the
# CPU away adds to it; what it prints goes to the file `said`.
cpu_ms() {
	python3 -c 'import resource, subprocess, sys
def used_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
took_s = []
for run in range(3):
    before_s = used_s()
    with open("said", "w") as said:
        subprocess.run(sys.argv[1:], stdout=said, stderr=said, check=True)
    took_s.append(used_s() - before_s)
print(round(1000 * min(took_s)))' "$@"
}

# expect_growth WHAT SMALL LARGE MOST: of two times in ms, the second is not more than MOST times
# the first, or 20 ms, which is what a process takes to start.
expect_growth() {
	expect_between "$1 in ms, beside $2," "$3" 0 "$(awk -v ms="$2" -v most="$4" \
		'BEGIN { print (ms > 20 ? ms : 20) * most }')"
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

# make_open: the folder `open`, where every user may go and write, with culprit and busy in it
make_open() {
	chmod 755 . .. ../.. 2>/dev/null || true
	mkdir open
	chmod 777 open
	cp "$CULPRIT" "$KERNELS/busy" open
}

# is_without_kernel_counts MESSAGE: whether it says that this machine cannot count samples in the kernel. A program
# that is not loaded is culprit's fault where it names a version of Linux that this kernel has.
is_without_kernel_counts() {
	! printf '%s\n' "$1" | grep -q 'takes CAP_BPF\|takes a BPF program, and\|describe its types\|pid namespace' || return 0
	oldest_linux=$(printf '%s\n' "$1" | sed -n 's/.*does not load (.*; Linux \([0-9.]*\) and later can).*/\1/p')
	[ -n "$oldest_linux" ] &&
		[ "$(printf '%s\n' "$oldest_linux" "$(uname -r)" | sort -V | head -n 1)" != "$oldest_linux" ]
}

# Samples may be counted in the kernel (record --engine bpf).
need_kernel_counts() {
	culprit record -q -a --engine bpf -e cpu-clock -F 1000 --duration 200ms -o try.prof 2>err || {
		! is_without_kernel_counts "$(cat err)" || skip "$(cat err)"
		fail "$(cat err)"
	}
}

# The right to sample whole CPUs: tried once for all scripts of a run.
need_cpu_sampling() {
	rights=${SHARED:-.}/cpu-sampling # the reason why not; empty: it may
	if [ ! -e "$rights" ]; then
		trial=$(mktemp -d "$rights.XXXXXX")
		culprit record --quiet -a -c 1000003 --no-stash --duration 50ms -o "$trial/p" >"$trial/said" 2>&1 ||
			tail -n 1 "$trial/said" >"$trial/why"
		touch "$trial/why"
		mv "$trial/why" "$rights" # in one step: scripts that run beside this one read it
		rm -rf "$trial"
	fi
	[ ! -s "$rights" ] || skip "cannot sample whole CPUs here: $(cat "$rights")"
}

# await_sampling PID: until that recorder samples, or has ended. Events may be ones that it tried; its timers
# come last.
await_sampling() {
	while kill -0 "$1" 2>/dev/null && ! ls -l "/proc/$1/fd" 2>/dev/null | grep -q timerfd; do
		sleep 0.02
	done
}

# samples PROFILE [FIELD VALUE]...: how many samples the cells have whose fields are these;
# fields by number: 2 event, 3 kind of image, 4 image, 10 procedure, 11 comm, 12 pid, 13 thread,
# 14 CPU, 15 cgroup.
samples() {
	sum_of_cells 6 "$@"
}
# estimate PROFILE [FIELD VALUE]...: what they stand for, of which the periods that were drawn by
# chance are no part
estimate() {
	sum_of_cells 7 "$@"
}
sum_of_cells() {
	summed_field=$1
	samples_of=$2
	shift 2
	"$TOOLS/cells" "$samples_of" | awk -F '\t' -v wanted="$*" -v summed="$summed_field" '
		BEGIN { n = split(wanted, w, " ") }
		$1 == "cell" {
			for (i = 1; i < n; i += 2)
				if ($w[i] != w[i + 1])
					next
			sum += $summed
		}
		END { printf "%.0f\n", sum }'
}

# bill PROFILE ITEM: its sum over events and CPUs; ITEM may be a regular expression.
bill() {
	"$TOOLS/cells" "$1" | awk -F '\t' -v item="^($2)\$" '$1 == "bill" && $4 ~ item { sum += $5 }
		END { print sum + 0 }'
}

# ratio A B: A / B with four decimals; nothing when B is 0.
ratio() {
	awk -v a="$1" -v b="$2" 'BEGIN { if (b + 0) printf "%.4f\n", a / b }'
}

# The share of each place that the first branch of a function went to, lowest address first, in
# `cells`, what $TOOLS/cells printed: branch_shares ORIGIN FUNCTION
branch_shares() {
	awk -F '\t' -v origin="$1" -v name="$2" \
		'$1 == "edge" && $3 == origin && $8 == name && $12 == name { print $7, $11, $4 }' cells |
		sort | awk 'NR == 1 { first = $1 } $1 == first { n[NR] = $3; sum += $3; last = NR }
			END { for (i = 1; i <= last; i++) printf "%s%.4f", (i > 1 ? " " : ""), n[i] / sum }'
}

# expect_branch_shares ORIGIN TOLERANCE FUNCTION SHARE...: ORIGIN as the profile has it, 3 for
# interpreted branches and 4 for stepped ones
expect_branch_shares() {
	tolerance=$2
	function_name=$3
	found_shares=$(branch_shares "$1" "$3")
	shift 3
	expect_equal "places that the branch of $function_name went to" "$(echo "$found_shares" | wc -w)" $#
	for share; do
		expect_between "share of a place in $function_name" "${found_shares%% *}" \
			"$(awk -v s="$share" -v t="$tolerance" 'BEGIN { print s - t }')" \
			"$(awk -v s="$share" -v t="$tolerance" 'BEGIN { print s + t }')"
		found_shares=${found_shares#* }
	done
}
