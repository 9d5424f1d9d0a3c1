/*
 * The same bytes through a ring and through a perf.data file: whatever src/intake
 * decides comes out alike. Rows are compared as texts, event by event.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/random.h"
#include "collect/session.h"
#include "import/formats.h"
#include "intake/cells_write.h"
#include "profile/bill.h"
#include "store/profile_file.h"
#include "support/imported.h"
#include "support/perf_file.h"

#define PID    7000000u /* more than Linux gives: nobody in /proc answers for it */
#define TEXT   UINT64_C(0xffffffff81000000)
#define PERIOD 1000u
#define TYPE                                                                                       \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN)
#define FORMAT                                                                                     \
	(PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED |                     \
	 PERF_FORMAT_TOTAL_TIME_RUNNING)

enum { LEADER_ID = 100, MEMBER_ID = 200 };

static const char *const names[] = { "cycles", "instructions" };

/* The event that is sampled has LEADER_ID, also where the other one leads as slots do: then it
 * comes first, among the events and in what samples read. */
enum order { SAMPLED_LEADS, SAMPLED_FOLLOWS };

static void begin(struct perf_file *file, enum order order)
{
	struct perf_event_attr attrs[2];
	uint64_t ids[2];
	for (int i = 0; i < 2; i++) {
		int at = order == SAMPLED_LEADS ? i : 1 - i;
		ids[at] = i ? MEMBER_ID : LEADER_ID;
		attrs[at] = (struct perf_event_attr){
			.type = PERF_TYPE_HARDWARE,
			.config = i ? PERF_COUNT_HW_INSTRUCTIONS : PERF_COUNT_HW_CPU_CYCLES,
			.sample_type = TYPE,
			.read_format = FORMAT,
			.sample_period = i ? 0 : PERIOD,
			.sample_id_all = 1,
			.exclude_guest = 1, /* else the name says that guests count, too */
		};
	}
	perf_file_begin(file, attrs, ids, 2, 136);
	perf_put_comm(file, PID, PID, "worker", true, 10, LEADER_ID);
}

static void put_lost(struct perf_file *file, uint64_t time, uint64_t count)
{
	perf_record_begin(file, PERF_RECORD_LOST, 0);
	perf_put_u64(file, LEADER_ID);
	perf_put_u64(file, count);
	perf_put_trailer(file, PID, PID, time, LEADER_ID);
	perf_record_end(file);
}

/* What the counters stand at. */
struct counted {
	uint64_t cycles, instructions, enabled, running;
	enum order order;
};

static void put_counts(struct perf_file *file, const struct counted *counted)
{
	for (int i = 0; i < 2; i++) {
		bool sampled = (counted->order == SAMPLED_LEADS) == (i == 0);
		perf_put_u64(file, sampled ? counted->cycles : counted->instructions);
		perf_put_u64(file, sampled ? LEADER_ID : MEMBER_ID);
	}
}

static void put(struct perf_file *file, uint16_t mode, uint64_t time, const uint64_t *words,
		size_t count, const struct counted *counted)
{
	uint64_t ip = 0;
	for (size_t i = count; i-- > 0;)
		ip = code_mode_is_mark(words[i]) ? ip : words[i];
	perf_record_begin(file, PERF_RECORD_SAMPLE, mode);
	perf_put_u64(file, LEADER_ID);
	perf_put_u64(file, ip);
	perf_put_u32(file, PID);
	perf_put_u32(file, PID);
	perf_put_u64(file, time);
	perf_put_u64(file, PERIOD);
	perf_put_u64(file, 2);
	perf_put_u64(file, counted->enabled);
	perf_put_u64(file, counted->running);
	put_counts(file, counted);
	perf_put_u64(file, count);
	for (size_t i = 0; i < count; i++)
		perf_put_u64(file, words[i]);
	perf_record_end(file);
}

/* ---- a session without a kernel below it */

struct live {
	struct session session;
	struct sampler samplers[2];
	struct lane lanes[2];
	struct counter counters[2];
	uint32_t last_exit[1];
};

