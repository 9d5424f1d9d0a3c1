# The command's exit status is passed on; one that cannot run is said as env(1) says it.
# beside others
. "$SOURCE/tests/lib.sh"
need_cpu_sampling

expect_status 42 culprit record --quiet -F 100 -- sh -c 'exit 42' 2>err
expect_status 143 culprit record --quiet -F 100 -- sh -c 'kill -TERM $$' 2>err
expect_status 127 culprit record --quiet -F 100 -- ./no-such-program 2>err
expect_match "message" "$(cat err)" "^culprit: cannot run './no-such-program': No such file or directory\$"
echo text >text
expect_status 126 culprit record --quiet -F 100 -- ./text 2>err
expect_match "message" "$(cat err)" "^culprit: cannot run './text': Permission denied\$"
rm -rf culprit.prof*
expect_status 127 culprit record --quiet -F 100 -- ./no-such-program 2>err
[ ! -e culprit.prof ] && [ ! -e culprit.prof.open ] || fail "nothing was recorded, yet a file was left"

# SIGINT and SIGTERM end with a complete file, once culprit has taken them over (blocked them for its
# signalfd): before that one would be ignored, as in any background job, and the other kill it.
takes_signals() { # PID
	case $(sed -n 's/^SigBlk:[[:space:]]*//p' "/proc/$1/status") in
	*[4567cdef]??[2367abef]) return 0 ;; # SIGTERM and SIGINT
	esac
	return 1
}
for signal in INT TERM; do
	culprit record --quiet -a -F 100 -o $signal.prof &
	pid=$!
	for attempt in $(seq 500); do
		! takes_signals $pid || break
		sleep 0.02
	done
	takes_signals $pid || fail "SIGINT and SIGTERM were not taken over after 10 s"
	sleep 0.2
	kill -$signal $pid
	expect_status 0 wait $pid
	"$TOOLS/cells" $signal.prof >cells
	expect_match "profile" "$(cat cells)" "stored"
done
