# Intervals: each has its own counts, and together they are those of the whole run.
# beside others
. "$SOURCE/tests/lib.sh"
need_recording self
# faults, evenly spread over some hundred milliseconds
cat >steps.py <<'END'
import mmap, time
for step in range(8):
    pages = mmap.mmap(-1, 4096 * 200)
    for page in range(200):
        pages[page * 4096] = 1
    pages.close()
    time.sleep(0.05)
END
python3 steps.py # what is in no cache at first takes more faults
culprit stat -q -u -e page-faults -x , -I 50 -o lines python3 steps.py
culprit stat -q -u -e page-faults -x , -o whole python3 steps.py
expect_between "intervals" "$(wc -l <lines)" 5 200
expect_between "page faults of all intervals, beside $(cut -d , -f 1 whole) of a whole run" \
	"$(awk -F , '$2 !~ /^</ { n += $2 } END { print n }' lines)" \
	"$(awk -F , '{ print $1 * 0.97 - 10 }' whole)" "$(awk -F , '{ print $1 * 1.03 + 10 }' whole)"
expect_equal "times rise" "$(cut -d , -f 1 lines | sort -nu | wc -l)" "$(wc -l <lines)"
several=$(awk -F , '$2 > 100' lines | wc -l)
[ "$several" -ge 2 ] || fail "all is in one interval: $(cat lines)"
# an object a line
culprit stat -q -u -e page-faults --json -I 50 -o lines python3 steps.py
python3 -c 'import json
lines = [json.loads(line) for line in open("lines")]
assert len(lines) >= 5
assert all(line["schema"] == 1 for line in lines)
assert abs(sum(line["elapsed_ns"] for line in lines) - lines[-1]["time_ns"]) < 1000 * len(lines), lines' ||
	fail "intervals do not add up"
# Threads that start and end while a group is read, which Linux refuses then
cat >threads.py <<'END'
import threading, time
end = time.time() + 1
while time.time() < end:
    threads = [threading.Thread(target=int) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
END
culprit stat -q -u -e '{task-clock,page-faults}' -x , -I 2 -o lines python3 threads.py || fail "threads that come and go"
expect_between "intervals while threads come and go" "$(grep -c task-clock lines)" 50 1000
# a delay: the loader and the interpreter are over
culprit stat -q -u -e page-faults -x , -D 10s -o delayed python3 steps.py
expect_equal "page faults after the end" "$(cut -d , -f 1 delayed)" "<not counted>"
# intervals and the duration begin when the delay is over
culprit stat -q -u -e page-faults -x , -D 120 -I 50 --duration 220ms -o lines sleep 10
expect_between "intervals after a delay" "$(wc -l <lines)" 1 5
expect_equal "times rise" "$(cut -d , -f 1 lines | sort -n)" "$(cut -d , -f 1 lines)"
[ "$(tail -n 1 lines | awk -F , '{ print ($1 >= 0.22) }')" = 1 ] || fail "counting ended before its time: $(cat lines)"
# A signal: what was counted is printed, and the command gets it too
culprit stat -q -u -e page-faults -x , -o interrupted sleep 100 &
stat=$!
tries=0
until pgrep -P $stat sleep >/dev/null || [ $tries -gt 500 ]; do
	sleep 0.02
	tries=$((tries + 1))
done
kill -TERM $stat
expect_status 143 wait $stat
expect_match "what was counted" "$(cat interrupted)" '^[0-9]+,,page-faults:u,'
