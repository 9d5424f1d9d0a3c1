# Processes and threads that run already: all threads of --pid, one alone of --tid; the end of
# all of them ends the recording.
# beside others
. "$SOURCE/tests/lib.sh"
need_cpu_sampling

"$KERNELS/busy" threads 3 60 &
pid=$!
trap 'kill $pid 2>/dev/null || true' EXIT
while [ "$(ls /proc/$pid/task | wc -l)" != 4 ]; do sleep 0.01; done
culprit record --quiet --per-thread -F 2000 -p $pid --duration 500ms -o threads.prof
for thread in worker-0 worker-1 worker-2; do
	expect_between "samples of $thread" "$(samples threads.prof 13 $thread)" 20 2000
done
expect_equal "samples of others" "$(samples threads.prof 12 $pid)" "$(samples threads.prof)"

tid=$(grep -lx worker-2 /proc/$pid/task/*/comm | cut -d / -f 5)
ticks() { # of CPU time that the thread had, ten milliseconds each
	awk '{ print $14 + $15 }' "/proc/$pid/task/$tid/stat"
}
before=$(ticks)
culprit record --quiet --per-thread -F 500 -t "$tid" --duration 1500ms -o thread.prof
expect_equal "samples of one thread" "$(samples thread.prof 13 worker-2)" "$(samples thread.prof)"
had=$(($(ticks) - before)) # while recording, and while it started and ended
expect_between "samples of one thread" "$(samples thread.prof)" $((had * 5 / 4)) $((had * 6 + 20))

# It ends soon after they do, however long that takes them.
kill $pid
wait $pid || true
"$KERNELS/busy" threads 3 2 &
pid=$!
culprit record --quiet -F 500 -p $pid -o end.prof &
recorder=$!
while kill -0 $pid 2>/dev/null; do sleep 0.05; done
ended=$(date +%s)
expect_status 0 wait $recorder
expect_between "seconds from their end" $(($(date +%s) - ended)) 0 5
wait $pid
expect_status 1 culprit record --quiet -p $pid 2>err
expect_match "message" "$(cat err)" "^culprit: there is no process $pid\$"
