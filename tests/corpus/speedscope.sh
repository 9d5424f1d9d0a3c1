. "$SOURCE/tests/lib.sh"
# Weights of speedscope files from elsewhere, stack by stack, against a reader of their own; and
# what our own export writes comes back the same.
# beside others
need_command python3
corpus="$SOURCE/../shared/corpus"
[ -d "$corpus/speedscope" ] || skip "no folder with outside recordings"

cat >wanted.py <<'EOF'
import collections, json, sys
document = json.load(open(sys.argv[1]))
names = [frame["name"] for frame in document["shared"]["frames"]]
factor = {"seconds": 10**9, "milliseconds": 10**6, "microseconds": 10**3}
stacks = collections.Counter()
for profile in document["profiles"]:
    scale = factor.get(profile["unit"], 1)
    if profile["type"] == "sampled":
        for frames, weight in zip(profile["samples"], profile["weights"]):
            stacks[";".join(names[f] for f in frames)] += round(weight * scale)
        continue
    stack, last = [], 0
    for event in profile["events"] + [{"type": "end", "at": profile["endValue"]}]:
        if stack and event["at"] > last:
            stacks[";".join(stack)] += round((event["at"] - last) * scale)
        last = event["at"]
        if event["type"] == "O":
            stack.append(names[event["frame"]])
        elif event["type"] == "C":
            assert stack.pop() == names[event["frame"]]
for stack in sorted(stacks):
    print(stack, stacks[stack])
EOF

checked=0
for file in "$corpus"/speedscope/*.json; do
	case $file in
	*/out-of-order-events.json)
		expect_status 1 culprit import -q "$file" -o bad.prof 2>message
		expect_match "$file" "$(cat message)" 'at byte [0-9]+: a frame closes that is not'
		continue
		;;
	esac
	culprit import -q "$file" -o one.prof
	culprit export -q --no-comm one.prof | LC_ALL=C sort >found
	python3 wanted.py "$file" | LC_ALL=C sort >wanted
	cmp found wanted || fail "$file: $(diff wanted found | head -4)"
	checked=$((checked + 1))
done
for file in "$corpus"/folded/*.txt "$corpus"/expected/stackcollapse-perf/*; do
	culprit import -q --one-count "$file" -o one.prof 2>/dev/null || continue
	culprit export -q -f speedscope one.prof -o one.json
	culprit import -q one.json -o two.prof
	for profile in one two; do
		culprit export -q $profile.prof | LC_ALL=C sort >$profile
	done
	cmp one two || fail "$file: $(diff one two | head -4)"
	checked=$((checked + 1))
done
echo "$checked files"
[ $checked -gt 20 ] || fail "only $checked files were there"
