/*
 * edge-shares - how often a loop's branch is seen to be taken by paths that begin where time is
 * spent, for loops of several shapes (tests/support/simulated_loop.h): points that its share is
 * off, from the paths' starts and as collect/edge_window.h counts. A row a shape and a column a
 * period.
 */
#include <math.h>
#include <stdio.h>

#include "base/count_of.h"
#include "base/random.h"
#include "support/simulated_loop.h"

#define PATHS 200000u

static const unsigned periods[] = { 2, 3, 4, 6, 8, 12, 16 };

static const struct shape {
	const char *name;
	struct simulated_loop loop;
} shapes[] = {
	{ "5, or 4 taken", { .instructions = 5, .taken_instructions = 4, .slow = 12 } },
	{ "the same, at the branch",
	  { .instructions = 5, .taken_instructions = 4, .slow = 12, .before = true } },
	{ "7", { .instructions = 7, .taken_instructions = 7, .slow = 12 } },
	{ "15", { .instructions = 15, .taken_instructions = 12, .slow = 30 } },
	{ "25", { .instructions = 25, .taken_instructions = 20, .slow = 30 } },
	{ "32", { .instructions = 32, .taken_instructions = 28, .slow = 30 } },
	{ "nested: 4, 16 outside", { .instructions = 4, .taken_instructions = 20, .slow = 12 } },
	{ "nothing waits", { .instructions = 5, .taken_instructions = 4 } },
	{ "unknown 1 round in 20",
	  { .instructions = 5, .taken_instructions = 4, .slow = 12, .known = 20 } },
	{ "unknown 1 round in 5",
	  { .instructions = 5, .taken_instructions = 4, .slow = 12, .known = 5 } },
};

static const struct shape random_shapes[] = {
	{ "random, 0.50 taken",
	  { .instructions = 5, .taken_instructions = 4, .taken = 0.5, .slow = 12 } },
	{ "0.10 taken", { .instructions = 5, .taken_instructions = 4, .taken = 0.1, .slow = 12 } },
	{ "0.10, at the branch",
	  { .instructions = 5,
	    .taken_instructions = 4,
	    .taken = 0.1,
	    .slow = 12,
	    .before = true } },
	{ "never taken", { .instructions = 5, .taken_instructions = 4 } },
};

static void print_shape(const struct shape *shape)
{
	struct simulated_shares shares[COUNT_OF(periods)];
	for (size_t i = 0; i < COUNT_OF(periods); i++) {
		struct simulated_loop loop = shape->loop;
		struct random_state random = random_seed(i + 1);
		loop.period = periods[i];
		shares[i] = simulated_loop_shares(&loop, PATHS, &random);
	}
	printf("%-26s", shape->name);
	for (size_t i = 0; i < COUNT_OF(periods); i++)
		printf(" %5.1f", 100 * (shares[i].from_start - shares[i].truth));
	printf("\n%-26s", "  in a window");
	for (size_t i = 0; i < COUNT_OF(periods); i++)
		printf(" %5.1f", 100 * (shares[i].in_window - shares[i].truth));
	printf("\n");
}

int main(void)
{
	printf("%-26s", "rounds, period");
	for (size_t i = 0; i < COUNT_OF(periods); i++)
		printf(" %5u", periods[i]);
	printf("\n");
	for (size_t i = 0; i < COUNT_OF(shapes); i++)
		print_shape(&shapes[i]);
	for (size_t i = 0; i < COUNT_OF(random_shapes); i++) {
		struct random_state random = random_seed(i + 1);
		struct simulated_shares shares =
			simulated_loop_shares(&random_shapes[i].loop, PATHS, &random);
		printf("%-26s %5.1f, in a window %5.1f\n", random_shapes[i].name,
		       100 * (shares.from_start - shares.truth),
		       100 * (shares.in_window - shares.truth));
	}
	return 0;
}
