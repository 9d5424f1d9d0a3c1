# beside others
# A host, a program and a process whose names would steer the terminal: recorded, none of them does.
. "$SOURCE/tests/lib.sh"
need_root
need_recording self
unshare --uts true 2>unshare.log || skip "cannot make a UTS namespace: $(cat unshare.log)"
escape=$(printf '\033')
evil="$(printf '\033[2J\302\2335m\nculprit: forged')"
cp "$KERNELS/busy" "$evil"
cat >inside.sh <<'INSIDE'
printf 'h\033[2J' >/proc/sys/kernel/hostname
culprit record -q --per-thread --epoch 1s -o db -- "./$EVIL" split 0.4 >out 2>&1
INSIDE
EVIL="$evil" unshare --uts sh -eu inside.sh || fail "recording ended with $?: $(cat out)"
# the host's name is no folder's
expect_equal "folders of hosts" "$(ls db | grep -v images)" host
for command in "report db --by process" "report db --by thread" "report db --by image" "report db --json" "db list db" \
	"check db" "export db -f csv -e *" "flame db -o -"; do
	set -f
	# shellcheck disable=SC2086
	culprit $command >shown 2>&1 || fail "culprit $command ended with $?"
	set +f
	! grep -aq "$escape" shown || fail "culprit $command: an escape"
	! grep -aq "$(printf '\302\233')" shown || fail "culprit $command: a C1 control"
	! grep -aq '^culprit: forged' shown || fail "culprit $command: a forged line"
done
culprit report db --by process | grep -aqF '\x1b[2J' || fail "the process is not shown"
