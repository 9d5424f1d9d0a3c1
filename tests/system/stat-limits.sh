# What limits a run, of programs that are limited by one thing; and their controls.
. "$SOURCE/tests/lib.sh"
need_recording self
need_command python3
kind() {
	culprit stat -q --json -e task-clock,page-faults -o said -- "$@"
	python3 -c 'import json; print(json.load(open("said"))["limit"]["kind"])'
}
# long enough that no rival can have kept it from a CPU
expect_equal "limit of sleep" "$(kind sleep 0.7)" waiting
cat >spin.py <<'END'
import time
end = time.process_time() + 0.3
while time.process_time() < end:
    sum(range(10000))
END
# others may have the CPU; it never waits, and is never the kernel's
expect_match "limit of a program that computes" "$(kind python3 spin.py)" '^(cpu|nothing-clearly|crowded|off-cpu)$'
# what culprit measures as a page fault's cost: small private memory, given back again
cat >fault.py <<'END'
import ctypes, mmap
for turn in range(3000):
    pages = mmap.mmap(-1, 512 << 10, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    pages.madvise(mmap.MADV_NOHUGEPAGE)
    ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(pages)), 1, 512 << 10)
END
fault_share() {
	python3 -c 'import json; print(json.load(open("said"))["limit"]["page_fault_share_low"])'
}
kernel_share() {
	python3 -c 'import json; d = json.load(open("said")); print(d["system_ns"] / (d["user_ns"] + d["system_ns"]))'
}
is_between() { # VALUE LOW HIGH
	awk -v value="$1" -v low="$2" -v high="$3" 'BEGIN { exit !(value >= low && value <= high) }'
}
# What a fault costs is measured beside others, who may have the CPU.
for try in 1 2 3; do
	limit=$(kind python3 fault.py)
	share=$(fault_share)
	case $limit in
	page-faults | crowded | off-cpu) ! is_between "$share" 0.5 3 || break ;;
	esac
done
# In some virtual machines half of what a fault takes counts as the program's own time: then it may be no limit.
if is_between "$(kernel_share)" 0.6 1; then
	expect_match "limit of a program that faults" "$limit" '^(page-faults|crowded|off-cpu)$'
else
	echo "kernel's share of a program that faults: $(kernel_share)"
	expect_match "limit of a program that faults" "$limit" '^(page-faults|nothing-clearly|cpu|crowded|off-cpu)$'
fi
expect_between "its page faults' share of the kernel's time" "$share" 0.5 3
expect_match "limit of one that copies nothing to nowhere" "$(kind dd if=/dev/zero of=/dev/null bs=1 count=500000 2>/dev/null)" \
	'^(kernel|nothing-clearly|cpu|crowded|off-cpu)$'
expect_between "its page faults' share of the kernel's time" "$(fault_share)" 0 0.1
# one that somebody else started, and that does not run at all
sleep 30 &
sleeper=$!
culprit stat -q --json -e task-clock,page-faults -o said -p $sleeper sleep 0.2
kill $sleeper
expect_match "limit of a process that sleeps" "$(python3 -c 'import json; print(json.load(open("said"))["limit"]["kind"])')" '^(waiting|off-cpu)$'
# times of the whole run are no part of what is counted after a delay
culprit stat -q --json -n -D 50 -o said -- sleep 0.1
expect_equal "user time after a delay" "$(python3 -c 'import json; print(json.load(open("said"))["user_ns"])')" None
