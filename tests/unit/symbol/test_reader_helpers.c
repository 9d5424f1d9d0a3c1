#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
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
#include "reader_program.h"

#define SECOND_NS UINT64_C(1000000000)

static void signal_helper_of(const struct temporary_folder *folder, const char *helper,
			     const char *name)
{
	if (!toolchain_has("pkill"))
		SKIP("needs pkill");
	toolchain_run(folder->path, "pkill -%s -P %d %s", name, getpid(), helper);
}

static void signal_helper(const struct temporary_folder *folder, const char *name)
{
	signal_helper_of(folder, "culprit-parse", name);
}

/* A file that is cut while it is mapped makes a parser die of SIGBUS: the worst that one can do to
 * it. */
static void a_helper_that_dies_is_replaced(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = folder_with_program();
	CLEANUP(reader_freep) struct reader *reader = new_reader();
	CLEANUP(close_fd) int fd = open_built(&folder, "p");
	struct identity identity;
	struct error err = { 0 };
	assert_int_equal(reader_identify(reader, fd, &identity, &err), 0);
	signal_helper(&folder, "KILL");
	assert_int_equal(reader_identify(reader, fd, &identity, &err), -EIO);
	assert_non_null(strstr(err.text, "could not be read"));
	assert_int_equal(reader_identify(reader, fd, &identity, &err), 0);
}

/* Also of one that has ended, however it did. */
static void the_cpu_time_of_helpers_is_known(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = folder_with_program();
	CLEANUP(reader_freep) struct reader *reader = new_reader();
	CLEANUP(close_fd) int fd = open_built(&folder, "p");
	struct identity identity;
	struct error err = { 0 };
	uint64_t first_ns = reader_cpu_ns(reader), last_ns = first_ns;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(reader_identify(reader, fd, &identity, &err), 0);
		assert_true(reader_cpu_ns(reader) > last_ns);
		last_ns = reader_cpu_ns(reader);
	}
	assert_true(last_ns - first_ns < SECOND_NS);
	signal_helper(&folder, "KILL");
	assert_int_equal(reader_identify(reader, fd, &identity, &err), -EIO);
	assert_true(reader_cpu_ns(reader) >= last_ns - 1000000); /* ticks of another clock */
	last_ns = reader_cpu_ns(reader);
	assert_int_equal(reader_identify(reader, fd, &identity, &err), 0);
	assert_true(reader_cpu_ns(reader) > last_ns);
}

static void a_helper_that_hangs_is_killed_at_the_deadline(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = folder_with_program();
	CLEANUP(reader_freep) struct reader *reader = NULL;
	struct reader_options options = { .open_timeout_ms = 1000 };
	struct identity identity;
	struct error err = { 0 };
	assert_int_equal(reader_new(&options, &reader, &err), 0);
	CLEANUP(close_fd) int fd = open_built(&folder, "p");
	assert_int_equal(reader_identify(reader, fd, &identity, &err), 0);
	signal_helper(&folder, "STOP");
	uint64_t start_ns = clock_monotonic_ns();
	assert_int_equal(reader_identify(reader, fd, &identity, &err), -ETIMEDOUT);
	assert_true(clock_monotonic_ns() - start_ns >= 1000000000);
	assert_string_equal(err.text, "could not be read: no answer within 1000 ms");
	assert_int_equal(reader_identify(reader, fd, &identity, &err), 0);
}

/* That tells nothing about the file. */
static void what_no_opener_took_up_is_asked_once_more(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	CLEANUP(reader_freep) struct reader *reader = NULL;
	struct reader_options options = { .open_timeout_ms = 1000 };
	struct error err = { 0 };
	struct safe_file file;
	assert_int_equal(reader_new(&options, &reader, &err), 0);
	toolchain_run(folder.path, "echo text >text");
	const char *path = temporary_folder_path(&folder, "text");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(reader_open_path(reader, 0, path, OWNER_ANY, &file, &err), 0);
		close(file.fd);
		signal_helper_of(&folder, "culprit-open", "STOP");
	}
	uint64_t start_ns = clock_monotonic_ns();
	assert_int_equal(reader_open_path(reader, 0, path, OWNER_ANY, &file, &err), 0);
	close(file.fd);
	assert_true(clock_monotonic_ns() - start_ns >= 1000000000);
}

static int give_up(void *context)
{
	unsigned *calls = context;
	return ++*calls > 2 ? -ECANCELED : 0;
}

