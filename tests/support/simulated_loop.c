#include "support/simulated_loop.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "collect/edge_window.h"

#define ROUNDS 20000u

enum instruction_kind { PLAIN, BRANCH, BRANCH_TAKEN, BACK, UNKNOWN };

struct trace {
	uint8_t *kinds; /* of executed instructions: enum instruction_kind */
	double *begin;	/* of each: when it is the next to retire */
	size_t count;
};

struct tally {
	uint64_t taken, all;
};

static bool is_taken(const struct simulated_loop *loop, unsigned round, struct random_state *random)
{
	return loop->period ? round % loop->period == loop->period - 1
			    : random_unit(random) < loop->taken;
}

static void add_round(struct trace *trace, const struct simulated_loop *loop, unsigned round,
		      struct random_state *random)
{
	bool taken = is_taken(loop, round, random);
	bool unknown = loop->known && random_below(random, loop->known) == 0;
	unsigned instructions = taken ? loop->taken_instructions : loop->instructions;
	for (unsigned i = 0; i < instructions; i++) {
		enum instruction_kind kind = PLAIN;
		if (i == 1)
			kind = taken ? BRANCH_TAKEN : BRANCH;
		else if (i == instructions - 1)
			kind = unknown ? UNKNOWN : BACK;
		double time = taken && i == (loop->before ? 1 : 2) ? 1 + loop->slow : 1;
		trace->begin[trace->count + 1] = trace->begin[trace->count] + time;
		trace->kinds[trace->count++] = (uint8_t)kind;
	}
}

static void trace_make(struct trace *trace, const struct simulated_loop *loop,
		       struct random_state *random)
{
	size_t most = (size_t)ROUNDS * (loop->instructions + loop->taken_instructions);
	*trace = (struct trace){ calloc(most, sizeof(*trace->kinds)),
				 calloc(most + 1, sizeof(*trace->begin)), 0 };
	if (!trace->kinds || !trace->begin) {
		fputs("out of memory\n", stderr);
		exit(1);
	}
	for (unsigned round = 0; round < ROUNDS; round++)
		add_round(trace, loop, round, random);
}

/* The instruction at a random moment; no path from there reaches the trace's end. */
static size_t draw_start(const struct trace *trace, struct random_state *random)
{
	size_t low = 0, high = trace->count - EDGE_LOOP_INSTRUCTIONS;
	double time = random_unit(random) * trace->begin[high];
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (trace->begin[middle] <= time)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Continues a path that has passed `done` instructions to `limit`, or to an unknown condition.
 * Returns how many it then has passed. */
static unsigned follow(const struct trace *trace, size_t start, unsigned done, unsigned limit,
		       struct edge_outcome *outcomes, size_t *count)
{
	for (; done < limit; done++) {
		enum instruction_kind kind = trace->kinds[start + done];
		if (kind == UNKNOWN)
			break;
		if (kind == PLAIN)
			continue;
		outcomes[(*count)++] = (struct edge_outcome){ .from = kind == BACK ? 200 : 100,
							      .to = kind == BACK	   ? 10
								    : kind == BRANCH_TAKEN ? 150
											   : 101,
							      .at = done,
							      .kind = INTERPRET_CONDITIONAL };
	}
	return done;
}

static void tally_from(struct tally *tally, const struct edge_outcome *outcomes, size_t count,
		       unsigned first)
{
	for (size_t i = 0; i < count; i++) {
		if (outcomes[i].from != 100 || outcomes[i].at - first >= EDGE_INSTRUCTIONS)
			continue;
		tally->all++;
		tally->taken += outcomes[i].to == 150;
	}
}

struct simulated_shares simulated_loop_shares(const struct simulated_loop *loop, unsigned paths,
					      struct random_state *random)
{
	struct trace trace;
	struct edge_outcome outcomes[EDGE_LOOP_INSTRUCTIONS];
	struct tally truth = { 0 }, from_start = { 0 }, in_window = { 0 };
	uint64_t turn = 0;
	trace_make(&trace, loop, random);
	for (size_t i = 0; i < trace.count; i++) {
		truth.all += trace.kinds[i] == BRANCH || trace.kinds[i] == BRANCH_TAKEN;
		truth.taken += trace.kinds[i] == BRANCH_TAKEN;
	}
	for (unsigned path = 0; path < paths; path++) {
		size_t start = draw_start(&trace, random), count = 0;
		unsigned done = follow(&trace, start, 0, EDGE_INSTRUCTIONS, outcomes, &count);
		tally_from(&from_start, outcomes, count, 0);
		if (done == EDGE_INSTRUCTIONS && edge_window_is_loop(outcomes, count))
			done = follow(&trace, start, done, EDGE_LOOP_INSTRUCTIONS, outcomes,
				      &count);
		tally_from(&in_window, outcomes, count,
			   edge_window_first(outcomes, count, done, &turn));
	}
	free(trace.kinds);
	free(trace.begin);
	return (struct simulated_shares){
		.truth = (double)truth.taken / (double)truth.all,
		.from_start = (double)from_start.taken / (double)from_start.all,
		.in_window = (double)in_window.taken / (double)in_window.all,
	};
}
