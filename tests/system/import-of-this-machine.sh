# perf names no builds with -z, --no-buildid and -o -: on the machine that recorded, its files and its
# kernel are known all the same, in ns as our own recordings are, until a file is another.
# beside others
. "$SOURCE/tests/lib.sh"
need_command perf cc

cat >spin.c <<'END'
volatile double x;
__attribute__((noinline)) static void spin(void)
{
	for (int i = 0; i < 100000000; i++)
		x = x * 1.0001 + i;
}
int main(void)
{
	spin();
	return 0;
}
END
cc -O1 -o spin spin.c
perf record -q -e cpu-clock:u -o probe.data -- true >/dev/null 2>&1 ||
	skip "perf cannot record cpu-clock here"
perf record -q -z -e cpu-clock:u -o z.data -- ./spin 2>/dev/null
perf record -q --no-buildid -e cpu-clock:u -o plain.data -- ./spin 2>/dev/null
perf record -q -e cpu-clock:u -o - -- ./spin 2>/dev/null >pipe.data
for file in z.data plain.data pipe.data; do
	culprit report --json "$file" >report.json || fail "$file is not read"
	grep -q '"procedure":"spin"' report.json || fail "$file: the program's function has no name"
	grep -q '"unit":"ns"' report.json || fail "$file: a clock is not in ns"
done
# written over in place: the same inode, and another program
cat /bin/true >spin
culprit report --json z.data >report.json 2>said
! grep -q '"procedure":"spin"' report.json || fail "a file that was written over still gives names"
grep -q "not those that it saw any more: '$PWD/spin'" said || fail "nothing is said of it: $(cat said)"
# the kernel, where its addresses may be seen
if perf record -q -e cpu-clock:k -o - -- dd if=/dev/zero of=/dev/null bs=1M count=3000 2>/dev/null >kernel.data &&
	[ "$(sed -n 's/^\([0-9a-f]*\) . _stext$/\1/p' /proc/kallsyms | tr -d 0)" ]; then
	culprit report --json kernel.data >report.json
	grep -q '"image":"\[kernel\]"' report.json || fail "no kernel in the report"
	! grep -q '"procedure":"\[no symbol\]"' report.json || fail "the running kernel has no names"
fi
