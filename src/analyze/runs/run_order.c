#include "analyze/runs/run_order.h"

#include "base/random.h"

void run_order_draw(struct random_state *random, size_t commands, size_t *order)
{
	for (size_t i = 0; i < commands; i++) {
		size_t at = random_below(random, i + 1);
		order[i] = order[at];
		order[at] = i;
	}
}
