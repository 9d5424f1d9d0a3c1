# The command's exit status is passed on; one that cannot run is said as env(1) says it.
. "$SOURCE/tests/lib.sh"
need_cpu_sampling

expect_status 42 culprit record --quiet -F 100 -- sh -c 'exit 42' 2>err
expect_status 143 culprit record --quiet -F 100 -- sh -c 'kill -TERM $$' 2>err
expect_status 127 culprit record --quiet -F 100 -- ./no-such-program 2>err
expect_match "message" "$(cat err)" "^culprit: cannot run './no-such-program': No such file or directory\$"
echo text >text
expect_status 126 culprit record --quiet -F 100 -- ./text 2>err
expect_match "message" "$(cat err)" "^culprit: cannot run './text': Permission denied\$"
rm -f culprit.prof*
expect_status 127 culprit record --quiet -F 100 -- ./no-such-program 2>err
[ ! -e culprit.prof ] && [ ! -e culprit.prof.open ] || fail "nothing was recorded, yet a file was left"

# SIGINT and SIGTERM end with a complete file.
for signal in INT TERM; do
	culprit record --quiet -a -F 100 -o $signal.prof &
	pid=$!
	sleep 0.7
	kill -$signal $pid
	expect_status 0 wait $pid
	"$TOOLS/cells" $signal.prof >cells
	expect_match "profile" "$(cat cells)" "stored"
done
