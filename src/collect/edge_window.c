#include "collect/edge_window.h"

bool edge_window_is_loop(const struct edge_outcome *outcomes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (outcomes[i].kind == INTERPRET_CONDITIONAL && outcomes[i].to <= outcomes[i].from)
			return true;
		for (size_t j = 0; j < i; j++)
			if (outcomes[j].from == outcomes[i].from)
				return true;
	}
	return false;
}

/* Whether the path is still in a loop of its start at its end. A loop that is left lies near the
 * start, and would count on too few paths. */
static bool still_goes_round(const struct edge_outcome *outcomes, size_t count)
{
	for (size_t i = 0; i < count && outcomes[i].at < EDGE_INSTRUCTIONS; i++)
		for (size_t j = count; j-- > i + 1;) {
			if (outcomes[j].at < EDGE_LOOP_INSTRUCTIONS - EDGE_INSTRUCTIONS)
				break;
			if (outcomes[j].from == outcomes[i].from)
				return true;
		}
	return false;
}

unsigned edge_window_first(const struct edge_outcome *outcomes, size_t count, unsigned instructions,
			   uint64_t *turn)
{
	if (instructions < EDGE_LOOP_INSTRUCTIONS || !still_goes_round(outcomes, count))
		return 0;
	/* Multiples of the golden ratio, modulo 1, are spread evenly, however many there are
	 * (Knuth, TAOCP 3, 6.4). */
	uint64_t fraction = ++*turn * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	return (unsigned)(fraction * (EDGE_LOOP_INSTRUCTIONS - EDGE_INSTRUCTIONS + 1) >> 32);
}
