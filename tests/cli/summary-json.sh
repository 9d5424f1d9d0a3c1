"$TOOLS/make-code-profile" x86 culprit.prof
culprit summary --json --limit 2 >out.json
cat out.json
# the rows are the whole
python3 - <<'END'
import json
d = json.load(open("out.json"))
rows = d["dynamic"]["subtotal"] + d["static"]["subtotal"] + d["execution"] + d["net_sampling_error"]
rows += d["delayed_interrupts"] + d["unknown"]
assert abs(rows - d["total"]) < 1e-6 * d["total"], (rows, d["total"])
assert abs(d["total_tallied"] - d["total"]) < 1e-6 * d["total"]
for name, cause in d["dynamic"].items():
    if isinstance(cause, dict):
        assert 0 <= cause["low"] <= cause["high"], name
END
