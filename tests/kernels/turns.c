/*
 * turns TURNS - work in proportion: each turn is 400,000 instructions of loop_4 and a few of the
 * call. So `turns 1020` does 2.0 % more than `turns 1000`: 400,000,000 instructions take 0.03 to
 * 0.1 s, and what starts a process is some 100,000.
 */
#include <stdio.h>
#include <stdlib.h>

#include "loops.h"

#define LOOPS 100000

int main(int argc, char **argv)
{
	char *end = NULL;
	uint64_t turns = argc == 2 ? strtoull(argv[1], &end, 10) : 0;
	if (argc != 2 || *end || turns == 0) {
		fprintf(stderr, "usage: %s TURNS\n", argv[0]);
		return 2;
	}
	for (uint64_t i = 0; i < turns; i++)
		loop_4(LOOPS);
	return 0;
}
