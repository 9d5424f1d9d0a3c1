#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "image/process_table.h"
#include "import/perf_data/perf_data_waiting.h"

#define SAMPLES	     400
#define RECORD_BYTES 8000 /* all together 3.2 MB that zstd cannot pack: several chunks */

static void waiting_freep(struct perf_waiting **waiting)
{
	perf_waiting_free(*waiting);
}

/* Bytes of the record of that number, which no packer makes smaller. */
static void fill(uint8_t *record, uint32_t number)
{
	uint64_t state = number + 1;
	for (size_t i = 0; i < RECORD_BYTES; i++) {
		state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
		record[i] = (uint8_t)(state >> 56);
	}
}

static void add(struct perf_waiting *waiting, struct process *process, uint32_t number)
{
	uint8_t record[RECORD_BYTES];
	fill(record, number);
	const struct perf_waiting_sample sample = {
		number, number * 3, process, { record, RECORD_BYTES - number % 7 }
	};
	assert_int_equal(perf_waiting_add(waiting, &sample), 0);
}

struct taken {
	uint32_t count;
	uint32_t refuse;	 /* the number of which is refused; 0: none */
	uint32_t files[SAMPLES]; /* what the process of each had mapped at 0x1000 */
};

static int take(void *context, const struct perf_waiting_sample *sample, struct error *err)
{
	struct taken *taken = context;
	uint8_t record[RECORD_BYTES];
	uint32_t number = taken->count;
	if (number && number == taken->refuse)
		return error_set(err, -EOVERFLOW, "sample %u is refused", number);
	fill(record, number);
	assert_int_equal(sample->event, number);
	assert_int_equal(sample->context, number * 3);
	assert_int_equal(sample->record.size, RECORD_BYTES - number % 7);
	assert_memory_equal(sample->record.data, record, sample->record.size);
	const struct mapping *mapping = address_space_find(sample->process->space, 0x1000);
	taken->files[taken->count++] = mapping ? mapping->file : 0;
	return 0;
}

static void map(struct process_table *table, uint32_t file)
{
	const struct mapping mapping = { .start = 0x1000, .end = 0x2000, .file = file };
	assert_int_equal(process_map(table, 7, &mapping), 0);
}

static void samples_come_back_in_order_and_whole(void **state)
{
	(void)state;
	CLEANUP(waiting_freep) struct perf_waiting *waiting = perf_waiting_new();
	CLEANUP(process_table_release) struct process_table table = { 0 };
	struct taken taken = { 0 };
	assert_non_null(waiting);
	map(&table, 1);
	for (uint32_t i = 0; i < SAMPLES; i++)
		add(waiting, process_find(&table, 7), i);
	assert_false(perf_waiting_is_full(waiting, 0));
	assert_int_equal(perf_waiting_drain(waiting, take, &taken, NULL), 0);
	assert_int_equal(taken.count, SAMPLES);

	/* they are forgotten then, and others may come */
	taken.count = 0;
	assert_int_equal(perf_waiting_drain(waiting, take, &taken, NULL), 0);
	assert_int_equal(taken.count, 0);
	add(waiting, process_find(&table, 7), 0);
	assert_int_equal(perf_waiting_drain(waiting, take, &taken, NULL), 0);
	assert_int_equal(taken.count, 1);
}

static void a_process_stays_as_it_was(void **state)
{
	(void)state;
	CLEANUP(waiting_freep) struct perf_waiting *waiting = perf_waiting_new();
	CLEANUP(process_table_release) struct process_table table = { 0 };
	struct taken taken = { 0 };
	assert_non_null(waiting);
	for (uint32_t i = 0; i < 4; i++) {
		map(&table, i / 2 + 1);
		add(waiting, process_find(&table, 7), i);
	}
	map(&table, 9);
	assert_int_equal(perf_waiting_drain(waiting, take, &taken, NULL), 0);
	const uint32_t files[] = { 1, 1, 2, 2 };
	assert_memory_equal(taken.files, files, sizeof(files));
}

