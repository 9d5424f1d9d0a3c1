# A recorder that is stopped for seconds goes on afterwards: the rings lose what they have no room for,
# and count it; the table of the BPF engine has room for it, and loses nothing. One that was not
# stopped says how much there was.
. "$SOURCE/tests/lib.sh"
need_recording system
(while :; do "$KERNELS/two_loops" 100000000; done) >/dev/null &
one=$!
(while :; do "$KERNELS/two_loops" 100000000; done) >/dev/null &
other=$!
recorders=
# One that is stopped takes no other signal.
trap 'kill $one $other 2>/dev/null || true; [ -z "$recorders" ] || kill -KILL $recorders 2>/dev/null || true' EXIT

# begin NAME ARGUMENT...: a recording of six seconds in the background
begin() {
	name=$1
	shift
	culprit record -q -a -e cpu-clock -c 500000 --duration 6s -o "$name.prof" "$@" 2>"$name.said" &
	recorders="$recorders $!"
}
begin control
begin ring --mmap-pages 16
stopped=$!
tables=
if culprit record -q -a --engine bpf -e cpu-clock -F 1000 --duration 100ms -o try.prof 2>try.said; then
	begin table --engine bpf
	tables=$!
	stopped="$stopped $tables"
fi
for recorder in $recorders; do
	await_sampling "$recorder"
done
sleep 1
kill -STOP $stopped
sleep 3
kill -CONT $stopped
for recorder in $recorders; do
	wait "$recorder" || fail "a recorder ended with $?: $(cat ./*.said)"
done
recorders=

expect_equal "lost by one that was not stopped" "$(bill control.prof 'lost.*')" 0
there=$(bill control.prof stored)
echo "there were $there; rings: $(bill ring.prof 'stored|lost_ring'); table: $([ -z "$tables" ] || bill table.prof stored)"
expect_between "samples" "$there" 1000 1000000
lost=$(bill ring.prof lost_ring)
expect_between "lost by rings, in percent" "$((lost * 100 / there))" 25 70
expect_between "stored and lost by rings, in percent" "$(((lost + $(bill ring.prof stored)) * 100 / there))" 92 108
expect_match "what is said" "$(cat ring.said)" "$lost samples were lost because a buffer was full"
[ -n "$tables" ] || skip "of the table: $(cat try.said)"
expect_equal "lost by the table" "$(bill table.prof 'lost.*')" 0
expect_between "stored by the table, in percent" "$(($(bill table.prof stored) * 100 / there))" 92 108
