# What a command took, as the kernel counts it, children included; of running processes what they
# took meanwhile. The samples' time agrees with it.
# beside others
. "$SOURCE/tests/lib.sh"
need_cpu_sampling
scope() { culprit report --json "$1" | jq ".scope.$2"; }

culprit record --quiet -F 500 -o command.prof -- sh -c "\"$KERNELS/call_chain\" 0.5; :"
elapsed=$(scope command.prof command_elapsed_ns)
user=$(scope command.prof command_user_ns)
system=$(scope command.prof command_system_ns)
sampled=$(culprit report --json command.prof | jq '.events[0].total')
expect_between "user and system time of the elapsed" "$(ratio $((user + system)) "$elapsed")" 0.001 1.05
expect_between "user time in ms" $((user / 1000000)) 20 60000
case $(culprit report command.prof | sed -n 's/^event *\([a-z-]*\).*/\1/p') in
cpu-clock) expect_between "samples of the CPU time" "$(ratio "$sampled" $((user + system)))" 0.7 1.3 ;;
esac
expect_equal "what was sampled" "$(scope command.prof sampled_user_ns)" "$user"

# The machine's samples are not the command's.
culprit record --quiet -a -F 500 -o all.prof -- "$KERNELS/busy" threads 1 0.3
expect_between "user time in ms" $(($(scope all.prof command_user_ns) / 1000000)) 10 60000
expect_equal "what was sampled of all" "$(scope all.prof sampled_user_ns)" null

"$KERNELS/busy" threads 1 100 &
pid=$!
trap 'kill $pid 2>/dev/null || true' EXIT
while [ "$(ls /proc/$pid/task | wc -l)" != 2 ]; do sleep 0.01; done
culprit record --quiet -F 500 -p $pid --duration 500ms -o process.prof
expect_equal "command" "$(scope process.prof command_elapsed_ns)" null
took=$(($(scope process.prof sampled_user_ns) + $(scope process.prof sampled_system_ns)))
expect_between "CPU time in ms" $((took / 1000000)) 10 800
# What it takes while the recording is being written is none of this: one thread has no more CPU
# time than passes, to the kernel's ticks.
# A machine that stands still in between adds to it, but seldom three times.
for attempt in 1 2 3; do
	over=0
	for i in 1 2 3 4 5; do
		culprit record --quiet -F 500 -p $pid --duration 50ms -o short.prof
		over=$((over + $(scope short.prof sampled_user_ns) + $(scope short.prof sampled_system_ns) - $(scope short.prof duration_ns)))
	done
	[ $over -gt 60000000 ] || break
done
expect_between "CPU time in ms beyond the recordings'" $((over / 1000000)) -100000 60
# One that is gone at the end has no known time. It is by then: the shell has waited for it meanwhile.
sleep 1000 &
ending=$!
trap 'kill $pid $ending 2>/dev/null || true' EXIT
culprit record --quiet -F 500 -p $ending,$pid --duration 1500ms -o gone.prof &
recorder=$!
await_sampling $recorder
kill $ending
wait $ending || true
wait $recorder
expect_equal "CPU time of one that ended" "$(scope gone.prof sampled_user_ns)" null
