/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "flow_random.h"

#include "analyze/flow/flow_graph.h"
#include "base/random.h"

static void add(struct flow_graph *graph, uint32_t from, uint32_t to, enum flow_edge_kind kind)
{
	assert_int_equal(flow_graph_add(graph, from, to, kind), 0);
}

static uint32_t any(struct random_state *random, uint32_t blocks)
{
	return (uint32_t)random_below(random, blocks);
}

static void leave(struct flow_graph *graph, uint32_t block, struct random_state *random)
{
	uint32_t blocks = graph->block_count;
	switch (random_below(random, 8)) {
	case 0:
		add(graph, block, FLOW_OUTSIDE, FLOW_RETURN);
		break;
	case 1:
		add(graph, block, any(random, blocks), FLOW_BRANCH);
		break;
	case 2:
		add(graph, block, block, FLOW_BRANCH);
		break;
	case 3: /* a table */
		for (uint64_t n = random_below(random, 6); n > 0; n--)
			add(graph, block, any(random, blocks), FLOW_INDIRECT);
		break;
	case 4: /* nothing that is known */
		return;
	default: /* taken or not */
		add(graph, block, any(random, blocks), FLOW_BRANCH);
	}
	if (block + 1 < blocks && random_below(random, 4))
		add(graph, block, block + 1, FLOW_NEXT);
}

void flow_random(struct flow_graph *graph, uint32_t blocks, struct random_state *random)
{
	flow_graph_init(graph, blocks);
	if (blocks && random_below(random, 8)) /* else only the blocks that nothing leads to */
		add(graph, FLOW_OUTSIDE, 0, FLOW_ENTRY);
	while (blocks && random_below(random, 3) == 0)
		add(graph, FLOW_OUTSIDE, any(random, blocks), FLOW_LANDING);
	for (uint32_t block = 0; block < blocks; block++)
		leave(graph, block, random);
	assert_int_equal(flow_graph_settle(graph), 0);
}
