# Estimates against exact counts: what is judged, by which scale, as text and as JSON.
. "$SOURCE/tests/lib.sh"
"$TOOLS/make-code-profile" x86 code.prof
cat >callgrind.out.1 <<'OUT'
# callgrind format
version: 1
positions: instr line
events: Ir D1mr Bcm
ob=/opt/no/program
fl=/src/compute.c
fn=compute
0x1000 5 100
0x1004 5 100
0x1005 5 100
0x1008 6 100
0x100a 8 1500
0x100c 3 1500 70
0x100f 9 1500
0x1012 9 1500
0x1016 9 1500
0x101a 9 1500
0x101f 9 1500
0x1025 7 1500
0x1027 7 1500 0 60
jcnd=1400/1500 0x100a 8
0x1027 7
0x1029 19 100
0x102b 19 100
0x1031 19 100
0x1032 19 100
OUT
culprit accuracy --truth callgrind.out.1 code.prof
culprit accuracy --truth callgrind.out.1 --scale absolute --procedure compute --json code.prof |
	hide '"mean_width": .*' '"mean_width"'
mistake() {
	culprit accuracy "$@" 2>&1 && echo "not refused: $*"
	echo "status $?"
}
mistake --truth callgrind.out.1 --probe main true
mistake --truth callgrind.out.1 --scale none code.prof
mistake --truth callgrind.out.1 --runs 0 code.prof
mistake --truth callgrind.out.1 --procedure nobody code.prof
mistake --truth callgrind.out.1 --image gone code.prof
mistake --truth callgrind.out.1 --pipeline none code.prof
# another program's counts, and counts that are not by instruction
sed 's|/opt/no/program|/opt/no/other|' callgrind.out.1 >other
mistake --truth other code.prof
mistake --truth code.prof code.prof
