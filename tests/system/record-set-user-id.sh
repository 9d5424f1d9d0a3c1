# Who starts a set-user-ID program of root's, through links of ever new names, pays for these names himself.
# beside others
. "$SOURCE/tests/lib.sh"
need_root
need_command setpriv cc
need_cpu_sampling
room=$(mktemp -d /tmp/culprit-names.XXXXXX)
trap 'rm -rf "$room"' EXIT
chmod 755 "$room"
cd "$room"
stranger="setpriv --reuid=65534 --regid=65534 --clear-groups"
cat >rename.c <<'END'
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
	char name[24];
	int pid = (int)getpid();
	struct timespec now;
	for (int n = 0;; n++) {
		snprintf(name, sizeof(name), "own%x.%x", pid & 0xfff, n);
		prctl(PR_SET_NAME, name);
		for (volatile int i = 0; i < 10000; i++)
			;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
		if (now.tv_sec > 0)
			return 0;
	}
}
END
cat >spin.c <<'END'
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	printf("%d %d\n", (int)getuid(), (int)geteuid());
	fflush(stdout);
	for (volatile int i = 0; i < 50000000; i++)
		;
	/* Of one that has ended before its samples are looked at nobody knows whose it was. */
	sleep(3);
	return 0;
}
END
cc -O1 rename.c -o rename
cc -O1 -static spin.c -o spin
cp spin asmyself
chmod 4755 spin
mkdir -m 777 box
[ "$($stranger ./spin)" = "65534 0" ] || skip "set-user-ID programs have no effect here"

# He uses up what he has, until his own programs have no names any more, and goes on as root.
culprit record --quiet -a -F 10000 --no-stash -o names.prof -- sh -c "
	for i in 1 2 3 4; do $stranger ./rename & done
	wait
	$stranger ./asmyself &
	for i in 1 2 3 4; do ln -s ../spin box/asroot\$i; $stranger box/asroot\$i & done
	wait" >said
expect_equal "users of the set-user-ID program" "$(grep -v '^65534 65534$' said | sort -u)" "65534 0"
"$TOOLS/cells" names.prof >cells
own=$(awk -F '\t' '$1 == "cell" && $11 ~ /^own/ { print $11 }' cells | sort -u | wc -l)
! grep -q asmyself cells || skip "only $own names were sampled here, too few for a limit"
expect_between "names of one user" "$own" 8000 8192
! grep -q asroot cells || fail "names of a set-user-ID program beyond its starter's limit"
expect_between "names left out" \
	"$(awk -F '\t' '$1 == "bill" && $4 == "left_out_contexts" { sum += $5 } END { print sum + 0 }' cells)" 1 1000000000
grep -q 'beyond the limit' cells || fail "no rest"
