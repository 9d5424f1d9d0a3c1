/*
 * make-extreme-profile SEED FILE - writes a profile that reads well and whose numbers are what
 * nobody measured: 0, 1, powers of two and their neighbours, in columns that have nothing to do
 * with each other. Sums of its counts fit 64 bits, but for one seed in eight, which is to be
 * refused. Every percentage that culprit prints of one must be none or one
 * (tests/extreme_figures.py).
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/count_of.h"
#include "base/error.h"
#include "base/random.h"
#include "profile/bill.h"
#include "profile/profile.h"
#include "profile/stash.h"
#include "store/profile_file.h"
#include "symbol/record.h"

#define CODE	   0x1000
#define CODE_BYTES 64

struct maker {
	struct profile *profile;
	struct random_state random;
	bool too_much;
	uint32_t events[4], images[3], contexts[3], nodes[24];
};

static void must(int ret)
{
	if (ret < 0)
		abort();
}

static uint64_t below(struct maker *maker, uint64_t limit)
{
	return random_below(&maker->random, limit);
}

static uint64_t extreme(struct maker *maker)
{
	static const uint64_t numbers[] = {
		0,
		1,
		2,
		3,
		99,
		128,
		255,
		65535,
		65536,
		1000000,
		1000000000,
		0x7fffffff,
		0x80000000,
		0xffffffff,
		0x100000000,
		0x7fffffffffffffff,
		0x8000000000000000,
		0xfffffffffffffffe,
		0xffffffffffffffff,
	};
	return numbers[below(maker, COUNT_OF(numbers))];
}

/* Of a few hundred terms. */
static uint64_t term(struct maker *maker)
{
	uint64_t number = extreme(maker);
	return maker->too_much ? number : number >> (number >> 54 ? 10 : 0);
}

static struct cell cell(struct maker *maker)
{
	if (below(maker, 2))
		return (struct cell){ below(maker, 1000), below(maker, 1000000),
				      below(maker, UINT64_C(1) << 40) };
	unsigned __int128 squares = extreme(maker);
	return (struct cell){ term(maker), term(maker), squares << 64 | extreme(maker) };
}

static uint64_t address(struct maker *maker)
{
	return below(maker, 4) ? CODE + below(maker, CODE_BYTES) : extreme(maker);
}

static void add_events(struct maker *maker)
{
	static const char *const names[] = { "cycles", "instructions", "cpu-clock", "branches" };
	for (size_t i = 0; i < COUNT_OF(maker->events); i++) {
		struct profile_event event = { .name = span_of_text(names[i]),
					       .scale = below(maker, PROFILE_MOST_DECIMALS + 1) *
							below(maker, 2),
					       .pmu = span_of_text("cpu"),
					       .type = below(maker, 6),
					       .config = i,
					       .clock = i == 2,
					       .policy = below(maker, 4),
					       .period = extreme(maker),
					       .exclude = below(maker, 4),
					       .skid = below(maker, 4),
					       .origin = below(maker, 3),
					       .sampled = below(maker, 4) > 0 };
		if (event.clock || below(maker, 2))
			event.unit = span_of_text("ns");
		if (i == 1 && below(maker, 2))
			event.leader = span_of_text("cycles");
		must(profile_add_event(maker->profile, &event, &maker->events[i]));
	}
}

static void add_places(struct maker *maker)
{
	struct profile *profile = maker->profile;
	for (size_t i = 0; i < COUNT_OF(maker->images); i++) {
		char build_id[] = { 7, 7, 7, (char)i };
		struct profile_image image = { .kind = 1 + below(maker, 4),
					       .build_id = { build_id, sizeof(build_id) } };
		must(profile_add_image(profile, &image, &maker->images[i]));
		must(profile_add_path(profile, maker->images[i], span_of_text("/bin/app")));
		struct profile_context context = { .comm = span_of_text("app"),
						   .pid = extreme(maker),
						   .cpu = extreme(maker) };
		must(profile_add_context(profile, &context, &maker->contexts[i]));
	}
	for (size_t i = 0; i < COUNT_OF(maker->nodes); i++) {
		struct profile_frame frame = { .kind = below(maker, 2),
					       .image = maker->images[below(maker, 3)],
					       .vaddr = address(maker) };
		uint32_t parent = i && below(maker, 5) ? maker->nodes[below(maker, i)] : 0;
		must(profile_add_node(profile, parent, &frame, &maker->nodes[i]));
	}
}

