# What the executions and cycles of every sampled procedure cost: a compiler's profile.
. "$SOURCE/tests/lib.sh"
need_command gcc
cat > many.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define F(n) int f##n(int x, char *s) { int y = 0; for (int i = 0; i < x; i++) { switch ((x + i) % 7) { \
	case 0: y += s[i]; break; case 1: y ^= n; break; case 2: y *= 3; break; case 3: y -= atoi(s); break; \
	case 4: s[i] = (char)y; break; default: y += x; } } return y + printf("%d %s", y, s); }
#define G(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)
G(1) G(2) G(3) G(4) G(5) G(6) G(7) G(8) G(9)
C
rounds=${CYCLES_ROUNDS:-3}
"$CULPRIT" record -o compiler.prof -F 4999 -- \
	sh -c "for i in \$(seq $rounds); do gcc -O2 -c -o many.o many.c; done" 2>/dev/null
"$(dirname "$CULPRIT")/../../bench/bench-cycles" compiler.prof
