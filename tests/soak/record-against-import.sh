# The same seconds recorded live by culprit and by perf, whose file is imported: what lies where, the calls
# around it, what is unknown and what was made at run time go by the same rules, so that every procedure,
# frame and stack agrees within what two counts can differ. COMPARE_SECONDS (12; the long form is 30) of it.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/compiling.sh"
need_command perf python3
need_root

period=1105579 # ns, prime, and far from every fraction of the 4 ms tick
seconds=${COMPARE_SECONDS:-12}
mkfifo control answer
perf record -q -k mono -g -a -e cpu-clock:I -c $period --control fifo:control,answer -D -1 -o probe.data -- true >/dev/null 2>&1 ||
	skip "perf cannot record cpu-clock system-wide here, or has no --control"

cat >script.js <<'END'
function leaf(n) { let s = 0; for (let i = 0; i < n; i++) s += i % 7; return s; }
function middle(n) { return n ? middle(n - 1) + leaf(2000) : leaf(2000); }
for (;;) middle(20);
END
workers=
start() {
	"$@" >/dev/null 2>&1 &
	workers="$workers $!"
}
stop() {
	kill $workers 2>/dev/null || true
	for worker in $workers; do rm -f "/tmp/perf-$worker.map"; done
}
trap stop EXIT
# forks and executions, a long-lived process, threads, code made at run time with names and without
start compile
start compress
start "$KERNELS/busy" threads 2 $((seconds + 60))
start "$KERNELS/busy" jit $((seconds + 60))
if command -v node >/dev/null; then
	start node --perf-basic-prof script.js
	start node script.js # its code has no names
fi
sleep 2

# Both record while the command runs: perf is ready, and told when.
perf record -q -k mono -g -a -e cpu-clock:I -c $period --control fifo:control,answer -D -1 -o perf.data >perf.log 2>&1 &
recorder=$!
exec 3<>control 4<>answer
echo ping >control
read -r said <answer || fail "perf record: $(cat perf.log)"
culprit record -q -a --call-graph fp --per-thread -e cpu-clock -F 1000 -o live.prof -- sh -c "
	echo enable >control; read -r said <answer; sleep $seconds; echo disable >control; read -r said <answer" >culprit.log 2>&1 ||
	fail "record: $(cat culprit.log)"
echo stop >control
wait $recorder || fail "perf record: $(cat perf.log)"
for worker in $workers; do # maps are read where they lie beside a recording
	! [ -e "/tmp/perf-$worker.map" ] || cp "/tmp/perf-$worker.map" .
done
stop
culprit import -q --limits none perf.data -o imported.prof || fail "perf's file was not imported"

for side in live imported; do
	culprit export -q --all --limits none $side.prof -o $side.ns
	culprit export -q --all --samples --limits none $side.prof -o $side.samples
done
# What a recorder does itself before it starts its command, as it reads which files are mapped, perf does not see.
python3 "$SOURCE/tests/soak/compare-folded.py" --before=culprit live imported || fail "what was recorded live and what was imported disagree"
# The comparison can tell when they do not.
python3 "$SOURCE/tests/soak/compare-folded.py" --spoil --before=culprit live imported >spoiled && fail "a spoiled profile agrees, too: $(cat spoiled)"
true
