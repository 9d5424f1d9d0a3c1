# Mistakes in the options, and places that cannot be counted: one line each.
say() {
	echo "\$ culprit $*"
	status=0
	culprit "$@" 2>&1 || status=$?
	echo "-> $status"
}
say accuracy
say accuracy --probe main
say accuracy --probe a --probe b --probe c --probe d --probe e true
say accuracy --limit 0 --probe main true
say accuracy --probe main ./no-such-program
say accuracy --probe main --scale program true
say accuracy --truth exact --limit 5
