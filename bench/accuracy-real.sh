# How near executions that are estimated from samples of this processor come to exact counts, of
# the nine programs, with the branches that were interpreted and without them, up to one factor a
# procedure. CULPRIT_TRUTH names a folder that bench/accuracy/truth.sh has filled on this machine;
# each program runs ACCURACY_RUNS (8) times, some minutes in all; ACCURACY_RECORD are more options
# of record, as --bursts=50.
. "$SOURCE/tests/lib.sh"
[ -n "${CULPRIT_TRUTH:-}" ] ||
	skip "CULPRIT_TRUTH names no folder that bench/accuracy/truth.sh has filled"
need_command bash
need_recording self
bash "$SOURCE/bench/accuracy/real.sh" "$CULPRIT_TRUTH"
