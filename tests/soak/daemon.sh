# A daemon that is left alone with programs that start and end without pause, threads that come and go,
# mappings that change, binaries that are replaced while they run, a compiler, and memory that is read: every
# sample is accounted for, none is lost, its memory stays, and nothing is unknown that has a name.
# SOAK_SECONDS (150; the long form is 1500) of it.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/compiling.sh"
. "$SOURCE/tests/daemon.sh"
need_command python3
need_root
seconds=${SOAK_SECONDS:-150}
warm=$((seconds / 3))
epoch=$((seconds / 5))

workers=
start() {
	"$@" >/dev/null 2>&1 &
	workers="$workers $!"
}
stop_all() {
	kill $workers 2>/dev/null || true
	clean_daemon
}
trap stop_all EXIT

storm() {
	while :; do "$KERNELS/busy" execs 300 1; done
}
churn_threads() {
	while :; do "$KERNELS/busy" threads 20 0.2; done
}
replace_images() {
	number=0
	while :; do
		number=$((number + 1))
		cp "$KERNELS/two_loops" next
		printf '%d' $number >>next
		mv next replaced
		./replaced 2000000
	done
}
cat >churn.py <<'END'
import mmap, time
file = open("/usr/bin/python3", "rb")
while True:
    for i in range(200):
        mapped = mmap.mmap(file.fileno(), 4096 * (i % 50 + 1), prot=mmap.PROT_READ | mmap.PROT_EXEC, flags=mmap.MAP_PRIVATE)
        mapped.close()
    time.sleep(0.02)
END
cat >memory.py <<'END'
block = bytearray(200_000_000)
while True:
    sum(block[::64])
END
daemon --epoch ${epoch}s --merge-interval 5s
start storm
start churn_threads
start replace_images
start python3 churn.py
start python3 memory.py
start compile

# What it had every two seconds, in bytes.
: >resident
end=$(($(date +%s) + seconds))
warm_end=$(($(date +%s) + warm))
while [ "$(date +%s)" -lt $end ]; do
	sleep 2
	[ "$(date +%s)" -lt $warm_end ] && phase=warming || phase=warm
	echo "$phase $(figure resident_bytes)" >>resident
done
kill $workers 2>/dev/null || true
ctl status | tee status.txt
busiest=$(figure busiest_second_ms)
early=$(figure epochs_ended_for_memory)
stop
culprit check db >/dev/null
culprit db merge -q --limits none all.prof db
stored=$(bill all.prof stored)
lost=$(bill all.prof 'lost_(ring|table|damaged|skipped)')
unknown=$(bill all.prof 'unknown_.*')
expect_equal "runs" "$(bill all.prof runs)" "$((stored + lost))"
expect_equal "lost" "$lost" 0
expect_between "samples" "$stored" $((seconds * 200)) 1000000000
echo "unknown: $unknown of $stored"
expect_between "unknown, a share" "$(ratio "$unknown" "$stored")" 0 0.0005
# Each epoch's end takes memory for a while, which is given back: half of the figures are above the median.
grep '^warm ' resident | cut -d' ' -f2 >warm
half=$(($(wc -l <warm) / 2))
median() { sort -n | awk '{ at[NR] = $1 } END { print at[int((NR + 1) / 2)] / 1e6 }'; }
first=$(head -n $half warm | median)
second=$(tail -n $half warm | median)
most=$(sort -n warm | tail -1 | awk '{ print $1 / 1e6 }')
echo "resident, MB: $first in the first half after it warmed up, $second in the second, $most at most; epochs that ended early: $early"
echo "most CPU time to drain in a second: $busiest ms"
echo "database: $(du -sk db | cut -f1) kB for $seconds s, of which epochs $(du -sk db/"$(uname -n)" | cut -f1) kB"
expect_between "memory in the second half, against the first" "$(ratio "$second" "$first")" 0 1.25
