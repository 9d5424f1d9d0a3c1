# A group recorded live by culprit and by perf at once, whose file is imported: chains, idle time, unknown
# frames, code made at run time and what each member counted go by the same rules. host/ compares.
# boots: exact
. "$LIB"
# In memory: time limits are over too early here when a file is waited for.
cp "$KERNELS/busy" "$KERNELS/two_loops" .
mkfifo control answer
perf record -q -k mono -g -a -e '{cycles,instructions}:S' -c 50021 --control fifo:control,answer -D -1 -o perf.data >perf.log 2>&1 &
recorder=$!
exec 3<>control 4<>answer
echo ping >control
read -r said <answer || fail "perf record: $(cat perf.log)"
cat >work.sh <<'END'
./busy jit 0.25 &
until cp /tmp/perf-$!.map . 2>/dev/null; do sleep 0.01; done # it goes with the program
./busy forks 40 5 &
./busy system 0.2 &
find /usr/lib -name '*.so' >/dev/null
sha256sum "$(command -v culprit)" >/dev/null
./two_loops
wait
END
culprit record -q -a --call-graph fp -e '{cycles,instructions}' -c 50021 -o live.prof -- sh -c '
	echo enable >control; read -r said <answer; sh work.sh; echo disable >control; read -r said <answer' >culprit.log 2>&1 ||
	fail "record: $(cat culprit.log)"
cat culprit.log
echo stop >control
wait $recorder || fail "perf record: $(cat perf.log)"
culprit import --limits none perf.data -o imported.prof
mkdir "$OUT/both"
for side in live imported; do
	for event in cycles instructions; do
		culprit export -q --all --limits none -e $event $side.prof -o "$OUT/both/$side-$event.ns"
	done
	culprit export -q --all --samples --limits none -e cycles $side.prof -o "$OUT/both/$side-cycles.samples"
done
