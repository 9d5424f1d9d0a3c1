#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/random.h"
#include "image/process_table.h"

static void map(struct process_table *table, uint32_t pid, uint64_t start, uint32_t file)
{
	struct mapping mapping = { start, start + 100, 0, file };
	assert_int_equal(process_map(table, pid, &mapping), 0);
}

static void name(struct process_table *table, uint32_t pid, uint32_t tid, const char *comm,
		 bool exec)
{
	assert_int_equal(process_comm(table, pid, tid, span_of_text(comm), exec, 1), 0);
}

static uint32_t file_of(const struct process_table *table, uint32_t pid, uint64_t address)
{
	const struct process *process = process_find(table, pid);
	const struct mapping *mapping =
		process ? address_space_find(process->space, address) : NULL;
	return mapping ? mapping->file : 0;
}

static void a_child_inherits_until_it_executes(void **state)
{
	(void)state;
	CLEANUP(process_table_release) struct process_table table = { 0 };
	name(&table, 10, 10, "parent", true);
	map(&table, 10, 1000, 1);
	process_find(&table, 10)->followed = true;
	process_find(&table, 10)->group = 4;
	assert_int_equal(process_fork(&table, 11, 11, 10, 10, 50), 0);
	struct process *child = process_find(&table, 11);
	assert_string_equal(child->comm, "parent");
	assert_true(child->followed);
	assert_int_equal(child->group, 4);
	assert_int_equal(child->start_ns, 50);
	assert_int_equal(file_of(&table, 11, 1050), 1);
	child->context = 9;
	name(&table, 11, 11, "child", true);
	map(&table, 11, 5000, 2);
	assert_int_equal(child->context, 0);
	assert_true(child->followed);
	assert_int_equal(file_of(&table, 11, 1050), 0);
	assert_int_equal(file_of(&table, 11, 5050), 2);
	assert_int_equal(file_of(&table, 10, 1050), 1);
}

static void what_an_exec_took_away_is_the_second_choice(void **state)
{
	(void)state;
	CLEANUP(process_table_release) struct process_table table = { 0 };
	name(&table, 10, 10, "old", true);
	map(&table, 10, 1000, 1);
	map(&table, 10, 3000, 2);
	name(&table, 10, 10, "new", true);
	map(&table, 10, 3000, 3);
	assert_int_equal(process_fork(&table, 11, 11, 10, 10, 50), 0);
	for (uint32_t pid = 10; pid <= 11; pid++) {
		const struct process *process = process_find(&table, pid);
		assert_int_equal(process_mapping(process, 1050)->file, 1);
		assert_int_equal(process_mapping(process, 3050)->file, 3);
		assert_null(process_mapping(process, 9050));
	}
	name(&table, 10, 10, "newer", true);
	assert_null(process_mapping(process_find(&table, 10), 1050));
	assert_int_equal(process_mapping(process_find(&table, 10), 3050)->file, 3);
	assert_int_equal(process_mapping(process_find(&table, 11), 1050)->file, 1);
}

static void an_exited_process_stays_until_it_is_reaped(void **state)
{
	(void)state;
	CLEANUP(process_table_release) struct process_table table = { 0 };
	name(&table, 10, 10, "a", true);
	assert_int_equal(process_exit(&table, 10, 10, 100), 0);
	process_reap(&table, 100);
	assert_non_null(process_find(&table, 10));
	process_reap(&table, 101);
	assert_null(process_find(&table, 10));
}

static void a_number_used_again_is_another_process(void **state)
{
	(void)state;
	CLEANUP(process_table_release) struct process_table table = { 0 };
	name(&table, 1, 1, "init", true);
	name(&table, 10, 10, "old", true);
	map(&table, 10, 1000, 1);
	assert_int_equal(process_exit(&table, 10, 10, 100), 0);
	assert_int_equal(process_fork(&table, 10, 10, 1, 1, 110), 0);
	assert_string_equal(process_find(&table, 10)->comm, "init");
	assert_int_equal(file_of(&table, 10, 1000), 0);
	process_reap(&table, 1000); /* takes the old one only */
	assert_int_equal(process_find(&table, 10)->start_ns, 110);
	/* without an exit record, which may be lost */
	assert_int_equal(process_fork(&table, 10, 10, 1, 1, 120), 0);
	assert_int_equal(process_find(&table, 10)->start_ns, 120);
}

static void threads_have_names_and_share_the_process(void **state)
{
	(void)state;
	CLEANUP(process_table_release) struct process_table table = { 0 };
	name(&table, 10, 10, "main", true);
	assert_int_equal(process_fork(&table, 10, 12, 10, 10, 50), 0);
	const struct process *process = process_find(&table, 10);
	assert_string_equal(process_thread_comm(&table, process, 12), "main");
	name(&table, 10, 12, "worker", false);
	assert_string_equal(process->comm, "main");
	assert_string_equal(process_thread_comm(&table, process, 12), "worker");
	assert_int_equal(process_fork(&table, 10, 13, 10, 12, 60), 0);
	assert_string_equal(process_thread_comm(&table, process, 13), "worker");
	assert_int_equal(process_fork(&table, 20, 20, 10, 12, 60), 0);
	assert_string_equal(process_find(&table, 20)->comm, "worker");
	/* The first thread may end before the others. */
	assert_int_equal(process_exit(&table, 10, 10, 70), 0);
	assert_int_equal(process->exit_ns, 0);
	assert_int_equal(process_exit(&table, 10, 12, 80), 0);
	assert_int_equal(process_exit(&table, 10, 13, 90), 0);
	assert_int_equal(process->exit_ns, 90);
}

