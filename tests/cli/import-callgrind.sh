# Costs of lines, of addresses with their lines, and what is wrong with a file that is not whole.
export LC_ALL=C
for file in "$SOURCE"/tests/data/callgrind/*.log; do
	culprit report -q "$file" | sed 1d
done
cat >callgrind.out.7 <<'END'
# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 7
cmd: /bin/x --flag
part: 1

positions: instr line
events: Ir Bc
event: CEst = Ir + 10 Bc : Cycles, a guess
summary: 22 2

ob=(1) /bin/x
fl=(1) /src/x.c
fn=(1) main
0x100 5 2
+3 * 2 1
jcnd=1/2 +17 +2
* *
fi=(2) /src/y.h
+2 -1 9
fe=(1)
+5 +6 1
cob=(2) /lib/libc.so
cfi=(3) puts.c
cfn=(2) puts
calls=4 0x40 7
* * 90 3

ob=(2)
fl=(3)
fn=(2)
0x40 7 5 1

totals: 19 2
END
culprit import callgrind.out.7 -o out.prof
culprit report out.prof
culprit report --by line --event Ir out.prof
culprit report --tree out.prof || echo "status $?"
head -n 20 callgrind.out.7 >cut
culprit import cut -o cut.prof || echo "status $?"
culprit import --force cut -o cut.prof
culprit report --event Ir cut.prof
