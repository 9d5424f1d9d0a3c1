#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "symbol/reader.h"
#include "support/skip.h"
#include "support/temporary_folder.h"
#include "support/toolchain.h"
#include "reader_program.h"

static void what_was_begun_is_given_up_when_its_time_is_used_up(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	toolchain_write(folder.path, "p.c", reader_program);
	toolchain_run(folder.path, "cc -g -O2 p.c -o p");
	uint64_t work = toolchain_address(folder.path, "nm p | grep ' work'");
	CLEANUP(reader_freep) struct reader *reader = new_reader();
	CLEANUP(close_fd) int fd = open_built(&folder, "p");
	struct reader_account account = { .left_ns = UINT64_C(10) * 1000000000 };
	struct error err = { 0 };
	reader_charge(reader, &account);
	for (int i = 0; i < 2; i++) {
		CLEANUP(record_set_release) struct record_set records = { 0 };
		uint64_t before_ns = account.left_ns;
		assert_int_equal(reader_begin_gather(reader, fd, -1, &work, 1, GATHER_ALL, &err),
				 0);
		assert_int_equal(reader_end_gather(reader, &records, NULL, &err), 0);
		assert_non_null(find_record(&records, RECORD_CODE, work));
		assert_true(account.left_ns < before_ns);
		/* The next one's answer never comes, and none is taken for it. */
		assert_int_equal(
			reader_begin_gather(reader, fd, -1, &work, 1, GATHER_FUNCTIONS, &err), 0);
		account.left_ns = 0;
		struct record_set none = { 0 };
		assert_int_equal(reader_end_gather(reader, &none, NULL, &err), -EDQUOT);
		assert_int_equal(none.count, 0);
		account.left_ns = UINT64_C(10) * 1000000000;
	}
}

/* Lines that take some ten seconds, of a function whose name takes a millisecond. */
static void names_come_before_the_account_is_empty(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	if (!toolchain_has("python3") || !toolchain_has("objcopy"))
		SKIP("needs python3 and objcopy");
	toolchain_run(folder.path, "%s/tests/tools/hostile make nested bomb 16", SOURCE_FOLDER);
	CLEANUP(reader_freep) struct reader *reader = NULL;
	struct reader_options options = { .strange_bytes = (uint64_t)480 << 20 };
	struct reader_account account = { .strange = true,
					  .left_ns = 3000000000,
					  .left_bytes = 1000000 };
	CLEANUP(record_set_release) struct record_set records = { 0 };
	struct error err = { 0 };
	struct gather_counts counts;
	unsigned done;
	assert_int_equal(reader_new(&options, &reader, &err), 0);
	CLEANUP(close_fd) int fd = open_built(&folder, "bomb");
	uint64_t work = toolchain_address(folder.path, "nm bomb | grep ' hostile_work'");
	reader_charge(reader, &account);
	assert_int_equal(reader_gather_parts(
				 reader, &(struct gather_request){ fd, -1, &work, 1, GATHER_ALL },
				 &records, &done, &counts, &err),
			 -ETIMEDOUT);
	assert_int_equal(done, GATHER_FUNCTIONS | GATHER_CODE | GATHER_FLOW);
	struct function_record function;
	assert_true(records.count >= 2);
	assert_true(record_get_function(&records.list[0], &function));
	assert_int_equal(function.name.size, strlen("hostile_work"));
	assert_int_equal(account.left_ns, 0);
	assert_int_equal(reader_gather(reader, fd, -1, &work, 1, GATHER_ALL, &records, NULL, &err),
			 -EDQUOT);
	/* Others' is not its. */
	reader_charge(reader, NULL);
	assert_int_equal(
		reader_gather(reader, fd, -1, &work, 1, GATHER_FUNCTIONS, &records, NULL, &err), 0);
}

/* Names come as a part of their own; code that there is no room for is not kept. */
static void what_is_gathered_has_a_limit_in_bytes(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	CLEANUP(reader_freep) struct reader *reader = NULL;
	struct reader_options options = { .strange_bytes = (uint64_t)480 << 20 };
	struct reader_account account = { .strange = true,
					  .left_ns = UINT64_C(10000000000),
					  .left_bytes = 100000 };
	struct error err = { 0 };
	unsigned done;
	toolchain_write(folder.path, "large.c",
			"__asm__(\".text; .globl large; .type large, @function; large: "
			".fill 12000000, 1, 0x90; ret; .size large, . - large\");\n"
			"__attribute__((noinline)) int small(int i) { return i * 3; }\n"
			"extern void large(void); int main(void) { large(); return small(1); }\n");
	toolchain_run(folder.path, "cc -O1 large.c -o large");
	uint64_t large = toolchain_address(folder.path, "nm large | grep ' large$'");
	uint64_t small = toolchain_address(folder.path, "nm large | grep ' small$'");
	assert_int_equal(reader_new(&options, &reader, &err), 0);
	CLEANUP(close_fd) int fd = open_built(&folder, "large");
	reader_charge(reader, &account);
	CLEANUP(record_set_release) struct record_set records = { 0 };
	assert_int_equal(
		reader_gather_parts(reader,
				    &(struct gather_request){ fd, -1, &large, 1,
							      GATHER_FUNCTIONS | GATHER_CODE },
				    &records, &done, NULL, &err),
		-EFBIG);
	assert_int_equal(done, GATHER_FUNCTIONS);
	assert_int_equal(records.count, 1);
	/* Nothing was taken for it; what is small has room, and takes it. */
	CLEANUP(record_set_release) struct record_set others = { 0 };
	assert_int_equal(
		reader_gather_parts(reader,
				    &(struct gather_request){ fd, -1, &small, 1,
							      GATHER_FUNCTIONS | GATHER_CODE },
				    &others, &done, NULL, &err),
		0);
	assert_in_range(account.left_bytes, 90000, 99999);
	/* What is trusted has none. */
	reader_charge(reader, NULL);
	CLEANUP(record_set_release) struct record_set whole = { 0 };
	assert_int_equal(reader_gather(reader, fd, -1, &large, 1, GATHER_FUNCTIONS | GATHER_CODE,
				       &whole, NULL, &err),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_begun_is_given_up_when_its_time_is_used_up),
		cmocka_unit_test(what_is_gathered_has_a_limit_in_bytes),
		cmocka_unit_test(names_come_before_the_account_is_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
