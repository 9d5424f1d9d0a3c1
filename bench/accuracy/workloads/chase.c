/* Walks a list in random order, 16 MB of nodes: each load waits for the one before. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT (256u * 1024)

struct node {
	struct node *next;
	long value;
	char pad[48];
};

static struct node nodes[COUNT];
static unsigned order[COUNT];
static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t random_bits(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

__attribute__((noinline)) static long walk(const struct node *at, long steps)
{
	long sum = 0;
	while (steps--) {
		sum += at->value;
		if (at->value & 1)
			sum ^= 3;
		at = at->next;
	}
	return sum;
}

int main(int argc, char **argv)
{
	long steps = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
	for (unsigned i = 0; i < COUNT; i++)
		order[i] = i;
	for (unsigned i = COUNT - 1; i > 0; i--) {
		unsigned j = (unsigned)(random_bits() % (i + 1)), kept = order[i];
		order[i] = order[j];
		order[j] = kept;
	}
	for (unsigned i = 0; i < COUNT; i++) {
		nodes[order[i]].next = &nodes[order[(i + 1) % COUNT]];
		nodes[order[i]].value = (long)random_bits();
	}
	printf("%ld\n", walk(nodes, steps));
	return 0;
}
