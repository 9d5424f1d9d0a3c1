# What becomes of the command is passed on, and nothing is left of what never ran.
. "$SOURCE/tests/lib.sh"
culprit record -q -o probe.prof -- true 2>probe.err || skip "cannot record here: $(cat probe.err)"
rm probe.prof
say() {
	echo "\$ culprit record $*"
	status=0
	said=$(culprit record -q "$@" 2>&1) || status=$?
	[ -z "$said" ] || echo "$said" | grep -v 'warning: no samples' || true
	echo "-> $status"
}
say -o not-found.prof no-such-command
say -o folder.prof /
say -o exit.prof -- sh -c 'exit 7'
say -o exit.prof -- sh -c 'exit 8' # the earlier profile is kept
say -o signal.prof -- sh -c 'kill -9 $$'
say -o options.prof echo --frequency
say -o gone.prof -p 4194304
ls