static void what_the_taker_returns_ends_the_walk(void **state)
{
	(void)state;
	CLEANUP(waiting_freep) struct perf_waiting *waiting = perf_waiting_new();
	CLEANUP(process_table_release) struct process_table table = { 0 };
	struct taken taken = { .refuse = 5 };
	struct error err = { 0 };
	assert_non_null(waiting);
	map(&table, 1);
	for (uint32_t i = 0; i < 10; i++)
		add(waiting, process_find(&table, 7), i);
	assert_int_equal(perf_waiting_drain(waiting, take, &taken, &err), -EOVERFLOW);
	assert_string_equal(err.text, "sample 5 is refused");
	assert_int_equal(taken.count, 5);
}

/* 24 MiB, and as much as the file had. */
static void they_are_full_by_what_they_take(void **state)
{
	(void)state;
	CLEANUP(waiting_freep) struct perf_waiting *waiting = perf_waiting_new();
	CLEANUP(process_table_release) struct process_table table = { 0 };
	uint32_t count = 0;
	assert_non_null(waiting);
	map(&table, 1);
	while (!perf_waiting_is_full(waiting, 0) && count < 10000)
		add(waiting, process_find(&table, 7), count++);
	assert_in_range(count, (23u << 20) / RECORD_BYTES, (25u << 20) / RECORD_BYTES);
	assert_false(perf_waiting_is_full(waiting, 2u << 20));
}

#define MANY_MAPPINGS	4096u
#define MAPPINGS_AT_MOST (1u << 20)

/* Each process that is kept counts with all its mappings, also those that it shares. */
static void they_are_full_by_mappings(void **state)
{
	(void)state;
	CLEANUP(waiting_freep) struct perf_waiting *waiting = perf_waiting_new();
	CLEANUP(process_table_release) struct process_table table = { 0 };
	uint32_t count = 0;
	assert_non_null(waiting);
	for (uint64_t i = 0; i < MANY_MAPPINGS; i++) {
		const struct mapping mapping = { .start = i << 16,
						 .end = (i << 16) + 0x1000,
						 .file = 1 };
		assert_int_equal(process_map(&table, 7, &mapping), 0);
	}
	for (; !perf_waiting_is_full(waiting, 0) && count < SAMPLES; count++) {
		const struct mapping mapping = { .start = 0, .end = 0x1000, .file = count + 2 };
		assert_int_equal(process_map(&table, 7, &mapping), 0);
		add(waiting, process_find(&table, 7), count);
	}
	assert_int_equal(count, MAPPINGS_AT_MOST / MANY_MAPPINGS + 1);
	assert_false(perf_waiting_is_full(waiting, MANY_MAPPINGS * sizeof(struct mapping)));
}

/* Processes without mappings take memory too, whatever the size of the file. */
static void they_are_full_by_processes(void **state)
{
	(void)state;
	CLEANUP(waiting_freep) struct perf_waiting *waiting = perf_waiting_new();
	CLEANUP(process_table_release) struct process_table table = { 0 };
	uint32_t count = 0;
	assert_non_null(waiting);
	for (; !perf_waiting_is_full(waiting, 1u << 30) && count < MAPPINGS_AT_MOST; count++) {
		struct process *process = process_need(&table, 7 + count % 2);
		const struct perf_waiting_sample sample = { 0, 0, process, { "", 0 } };
		assert_non_null(process);
		assert_int_equal(perf_waiting_add(waiting, &sample), 0);
	}
	assert_int_equal(count, MAPPINGS_AT_MOST / 4 + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_come_back_in_order_and_whole),
		cmocka_unit_test(a_process_stays_as_it_was),
		cmocka_unit_test(what_the_taker_returns_ends_the_walk),
		cmocka_unit_test(they_are_full_by_what_they_take),
		cmocka_unit_test(they_are_full_by_mappings),
		cmocka_unit_test(they_are_full_by_processes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
