# Two recordings of the whole machine into one database would count everything twice: the second is refused.
# One of a process may be beside it.
# beside others
. "$SOURCE/tests/lib.sh"
need_root
culprit record -q -o probe.prof -a --duration 0.1s 2>probe.err || skip "cannot record here: $(cat probe.err)"
culprit record -a -q -e cpu-clock -F 100 --epoch 60s --duration 60s -o db 2>said &
first=$!
until ls db/*/*.open >/dev/null 2>&1; do
	kill -0 $first 2>/dev/null || { cat said; exit 1; }
	sleep 0.1
done
expect_status 1 culprit record -a -q -e cpu-clock -F 100 --epoch 60s --duration 1s -o db 2>refused
expect_match "why" "$(cat refused)" "process [0-9]+ records host '.*' into database 'db' already"
culprit record -q -e cpu-clock -F 100 --epoch 60s -o db -- true 2>/dev/null
kill -9 $first
wait $first 2>/dev/null || true
# Helpers of the killed one may live a moment longer.
tries=0
until culprit record -a -q -e cpu-clock -F 100 --epoch 60s --duration 0.2s -o db 2>again; do
	tries=$((tries + 1))
	[ $tries -lt 50 ] || { cat again; exit 1; }
	sleep 0.1
done
