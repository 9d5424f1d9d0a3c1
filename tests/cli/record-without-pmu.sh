# Hardware events on a machine without counters: said, and cpu-clock instead.
. "$SOURCE/tests/lib.sh"
culprit record -q -o probe.prof -- true 2>probe.err || skip "cannot record here: $(cat probe.err)"
culprit doctor --json >doctor.json || true
grep -q 'no hardware counters' doctor.json || skip "this machine has hardware counters"
culprit record -q -e '{cycles,instructions}:u' -c 100000 -o a.prof -- true 2>&1 | grep -v 'no samples'
culprit record -q -e cycles:k,cpu-clock -o b.prof -- true 2>&1 | grep -v 'no samples'
culprit report --json a.prof | jq -c '[.events[].name]'
culprit report --json b.prof | jq -c '[.events[].name]'
