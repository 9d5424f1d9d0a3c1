"$TOOLS/make-code-profile" x86 culprit.prof
try() {
	culprit export "$@" 2>&1 && echo "not refused: $*"
	echo "status $?"
}
try
try -e nothing
try --format firefox
try --format svg
try --no-comm --tid
try -e cycles -o nowhere/file
printf 'a;b 1\n' >stacks
try --samples stacks
try missing.prof
# one name, two events
culprit import -q -e cycles:u stacks -o user.prof
culprit import -q -e cycles:k stacks -o kernel.prof
try -e cycles user.prof kernel.prof
try -e cycles:k,cycles:u user.prof kernel.prof
try --format pprof --pid user.prof
try --format callgrind --event cycles
try --format pixie --samples