/* A function with branches, so that executions and cycles are worked out too. */
static void add_code(struct maker *maker)
{
	static const uint8_t bytes[] = { 0x90, 0x75, 0xf1, 0xeb, 0x48, 0x8b, 0x04, 0x0f, 0xe2 };
	struct error err;
	for (size_t i = 0; i < COUNT_OF(maker->images); i++) {
		struct buffer content = { 0 };
		static const char *const names[] = { "f", "g", "h" };
		const struct function_record function = { 0, CODE, span_of_text(names[i]) };
		record_put_function(&content, CODE, &function);
		struct record record = {
			RECORD_FUNCTION, CODE, CODE + CODE_BYTES - 1, { content.data, content.size }
		};
		must(stash_add(maker->profile, maker->images[i], &record, &err));
		buffer_empty(&content);
		uint8_t code[CODE_BYTES];
		for (size_t k = 0; k < sizeof(code) - 1; k++)
			code[k] = bytes[below(maker, COUNT_OF(bytes))];
		code[sizeof(code) - 1] = 0xc3; /* ret */
		record_put_code(&content, (struct span){ code, sizeof(code) });
		record = (struct record){
			RECORD_CODE, CODE, CODE + CODE_BYTES - 1, { content.data, content.size }
		};
		must(stash_add(maker->profile, maker->images[i], &record, &err));
		buffer_release(&content);
	}
}

static void add_counts(struct maker *maker)
{
	struct profile *profile = maker->profile;
	bool stacks = below(maker, 3) > 0;
	for (size_t i = 0; i < 40; i++) {
		uint32_t event = maker->events[below(maker, COUNT_OF(maker->events))];
		uint32_t image = maker->images[below(maker, COUNT_OF(maker->images))];
		uint32_t context = maker->contexts[below(maker, COUNT_OF(maker->contexts))];
		struct profile_frame from = { .image = below(maker, 6) ? image : 0,
					      .vaddr = address(maker) };
		struct profile_frame to = { .image = image, .vaddr = address(maker) };
		struct cell counted = cell(maker);
		must(profile_add_flat(profile, event, context, &from, &counted));
		counted = cell(maker);
		if (stacks)
			must(profile_add_stack(profile, event, context,
					       maker->nodes[below(maker, COUNT_OF(maker->nodes))],
					       &counted));
		must(profile_add_edge(profile, event, 0, below(maker, 5), &from, &to, term(maker),
				      term(maker)));
		must(profile_add_range(profile, event, 0, below(maker, 5), image, CODE,
				       CODE + below(maker, CODE_BYTES), term(maker)));
	}
}

static void add_bill(struct maker *maker)
{
	static const char *const items[] = {
		BILL_RUNS,
		BILL_STORED,
		BILL_FILTERED,
		BILL_STEPPED,
		BILL_LOST_RING,
		BILL_LOST_SKIPPED,
		"unknown_no_mapping",
		BILL_READS,
		BILL_STACKS_CUT,
		BILL_STACKS_FOLLOWED,
		BILL_ENABLED_NS,
		BILL_RUNNING_NS,
		BILL_THROTTLED,
		BILL_COUNT,
		BILL_SHORTFALL_NS,
		BILL_SURPLUS_NS,
		BILL_IDLE_INTERRUPTS,
		BILL_IDLE_NS,
		BILL_IDLE_LOW_NS,
		BILL_IDLE_HIGH_NS,
		BILL_INTERPRETED,
		BILL_INTERPRET_THINNED,
		BILL_INTERPRET_SILENT,
		BILL_INTERPRET_OUTCOMES,
		BILL_BUSY_NS,
		BILL_ONLINE_NS,
		BILL_STEAL_NS,
		BILL_COMMAND_ELAPSED_NS,
		BILL_COMMAND_USER_NS,
		BILL_SAMPLED_USER_NS,
		BILL_SAMPLED_SYSTEM_NS,
		BILL_SELF_CPU_NS,
		BILL_BURSTS,
		BILL_STEPS,
		BILL_BURST_NS,
	};
	for (size_t i = 0; i < COUNT_OF(items); i++)
		for (size_t e = 0; e <= COUNT_OF(maker->events); e++)
			if (below(maker, 2))
				must(profile_add_bill(maker->profile, e ? maker->events[e - 1] : 0,
						      OPTIONAL_ABSENT, items[i], extreme(maker)));
	for (size_t i = 0; i <= below(maker, 3); i++) {
		struct profile_source source = { .host = span_of_text(i ? "web7" : "web8"),
						 .machine = span_of_text("x86_64"),
						 .cpu_vendor = span_of_text("GenuineIntel"),
						 .cpu_model = span_of_text("06-55-04"),
						 .cpus = extreme(maker),
						 .start_ns = extreme(maker),
						 .duration_ns = extreme(maker) };
		must(profile_add_source(maker->profile, &source));
	}
}

int main(int argc, char **argv)
{
	struct error err;
	if (argc != 3)
		return 2;
	uint64_t seed = strtoull(argv[1], NULL, 10);
	struct maker maker = { .profile = profile_new(),
			       .random = random_seed(seed),
			       .too_much = seed % 8 == 7 };
	if (!maker.profile)
		abort();
	add_events(&maker);
	add_places(&maker);
	add_code(&maker);
	add_counts(&maker);
	add_bill(&maker);
	if (profile_file_write(argv[2], maker.profile, &err) < 0) {
		fprintf(stderr, "make-extreme-profile: %s\n", err.text);
		return 1;
	}
	profile_free(maker.profile);
	return 0;
}
