# Recording keeps no file system from being unmounted, and names what ran there all the same.
# beside others
. "$SOURCE/tests/lib.sh"
need_root
need_command unshare mount umount
need_cpu_sampling
unshare --mount true 2>/dev/null || skip "no mount namespaces here"

# expect_named PROFILE: the program's functions in their proportion
expect_named() {
	one=$(samples "$1" 11 b 10 busy_one)
	two=$(samples "$1" 11 b 10 busy_two)
	# of 600 at most, by what samples stand for: random periods are no part of it
	expect_between "milliseconds of busy in $1" $(($(estimate "$1" 11 b) / 1000000)) 100 750
	expect_between "busy_one of both in $1" "$(ratio "$one" $((one + two)))" 0.23 0.44
}

# held_by PID FOLDER [TRIES]: what a recorder and its helpers hold there, each of so many times
cat >held_by <<'END'
for try in $(seq ${3:-1}); do
	held=$(for pid in $1 $(cat /proc/$1/task/*/children); do
		ls -l /proc/$pid/fd /proc/$pid/map_files 2>/dev/null | grep "/$2/" || true
	done)
	[ -n "$held" ] || exit 0
	sleep 0.1
done
echo "$held"
END
# let_go FOLDER, run by the recorder's command. Whoever else records this machine may hold a file
# there; our recorder must not.
cat >let_go <<'END'
umount "$1" 2>umount.said && exit
sh held_by $PPID "$1" >>umount.err
umount -l "$1"
END

# In a namespace of its own, while the recording goes on.
mkdir mounted
: >umount.err
cat >inside <<END
mount -t tmpfs none mounted
cp "$KERNELS/busy" mounted/b
mounted/b split 0.3
(cd mounted && "$KERNELS/jitted" dump 0.2)
. ./let_go
END
culprit record --quiet -e cpu-clock -F 2000 -o inside.prof -- unshare --mount sh inside mounted
expect_equal "what keeps umount from working" "$(cat umount.err)" ""
expect_named inside.prof
expect_between "samples of run-time code" "$(samples inside.prof 3 jit 10 jit_dumped)" 150 800

# From before the recording of the whole machine, in our own namespace: a small program, and one
# that is copied only when it is sampled.
cleanup() {
	[ -z "${program:-}" ] || kill "$program" 2>/dev/null || true
	umount -l "$PWD/mounted" 2>/dev/null || true
}
trap cleanup EXIT
for pad in 0 8; do
	mount -t tmpfs none mounted
	cp "$KERNELS/busy" mounted/b
	dd if=/dev/zero bs=1M count=$pad status=none >>mounted/b
	mounted/b split 0.6 &
	program=$!
	culprit record --quiet -e cpu-clock -F 2000 -a -o "system$pad.prof" -- \
		sh -c "tail --pid=$program -f /dev/null; . ./let_go" sh mounted
	wait "$program" || fail "the program failed"
	program=
	expect_equal "what keeps umount from working with -a" "$(cat umount.err)" ""
	expect_named "system$pad.prof"
done

# Descriptors stay few however many programs run; those that were deleted keep their names.
mkdir programs
for i in $(seq 400); do
	cp "$KERNELS/busy" "programs/p$i"
done
cat >many <<'END'
for i in $(seq 400); do
	programs/p$i split 0.004
	rm programs/p$i
done
ls /proc/$PPID/fd | wc -l >descriptors
END
culprit record --quiet -e cpu-clock -F 1000 -o none.prof -- sh -c 'ls /proc/$PPID/fd | wc -l >descriptors'
before=$(cat descriptors)
culprit record --quiet -e cpu-clock -F 1000 -o many.prof -- sh many
expect_between "descriptors of the recorder after 400 programs, $before before" "$(cat descriptors)" 4 $((before + 256))
expect_between "samples of 400 programs" $(($(samples many.prof 10 busy_one) + $(samples many.prof 10 busy_two))) 400 5000

# An ordinary user, with mounts of its own.
need_command setpriv
make_open
cat >open/inside <<'END'
mount -t tmpfs none mounted
cp busy mounted/b
mounted/b split 0.3
echo >ran
read -r answer <go
END
cd open
mkdir mounted
mkfifo ran go
chmod 777 mounted ran go
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] &&
	setpriv --reuid 65534 --regid 65534 --clear-groups unshare -Urm mount -t tmpfs none mounted 2>/dev/null; then
	setpriv --reuid 65534 --regid 65534 --clear-groups \
		./culprit record --quiet -e cpu-clock -F 2000 -o user.prof -- unshare -Urm sh inside &
	recorder=$!
	read -r answer <ran
	expect_equal "what an ordinary user's recorder holds" "$(sh ../held_by $recorder mounted 50)" "" # which may be reading a file just now
	echo >go
	wait $recorder || fail "an ordinary user's recording failed"
	expect_named user.prof
fi
