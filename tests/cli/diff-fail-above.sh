# 3 when something grew, significantly, by more than allowed
"$TOOLS/make-profile" build-before a
"$TOOLS/make-profile" build-after b
run() {
	echo "== $*"
	culprit diff "$@" 2>&1 >page || echo "status $?"
}
run a b --fail-above 10
run a b --fail-above 14
run a b --fail-above 50
run a b --fail-above 0
run b a --fail-above 5
run a a --fail-above 0
printf 'f 100\n' >f100
printf 'f 108\n' >f108
run f100 f108 --fail-above 5
run f100 f108 --fail-above 5 --counts samples
run f100 f108 --fail-above 5 --counts exact
run f100 f108 --fail-above 9 --counts exact
