# What tables of other shapes would do with the samples of a compiler that runs again and again, and
# of a loop beside it. Printed, not judged.
. "$SOURCE/tests/lib.sh"
need_command perf cc setarch
trace=trace.data
cat >source.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
int main(int argc, char **argv) { printf("%s %f\n", argv[0], sin(argc)); return strcmp(argv[0], "x") && abs(argc); }
END
# at the same addresses each time, which stand for places in files then
perf record -q -a -e cpu-clock -F 4999 -o $trace -- setarch -R sh -c '
	"$1/two_loops" 2000000000 & i=0
	while [ $i -lt 60 ]; do cc -O1 -o out source.c -lm; i=$((i + 1)); done; kill $! 2>/dev/null; true' sh "$KERNELS" \
	>perf.log 2>&1 || skip "perf cannot record here: $(tail -n 1 perf.log)"
perf script -i $trace -F comm,cpu,time,ip,dso 2>/dev/null >trace.text
echo "# $(uname -m) $(uname -r), $(nproc) CPUs, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
"$(dirname "$CULPRIT")/../../bench/bench-table" <trace.text