static struct live *new_live(void)
{
	struct live *live = calloc(1, sizeof(*live));
	assert_non_null(live);
	struct session *session = &live->session;
	session->profile = profile_new();
	assert_non_null(session->profile);
	assert_int_equal(tally_init(&session->tally, session->profile), 0);
	session->world = session_world(session);
	session->stacks = true;
	session->last_exit = live->last_exit;
	shares_init(&session->shares, &(struct share_limits){ 0 });
	session->kernel = (struct kernel_map){ .session = session->profile };
	assert_int_equal(kernel_map_add(&session->kernel, KERNEL_CORE, TEXT, TEXT + 0x10000,
					span_of_text("kernel")),
			 0);
	for (uint32_t i = 0; i < 2; i++) {
		struct sampler *sampler = &live->samplers[i];
		*sampler = (struct sampler){ .sampled = i == 0,
					     .stacks = true,
					     .group_size = i == 0 ? 2 : 1,
					     .multiplexed = 1,
					     .mean_period = PERIOD,
					     .layout = { .sample_type = TYPE,
							 .read_format = FORMAT,
							 .sample_id_all = true } };
		const struct profile_event event = { .name = span_of_text(names[i]),
						     .sampled = i == 0 };
		assert_int_equal(profile_add_event(session->profile, &event, &sampler->id), 0);
		live->counters[i] =
			(struct counter){ .id = i ? MEMBER_ID : LEADER_ID, .sampler = i };
		assert_int_equal(number_map_put(&session->counters.by_id, live->counters[i].id,
						(void *)(uintptr_t)(i + 1)),
				 0);
	}
	session->counters.samplers = live->samplers;
	session->counters.sampler_count = 2;
	session->counters.cpu_count = 1;
	session->counters.lanes = live->lanes;
	session->counters.list = live->counters;
	session->counters.sideband_layout = live->samplers[0].layout;
	return live;
}

static void free_live(struct live *live)
{
	struct session *session = &live->session;
	process_table_release(&session->processes);
	tally_release(&session->tally);
	chain_release(&session->chain);
	read_window_release(&session->reads);
	kernel_map_release(&session->kernel);
	profile_free(session->profile);
	shares_release(&session->shares);
	groups_release(&session->groups);
	number_map_release(&session->counters.by_id);
	bursts_release(&session->bursts);
	weight_release(&live->lanes[0].weight);
	free(live);
}

/* The records of a file as a ring would hand them over. */
static struct profile *through_a_ring(struct live *live, const struct perf_file *file)
{
	struct session *session = &live->session;
	struct ring ring = { 0 };
	const uint8_t *bytes = file->bytes.data;
	for (size_t at = file->data; at < file->bytes.size;) {
		size_t size = perf_record_size(bytes + at, file->bytes.size - at);
		assert_int_not_equal(size, 0);
		assert_int_equal(session_process_record(session, &ring, bytes + at, size), 0);
		at += size;
	}
	/* what the kernel's counter would say */
	live->lanes[0].advanced =
		PERIOD * (double)(live->lanes[0].sums.stored + live->lanes[0].sums.lost_ring);
	assert_int_equal(session_settle(session, SETTLE_REST), 0);
	struct profile *profile = profile_new();
	struct tally_translation translation;
	assert_non_null(profile);
	assert_int_equal(tally_translation_init(&translation, session->profile, profile), 0);
	assert_int_equal(tally_flush(&session->tally, &translation), 0);
	tally_translation_release(&translation);
	return profile;
}

static uint64_t billed(const struct profile *profile, const char *event, const char *item)
{
	const struct table *bill = profile_table(profile, PROFILE_BILL);
	uint64_t sum = 0;
	for (size_t row = 0; row < bill->count; row++) {
		const uint64_t *keys = table_keys(bill, row);
		if (keys[BILL_EVENT] &&
		    span_equal(profile_event(profile, keys[BILL_EVENT]).name,
			       span_of_text(event)) &&
		    span_equal(profile_bytes(profile, keys[BILL_ITEM]), span_of_text(item)))
			sum += table_values(bill, row)[0];
	}
	return sum;
}

/* Both ways; the test ends unless they agree. Stores the rows as texts. */
static void both_ways(struct perf_file *file, struct buffer *stacks)
{
	struct error err = { 0 };
	const struct import_options options = { .say = imported_say };
	struct live *live = new_live();
	CLEANUP(profile_freep) struct profile *lived = through_a_ring(live, file);
	CLEANUP(profile_freep) struct profile *imported_profile = NULL;
	CLEANUP(buffer_release) struct buffer leaves = { 0 };
	CLEANUP(buffer_release) struct buffer other_leaves = { 0 };
	CLEANUP(buffer_release) struct buffer other_stacks = { 0 };
	/* What only a file tells: where the kernel lies. */
	perf_file_end(file);
	assert_int_equal(imported(&importer_perf_data,
				  (struct span){ file->bytes.data, file->bytes.size }, SIZE_MAX,
				  &options, &imported_profile, &err),
			 0);
	imported_leaves(lived, &leaves);
	imported_leaves(imported_profile, &other_leaves);
	assert_string_equal(buffer_text(&leaves), buffer_text(&other_leaves));
	imported_stacks(lived, stacks);
	imported_stacks(imported_profile, &other_stacks);
	assert_string_equal(buffer_text(stacks), buffer_text(&other_stacks));
	for (size_t i = 0; i < UNKNOWN_CAUSES; i++) {
		char item[80] = BILL_UNKNOWN_PREFIX;
		size_t used = strlen(item);
		for (const char *c = unknown_texts[i]; *c; c++)
			item[used++] = *c == ' ' ? '_' : *c;
		item[used] = '\0';
		if (i != UNKNOWN_NONE)
			assert_int_equal(live->lanes[0].sums.unknown[i],
					 billed(imported_profile, names[0], item));
	}
	assert_int_equal(live->lanes[1].sums.lost_estimate,
			 billed(imported_profile, names[1], BILL_LOST_ESTIMATE));
	free_live(live);
}