static void a_wait_ends_when_its_owner_gives_it_up(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = folder_with_program();
	CLEANUP(reader_freep) struct reader *reader = NULL;
	unsigned calls = 0;
	struct helper_watch watch = { .wake_fd = -1, .look = give_up, .context = &calls };
	struct reader_options options = { .open_timeout_ms = 60000, .watch = &watch };
	struct identity identity;
	struct error err = { 0 };
	assert_int_equal(reader_new(&options, &reader, &err), 0);
	CLEANUP(close_fd) int fd = open_built(&folder, "p");
	signal_helper(&folder, "STOP");
	uint64_t start_ns = clock_monotonic_ns();
	assert_int_equal(reader_identify(reader, fd, &identity, &err), -ECANCELED);
	assert_true(clock_monotonic_ns() - start_ns < UINT64_C(30000000000));
	assert_int_equal(calls, 3);
	calls = 0;
	watch.look = NULL;
	assert_int_equal(reader_identify(reader, fd, &identity, &err), 0);
}

/* Our child of that name (NULL: any), and how many there are. */
static pid_t find_child(const char *name, size_t *count)
{
	char path[64], text[4096], is[32];
	pid_t found = 0;
	*count = 0;
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	FILE *file = fopen(path, "r");
	if (!file)
		SKIP("a kernel without CONFIG_PROC_CHILDREN");
	char *all = fgets(text, sizeof(text), file);
	fclose(file);
	for (char *pid = all ? strtok(all, " ") : NULL; pid; pid = strtok(NULL, " ")) {
		snprintf(path, sizeof(path), "/proc/%s/comm", pid);
		FILE *comm = fopen(path, "r");
		bool same = name && comm && fgets(is, sizeof(is), comm) &&
			    !strncmp(is, name, strlen(name));
		if (comm)
			fclose(comm);
		if (same || !name) {
			++*count;
			found = atoi(pid);
		}
	}
	return found;
}

static pid_t only_child(const char *name)
{
	size_t count;
	pid_t found = find_child(name, &count);
	return count == 1 ? found : 0;
}

static size_t count_children(void)
{
	size_t count;
	find_child(NULL, &count);
	return count;
}

static int refuse(void *context)
{
	(void)context;
	return -ECANCELED;
}

/* While we are asked to end many requests follow each other: each would start another helper. */
static void a_request_that_is_not_wanted_leaves_the_helper_alone(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	toolchain_write(folder.path, "p.c", reader_program);
	toolchain_run(folder.path, "cc -g -O2 p.c -o p");
	CLEANUP(reader_freep) struct reader *reader = NULL;
	CLEANUP(record_set_release) struct record_set records = { 0 };
	struct helper_watch watch = { .wake_fd = -1 };
	struct reader_options options = { .watch = &watch };
	struct identity identity;
	struct safe_file file;
	struct error err = { 0 };
	assert_int_equal(reader_new(&options, &reader, &err), 0);
	CLEANUP(close_fd) int fd = open_built(&folder, "p");
	uint64_t work = toolchain_address(folder.path, "nm p | grep ' T work'");
	const char *path = temporary_folder_path(&folder, "p");
	assert_int_equal(reader_identify(reader, fd, &identity, &err), 0);
	pid_t parser = only_child("culprit-parse");
	pid_t opener = only_child("culprit-open");
	assert_true(parser && opener);
	watch.look = refuse;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(reader_identify(reader, fd, &identity, &err), -ECANCELED);
		assert_int_equal(
			reader_gather(reader, fd, -1, &work, 1, GATHER_ALL, &records, NULL, &err),
			-ECANCELED);
		assert_int_equal(reader_open_path(reader, 0, path, OWNER_ANY, &file, &err),
				 -ECANCELED);
	}
	assert_int_equal(only_child("culprit-parse"), parser);
	assert_int_equal(only_child("culprit-open"), opener);
	assert_string_equal(err.text, "was not read: we were asked to end");
	watch.look = NULL;
	assert_int_equal(reader_identify(reader, fd, &identity, &err), 0);
	assert_int_equal(reader_gather(reader, fd, -1, &work, 1, GATHER_ALL, &records, NULL, &err),
			 0);
	assert_true(records.count > 0);
	assert_int_equal(reader_open_path(reader, 0, path, OWNER_ANY, &file, &err), 0);
	close(file.fd);
	assert_int_equal(only_child("culprit-parse"), parser);
	assert_int_equal(only_child("culprit-open"), opener);
	/* Nor is one started that is not there. */
	assert_int_equal(kill(parser, SIGKILL), 0);
	assert_int_equal(reader_identify(reader, fd, &identity, &err), -EIO);
	watch.look = refuse;
	size_t children = count_children();
	assert_int_equal(reader_identify(reader, fd, &identity, &err), -ECANCELED);
	assert_int_equal(count_children(), children);
	watch.look = NULL;
	assert_int_equal(reader_identify(reader, fd, &identity, &err), 0);
}

