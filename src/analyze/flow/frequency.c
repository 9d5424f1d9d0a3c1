#include "analyze/flow/frequency.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/flow/flow_graph.h"
#include "analyze/flow/frequency_private.h"
#include "base/cleanup.h"

static void work_release(struct frequency_work *work)
{
	flow_search_release(&work->search);
	flow_classes_release(&work->classes);
	flow_likelihood_release(&work->likelihood);
	flow_posterior_release(&work->posterior);
	flow_likelihood_release(&work->doubting);
	free(work->own);
	free(work->samples);
	free(work->unstalled);
	free(work->distances);
}

static double cost_of(const struct frequency_input *input, uint32_t instruction)
{
	return input->model == FREQUENCY_CYCLES_IN_ORDER ? input->issue_cycles[instruction] : 1;
}

static void add_instructions(struct frequency_work *work, uint32_t block)
{
	const struct frequency_input *input = work->input;
	for (uint32_t i = input->blocks[block].first; i < input->blocks[block].end; i++) {
		work->samples[block] += input->samples[i];
		work->costs[block] += cost_of(input, i);
	}
}

static int work_init(struct frequency_work *work)
{
	const struct frequency_input *input = work->input;
	size_t count = work->graph->block_count;
	if (flow_search_run(work->graph, &work->search) < 0 ||
	    flow_classes_find(work->graph, &work->search, &work->classes) < 0)
		return -ENOMEM;
	work->own = calloc((size_t)work->classes.count + 1, sizeof(*work->own));
	work->samples = calloc(4 * count + 1, sizeof(*work->samples));
	work->unstalled = calloc((size_t)input->instruction_count + 1, sizeof(*work->unstalled));
	if (!work->own || !work->samples || !work->unstalled)
		return -ENOMEM;
	work->costs = work->samples + count;
	work->fit_events = work->costs + count;
	work->fit_costs = work->fit_events + count;
	for (uint32_t class = 0; class < work->classes.count; class ++)
		work->own[class] = (struct frequency_own){ .value = NAN,
							   .error = NAN,
							   .source = FREQUENCY_UNKNOWN,
							   .block = FLOW_OUTSIDE };
	for (uint32_t block = 0; block < count; block++) {
		struct frequency_own *own = frequency_own_of(work, block);
		if (input->model == FREQUENCY_COUNTS) {
			work->samples[block] = input->counted_blocks[block];
			work->costs[block] = 1;
		} else {
			add_instructions(work, block);
		}
		own->samples += work->samples[block];
		own->cost += work->costs[block];
		if (own->block == FLOW_OUTSIDE)
			own->block = block;
	}
	return 0;
}

int frequencies_new(const struct frequency_input *input, struct frequencies *out)
{
	CLEANUP(work_release)
	struct frequency_work work = { .input = input, .graph = input->graph };
	size_t blocks = input->graph->block_count, all = blocks + input->graph->edge_count;
	int ret = work_init(&work);
	if (ret == 0)
		ret = frequency_fit(&work);
	if (ret == 0)
		ret = frequency_find_errors(&work);
	if (ret < 0)
		return ret;
	struct frequency *frequency = calloc(all + 1, sizeof(*frequency));
	if (!frequency)
		return -ENOMEM;
	for (uint32_t block = 0; block < blocks; block++)
		frequency[block] = frequency_of_block(&work, block);
	for (size_t i = blocks; i < all; i++)
		frequency[i] = frequency_of_edge(&work, frequency, i - blocks);
	*out = (struct frequencies){ frequency, frequency + blocks, frequency_is_relative(&work) };
	return 0;
}

void frequencies_release(struct frequencies *frequencies)
{
	free(frequencies->blocks);
	*frequencies = (struct frequencies){ 0 };
}
