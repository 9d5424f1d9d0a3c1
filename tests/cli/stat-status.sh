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
