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
# The kernel writes a byte into each page, so all that a fault takes is its time: of a program that touches memory
# itself some virtual machines count half of that as the program's own.
cat >fault.py <<'END'
import mmap, os
page, pages = mmap.PAGESIZE, 1024
memory = mmap.mmap(-1, pages * page, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_NOHUGEPAGE)
bytes_of_pages = [memoryview(memory)[i * page : i * page + 1] for i in range(pages)]
zero = os.open("/dev/zero", os.O_RDONLY)
for turn in range(200):
    os.preadv(zero, bytes_of_pages, 0)
    memory.madvise(mmap.MADV_DONTNEED)
END
# (what a fault takes is found out only where the kernel takes more time than the program)
fault_share() {
	python3 -c 'import json
limit = json.load(open("said"))["limit"]
share = limit["page_fault_share_low"]
print(0 if share is None and limit["system_share"] <= 0.5 else share)'
}
expect_match "limit of a program that faults" "$(kind python3 fault.py)" '^(page-faults|crowded|off-cpu)$'
expect_between "its page faults' share of the kernel's time" "$(fault_share)" 0.5 3
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
