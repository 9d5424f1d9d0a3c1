/*
 * bench schedule - static schedules: instructions a second of CPU time, for blocks of several
 * lengths and machines in and out of order; with and without bounds and the state at
 * the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "analyze/flow/schedule.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/random.h"

#define INSTRUCTIONS 1000000

/* Like compiled code: a third memory, some branches, operands from nearby. */
static void fill(struct instruction_effects *ops, size_t count)
{
	struct random_state seed = random_seed(1);
	for (size_t i = 0; i < count; i++) {
		uint64_t dice = random_below(&seed, 100);
		struct instruction_effects *op = &ops[i];
		*op = (struct instruction_effects){ .class = dice < 25	 ? LATENCY_LOAD
							     : dice < 35 ? LATENCY_STORE
							     : dice < 45 ? LATENCY_MOVE
							     : dice < 50 ? LATENCY_SHIFT
							     : dice < 53 ? LATENCY_MULTIPLY
									 : LATENCY_ALU };
		op->reads.bits[0] = UINT64_C(1) << random_below(&seed, 16) |
				    UINT64_C(1) << random_below(&seed, 16);
		op->writes.bits[0] = UINT64_C(1) << random_below(&seed, 16);
		op->reads_memory = op->class == LATENCY_LOAD;
		op->writes_memory = op->class == LATENCY_STORE;
		if (op->reads_memory || op->writes_memory)
			op->address.bits[0] = op->reads.bits[0] & -op->reads.bits[0];
		if (op->writes_memory)
			op->writes.bits[0] = 0;
	}
}

static uint64_t cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static double millions_per_s(const struct pipeline *pipeline, const struct instruction_effects *ops,
			     size_t block, struct scheduled *out, struct schedule_bounds *bounds,
			     struct schedule_state *exit)
{
	double best = 0;
	for (int round = 0; round < 5; round++) {
		uint64_t begin_ns = cpu_ns();
		for (size_t at = 0; at + block <= INSTRUCTIONS; at += block)
			schedule_block(pipeline, ops + at, block, NULL, out, bounds, exit);
		double rate = INSTRUCTIONS * 1e3 / (double)(cpu_ns() - begin_ns);
		if (rate > best)
			best = rate;
	}
	return best;
}

int main(void)
{
	static const char *const names[] = { "generic-in-order", "cortex-a53", "zen5" };
	static const size_t lengths[] = { 5, 20, 100, 10000, 100000 };
	struct instruction_effects *ops = calloc(INSTRUCTIONS, sizeof(*ops));
	struct scheduled *out = calloc(INSTRUCTIONS, sizeof(*out));
	struct pipelines *pipelines;
	struct error err;
	if (!ops || !out || pipelines_new(&pipelines, &err) < 0)
		return 1;
	fill(ops, INSTRUCTIONS);
	printf("%-18s %8s %20s %20s\n", "machine", "block", "million/s", "with bounds, state");
	for (size_t i = 0; i < COUNT_OF(names); i++)
		for (size_t k = 0; k < COUNT_OF(lengths); k++) {
			const struct pipeline *pipeline = pipelines_by_name(pipelines, names[i]);
			struct schedule_bounds bounds;
			struct schedule_state exit;
			printf("%-18s %8zu %20.1f %20.1f\n", names[i], lengths[k],
			       millions_per_s(pipeline, ops, lengths[k], out, NULL, NULL),
			       millions_per_s(pipeline, ops, lengths[k], out, &bounds, &exit));
		}
	pipelines_free(pipelines);
	free(out);
	free(ops);
	return 0;
}
