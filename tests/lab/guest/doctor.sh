# What culprit says of this machine: its PMU, its core, and what it would record.
# boots: exact exact-6.12
. "$LIB"
culprit doctor >text
cat text
grep -q 'armv8_pmuv3' text || fail "the PMU is not named"
culprit doctor --json >json
grep -q '"can_record":true' json || fail "recording is said not to work"
grep -q '"default_event":"{cycles,instructions}"' json || fail "the default is not cycles and instructions"
grep -q '"counters":[67]' json || fail "not 6 or 7 counters"
grep -q '"midr":1095749825' json || fail "not the core that is emulated"
