# Repeated runs: means with their intervals; two commands that differ are told apart, and one from itself is not.
# beside others
. "$SOURCE/tests/lib.sh"
need_recording self
need_command python3
culprit stat -q -u -e page-faults -r 12 --json -o one true
culprit stat -q -u -e page-faults -r 12 --warmup 1 --json -o differ --cmd /bin/true --cmd 'sh -c "/bin/true; exit"'
culprit stat -q -u -e page-faults -r 12 --json --seed 7 -o same --cmd /bin/true --cmd /bin/true
python3 - <<'END' || fail "see above"
import json
def of(name):
    return json.load(open(name))
one = {m["measure"]: m for m in of("one")["commands"][0]["measures"]}["page-faults:u"]
assert len(one["values"]) == one["counted"] == 12, one
assert min(one["values"]) == one["least"] <= one["mean"] <= one["most"] == max(one["values"]), one
assert one["mean_low"] <= one["mean"] <= one["mean_high"], one
assert abs(sum(one["values"]) / 12 - one["mean"]) < 1e-6 * one["mean"], one
differ = of("differ")
verdict = [c for c in differ["comparisons"] if c["main"]]
assert len(verdict) == 1 and verdict[0]["measure"] == "page-faults:u", verdict
# a shell and a process more
assert verdict[0]["verdict"] == "more" and 0.5 < verdict[0]["change"] < 20, verdict
assert verdict[0]["change_low"] <= verdict[0]["change"] <= verdict[0]["change_high"], verdict
same = of("same")
assert same["seed"] == 7 and same["rounds"] == 12
verdict = [c for c in same["comparisons"] if c["main"]][0]
# found by chance in one of 20 runs of this test; ten times as much is no chance
assert verdict["verdict"] == "not_found" or abs(verdict["change"]) < 0.05, verdict
END
