# A disk that is full while epochs end: recording goes on, says so once, loses nothing that was merged, and
# goes on writing when there is room again.
# beside others
. "$SOURCE/tests/lib.sh"
need_root
culprit record -q -o probe.prof -- true 2>probe.err || skip "cannot record here: $(cat probe.err)"
mkdir small
mount -t tmpfs -o size=2m tmpfs small 2>/dev/null || skip "cannot mount a tmpfs here"
trap 'umount small' EXIT
culprit record --no-stash -e cpu-clock -F 500 --label full --epoch 1s -o small/db -- sh -c '
	closed() { ls small/db/*/*.prof 2>/dev/null | wc -l; }
	until [ "$(closed)" -ge 2 ]; do sleep 0.1; done
	dd if=/dev/zero of=small/filler bs=4k 2>/dev/null
	i=0; while [ $i -lt 45 ]; do i=$((i + 1)); sleep 0.1; done
	full=$(closed)
	rm small/filler
	until [ "$(closed)" -gt "$((full + 1))" ]; do sleep 0.1; done' 2>said
expect_match "what was said" "$(cat said)" "No space left on device.*again"
expect_equal "how often each was said" "$(grep -c 'No space left on device' said | awk '{ print ($1 <= 3) }')" 1
culprit check small/db >checked || { cat checked; exit 1; }
expect_equal "open epochs" "$(find small/db -name '*.open' | wc -l)" 0
# Nothing is missing in between: the epochs follow each other without a hole.
culprit db list --json small/db >list
python3 - <<'PYTHON'
import json
epochs = json.load(open("list"))["epochs"]
for before, after in zip(epochs, epochs[1:]):
    hole = after["start_ns"] - before["start_ns"] - before["duration_ns"]
    assert abs(hole) < 2e9, (before["epoch"], after["epoch"], hole)
assert all(epoch["labels"] == ["full"] for epoch in epochs)
PYTHON