/* A FUSE file system whose server never reads a request. */
static void a_mount_that_never_answers_costs_one_deadline(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	CLEANUP(reader_freep) struct reader *reader = NULL;
	struct reader_options options = { .open_timeout_ms = 500 };
	struct error err = { 0 };
	struct safe_file file, other;
	char mount_options[128];
	assert_int_equal(reader_new(&options, &reader, &err), 0);
	CLEANUP(close_fd) int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(mount_options, sizeof(mount_options), "fd=%d,rootmode=40000,user_id=0,group_id=0",
		 fuse);
	toolchain_run(folder.path, "mkdir m; echo text >text");
	const char *mounted = temporary_folder_path(&folder, "m");
	if (fuse < 0 || mount("never", mounted, "fuse", 0, mount_options) != 0) {
		SKIP("no FUSE here, or no right to mount");
	}
	int ret = reader_open_path(reader, getpid(), temporary_folder_path(&folder, "m/file"),
				   OWNER_ANY, &file, &err);
	int next = reader_open_path(reader, getpid(), temporary_folder_path(&folder, "text"),
				    OWNER_ANY, &file, NULL);
	int public = reader_open_path(reader, 0, temporary_folder_path(&folder, "m/file"),
				      OWNER_PUBLIC, &other, NULL);
	int below = reader_open_below(reader, folder.path, "m/file", &other, NULL);
	int map = reader_open_of_user(reader, getpid(), temporary_folder_path(&folder, "m/file"),
				      OWNER_PROCESS, geteuid(), &other, NULL);
	umount2(mounted, MNT_DETACH);
	assert_int_equal(public, -ETIMEDOUT);
	assert_int_equal(below, -ETIMEDOUT);
	assert_int_equal(map, -ETIMEDOUT);
	assert_int_equal(ret, -ETIMEDOUT);
	assert_string_equal(err.text, "could not be read: no answer within 500 ms");
	assert_int_equal(next, 0);
	close(file.fd);
}

/* A server that takes up what it is asked and never answers: no signal ends who waits for it. */
static pid_t serve_nothing(int fuse)
{
	static uint8_t bytes[1 << 17];
	pid_t pid = fork();
	while (pid == 0) {
		ssize_t size = read(fuse, bytes, sizeof(bytes));
		const struct fuse_in_header *header = (const void *)bytes;
		if (size < (ssize_t)sizeof(*header) && errno != EINTR)
			_exit(0);
		if (header->opcode != FUSE_INIT)
			continue;
		struct {
			struct fuse_out_header header;
			struct fuse_init_out init;
		} answer = { .header = { .len = sizeof(answer), .unique = header->unique },
			     .init = { .major = FUSE_KERNEL_VERSION, .minor = 31 } };
		if (write(fuse, &answer, sizeof(answer)) < 0)
			_exit(1);
	}
	assert_true(pid > 0);
	return pid;
}

static int open_as(struct reader *reader, uint32_t user, const char *path, struct error *err)
{
	struct reader_account account = { .strange = true,
					  .user = user,
					  .left_ns = UINT64_C(10000000000),
					  .request_ns = 500000000 };
	struct safe_file file;
	reader_charge(reader, &account);
	int ret = reader_open_path(reader, 0, path, OWNER_ANY, &file, err);
	reader_charge(reader, NULL);
	if (ret == 0)
		close(file.fd);
	return ret;
}

