# Static schedules of basic blocks: instructions a second.
"$(dirname "$CULPRIT")/../../bench/bench-schedule"
