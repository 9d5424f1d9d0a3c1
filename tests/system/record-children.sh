# A server whose workers run already: -p takes the process alone and says who below it worked,
# --children takes the workers, theirs, and what they make, each once.
. "$SOURCE/tests/lib.sh"
need_cpu_sampling

sh -c '
	"$KERNELS/busy" split 20 & echo $! >worker
	sh -c "\"\$KERNELS/busy\" split 20 & echo \$! >grandchild; wait" &
	"$KERNELS/busy" forks 100000 2 & echo $! >forking
	wait' &
server=$!
"$KERNELS/busy" split 20 &
stranger=$!
pids() {
	echo $server $stranger $(cat worker grandchild forking)
}
trap 'kill $(pids) 2>/dev/null || true' EXIT
for file in worker grandchild forking; do
	while [ ! -s $file ]; do sleep 0.01; done
done
worker=$(cat worker)
grandchild=$(cat grandchild)
forking=$(cat forking)

culprit record -F 500 -p $server --duration 500ms -o alone.prof 2>said
expect_equal "samples of the server alone" "$(samples alone.prof)" 0
expect_match "what was said" "$(cat said)" \
	"no samples: what was asked for used 0.00 s of CPU time itself, 4 processes below it|5 processes below it"
expect_match "what was said" "$(cat said)" "used [0-9]+\.[0-9]+ s \('(busy|sh)', process [0-9]+, [0-9.]+ s\): --children takes them too"
! grep -q "process $stranger," said || fail "it is below nobody: $(cat said)"

# At 500 a second, five samples a tick of 10 ms; the ticks are of a little more than the recording.
ticks() {
	awk '{ print $14 + $15 }' "/proc/$1/stat"
}
before_worker=$(ticks $worker)
before_grandchild=$(ticks $grandchild)
culprit record --quiet --per-process -F 500 -p $server --children --duration 1s -o all.prof 2>said
had_worker=$(($(ticks $worker) - before_worker))
had_grandchild=$(($(ticks $grandchild) - before_grandchild))
expect_between "samples of the worker" "$(samples all.prof 12 $worker)" $((had_worker * 5 / 4)) $((had_worker * 6 + 20))
expect_between "samples of the grandchild" "$(samples all.prof 12 $grandchild)" \
	$((had_grandchild * 5 / 4)) $((had_grandchild * 6 + 20))
others=$(($(samples all.prof) - $(samples all.prof 12 $worker) - $(samples all.prof 12 $grandchild)))
expect_between "samples of processes that were made meanwhile" "$((others - $(samples all.prof 12 $forking)))" 10 1200
expect_equal "samples of others" "$(samples all.prof 12 $stranger)" 0
! grep -q "below it" said || fail "all were taken: $(cat said)"
# Their CPU time is that of all that were sampled: the parent itself hardly has any.
took=$(culprit report --json all.prof | jq '(.scope.sampled_user_ns + .scope.sampled_system_ns) / 10000000 | floor')
expect_between "CPU time in ticks" "$took" $(((had_worker + had_grandchild) / 4)) 1000

# Several processes, one below the other: nobody is taken twice.
before_worker=$(ticks $worker)
culprit record --quiet --per-process -F 500 -p $server,$worker -p $worker --children --duration 500ms -o twice.prof
had_worker=$(($(ticks $worker) - before_worker))
expect_between "samples of the worker" "$(samples twice.prof 12 $worker)" $((had_worker * 5 / 4)) $((had_worker * 6 + 20))
# Beside what the process does itself, little work below it is worth no word.
culprit record --quiet -F 500 -p $worker --duration 200ms -o leaf.prof 2>said
! grep -q "below it" said || fail "nobody is below it: $(cat said)"

# It ends with the last of them: the parent first, which does not wait for its end.
kill $worker $forking $server
parent=$(awk '{ print $4 }' /proc/$grandchild/stat)
culprit record --quiet -F 500 -p "$parent" --children --merge-interval 10ms -o end.prof &
recording=$!
await_sampling $recording
kill "$parent"
while [ -e "/proc/$parent" ]; do sleep 0.01; done
before_grandchild=$(ticks $grandchild)
while [ "$(ticks $grandchild)" -lt $((before_grandchild + 20)) ]; do
	kill -0 $recording || fail "it ended before the last one below"
	sleep 0.01
done
kill $grandchild
expect_status 0 wait $recording
expect_between "samples until the end" "$(samples end.prof)" 50 100000