static void one_user_keeps_few_processes_waiting_and_nobody_else(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	CLEANUP(reader_freep) struct reader *reader = NULL;
	struct reader_options options = { .strange_bytes = (uint64_t)480 << 20 };
	struct error err = { 0 };
	char mount_options[128];
	assert_int_equal(reader_new(&options, &reader, &err), 0);
	toolchain_run(folder.path, "mkdir m; echo text >text");
	const char *mounted = temporary_folder_path(&folder, "m");
	const char *there = temporary_folder_path(&folder, "m/file");
	const char *text = temporary_folder_path(&folder, "text");
	int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(mount_options, sizeof(mount_options), "fd=%d,rootmode=40000,user_id=0,group_id=0",
		 fuse);
	if (fuse < 0 || mount("nothing", mounted, "fuse", 0, mount_options) != 0) {
		SKIP("no FUSE here, or no right to mount");
	}
	pid_t server = serve_nothing(fuse);
	close(fuse);
	int codes[READER_STUCK_MOST], others[READER_STUCK_MOST];
	for (unsigned i = 0; i < READER_STUCK_MOST; i++) {
		codes[i] = open_as(reader, 1000, there, &err);
		others[i] = open_as(reader, 1001, text, NULL);
	}
	uint64_t start_ns = clock_monotonic_ns();
	int beyond = open_as(reader, 1000, there, &err);
	uint64_t took_ns = clock_monotonic_ns() - start_ns;
	int other = open_as(reader, 1001, there, NULL);
	kill(server, SIGKILL); /* the kernel answers for it */
	waitpid(server, NULL, 0);
	umount2(mounted, MNT_DETACH);
	int again = -ETIMEDOUT;
	for (int i = 0; i < 500 && again == -ETIMEDOUT; i++) {
		usleep(10000);
		again = open_as(reader, 1000, text, NULL);
	}
	for (unsigned i = 0; i < READER_STUCK_MOST; i++) {
		assert_int_equal(codes[i], -ETIMEDOUT);
		assert_int_equal(others[i], 0);
	}
	assert_int_equal(beyond, -ETIMEDOUT);
	assert_string_equal(err.text, "was not opened: 4 processes wait already for what its "
				      "user's file systems do not answer");
	assert_true(took_ns < 500000000);
	assert_int_equal(other, -ETIMEDOUT); /* they are counted apart */
	assert_int_equal(again, 0);	     /* they were let go */
}

static void the_parser_has_no_rights(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	CLEANUP(reader_freep) struct reader *reader = new_reader();
	CLEANUP(close_fd) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct identity identity;
	struct error err;
	assert_int_equal(reader_identify(reader, fd, &identity, &err), 0); /* it runs by now */
	if (!toolchain_has("pgrep"))
		SKIP("needs pgrep");
	toolchain_run(folder.path,
		      "pid=$(pgrep -P %d culprit-parse) && "
		      "grep -q 'CapEff:[[:space:]]*0000000000000000' /proc/$pid/status && "
		      "grep -q 'CapPrm:[[:space:]]*0000000000000000' /proc/$pid/status && "
		      "grep -q 'NoNewPrivs:[[:space:]]*1' /proc/$pid/status",
		      getpid());
}

/* Takes as many MiB as the request says. */
static int take_memory(void *context, const struct message *request, struct message *answer,
		       struct error *err)
{
	(void)context;
	(void)answer;
	void *volatile memory = malloc((size_t)request->header.what << 20);
	bool taken = memory != NULL;
	free(memory);
	return taken ? 0 : error_set(err, -ENOMEM, "out of memory");
}

static void serve_memory(int socket)
{
	helper_serve(&(struct helper_service){ .name = "test",
					       .serve = take_memory,
					       .without_rights = true,
					       .data_bytes = UINT64_C(16) << 20 },
		     socket);
}

/* It inherits more than it may have, which is not its own. */
static void a_helper_of_a_large_process_has_its_memory_all_the_same(void **state)
{
	(void)state;
	if (SANITIZERS)
		SKIP("sanitizers use memory of their own");
	const size_t inherited_bytes = (size_t)128 << 20;
	struct helper helper = { .run = serve_memory };
	struct message request = { .header.what = 8 }, answer;
	struct error err = { 0 };
	void *inherited = mmap(NULL, inherited_bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(inherited, MAP_FAILED);
	if (helper_ask(&helper, &request, 60000, &answer, &err) < 0)
		fail_msg("%s", err.text);
	message_release(&answer);
	request.header.what = 256;
	assert_int_equal(helper_ask(&helper, &request, 60000, &answer, &err), -ENOBUFS);
	helper_stop(&helper);
	munmap(inherited, inherited_bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_helper_that_dies_is_replaced),
		cmocka_unit_test(the_cpu_time_of_helpers_is_known),
		cmocka_unit_test(a_helper_that_hangs_is_killed_at_the_deadline),
		cmocka_unit_test(a_wait_ends_when_its_owner_gives_it_up),
		cmocka_unit_test(a_request_that_is_not_wanted_leaves_the_helper_alone),
		cmocka_unit_test(a_mount_that_never_answers_costs_one_deadline),
		cmocka_unit_test(what_no_opener_took_up_is_asked_once_more),
		cmocka_unit_test(one_user_keeps_few_processes_waiting_and_nobody_else),
		cmocka_unit_test(the_parser_has_no_rights),
		cmocka_unit_test(a_helper_of_a_large_process_has_its_memory_all_the_same),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