static void a_thread_that_says_it_made_itself_keeps_its_name(void **state)
{
	(void)state;
	CLEANUP(process_table_release) struct process_table table = { 0 };
	name(&table, 1, 1, "one", true);
	name(&table, 1, 2, "two", false);
	assert_int_equal(process_fork(&table, 1, 2, 1, 2, 5), 0);
	assert_string_equal(process_thread_comm(&table, process_find(&table, 1), 2), "two");
}

static void names_longer_than_the_kernel_has_stay_whole(void **state)
{
	(void)state;
	CLEANUP(process_table_release) struct process_table table = { 0 };
	name(&table, 1, 1, "com.example.android.one", true);
	name(&table, 1, 2, "com.example.android.thread", false);
	name(&table, 3, 3, "com.example.android.two", true);
	const struct process *one = process_find(&table, 1);
	assert_string_equal(one->comm, "com.example.and");
	assert_string_equal(process_name(one), "com.example.android.one");
	assert_string_equal(process_name(process_find(&table, 3)), "com.example.android.two");
	assert_string_equal(process_thread_comm(&table, one, 2), "com.example.android.thread");
	assert_int_equal(process_fork(&table, 1, 4, 1, 2, 5), 0);
	assert_string_equal(process_thread_comm(&table, one, 4), "com.example.android.thread");
	/* of a name of 64 kB a million threads take no more */
	assert_ptr_equal(process_thread_comm(&table, one, 4), process_thread_comm(&table, one, 2));
	assert_int_equal(process_fork(&table, 1, 4, 1, 4, 5), 0);
	assert_string_equal(process_thread_comm(&table, one, 4), "com.example.android.thread");
	assert_int_equal(process_fork(&table, 5, 5, 1, 1, 6), 0);
	assert_int_equal(process_fork(&table, 6, 6, 1, 2, 6), 0);
	name(&table, 1, 1, "0123456789abcde", true);
	assert_string_equal(process_name(one), "0123456789abcde");
	assert_string_equal(process_name(process_find(&table, 5)), "com.example.android.one");
	assert_string_equal(process_name(process_find(&table, 6)), "com.example.android.thread");
	name(&table, 1, 1, "0123456789abcdef", false);
	assert_string_equal(process_name(one), "0123456789abcdef");
}

static void any_order_of_records_is_borne(void **state)
{
	(void)state;
	struct random_state random = random_seed(21);
	for (int run = 0; run < 20; run++) {
		CLEANUP(process_table_release) struct process_table table = { 0 };
		for (uint64_t now = 1; now < 3000; now++) {
			uint32_t pid = (uint32_t)random_below(&random, 20);
			uint32_t tid = (uint32_t)random_below(&random, 20);
			uint32_t other = (uint32_t)random_below(&random, 20);
			switch (random_below(&random, 5)) {
			case 0:
				process_fork(&table, pid, tid, other, tid, now);
				break;
			case 1:
				name(&table, pid, tid, "x", random_below(&random, 2));
				break;
			case 2:
				map(&table, pid, random_below(&random, 1000), 1);
				break;
			case 3:
				process_exit(&table, pid, tid, now);
				break;
			default:
				process_reap(&table, now - random_below(&random, 100));
			}
			if (now % 100 == 0)
				assert_null(process_table_fault(&table));
		}
	}
}

/* What the checker of invariants is for. */
static void a_table_that_was_tampered_with_has_a_fault(void **state)
{
	(void)state;
	CLEANUP(process_table_release) struct process_table table = { 0 };
	name(&table, 1, 1, "a", false);
	map(&table, 1, 100, 1);
	map(&table, 1, 400, 2);
	assert_int_equal(process_fork(&table, 1, 7, 1, 1, 5), 0);
	name(&table, 1, 7, "thread", false);
	assert_null(process_table_fault(&table));

	struct process *process = process_find(&table, 1);
	process->pid = 2;
	assert_string_equal(process_table_fault(&table), "a process is not found by its number");
	process->pid = 1;
	process->serial = table.last_serial + 1;
	assert_string_equal(process_table_fault(&table),
			    "a process has a serial number that was not given out");
	process->serial = 0;
	process->space->count++;
	assert_string_equal(process_table_fault(&table),
			    "an address space has more or fewer mappings than it says");
	process->space->count--;
	struct mapping *first = (struct mapping *)(uintptr_t)process->space->blocks[0].list;
	const struct mapping kept = *first;
	first->end = first[1].start + 1;
	assert_string_equal(process_table_fault(&table), "mappings overlap, or are not in order");
	first->end = first->start;
	assert_string_equal(process_table_fault(&table), "a mapping is empty");
	*first = kept;
	struct thread *thread = number_map_find(&table.threads, 7);
	thread->tid = 8;
	assert_string_equal(process_table_fault(&table), "a thread is not found by its number");
	thread->tid = 7;
	assert_null(process_table_fault(&table));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_inherits_until_it_executes),
		cmocka_unit_test(what_an_exec_took_away_is_the_second_choice),
		cmocka_unit_test(an_exited_process_stays_until_it_is_reaped),
		cmocka_unit_test(a_number_used_again_is_another_process),
		cmocka_unit_test(threads_have_names_and_share_the_process),
		cmocka_unit_test(a_thread_that_says_it_made_itself_keeps_its_name),
		cmocka_unit_test(names_longer_than_the_kernel_has_stay_whole),
		cmocka_unit_test(any_order_of_records_is_borne),
		cmocka_unit_test(a_table_that_was_tampered_with_has_a_fault),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
