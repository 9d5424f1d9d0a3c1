/* two_loops [TURNS] - loop_4 and loop_8, TURNS each in 20 rounds: 1:2 by instructions. */
#include <stdio.h>
#include <stdlib.h>

#include "loops.h"

#define ROUNDS 20

int main(int argc, char **argv)
{
	char *end = NULL;
	uint64_t turns = argc > 1 ? strtoull(argv[1], &end, 10) : 5000000;
	if (argc > 2 || (end && *end) || turns < ROUNDS) {
		fprintf(stderr, "usage: %s [TURNS], at least %d\n", argv[0], ROUNDS);
		return 2;
	}
	for (int i = 0; i < ROUNDS; i++) {
		loop_4(turns / ROUNDS);
		loop_8(turns / ROUNDS);
	}
	return 0;
}
