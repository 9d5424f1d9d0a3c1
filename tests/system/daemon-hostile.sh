# A daemon beside what a stranger, or a container, puts in its way: a file system that never answers, programs
# whose files have become FIFOs, devices and links out of their root, files made to cost too much, and helpers
# that are killed while they parse. Its epochs end, others' programs have their names, nothing of root's is
# read into the database, and every sample is accounted for.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/stalled.sh"
. "$SOURCE/tests/daemon.sh"
need_command python3 objcopy unshare chroot
cat >spin.c <<'END'
static __attribute__((noinline)) void NAME(void) { for (volatile int i = 0; i < 100000; i++) ; }
int main(void) { for (;;) NAME(); }
END
cc -O1 -static -DNAME=spin_work spin.c -o spin
cc -O1 -static "$SOURCE/tests/kernels/jitted.c" -o jitted
cat >victim.c <<'END'
static __attribute__((noinline)) void victim_work(void) { for (volatile int i = 0; i < 100000; i++) ; }
int main(void) { for (;;) victim_work(); }
END
cc -O1 victim.c -o victim
# A name of its own: other recorders may run here.
recorder_name=dmn$$
ln -s "$CULPRIT" "$recorder_name"
end_all() {
	clean_daemon
	clean
}
trap end_all EXIT

# What opens files for the daemon is not answered when it opens (14) the program of this mount.
mkdir mount1
chown 65501 mount1
setpriv --reuid=65501 --regid=65534 --clear-groups \
	"$TOOLS/stalling-mount" "$room/device" "$room/mount1" "$room/spin" culprit-open "$recorder_name" 14 \
	>stalled1 2>log1 &
mount_process=$!
mounts=$mount_process
until [ -e "/proc/$mount_process/root$room/mount1/merged/prog" ]; do
	kill -0 $mount_process 2>/dev/null || skip "$(cat log1)"
	sleep 0.05
done

# In a root of its own, replaced once they run: what a path of a container leads to is not what was sampled. What
# names the code that the others make is a map of their own, the same behind a link, or a FIFO. Links lead out of the
# root where they are followed in another one ("link"), or in their own ("jump").
cc -O1 -static -DNAME=stolen_work spin.c -o secret-program
echo "1000 7fffffffe000 stolen_name" >secret-map
chmod 600 secret-program secret-map
mkdir -p jail
cat >inside <<END
mount -t tmpfs none jail
mkdir -p jail/tmp jail/proc
for kind in kept fifo device link jump; do
	cp spin jail/\$kind
	printf \$kind >>jail/\$kind
done
mount -t proc none jail/proc
for kind in kept fifo device link jump; do
	chroot jail /\$kind &
done
for kind in mapown maplink mapjump mapfifo; do
	cp jitted jail/\$kind
	chroot jail /\$kind silent 600 &
	map=jail/tmp/perf-\$!.map
	case \$kind in
	mapown) cp -p secret-map \$map ;;
	maplink) ln -s "$room/secret-map" \$map ;;
	mapjump) ln -s "/proc/1/root$room/secret-map" \$map ;;
	mapfifo) mkfifo \$map ;;
	esac
done
sleep 0.3
rm jail/fifo jail/device jail/link jail/jump
mkfifo jail/fifo
mknod jail/device c 1 5
ln -s "$room/secret-program" jail/link
ln -s "/proc/1/root$room/secret-program" jail/jump
# What they lead to in that root, where 1 is this script.
grep -q stolen_name "jail/proc/1/root$room/secret-map" || exit 1
grep -q stolen_work "jail/proc/1/root$room/secret-program" || exit 1
echo replaced >inside.done
wait
END
unshare --mount --pid --fork --kill-child sh inside &
programs=$!

mkdir -m 755 theirs
for kind in lines inlined; do
	"$SOURCE/tests/tools/hostile" make $kind theirs/$kind 4 2>make.err || skip "cannot make it: $(cat make.err)"
done
chown -R 65534:65534 theirs

for i in $(seq 100); do
	[ ! -e inside.done ] || break
	sleep 0.1
done
[ -e inside.done ] || fail "the container does not run"
"./$recorder_name" daemon --config /dev/null -o db --socket socket -e cpu-clock --merge-interval 500ms --epoch 1h \
	--no-stacks 2>daemon.said &
daemon=$!
await_state sampling
await_figure epoch_seconds 0
"$room/victim" &
programs="$programs $!"
for kind in lines inlined; do
	setpriv --reuid 65534 --regid 65534 --clear-groups theirs/$kind 100 2>/dev/null &
	programs="$programs $!"
done
await_figure samples 500
sleep 2

# end_epoch: asks for its end, and waits until it is written
end_epoch() {
	ctl epoch
	for i in $(seq 600); do
		[ "$(epochs)" -le "$1" ] || [ "$(culprit db list --json db | grep -c '"open":false')" -lt "$1" ] || return 0
		sleep 0.1
	done
	fail "epoch $1 is not written: $(cat daemon.said)"
}
end_epoch 1
await_figure samples "$(figure samples)"

# Helpers that die while they work: those of this daemon alone.
: >killed
(while kill -0 "$daemon" 2>/dev/null; do
	for thread in /proc/"$daemon"/task/*; do
		for helper in $(cat "$thread/children" 2>/dev/null); do
			[ "$(cat "/proc/$helper/comm" 2>/dev/null)" != culprit-parse ] || {
				kill -KILL "$helper" 2>/dev/null && echo "$helper" >>killed
			}
		done
	done
	sleep 0.02
done) &
killing=$!
programs="$programs $killing"
sleep 2
end_epoch 2
kill $killing
[ -s killed ] || fail "no helper was there to be killed"
echo "helpers killed: $(sort -u killed | wc -l)"
await_state sampling
before=$(figure samples)
await_figure samples "$((before + 100))"
stop
# shellcheck disable=SC2086
kill -KILL $programs $mounts 2>/dev/null || true
cat daemon.said
culprit check -q db >/dev/null
culprit db list db
culprit db merge -q --limits none all.prof db
stored=$(bill all.prof stored)
expect_equal "runs" "$(bill all.prof runs)" "$((stored + $(bill all.prof 'lost_(ring|table|damaged|skipped)')))"
grep -q stalled stalled1 || fail "nothing was held up: $(cat log1)"
"$TOOLS/cells" all.prof >cells
# sampled COMM NAME...: how many samples of that process are of procedures with these names
sampled() {
	awk -F '\t' -v names="$*" 'BEGIN { n = split(names, w, " "); for (i = 2; i <= n; i++) wanted[w[i]] }
		$1 == "cell" && $11 == w[1] && (n == 1 || $10 in wanted) { sum += $6 } END { print sum + 0 }' cells
}
# The same text names the code of all whose kind begins with "map", and the others are the same program.
expect_between "samples of a container's own map" "$(sampled mapown stolen_name)" 20 1000000000
expect_between "samples of a container's own program" "$(sampled kept spin_work)" 20 1000000000
for kind in maplink mapjump mapfifo link jump fifo device; do
	expect_between "samples of $kind" "$(sampled $kind)" 20 1000000000
	expect_equal "samples of $kind with root's names" "$(sampled $kind stolen_name stolen_work)" 0
done
first=$(ls db/*/*.prof | head -1)
last=$(ls db/*/*.prof | tail -1)
for epoch in "$first" "$last"; do
	expect_match "names of a program of root's" "$(culprit report -q --limit 0 --by image,procedure db --epoch "$(basename "$epoch" .prof)" | grep victim)" "victim_work"
done
expect_between "files that were not answered for" "$(bill all.prof left_out_names_unanswered)" 1 10
