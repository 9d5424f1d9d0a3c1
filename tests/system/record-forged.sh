# A stranger's program that claims libc's build-id, and a copy of a library of root's with other names,
# run before root records the whole machine: the samples of libc and the library stay theirs, under
# their own paths and names; in a database that knew the strangers first, and after adding up, too.
# beside others
. "$SOURCE/tests/lib.sh"
need_root
need_command setpriv readelf objcopy cc
need_cpu_sampling
libc=$(ldd "$KERNELS/busy" | awk '$1 ~ /^libc\.so/ { print $3 }')
id=$(readelf -n "$libc" | awk '/Build ID/ { print $3 }')
[ -n "$id" ] || skip "this libc has no build-id"
room=$(mktemp -d /tmp/culprit-forged.XXXXXX) # where others may look
trap 'rm -rf "$room"' EXIT
chmod 755 "$room"
cd "$room"

cat >forged.c <<'END'
__attribute__((noinline)) void steal(void) { for (volatile int i = 0; i < 100000; i++) ; }
int main(void) { for (;;) steal(); }
END
cat >crunch.c <<'END'
static __attribute__((noinline)) void inner(void) { for (volatile int i = 0; i < 100000; i++) ; }
void crunch(void) { inner(); }
END
cat >victim.c <<'END'
#include <string.h>
void crunch(void);
char room[65536];
int main(void) {
	for (volatile int i = 0;; i++) {
		crunch();
		for (volatile int j = 0; j < 50; j++)
			memset(room, j, sizeof(room));
	}
}
END
cc -O1 "-Wl,--build-id=0x$id" forged.c -o forged
cc -O1 -shared -fPIC -Wl,--build-id crunch.c -o libcrunch.so
cc -O1 -fno-builtin victim.c -o victim -L. -lcrunch "-Wl,-rpath,$PWD"
# The same text and build-id, under a name of the stranger's own.
mkdir own
objcopy --redefine-sym inner=stolen libcrunch.so own/libcrunch.so
cc -O1 -fno-builtin victim.c -o thief -Lown -lcrunch "-Wl,-rpath,$PWD/own"
stranger="setpriv --reuid=65534 --regid=65534 --clear-groups"
chown -R 65534:65534 forged own thief

# Epochs of a database, the forger first: it is the only one to have libc's build-id then.
$stranger ./forged &
forger=$!
others=
trap 'kill $forger $others 2>/dev/null || true; rm -rf "$room"' EXIT
culprit record --quiet -p $forger --epoch 1h -F 1000 --duration 200ms -o db
$stranger ./thief &
others=$!
./victim &
others="$others $!"
culprit record --quiet -a --epoch 1h -F 500 --duration 800ms -o db
culprit record --quiet -a -F 500 --duration 200ms -o later.prof
kill $forger $others 2>/dev/null || true
culprit report db --limit 0 --by image,procedure >report
culprit db merge all.prof db later.prof
culprit report all.prof --limit 0 --by image,procedure >merged
for text in report merged; do
	names=$(awk '/^cpu-clock s|^cycles/ { table = 1; next } !NF { table = 0 } table' $text)
	expect_match "$text: libc's own code" "$names" " libc\.so\.6 +.*memset"
	expect_match "$text: the forger's" "$names" " forged +steal\$"
	expect_match "$text: the library's own code" "$names" " libcrunch\.so +inner\$"
	expect_match "$text: the copy's" "$names" " libcrunch\.so \(uid 65534: $PWD/own/libcrunch\.so\) +stolen\$"
	! printf '%s\n' "$names" | grep -E " lib(c\.so\.6|crunch\.so) +(steal|stolen)\$" || fail "$text: a stranger's name"
	! printf '%s\n' "$names" | grep -E ' forged +[^ ]' | grep -v ' steal$' || fail "$text: libc's samples are the forger's"
	expect_match "$text: notes" "$(cat $text)" "2 different files claim build-id $(printf %.16s "$id")"
	expect_match "$text: notes" "$(cat $text)" "can be written by others.*'$PWD/forged' \(uid 65534\)"
done
