# What annotating one procedure from a stored profile costs, by its size: loops and branches as
# compilers make them, each view; the best of BENCH_ROUNDS (3; the full form 9). Times are printed, not
# judged: a busy machine may double one.
. "$SOURCE/tests/lib.sh"
need_command gcc python3
need_recording self
cat >program.c <<'C'
#include <stdlib.h>
#define LOOP(n) for (unsigned i = 0; i < (x & 15) + n % 7; i++) { \
	if ((s[(x + i * n) & 1023] ^ i) & 1) y += s[(y * n) & 1023]; else y ^= x >> (n & 7); x = x * 1103515245 + n; }
#define L5(n) LOOP(n##1) LOOP(n##3) LOOP(n##5) LOOP(n##7) LOOP(n##9)
#define L25(n) L5(n##1) L5(n##2) L5(n##3) L5(n##4) L5(n##5)
#define L125(n) L25(n##1) L25(n##2) L25(n##3) L25(n##4) L25(n##5)
#define FUNCTION(name, loops) \
	__attribute__((noinline)) unsigned name(unsigned x, const unsigned char *s) { unsigned y = 0; loops return y; }
FUNCTION(small, L5(1))
FUNCTION(middle, L25(1) L5(2) L5(3))
FUNCTION(large, L125(1))
int main(int argc, char **argv)
{
	static unsigned char s[1024];
	unsigned sum = 0;
	for (unsigned i = 0; i < 1024; i++)
		s[i] = (unsigned char)(i * 167 >> 3);
	for (unsigned i = 0; i < 100000; i++)
		sum += small(i, s) + middle(i, s) + large(i, s);
	return argc > 1 && sum == (unsigned)atoi(argv[1]);
}
C
gcc -g -O2 -fno-tree-vectorize -o program program.c
"$CULPRIT" record -q -F 2000 -o program.prof -- ./program
rm program program.c # the profile is all there is

echo "machine: $(uname -srm), $(nproc) CPUs"
python3 - "$CULPRIT" "${BENCH_ROUNDS:-3}" <<'PYTHON'
import json, os, subprocess, sys, time

def run(*options):
    """Least elapsed and CPU milliseconds of some runs."""
    cpu, elapsed = [], []
    for _ in range(int(sys.argv[2])):
        start = time.monotonic()
        process = subprocess.Popen([sys.argv[1], "annotate", "-q", *options], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0, options
        elapsed.append(time.monotonic() - start)
        cpu.append(usage.ru_utime + usage.ru_stime)
    return f"{1000 * min(elapsed):6.1f} ms, {1000 * min(cpu):6.1f} ms of CPU"

for name in ("small", "middle", "large"):
    text = subprocess.run([sys.argv[1], "annotate", "-q", name, "--json", "program.prof"],
                          capture_output=True, check=True).stdout
    procedure = json.loads(text)["procedures"][0]
    blocks = len(procedure["cycles"]["blocks"])
    print(f"{procedure['instructions']:5} instructions, {blocks:4} blocks: {run(name, 'program.prof')}")
    for option in ("--source", "--blocks", "--json"):
        print(f"{'':22}{option:>9}: {run(name, option, 'program.prof')}")
print(f"{'no procedure':>31}: {run('-i', 'program.prof')}")
PYTHON
