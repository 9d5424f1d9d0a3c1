# Running processes, threads and CPUs: what they did while they were counted, and nothing else.
# beside others
. "$SOURCE/tests/lib.sh"
need_recording self
# a process that faults 100 times for each line that it reads, in a thread of its own
cat >faulter.py <<'END'
import mmap, sys, threading
def work():
    for line in sys.stdin:
        pages = mmap.mmap(-1, 4096 * 100)
        for page in range(100):
            pages[page * 4096] = 1
        pages.close()
        print("done", flush=True)
thread = threading.Thread(target=work, name="worker")
thread.start()
thread.join()
END
mkfifo to from
python3 faulter.py <to >from &
pid=$!
exec 3>to 4<from
trap 'kill $pid 2>/dev/null || true' EXIT
turn() {
	echo go >&3
	read -r answer <&4
}
turn
mkfifo ctl ack
exec 5<>ctl 6<>ack
culprit stat -q -x , -e page-faults --control fd:5,6 -D -1 -p $pid -o counted &
stat=$!
order() {
	echo "$1" >&5
	read -r answer <&6
	expect_equal "answer to $1" "$answer" ack
}
order ping
turn
order enable
turn
turn
turn
order disable
turn
order stop
wait $stat
# THP may join pages of a mapping this small only by khugepaged
expect_between "page faults of 3 turns of 100" "$(cut -d , -f 1 counted)" 280 345
# each thread by itself
tid=$(ls /proc/$pid/task | grep -v "^$pid\$")
culprit stat -q -x , -e page-faults --per-thread -p $pid -o counted --control fd:5,6 &
stat=$!
order ping
turn
order stop
wait $stat
expect_equal "rows" "$(wc -l <counted)" 2
expect_between "page faults of the thread that works" "$(grep -- "-$tid," counted | cut -d , -f 2)" 90 125
expect_equal "page faults of the other" "$(grep -- "-$pid," counted | cut -d , -f 2 | grep -v '^<' || echo 0)" 0
# one thread alone
culprit stat -q -x , -e page-faults -t "$tid" -o counted --control fd:5,6 &
stat=$!
order ping
turn
order stop
wait $stat
expect_between "page faults of the thread" "$(cut -d , -f 1 counted)" 90 125
# the end of what is watched ends counting
culprit stat -q -x , -e page-faults -p $pid -o counted --control fd:5,6 3>&- &
stat=$!
order ping # it counts by now
exec 3>&-
wait $stat
[ -s counted ] || fail "nothing was printed of a process that ended"
# what several processes may use together, each on a CPU of its own
if [ "$(nproc)" -ge 2 ] && command -v taskset >/dev/null; then
	cpus=$(taskset -cp $$ | sed 's/.*: //; s/[-,]/ /g')
	taskset -c "${cpus%% *}" sleep 60 &
	first=$!
	taskset -c "${cpus##* }" sleep 60 &
	second=$!
	trap 'kill $pid $first $second 2>/dev/null || true' EXIT
	tries=0
	until [ "$(cat /proc/$first/comm /proc/$second/comm | sort -u)" = sleep ] || [ $tries -gt 500 ]; do
		sleep 0.02
		tries=$((tries + 1))
	done
	culprit stat -q -n --json --duration 50ms -p $first,$second -o counted
	expect_match "CPUs that both may use" "$(grep '"cpus":' counted | head -n 1)" ':2,$'
fi
