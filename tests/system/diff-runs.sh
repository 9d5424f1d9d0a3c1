# Three real recordings of one program against three more: its loop is not called changed; against
# three with five times the work its loop is. spread says the same of all six.
# beside others
. "$SOURCE/tests/lib.sh"
need_recording self

# record FILE TURNS: CPU time, so that other processes change little; 0.2 s each
record() {
	culprit record -q -e cpu-clock -F 2000 -o "$1" -- "$KERNELS/turns" "$2" 2>err || fail "$(cat err)"
}
# in turn, or what the machine does meanwhile would be a difference
record_all() {
	for run in 1 2 3; do
		record "a$run.prof" 2000
		record "b$run.prof" 2000
		record "c$run.prof" 10000
	done
}
cat >verdicts.py <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
noise = d["noise"]
assert noise["between_runs"] and noise["before_runs"] == noise["after_runs"] == 3, noise
for row in d["rows"]:
    print(row["procedure"], row["changes"][0]["verdict"])
END
# One of twenty such comparisons of equal runs may call a row changed; three in a row do not.
for attempt in 1 2 3; do
	record_all
	culprit diff --image turns --json a1.prof a2.prof a3.prof -- b1.prof b2.prof b3.prof >same.json
	python3 verdicts.py same.json >same
	! grep -q "^loop_4 noise" same || break
done
# rows of the program alone: few, so that few degrees of freedom are enough
culprit diff a1.prof a2.prof a3.prof -- c1.prof c2.prof c3.prof --image turns --json >more.json
python3 verdicts.py more.json >more
grep -q "^loop_4 noise" same || fail "equal runs differ: $(cat same)"
grep -q "^loop_4 significant" more || fail "five times the work is no difference: $(cat more)"

# of what has some share at all: by range a row of four samples may come first, and rightly
culprit spread --causes 0 --min 1 --image turns --json a?.prof c?.prof >spread.json
python3 - <<'END'
import json
d = json.load(open("spread.json"))
assert [run["counted"] for run in d["runs"]] == [True] * 6
first = d["rows"][0]
assert first["procedure"] == "loop_4" and first["verdict"] == "varies" and first["max_run"] > 3, first
assert first["n"] == 6 and abs(sum(first["values"]) - first["sum"]) <= 1e-6 * first["sum"]
END
