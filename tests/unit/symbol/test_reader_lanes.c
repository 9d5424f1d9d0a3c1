#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/sanitizers.h"
#include "symbol/helper_process.h"
#include "symbol/reader.h"
#include "support/skip.h"
#include "support/temporary_folder.h"
#include "support/toolchain.h"

#define MS	       UINT64_C(1000000)
#define NAMES_AND_CODE (GATHER_FUNCTIONS | GATHER_CODE)

static const char program[] = "int work(int x) { return x * 3 + 1; }\n"
			      "int main(int c, char **v) { (void)v; return work(c); }\n";

/* Two files: `small`, and `bomb`, whose lines take ten seconds. */
struct files {
	struct temporary_folder folder;
	struct reader *reader;
	int small, bomb;
	uint64_t in_small, in_bomb;
};

static int open_built(struct files *files, const char *name)
{
	int fd = open(temporary_folder_path(&files->folder, name), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static int set_up(void **state)
{
	struct files *files = calloc(1, sizeof(*files));
	*state = files;
	if (!files)
		return -1;
	files->folder = temporary_folder_make();
	files->small = files->bomb = -1;
	toolchain_write(files->folder.path, "small.c", program);
	toolchain_run(files->folder.path, "cc -g -O1 small.c -o small");
	files->small = open_built(files, "small");
	files->in_small = toolchain_address(files->folder.path, "nm small | grep ' work'");
	return 0;
}

static int tear_down(void **state)
{
	struct files *files = *state;
	reader_free(files->reader);
	if (files->small >= 0)
		close(files->small);
	if (files->bomb >= 0)
		close(files->bomb);
	temporary_folder_remove(&files->folder);
	free(files);
	return 0;
}

static void make_bomb(struct files *files)
{
	if (!toolchain_has("python3") || !toolchain_has("objcopy"))
		SKIP("needs python3 and objcopy");
	toolchain_run(files->folder.path, "%s/tests/tools/hostile make nested bomb 16",
		      SOURCE_FOLDER);
	files->bomb = open_built(files, "bomb");
	files->in_bomb = toolchain_address(files->folder.path, "nm bomb | grep ' hostile_work'");
}

static struct reader *new_reader(struct files *files, const struct reader_options *options)
{
	struct error err = { 0 };
	if (reader_new(options, &files->reader, &err) < 0)
		fail_msg("%s", err.text);
	return files->reader;
}

static struct reader_account stranger(uint64_t left_ns)
{
	return (struct reader_account){ .strange = true,
					.left_ns = left_ns,
					.left_bytes = 1000000 };
}

static const struct reader_options both_lanes = { .strange_bytes = (uint64_t)480 << 20 };

static int begin(struct files *files, struct reader_account *account, int fd, const uint64_t *vaddr,
		 unsigned what, struct record_set *out)
{
	const struct gather_request wanted = { fd, -1, vaddr, 1, what };
	reader_charge(files->reader, account);
	int ret = reader_begin_parts(files->reader, &wanted, out, NULL);
	reader_charge(files->reader, NULL);
	return ret;
}

static int end(struct files *files, struct reader_account *account, unsigned *done)
{
	enum reader_lane lane = account ? READER_STRANGE : READER_OWN;
	reader_charge(files->reader, account);
	int ret = reader_end_parts(files->reader, lane, done, NULL, NULL);
	reader_charge(files->reader, NULL);
	return ret;
}

static void a_strangers_file_is_read_beside_one_of_ours(void **state)
{
	struct files *files = *state;
	struct reader_account account = stranger(5000 * MS);
	struct record_set ours = { 0 };
	CLEANUP(record_set_release) struct record_set theirs = { 0 };
	unsigned done;
	make_bomb(files);
	new_reader(files, &both_lanes);
	assert_int_equal(reader_await(files->reader, READER_WAIT), READER_LANES);
	assert_int_equal(begin(files, NULL, files->bomb, &files->in_bomb, GATHER_ALL, &ours), 0);
	assert_int_equal(
		begin(files, &account, files->small, &files->in_small, GATHER_ALL, &theirs), 0);
	assert_int_equal(reader_await(files->reader, READER_WAIT), READER_STRANGE);
	assert_int_equal(end(files, &account, &done), 0);
	assert_int_equal(done, GATHER_ALL);
	assert_true(theirs.count >= 3);
	assert_true(account.left_ns < 5000 * MS);
	assert_true(account.left_bytes < 1000000);
	/* Ours is at work still, and its process is not waited for when all ends. */
	assert_int_equal(reader_await(files->reader, READER_LOOK), -EAGAIN);
	reader_free(files->reader);
	files->reader = NULL;
	record_set_release(&ours);
}

static void another_request_waits_for_what_its_process_does(void **state)
{
	struct files *files = *state;
	CLEANUP(record_set_release) struct record_set begun = { 0 };
	CLEANUP(record_set_release) struct record_set other = { 0 };
	struct identity identity;
	unsigned done;
	struct reader *reader = new_reader(files, &both_lanes);
	for (int i = 0; i < 3; i++) {
		record_set_release(&begun);
		record_set_release(&other);
		assert_int_equal(
			begin(files, NULL, files->small, &files->in_small, GATHER_ALL, &begun), 0);
		assert_int_equal(reader_identify(reader, files->small, &identity, NULL), 0);
		assert_int_equal(reader_gather(reader, files->small, -1, &files->in_small, 1,
					       GATHER_FUNCTIONS, &other, NULL, NULL),
				 0);
		assert_int_equal(other.count, 1);
		assert_int_equal(reader_await(reader, READER_LOOK), READER_OWN);
		assert_int_equal(end(files, NULL, &done), 0);
		assert_int_equal(done, GATHER_ALL);
		assert_true(begun.count > other.count);
	}
}

/* What was read long before somebody looked was read in time, and cost no more than that. */
static void nobody_pays_for_what_was_not_noticed(void **state)
{
	struct files *files = *state;
	struct reader_account account = stranger(1000 * MS);
	CLEANUP(record_set_release) struct record_set records = { 0 };
	unsigned done;
	struct reader *reader = new_reader(files, &both_lanes);
	assert_int_equal(
		begin(files, &account, files->small, &files->in_small, NAMES_AND_CODE, &records),
		0);
	nanosleep(&(struct timespec){ .tv_sec = 2, .tv_nsec = 500 * (long)MS }, NULL);
	assert_int_equal(reader_await(reader, READER_LOOK), READER_STRANGE);
	assert_true(reader_unnoticed_ns(reader, READER_STRANGE) >= 2000 * MS);
	assert_int_equal(end(files, &account, &done), 0);
	assert_int_equal(done, NAMES_AND_CODE);
	assert_true(account.left_ns > 0);
}

static void a_strangers_time_ends_while_ours_is_waited_for(void **state)
{
	struct files *files = *state;
	struct reader_account account = stranger(300 * MS);
	struct reader_options options = both_lanes;
	CLEANUP(record_set_release) struct record_set theirs = { 0 };
	CLEANUP(record_set_release) struct record_set ours = { 0 };
	unsigned done;
	make_bomb(files);
	options.gather_timeout_ms = 2000;
	struct reader *reader = new_reader(files, &options);
	assert_int_equal(begin(files, &account, files->bomb, &files->in_bomb, GATHER_ALL, &theirs),
			 0);
	assert_int_equal(reader_gather(reader, files->bomb, -1, &files->in_bomb, 1, GATHER_ALL,
				       &ours, NULL, NULL),
			 -ETIMEDOUT);
	uint64_t begin_ns = clock_monotonic_ns();
	assert_int_equal(reader_await(reader, READER_LOOK), READER_STRANGE);
	assert_int_equal(end(files, &account, &done), -ETIMEDOUT);
	assert_true(clock_monotonic_ns() - begin_ns < 1000 * MS);
}

static void a_strangers_memory_is_looked_at_while_ours_is_waited_for(void **state)
{
	struct files *files = *state;
	struct reader_account account = stranger(10000 * MS);
	const struct reader_options options = { .strange_bytes = 1, .gather_timeout_ms = 1000 };
	CLEANUP(record_set_release) struct record_set theirs = { 0 };
	CLEANUP(record_set_release) struct record_set ours = { 0 };
	unsigned done;
	if (SANITIZERS)
		SKIP("sanitizers use memory of their own");
	make_bomb(files);
	struct reader *reader = new_reader(files, &options);
	assert_int_equal(begin(files, &account, files->bomb, &files->in_bomb, GATHER_ALL, &theirs),
			 0);
	assert_int_equal(reader_gather(reader, files->bomb, -1, &files->in_bomb, 1, GATHER_ALL,
				       &ours, NULL, NULL),
			 -ETIMEDOUT);
	assert_int_equal(reader_await(reader, READER_LOOK), READER_STRANGE);
	assert_int_equal(end(files, &account, &done), -ENOBUFS);
	assert_true(account.left_ns > 0);
}

static int refuse(void *context)
{
	(void)context;
	return -ECANCELED;
}

static void all_that_is_under_way_ends_when_we_are_asked_to(void **state)
{
	struct files *files = *state;
	struct reader_account account = stranger(10000 * MS);
	struct helper_watch watch = { .wake_fd = -1 };
	struct reader_options options = both_lanes;
	CLEANUP(record_set_release) struct record_set theirs = { 0 };
	CLEANUP(record_set_release) struct record_set ours = { 0 };
	unsigned done;
	make_bomb(files);
	options.watch = &watch;
	struct reader *reader = new_reader(files, &options);
	assert_int_equal(begin(files, NULL, files->bomb, &files->in_bomb, GATHER_ALL, &ours), 0);
	assert_int_equal(begin(files, &account, files->bomb, &files->in_bomb, GATHER_ALL, &theirs),
			 0);
	watch.look = refuse;
	assert_int_equal(reader_await(reader, READER_WAIT), READER_OWN);
	assert_int_equal(end(files, NULL, &done), -ECANCELED);
	assert_int_equal(reader_await(reader, READER_WAIT), READER_STRANGE);
	assert_int_equal(end(files, &account, &done), -ECANCELED);
	assert_int_equal(reader_await(reader, READER_WAIT), READER_LANES);
	/* Others are started when somebody asks again. */
	watch.look = NULL;
	record_set_release(&ours);
	assert_int_equal(begin(files, NULL, files->small, &files->in_small, GATHER_ALL, &ours), 0);
	assert_int_equal(reader_await(reader, READER_WAIT), READER_OWN);
	assert_int_equal(end(files, NULL, &done), 0);
}

static void what_is_dismissed_ends_whatever_it_does(void **state)
{
	struct files *files = *state;
	struct reader_account account = stranger(10000 * MS);
	struct record_set theirs = { 0 };
	make_bomb(files);
	struct reader *reader = new_reader(files, &both_lanes);
	assert_int_equal(begin(files, &account, files->bomb, &files->in_bomb, GATHER_ALL, &theirs),
			 0);
	reader_dismiss(reader);
	uint64_t begin_ns = clock_monotonic_ns();
	siginfo_t ended;
	for (int left = 4; left > 0; left--) /* who is waited for again was not waited for yet */
		assert_int_equal(waitid(P_ALL, 0, &ended, WEXITED), 0);
	assert_true(clock_monotonic_ns() - begin_ns < 5000 * MS);
	reader_free(reader);
	files->reader = NULL;
	record_set_release(&theirs);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_strangers_file_is_read_beside_one_of_ours),
		TEST(another_request_waits_for_what_its_process_does),
		TEST(nobody_pays_for_what_was_not_noticed),
		TEST(a_strangers_time_ends_while_ours_is_waited_for),
		TEST(a_strangers_memory_is_looked_at_while_ours_is_waited_for),
		TEST(all_that_is_under_way_ends_when_we_are_asked_to),
		TEST(what_is_dismissed_ends_whatever_it_does),
	};
	/* A test cannot be skipped while it is set up. */
	if (!toolchain_has("cc") || !toolchain_has("objcopy"))
		return 77;
	return cmocka_run_group_tests_name("reader lanes", tests, NULL, NULL);
}
