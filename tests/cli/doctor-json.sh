. "$SOURCE/tests/lib.sh"
need_command jq
status=0
culprit doctor --json >doctor.json || status=$?
# The status is the verdict.
case $status in
0) jq -e '.can_record == true and (.default_event | length > 0)' doctor.json >ok ;;
3) jq -e '.can_record == false and .default_event == null' doctor.json >ok ;;
*) fail "doctor ended with $status" ;;
esac
jq -e '.schema == 1 and (.verdict | length > 0)' doctor.json >schema
jq -e 'all(.findings[]; .key and .what and (.state | IN("ok", "limit", "stop", "unknown")))' doctor.json >findings
# An entry that costs nothing has nothing to cure.
jq -e 'all(.findings[]; .state != "ok" or (.costs == null and .cure == null))' doctor.json >cures
# What costs something says what; a stop is what the exit status says.
jq -e 'all(.findings[]; .state != "limit" or .costs != null)' doctor.json >costs
jq -e '(.findings | map(.key) | unique | length) == (.findings | length)' doctor.json >once
for key in paranoid capabilities seccomp helpers kernel-names btf bpf counters sample-cost sample-rate \
	stack-depth ring-memory kernel processor smt governor turbo; do
	jq -e --arg key $key 'any(.findings[]; .key == $key)' doctor.json >found || fail "no entry '$key'"
done
