/* What a sample costs is remembered for an hour of one boot, and only where nobody else can write
 * it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice/cost_memory.h"
#include "base/cleanup.h"
#include "machine/event.h"
#include "support/skip.h"
#include "support/temporary_folder.h"

#define NOW UINT64_C(9000000000000)

static const struct sample_cost cost = { 6300.5, 5100, 8200, 320, 0.01 };

static bool knows(const char *folder, uint64_t key, uint64_t now_ns)
{
	struct sample_cost found;
	uint64_t age_ns;
	return cost_memory_find(folder, key, now_ns, &found, &age_ns);
}

static void what_was_measured_is_found_for_an_hour(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *place = temporary_folder_path(&folder, "costs");
	struct sample_cost found;
	uint64_t age_ns;
	assert_false(knows(place, 1, NOW));
	assert_int_equal(access(place, F_OK), -1); /* looking makes nothing */
	assert_int_equal(cost_memory_put(place, 1, NOW, &cost), 0);
	assert_true(cost_memory_find(place, 1, NOW + 5, &found, &age_ns));
	assert_true(found.ns == cost.ns && found.low_ns == cost.low_ns &&
		    found.high_ns == cost.high_ns);
	assert_int_equal(found.samples, cost.samples);
	assert_int_equal(age_ns, 5);
	assert_false(knows(place, 2, NOW));
	assert_true(knows(place, 1, NOW + COST_MEMORY_VALID_NS));
	assert_false(knows(place, 1, NOW + COST_MEMORY_VALID_NS + 1));
	assert_false(knows(place, 1, NOW - 1)); /* of a time that has not come */
	/* Measured anew it is the new one. */
	struct sample_cost later = cost;
	later.ns = 7000;
	assert_int_equal(cost_memory_put(place, 1, NOW + COST_MEMORY_VALID_NS, &later), 0);
	assert_true(cost_memory_find(place, 1, NOW + COST_MEMORY_VALID_NS, &found, &age_ns));
	assert_true(found.ns == 7000);
}

static void the_oldest_makes_room(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	for (uint64_t key = 1; key <= COST_MEMORY_ENTRIES + 1; key++)
		assert_int_equal(cost_memory_put(folder.path, key, NOW + key, &cost), 0);
	assert_false(knows(folder.path, 1, NOW + 100));
	for (uint64_t key = 2; key <= COST_MEMORY_ENTRIES + 1; key++)
		assert_true(knows(folder.path, key, NOW + 100));
}

static void a_busy_machine_is_not_remembered(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	struct sample_cost busy = cost;
	busy.busy_ratio = 2 * COST_MEMORY_BUSY;
	assert_int_equal(cost_memory_put(folder.path, 1, NOW, &busy), 0);
	assert_false(knows(folder.path, 1, NOW));
	assert_int_equal(cost_memory_put(NULL, 1, NOW, &cost), 0);
	assert_false(knows(NULL, 1, NOW));
}

/* Puts a text where the file is, with these rights. */
static void write_file(const char *path, const char *boot, mode_t mode)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "%s\n%016x %llu 6300.5 5100.0 8200.0 320\n", boot, 1,
		(unsigned long long)NOW);
	fclose(file);
	assert_int_equal(chmod(path, mode), 0);
}

static void what_others_could_have_written_is_not_believed(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *file = temporary_folder_path(&folder, "sample-costs");
	const char *other = temporary_folder_path(&folder, "other");
	char boot[64];
	FILE *boot_id = fopen("/proc/sys/kernel/random/boot_id", "r");
	if (!boot_id || fscanf(boot_id, "%63s", boot) != 1)
		SKIP("the machine does not say which boot this is");
	fclose(boot_id);
	write_file(file, boot, 0644);
	assert_true(knows(folder.path, 1, NOW)); /* the control */
	write_file(file, "00000000-0000-0000-0000-000000000000", 0644);
	assert_false(knows(folder.path, 1, NOW));
	write_file(file, boot, 0664);
	assert_false(knows(folder.path, 1, NOW));
	write_file(file, boot, 0644);
	assert_int_equal(chmod(folder.path, 0770), 0);
	assert_false(knows(folder.path, 1, NOW));
	assert_true(cost_memory_put(folder.path, 1, NOW, &cost) < 0);
	assert_int_equal(chmod(folder.path, 0700), 0);
	/* A link is neither followed nor written through. */
	assert_int_equal(rename(file, other), 0);
	assert_int_equal(symlink(other, file), 0);
	assert_false(knows(folder.path, 1, NOW));
	assert_int_equal(cost_memory_put(folder.path, 2, NOW, &cost), 0);
	assert_true(knows(folder.path, 2, NOW));
	struct stat info;
	assert_int_equal(lstat(file, &info), 0);
	assert_true(S_ISREG(info.st_mode));
	if (geteuid() == 0) {
		assert_int_equal(chown(file, 65501, 0), 0);
		assert_false(knows(folder.path, 2, NOW));
	}
}

static void damaged_lines_are_left_out(void **state)
{
	static const char *const lines[] = {
		"",
		"x",
		"1 2 3",
		"0000000000000001 9000000000000 -4 1 1 1",
		"0000000000000001 9000000000000 1e300 1 1 1",
		"0000000000000001 9000000000000 nan 1 1 1",
	};
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "sample-costs");
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(cost_memory_put(folder.path, 2, NOW, &cost), 0);
		FILE *file = fopen(path, "a");
		fprintf(file, "%s\n0000000000000003 %llu 5 5 5 5", lines[i],
			(unsigned long long)NOW);
		fclose(file);
		assert_false(knows(folder.path, 1, NOW));
		assert_true(knows(folder.path, 2, NOW));
		assert_true(knows(folder.path, 3, NOW));
	}
	/* More than such a file has. */
	FILE *file = fopen(path, "a");
	for (int i = 0; i < 10000; i++)
		fputc('\n', file);
	fclose(file);
	assert_false(knows(folder.path, 2, NOW));
}

static void another_event_is_another_key(void **state)
{
	(void)state;
	struct event event = { 0 };
	uint64_t before = cost_memory_key(&event, 0);
	assert_true(before == cost_memory_key(&event, 0));
	assert_true(before != cost_memory_key(&event, 1));
	event.attr.sample_type = 1;
	assert_true(before != cost_memory_key(&event, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_measured_is_found_for_an_hour),
		cmocka_unit_test(the_oldest_makes_room),
		cmocka_unit_test(a_busy_machine_is_not_remembered),
		cmocka_unit_test(what_others_could_have_written_is_not_believed),
		cmocka_unit_test(damaged_lines_are_left_out),
		cmocka_unit_test(another_event_is_another_key),
	};
	return cmocka_run_group_tests_name("cost memory", tests, NULL, NULL);
}
