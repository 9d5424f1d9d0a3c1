# What becomes of the command is passed on; one that cannot be run leaves nothing behind.
say() {
	echo "\$ culprit stat $*"
	status=0
	culprit stat -q -n -o said "$@" 2>&1 || status=$?
	echo "-> $status"
	[ ! -e said ] || echo "   said something"
	rm -f said
}
say no-such-command
say /
say -- sh -c 'exit 7'
say -- sh -c 'kill -9 $$'
say echo --frequency
say -p 4194304
say -r 3 sh -c 'exit 7'
say -r 3 no-such-command
say --cmd true --cmd false -r 2
say --cmd true --cmd no-such-command -r 2
# A second signal ends counting while the command, which asks for both, runs on: that is not its success.
say sh -c 'second() {
	kill -TERM $PPID
	while kill -0 $PPID 2>/dev/null; do sleep 0.01; done
	exit 0
}
trap second TERM
kill -TERM $PPID
while :; do sleep 0.01; done'
# a metric of numbers alone is no count that was not taken
culprit stat -q -x , -M '2*3' -o said true
cat said
