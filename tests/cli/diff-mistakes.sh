"$TOOLS/make-profile" build-before a
"$TOOLS/make-profile" watch-before c
"$TOOLS/make-profile" empty e
printf 'f 1\n' >f
run() {
	echo "== diff $*"
	culprit diff "$@" 2>&1 || echo "status $?"
}
run
run a a a
run f
run a missing
run a c
run a a --per nobody
run a a --per nothing -e cycles
run f f --per second
run a a --sort size
run a a --by size
run a a --by image --inclusive
run a a --counts many
run a a --min 101
run a a --fail-above -1
run a a -e cycles -e branches
run a a --inclusive
run a a --host web8
run a a --base-host web8
run e c --per total
run e e
