# What lies at /tmp/perf-PID.map was put there by anybody. It names code only when it is the process's
# user's own file: not what is linked, mounted or left there, while the process runs and afterwards.
# beside others
. "$SOURCE/tests/lib.sh"
need_root
need_command setpriv unshare mknod
need_cpu_sampling

chmod 755 . .. 2>/dev/null || true
cp "$KERNELS/jitted" jitted
here=$PWD
cat >nobody <<'END'
exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
END
sh ./nobody ./jitted silent 0 2>/dev/null || skip "another user cannot run programs here"
sh ./nobody unshare -Urm true 2>/dev/null || skip "another user cannot make namespaces here"

# secret NAME [MODE]: a map that is root's
secret() {
	echo "1000 7fffffffe000 stolen_$1" >"secret-$1"
	chmod "${2:-600}" "secret-$1"
}
for kind in bind bindshared link hard root afterwards; do
	secret $kind
done
secret linkpublic 644

# One process a kind, all at once; the map is there before its code runs. As root: what a user can do
# in a sticky /tmp, whatever /tmp is here.
cat >plant <<'END'
kind=$1
map=/tmp/perf-$$.map
echo "$map" >>maps
made() {
	echo "1000 7fffffffe000 made_$kind" >"$map"
	chown 65534:65534 "$map"
}
run="sh ./nobody ./jitted silent 0.1"
case $kind in
own) made; chmod 600 "$map" ;;
link) ln -s "$PWD/secret-link" "$map"; chown -h 65534 "$map" ;;
linkpublic) ln -s "$PWD/secret-linkpublic" "$map"; chown -h 65534 "$map" ;;
hard) ln "$PWD/secret-hard" "$map" 2>/dev/null || cp -p secret-hard "$map" ;;
root) cp -p secret-root "$map" ;;
writable) made; chmod 666 "$map" ;;
other) made; chown 65533 "$map" ;;
fifo) mkfifo "$map"; chown 65534 "$map" ;;
device) mknod "$map" c 1 3 ;;
bind | bindshared)
	made
	[ $kind = bind ] || : >"$map"
	run="sh ./nobody unshare -Urm sh -c 'mount --bind secret-$kind $map && exec ./jitted silent 0.1'"
	;;
esac
eval "exec $run"
END
# Its process has ended by then; who ran it is remembered.
cat >afterwards <<'END'
sh ./nobody ./jitted silent 0.1 &
linked=$!
sh ./nobody ./jitted silent 0.1 &
own=$!
wait
printf '/tmp/perf-%s.map\n' $linked $own >>maps
touch secret-afterwards # as if root had just written it: older ones are nobody's map
ln -s "$PWD/secret-afterwards" /tmp/perf-$linked.map
echo "1000 7fffffffe000 made_afterwards" >/tmp/perf-$own.map
chown 65534 /tmp/perf-$own.map
END
# A dump that another user may write to is no more to be believed.
cat >dump <<'END'
: >jit-$$.dump
chown 65534 jit-$$.dump
exec ./jitted dump 0.1
END
: >maps
trap 'xargs rm -f <maps' EXIT
cat >all <<'END'
for kind in own link linkpublic hard root writable other fifo device bind bindshared; do
	sh ./plant $kind &
done
sh ./afterwards &
sh ./dump &
wait
END
expect_status 0 timeout 30 culprit record -F 2000 -o maps.prof -- sh ./all 2>said || { cat said; fail "record"; }
cat said
"$TOOLS/cells" maps.prof >cells
for kind in bind bindshared link linkpublic hard root afterwards; do
	! grep -q "stolen_$kind" cells || fail "root's file was read into the profile: $kind"
done
for kind in writable other; do
	! grep -q "made_$kind" cells || fail "a map that is not its process's user's own was believed: $kind"
done
! grep -q jit_dumped cells || fail "a dump of another user's was believed"
expect_between "samples of a user's own map" "$(samples maps.prof 10 made_own)" 20 500
expect_between "samples of a map left behind" "$(samples maps.prof 10 made_afterwards)" 20 500
expect_match "what was said" "$(cat said)" "warning: names of code that process [0-9]+ (and [0-9]+ more )?made at run time are missing"
# The profile holds nothing of it anywhere, not in its stash either.
! grep -aq stolen_ maps.prof || fail "root's file lies in the profile"
