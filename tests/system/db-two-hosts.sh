# Two hosts record into databases of their own, and these are copied into one meanwhile, and by rsync where that
# is: the copies read as one, with nothing torn and nothing twice.
# beside others
. "$SOURCE/tests/lib.sh"
need_root
culprit record -q -o probe.prof -- true 2>probe.err || skip "cannot record here: $(cat probe.err)"
unshare --uts true 2>/dev/null || skip "cannot give a process another host name here"
of_host() {
	exec unshare --uts sh -c 'hostname "$1"; shift; exec "$@"' sh "$@"
}
of_host web7 culprit record -a -q -e cpu-clock -F 200 --epoch 1s --duration 5s -o one 2>said7 &
first=$!
of_host web8 culprit record -a -q -e cpu-clock -F 200 --epoch 1s --duration 5s -o two 2>said8 &
second=$!
while kill -0 $first 2>/dev/null || kill -0 $second 2>/dev/null; do
	for from in one two; do
		[ -d $from/images ] || continue
		culprit db copy $from all >copied 2>left || { cat copied left; exit 1; }
		expect_equal "what was left but what is open" "$(grep -vc 'it can be copied once it is closed' left || true)" 0
		! command -v rsync >/dev/null || rsync -a $from/ synced/ 2>/dev/null || true # files may vanish
	done
	[ ! -d all ] || ! ls all/*/*.prof >/dev/null 2>&1 || culprit check all >checked || { cat checked; exit 1; }
	[ ! -d synced ] || culprit report synced >/dev/null 2>report.err || grep -q 'no such epoch\|is no database' report.err ||
		{ cat report.err; exit 1; }
	sleep 0.2
done
wait $first $second
for from in one two; do
	culprit db copy $from all >/dev/null
done
culprit db merge wanted.prof one two
culprit db merge copied.prof all
cmp wanted.prof copied.prof
expect_match "hosts" "$(culprit report all 2>/dev/null)" "hosts *2: web7, web8"
