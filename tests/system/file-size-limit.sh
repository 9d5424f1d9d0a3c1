# A file at its limit (ulimit -f): one sentence and nothing half-written, no death by SIGXFSZ.
# beside others
. "$SOURCE/tests/lib.sh"
"$TOOLS/make-profile" stacks in.prof
cp in.prof given
# limited BLOCKS COMMAND...: blocks of 512 bytes
limited() {
	blocks=$1
	shift
	(
		ulimit -f "$blocks"
		exec "$@"
	)
}
mkdir out
for verb in 'flame in.prof -o out/o' 'export -f json in.prof -o out/o' 'db merge out/o in.prof' \
	'import -o out/o given.folded'; do
	culprit export -f folded in.prof -o given.folded
	: >said
	expect_status 1 limited 1 culprit $verb 2>/dev/null
	limited 1 culprit $verb 2>said || true
	expect_match "the message of $verb" "$(cat said)" "cannot write 'out/o': File too large$"
	expect_equal "what $verb left" "$(ls -A out)" ""
done
# Output that is redirected, too.
expect_status 1 limited 1 culprit export -f json in.prof >out/o 2>/dev/null
rm out/o
need_cpu_sampling
# What cannot be written at the end stays where it was merged; what began is what ends.
status=0
limited 64 culprit record --quiet -F 999 -o out/p.prof -- "$KERNELS/busy" split 0.3 2>said || status=$?
[ $status -lt 2 ] || fail "status $status: $(cat said)"
if [ $status = 1 ]; then
	expect_match "the message" "$(tail -n 1 said)" "cannot write 'out/p.prof': File too large$"
	expect_equal "what is left" "$(ls -A out)" "p.prof.open"
	culprit check out/p.prof.open >check || fail "$(cat check)"
fi
rm -rf out/*
expect_status 1 limited 4 culprit record --quiet -o out/p.prof -- sh -c ': >began' 2>/dev/null
expect_equal "what a recording left that could not begin" "$(ls -A out)" ""
[ ! -e began ] || fail "the command ran although nothing could be recorded"
# The command has its signal.
status=0
limited 100 culprit record --quiet --no-stash -o out/p.prof -- sh -c 'dd if=/dev/zero of=big bs=1k count=200; exit $?' 2>/dev/null || status=$?
expect_between "status of a command that met the limit" $status 128 200
