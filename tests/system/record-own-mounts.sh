# What a stranger's program sees below mounts of its own, run before root records the whole machine: a
# library of root's under another path, and debug files of the stranger's making for it. The library keeps its
# path, and names from nowhere else.
# beside others
. "$SOURCE/tests/lib.sh"
need_root
need_command setpriv unshare readelf objcopy cc
need_cpu_sampling
stranger="setpriv --reuid=65534 --regid=65534 --clear-groups"
$stranger unshare --user --map-root-user --mount true 2>/dev/null || skip "no user namespaces here"
room=$(mktemp -d /tmp/culprit-mounts.XXXXXX) # where others may look
own=
trap 'kill $own 2>/dev/null || true; rm -rf "$room"' EXIT
chmod 755 "$room"
cd "$room"

cat >crunch.c <<'END'
static __attribute__((noinline)) void inner(void) { for (volatile int i = 0; i < 100000; i++) ; }
void crunch(void) { inner(); }
END
cat >program.c <<'END'
void crunch(void);
int main(void) { for (;;) crunch(); }
END
cat >spin.c <<'END'
int main(void) { for (volatile unsigned i = 0;; i++) ; }
END
cc -O1 spin.c -o spin
cc -O1 -shared -fPIC -Wl,--build-id crunch.c -o libcrunch.so
cc -O1 program.c -o victim -L. -lcrunch "-Wl,-rpath,$room"
id=$(readelf -n libcrunch.so | awk '/Build ID/ { print $3 }')
objcopy --redefine-sym inner=stolen libcrunch.so renamed
mkdir -p own "own/debug/.build-id/$(printf %.2s "$id")"
objcopy --only-keep-debug renamed "own/debug/.build-id/$(printf %.2s "$id")/${id#??}.debug"
strip libcrunch.so
cc -O1 program.c -o own/thief -L. -lcrunch "-Wl,-rpath,$room/own/aaa"
mkdir own/aaa
: >own/aaa/libcrunch.so
: >own/aaa/pwned
chown -R 65534:65534 own
cat >own/mounts <<END
mount --bind $room/libcrunch.so $room/own/aaa/libcrunch.so
mount --bind $room/spin $room/own/aaa/pwned
mount --bind $room/own/debug /usr/lib/debug
$room/own/aaa/pwned &
echo \$! >$room/own/ready
exec $room/own/thief
END
[ -d /usr/lib/debug ] || skip "no /usr/lib/debug here to mount something on"

$stranger unshare --user --map-root-user --mount sh own/mounts &
own=$!
until [ -s own/ready ] && [ "$(readlink /proc/$own/exe)" = "$room/own/thief" ]; do
	kill -0 $own || fail "the stranger's program did not begin"
done
own="$own $(cat own/ready)"
culprit record --quiet -a -F 500 -o run.prof -- sh -c './spin & timeout 0.7 ./victim; kill $!' || true
kill $own
culprit report run.prof --limit 0 --by process,image,procedure >report
rows=$(awk '/^cpu-clock s|^cycles/ { table = 1; next } !NF { table = 0 } table' report)
expect_match "the victim's samples" "$rows" " victim +libcrunch\.so +"
expect_match "the thief's samples" "$rows" " thief +libcrunch\.so +"
! grep -q stolen report || fail "a debug file of the stranger's mounts named root's code: $rows"
expect_match "root's program" "$rows" " spin +spin +main"
expect_match "the stranger's run of it" "$rows" " pwned +spin +main"
# It is the one image, under the path that holds for everybody.
culprit report run.prof --image libcrunch.so --by image --json >image.json
expect_equal "images of the library" "$(grep -c '"image":' image.json)" 1
! grep -q "writable_by\":\"" image.json || fail "nobody else can write it: $(cat image.json)"
