. "$SOURCE/tests/lib.sh"
need_command jq
# Every generic name is there once, and each says whether it is counted.
culprit events --json >events.json
jq -e '.schema == 1' events.json >schema
jq -e '[.events[] | select(.section == "hardware")] | length == 10' events.json >hardware
jq -e '[.events[] | select(.section == "cache")] | length == 32' events.json >cache
jq -e 'all(.events[]; (.counted | type) == "boolean" or .section == "number" or .counted == null)' events.json >counted
jq -e 'all(.events[] | select(.counted == false); .cause | length > 0)' events.json >causes
jq -e '[.events[] | select(.name == "cycles") | .cycles] == ["thread"]' events.json >thread
jq -e '[.events[] | select(.name == "ref-cycles") | .cycles] == ["ref"]' events.json >ref
culprit events encode --json '{cpu-clock,page-faults}:u' |
	jq -c '.events[] | [.name, .perf, .type, .config, .exclude_kernel, .leader, .unit]'
