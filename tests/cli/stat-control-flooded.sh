# --control under writers that never stop, write nonsense or do not read the answers: counting ends as it would
# without them. SIGTERM is no end here: a verb that hangs would not see it.
run() {
	status=0
	timeout -s KILL 100 culprit stat -q -n -o said "$@" || status=$?
	echo "-> $status"
}
echo 'pings without end'
yes ping | run --control fd:0 true
echo 'a line without end'
run --control fd:0 true </dev/zero
echo 'no text'
run --control fd:0 sh -c 'exit 7' </
echo 'nonsense'
printf 'twelve\n\nnonsense\nmore\nstop\n' | run --control fd:0 -p $$
echo 'too long'
{
	head -c 300 /dev/zero | tr '\0' x
	printf '\nstop\n'
} | run --control fd:0 -p $$
echo 'answers that nobody reads'
mkfifo answers
exec 7<>answers
# 20000 answers are more than a pipe holds
{
	yes ping | head -n 20000
	echo stop
} | run --control fd:0,7 -p $$