static void map_kernel(struct perf_file *file)
{
	perf_record_begin(file, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
	perf_put_u32(file, UINT32_MAX);
	perf_put_u32(file, 0);
	perf_put_u64(file, TEXT);
	perf_put_u64(file, 0x10000);
	perf_put_u64(file, TEXT);
	perf_put_text(file, "[kernel.kallsyms]_text");
	perf_put_trailer(file, UINT32_MAX, 0, 10, LEADER_ID);
	perf_record_end(file);
}

#define KERNEL ((uint64_t)PERF_CONTEXT_KERNEL)
#define USER   ((uint64_t)PERF_CONTEXT_USER)

static void runs_of_unknown_frames_and_groups_agree(void **state)
{
	(void)state;
	const uint64_t wandering[] = {
		KERNEL, TEXT + 0x10, TEXT + 0x20, USER, 0x100, 0x200, 0x300
	};
	for (enum order order = SAMPLED_LEADS; order <= SAMPLED_FOLLOWS; order++) {
		CLEANUP(perf_file_release) struct perf_file file = { 0 };
		CLEANUP(buffer_release) struct buffer stacks = { 0 };
		begin(&file, order);
		map_kernel(&file);
		put(&file, PERF_RECORD_MISC_KERNEL, 20, wandering, 7,
		    &(struct counted){ 1000, 300, 10, 10, order });
		put_lost(&file, 21, 4);
		put(&file, PERF_RECORD_MISC_KERNEL, 22, wandering, 6,
		    &(struct counted){ 6000, 1300, 20, 20, order });
		put(&file, PERF_RECORD_MISC_KERNEL, 23, wandering, 7,
		    &(struct counted){ 7000, 1700, 40, 40, order });
		both_ways(&file, &stacks);
		assert_string_equal(buffer_text(&stacks),
				    "cycles [worker] ?no mapping!0x0|!0x20|!0x10 3 3000\n"
				    "instructions [worker] ?no mapping!0x0|!0x20|!0x10 - 700\n");
	}
}

static uint64_t random_word(struct random_state *random)
{
	static const uint64_t marks[] = { KERNEL, USER, (uint64_t)PERF_CONTEXT_HV,
					  (uint64_t)PERF_CONTEXT_GUEST_KERNEL,
					  (uint64_t)PERF_CONTEXT_GUEST_USER };
	switch (random_below(random, 8)) {
	case 0:
		return marks[random_below(random, 5)];
	case 1:
		return TEXT + 0x20000; /* behind the kernel, with what it runs when it starts */
	case 2:
	case 3:
		return random_below(random, 6);
	default:
		return TEXT + random_below(random, 6);
	}
}

static void random_chains_agree(void **state)
{
	(void)state;
	struct random_state random = random_seed(3);
	for (int round = 0; round < 40; round++) {
		CLEANUP(perf_file_release) struct perf_file file = { 0 };
		CLEANUP(buffer_release) struct buffer stacks = { 0 };
		struct counted counted = { .order = round % 2 ? SAMPLED_FOLLOWS : SAMPLED_LEADS };
		begin(&file, counted.order);
		map_kernel(&file);
		for (uint64_t time = 20; time < 220; time++) {
			/* the kernel writes a mark first, and then an address of that part */
			bool user = random_below(&random, 2);
			uint64_t words[12] = { user ? USER : KERNEL,
					       user ? random_below(&random, 4)
						    : TEXT + random_below(&random, 4) };
			size_t count = 2 + random_below(&random, 10);
			for (size_t i = 2; i < count; i++)
				words[i] = random_word(&random);
			counted.cycles += PERIOD;
			counted.instructions += random_below(&random, 5000);
			counted.enabled += 10;
			counted.running += 10;
			put(&file, user ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL, time,
			    words, count, &counted);
			if (random_below(&random, 20) == 0) {
				counted.cycles += PERIOD;
				put_lost(&file, time, 1);
			}
		}
		both_ways(&file, &stacks);
	}
}

/* ---- an engine that counts in the kernel: it hands over sums, without a record a sample */

struct kernel_entry {
	uint64_t offset; /* in the kernel's text */
	uint64_t samples;
};

struct table_engine {
	struct profile *profile;
	uint32_t image; /* row; 0: not made */
};

static int engine_image(void *owner, uint32_t number, uint32_t *row, bool *is_new)
{
	struct table_engine *engine = owner;
	const struct profile_image kernel = { .kind = IMAGE_KERNEL, .space = SPACE_TEXT };
	assert_int_equal(number, 1);
	*is_new = !engine->image;
	int ret = engine->image ? 0 : profile_add_image(engine->profile, &kernel, &engine->image);
	*row = engine->image;
	return ret;
}

static bool engine_calls_exact(const void *owner, uint32_t number)
{
	(void)owner;
	(void)number;
	return false;
}

static struct cell engine_measured(const void *owner, uint32_t event, const struct cell *cell,
				   uint64_t *before)
{
	(void)owner;
	(void)event;
	(void)before;
	return *cell;
}

/* In batches, as such a table is emptied; each has some of every place. */
static struct profile *through_a_table(const struct kernel_entry *entries, size_t count,
				       size_t batches)
{
	CLEANUP(cells_release) struct cells cells;
	struct table_engine engine = { .profile = profile_new() };
	const struct profile_event event = { .name = span_of_text(names[0]), .sampled = 1 };
	const struct profile_context context = { .comm = span_of_text("worker") };
	uint32_t contexts[2] = { 0 };
	uint32_t events[1];
	assert_non_null(engine.profile);
	assert_int_equal(cells_init(&cells), 0);
	assert_int_equal(profile_add_event(engine.profile, &event, &events[0]), 0);
	assert_int_equal(profile_add_context(engine.profile, &context, &contexts[1]), 0);
	for (size_t batch = 0; batch < batches; batch++)
		for (size_t i = 0; i < count; i++) {
			uint64_t samples = entries[i].samples / batches +
					   (batch < entries[i].samples % batches);
			const struct cell_key key = { .vaddr = entries[i].offset,
						      .image = 1,
						      .context = 1 };
			const struct cell sum = { samples, samples * PERIOD,
						  (unsigned __int128)samples * PERIOD * PERIOD };
			if (samples)
				assert_int_equal(cells_add(&cells, &key, &sum), 0);
		}
	const struct cells_rows rows = { .owner = &engine,
					 .image = engine_image,
					 .calls_exact = engine_calls_exact,
					 .measured = engine_measured,
					 .contexts = contexts,
					 .events = events,
					 .event_count = 1 };
	assert_int_equal(cells_write(&cells, &rows, engine.profile), 0);
	return engine.profile;
}

#define ENTRIES 300u

static void sums_from_a_table_make_the_bytes_of_its_samples(void **state)
{
	(void)state;
	struct random_state random = random_seed(11);
	struct kernel_entry entries[ENTRIES];
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	uint64_t time = 20;
	begin(&file, SAMPLED_LEADS);
	for (size_t i = 0; i < ENTRIES; i++) {
		entries[i] = (struct kernel_entry){ 16 * i, 1 + random_below(&random, 40) };
		const uint64_t words[] = { KERNEL, TEXT + entries[i].offset };
		for (uint64_t k = 0; k < entries[i].samples; k++, time++)
			put(&file, PERF_RECORD_MISC_KERNEL, time, words, 2,
			    &(struct counted){ time * PERIOD, 0, time, time, SAMPLED_LEADS });
	}
	struct live *live = new_live();
	struct error err = { 0 };
	live->session.stacks = false;
	live->samplers[0].stacks = false;
	live->samplers[0].group_size = 1; /* such an engine reads no groups */
	CLEANUP(profile_freep) struct profile *lived = through_a_ring(live, &file);
	assert_int_equal(profile_file_encode(lived, &bytes, &err), 0);
	for (size_t batches = 1; batches <= 7; batches += 3) {
		CLEANUP(profile_freep)
		struct profile *counted = through_a_table(entries, ENTRIES, batches);
		CLEANUP(buffer_release) struct buffer other = { 0 };
		assert_int_equal(profile_file_encode(counted, &other, &err), 0);
		assert_int_equal(other.size, bytes.size);
		assert_memory_equal(other.data, bytes.data, bytes.size);
	}
	free_live(live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_of_unknown_frames_and_groups_agree),
		cmocka_unit_test(random_chains_agree),
		cmocka_unit_test(sums_from_a_table_make_the_bytes_of_its_samples),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
