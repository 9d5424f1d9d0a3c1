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
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/sanitizers.h"
#include "image/vdso.h"
#include "symbol/helper_process.h"
#include "symbol/reader.h"
#include "support/temporary_folder.h"
#include "support/toolchain.h"

static const char program[] = "#include <stdlib.h>\n"
			      "static inline __attribute__((always_inline)) int twice(int x)\n"
			      "{\n"
			      "	return x * rand();\n"
			      "}\n"
			      "int work(int x)\n"
			      "{\n"
			      "	int y = rand();\n"
			      "	return twice(x) + y;\n"
			      "}\n"
			      "int main(int c, char **v) { (void)v; return work(c); }\n";

/* With p.c, and p that was made of it. */
static struct temporary_folder folder_with_program(void)
{
	struct temporary_folder folder = temporary_folder_make();
	toolchain_write(folder.path, "p.c", program);
	toolchain_run(folder.path, "cc -g -O2 p.c -o p");
	return folder;
}

static struct reader *new_reader(void)
{
	struct reader *reader = NULL;
	struct error err = { 0 };
	if (reader_new(NULL, &reader, &err) < 0)
		fail_msg("%s", err.text);
	return reader;
}

static int open_built(struct temporary_folder *folder, const char *name)
{
	int fd = open(temporary_folder_path(folder, name), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static const struct record *find_record(const struct record_set *set, uint64_t kind, uint64_t vaddr)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->list[i].kind == kind && vaddr >= set->list[i].first &&
		    vaddr <= set->list[i].last)
			return &set->list[i];
	return NULL;
}

static void names_code_and_lines_come_back_from_the_helper(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = folder_with_program();
	uint64_t work = toolchain_address(folder.path, "nm p | grep ' work'");
	CLEANUP(reader_freep) struct reader *reader = new_reader();
	CLEANUP(close_fd) int fd = open_built(&folder, "p");
	CLEANUP(record_set_release) struct record_set records = { 0 };
	struct gather_counts counts;
	struct error err = { 0 };
	uint64_t vaddrs[] = { 0, work };
	assert_int_equal(
		reader_gather(reader, fd, -1, vaddrs, 2, GATHER_ALL, &records, &counts, &err), 0);
	assert_int_equal(counts.found, 1);
	assert_int_equal(counts.named, 1);
	assert_int_equal(counts.lines, 1);
	assert_int_equal(records.count, 4); /* the fourth names rand() */

	struct function_record function;
	assert_true(record_get_function(find_record(&records, RECORD_FUNCTION, work), &function));
	assert_true(span_equal(function.name, span_of_text("work")));
	assert_non_null(find_record(&records, RECORD_CODE, work));

	/* Line 4 only runs inlined into work(), called from line 9. */
	CLEANUP(lines_table_release) struct lines_table lines;
	assert_int_equal(lines_table_decode(find_record(&records, RECORD_LINES, work), &lines), 0);
	size_t inlined = 0;
	size_t plain = 0;
	for (size_t i = 0; i < lines.row_count; i++) {
		struct line_frame frames[RECORD_MAX_DEPTH];
		size_t depth = lines_table_frames(&lines, &lines.rows[i], frames, RECORD_MAX_DEPTH);
		plain += depth == 1 && frames[0].line == 8;
		if (depth != 2)
			continue;
		assert_true(span_equal(frames[0].function, span_of_text("twice")));
		assert_int_equal(frames[1].line, 9);
		assert_int_equal(frames[1].function.size, 0);
		inlined += frames[0].line == 4;
	}
	assert_true(inlined > 0);
	assert_true(plain > 0);
}

/* Rows of work() that show that twice() is inlined there. */
static size_t inlined_rows(struct reader *reader, const char *folder, const char *name)
{
	char path[320];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	uint64_t work = toolchain_address(folder, "nm %s | grep ' work'", name);
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(record_set_release) struct record_set records = { 0 };
	CLEANUP(lines_table_release) struct lines_table lines;
	struct error err = { 0 };
	size_t rows = 0;
	assert_int_equal(reader_gather(reader, fd, -1, &work, 1, GATHER_ALL, &records, NULL, &err),
			 0);
	assert_int_equal(lines_table_decode(find_record(&records, RECORD_LINES, work), &lines), 0);
	for (size_t i = 0; i < lines.row_count; i++) {
		struct line_frame frames[RECORD_MAX_DEPTH];
		size_t depth = lines_table_frames(&lines, &lines.rows[i], frames, RECORD_MAX_DEPTH);
		rows += depth == 2 && span_equal(frames[0].function, span_of_text("twice"));
	}
	return rows;
}

/* The parser opens no file: it asks for what a binary names, and gets debug information only. */
static void parts_of_debug_information_in_other_files_are_found(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	CLEANUP(reader_freep) struct reader *reader = THREAD_SANITIZER ? NULL : new_reader();
	if (!reader)
		skip(); /* its parser does not ask */
	toolchain_write(folder.path, "p.c", program);
	toolchain_run(folder.path, "cc -c -g -O2 -gsplit-dwarf p.c -o part.o && cc part.o -o split "
				   "&& chmod 644 part.dwo && chmod 755 .");
	assert_true(inlined_rows(reader, folder.path, "split") > 0);
	/* The same by a name that no debug information has. */
	toolchain_run(folder.path,
		      "cp part.dwo part.txt && sed 's/part[.]dwo/part.txt/g' split >other");
	assert_int_equal(inlined_rows(reader, folder.path, "other"), 0);
	if (geteuid() == 0) {
		/* A stranger's binary may name root's. */
		toolchain_run(folder.path, "chmod 600 part.dwo");
		assert_int_equal(inlined_rows(reader, folder.path, "split"), 0);
	}
	/* Nobody writes to it. */
	toolchain_run(folder.path, "rm part.dwo && mkfifo part.dwo");
	uint64_t begin_ns = clock_monotonic_ns();
	assert_int_equal(inlined_rows(reader, folder.path, "split"), 0);
	assert_true(clock_monotonic_ns() - begin_ns < 1500000000);

	if (!toolchain_has("dwz")) {
		print_message("no dwz: its common files are not tried\n");
		return;
	}
	toolchain_run(folder.path, "cc -g -O2 p.c -o a && cp a b && dwz -r -m common.debug a b && "
				   "readelf -S a | grep -q gnu_debugaltlink");
	assert_true(inlined_rows(reader, folder.path, "a") > 0);
	toolchain_run(folder.path, "readelf --debug-dump=info a | grep -q 'alt indirect' && "
				   "rm common.debug");
	assert_int_equal(inlined_rows(reader, folder.path, "a"), 0);
}

/* Whoever's binary names them pays for opening them, too. */
static void parts_of_a_strange_binary_are_paid_for(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	CLEANUP(reader_freep) struct reader *reader = NULL;
	struct reader_options options = { .strange_bytes = (uint64_t)480 << 20 };
	const uint64_t most_ns = UINT64_C(10000000000);
	struct reader_account account = { .strange = true,
					  .left_ns = most_ns,
					  .left_bytes = UINT64_MAX };
	if (THREAD_SANITIZER)
		skip(); /* its parser does not ask */
	assert_int_equal(reader_new(&options, &reader, NULL), 0);
	toolchain_write(folder.path, "p.c", program);
	toolchain_run(folder.path, "cc -c -g -O2 -gsplit-dwarf p.c -o part.o && cc part.o -o split "
				   "&& chmod 644 part.dwo && chmod 755 .");
	reader_charge(reader, &account);
	uint64_t begin_ns = clock_monotonic_ns();
	assert_true(inlined_rows(reader, folder.path, "split") > 0);
	uint64_t passed_ns = clock_monotonic_ns() - begin_ns;
	/* once: the time of opening is within that of gathering */
	assert_true(account.left_ns < most_ns);
	assert_true(most_ns - account.left_ns <= passed_ns);
}

static void a_separate_debug_file_is_found_and_must_be_of_the_same_build(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	toolchain_write(folder.path, "p.c", program);
	toolchain_run(
		folder.path,
		"cc -g -O2 -Wl,--build-id=0xabcdef0123 p.c -o p; mkdir -p d/.build-id/ab; "
		"objcopy --only-keep-debug p d/.build-id/ab/cdef0123.debug; "
		"cc -g -O1 -Wl,--build-id=0xabcdef0124 p.c -o q; "
		"cc -g -O2 -Wl,--build-id=none p.c -o r; objcopy --only-keep-debug r r.debug; "
		"strip r; objcopy --add-gnu-debuglink=r.debug r");
	uint64_t work = toolchain_address(folder.path, "nm p | grep ' work'");
	toolchain_run(folder.path, "strip p");
	CLEANUP(reader_freep) struct reader *reader = new_reader();
	CLEANUP(close_fd) int fd = open_built(&folder, "p");
	struct identity identity;
	struct safe_file debug, other;
	struct error err = { 0 };
	assert_int_equal(reader_identify(reader, fd, &identity, &err), 0);
	assert_int_equal(identity.build_id_bytes, 5);
	assert_false(identity.has_symbols);
	assert_int_equal(reader_open_debug(reader,
					   &(struct debug_search){
						   .user = geteuid(),
						   .root = temporary_folder_path(&folder, "d") },
					   &identity, NULL, &debug, &err),
			 0);
	CLEANUP(record_set_release) struct record_set records = { 0 };
	struct gather_counts counts;
	assert_int_equal(
		reader_gather(reader, fd, debug.fd, &work, 1, GATHER_ALL, &records, &counts, &err),
		0);
	assert_false(counts.debug_refused);
	assert_int_equal(counts.named, 1);
	assert_int_equal(counts.lines, 1);
	close(debug.fd);

	int wrong = open_built(&folder, "q");
	assert_int_equal(
		reader_gather(reader, fd, wrong, &work, 1, GATHER_ALL, &records, &counts, &err), 0);
	assert_true(counts.debug_refused);
	assert_int_equal(counts.named, 0);
	close(wrong);

	/* By link and sum, without a build-id. */
	CLEANUP(close_fd) int linked = open_built(&folder, "r");
	assert_int_equal(reader_identify(reader, linked, &identity, &err), 0);
	assert_int_equal(identity.build_id_bytes, 0);
	assert_string_equal(identity.debug_link, "r.debug");
	assert_int_equal(
		reader_open_debug(reader,
				  &(struct debug_search){ .user = geteuid(), .root = "/nowhere" },
				  &identity, temporary_folder_path(&folder, "r"), &other, &err),
		0);
	assert_int_equal(reader_gather(reader, linked, other.fd, &work, 1, GATHER_ALL, &records,
				       &counts, &err),
			 0);
	assert_false(counts.debug_refused);
	close(other.fd);

	/* Of somebody who has no say in the file itself. */
	toolchain_run(folder.path, "chmod 0666 r.debug");
	struct debug_search search = { .user = geteuid(), .root = "/nowhere" };
	assert_int_equal(reader_open_debug(reader, &search, &identity,
					   temporary_folder_path(&folder, "r"), &other, &err),
			 -ENOENT);
	search.writer = READER_ANY_WRITER;
	assert_int_equal(reader_open_debug(reader, &search, &identity,
					   temporary_folder_path(&folder, "r"), &other, &err),
			 0);
	close(other.fd);
}

static void the_same_request_gives_the_same_records(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = folder_with_program();
	uint64_t work = toolchain_address(folder.path, "nm p | grep ' work'");
	CLEANUP(close_fd) int fd = open_built(&folder, "p");
	struct record_set sets[2] = { 0 };
	for (int i = 0; i < 2; i++) {
		CLEANUP(reader_freep) struct reader *reader = new_reader();
		assert_int_equal(
			reader_gather(reader, fd, -1, &work, 1, GATHER_ALL, &sets[i], NULL, NULL),
			0);
	}
	assert_true(sets[0].count > 0);
	assert_int_equal(sets[0].count, sets[1].count);
	for (size_t i = 0; i < sets[0].count; i++)
		assert_true(span_equal(sets[0].list[i].content, sets[1].list[i].content));
	record_set_release(&sets[0]);
	record_set_release(&sets[1]);
}

static void files_that_are_read_at_once_come_in_the_order_they_were_begun(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	toolchain_write(folder.path, "p.c", program);
	toolchain_write(folder.path, "text", "this is no program");
	toolchain_run(folder.path, "cc -g -O2 p.c -o p");
	uint64_t work = toolchain_address(folder.path, "nm p | grep ' work'");
	uint64_t start = toolchain_address(folder.path, "nm p | grep ' main'");
	CLEANUP(reader_freep) struct reader *reader = new_reader();
	CLEANUP(close_fd) int text = open_built(&folder, "text");
	struct error err = { 0 };
	for (size_t round = 0; round < 3; round++) { /* the third time around the ring */
		int fd = open_built(&folder, "p");
		struct identity identity;
		assert_int_equal(reader_begin_gather(reader, fd, -1, &work, 1, GATHER_ALL, &err),
				 0);
		assert_int_equal(reader_begin_gather(reader, text, -1, &work, 1, GATHER_ALL, &err),
				 0);
		assert_int_equal(
			reader_begin_gather(reader, fd, -1, &start, 1, GATHER_FUNCTIONS, &err), 0);
		close(fd);
		assert_int_equal(reader_identify(reader, text, &identity, &err), -ENOEXEC);
		struct record_set sets[3] = { 0 };
		struct gather_counts counts = { 0 };
		assert_int_equal(reader_end_gather(reader, &sets[0], &counts, &err), 0);
		assert_int_equal(counts.found, 1);
		assert_non_null(find_record(&sets[0], RECORD_CODE, work));
		assert_null(find_record(&sets[0], RECORD_FUNCTION, start));
		assert_int_equal(reader_end_gather(reader, &sets[1], &counts, &err), -ENOEXEC);
		assert_int_equal(sets[1].count, 0);
		assert_int_equal(reader_end_gather(reader, &sets[2], &counts, &err), 0);
		assert_non_null(find_record(&sets[2], RECORD_FUNCTION, start));
		assert_null(find_record(&sets[2], RECORD_CODE, start));
		for (size_t i = 0; i < 3; i++)
			record_set_release(&sets[i]);
	}
}

static void what_was_begun_is_given_up_when_its_time_is_used_up(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	toolchain_write(folder.path, "p.c", program);
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

static void strange_files_cost_one_message_each(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	toolchain_run(folder.path,
		      "mkfifo fifo; ln -s /etc/passwd link; mkdir dir; echo text >text; "
		      ": >empty; truncate -s 10G large; chmod 666 text");
	CLEANUP(reader_freep) struct reader *reader = NULL;
	struct reader_options options = { .max_file_bytes = 1u << 30 };
	struct error err = { 0 };
	struct safe_file file;
	struct identity identity;
	char path[512];
	assert_int_equal(reader_new(&options, &reader, &err), 0);
	static const struct {
		const char *name;
		int code;
	} cases[] = { { "fifo", -ENOTSUP }, { "link", -ELOOP },	 { "dir", -ENOTSUP },
		      { "large", -EFBIG },  { "none", -ENOENT }, { "text", -EPERM } };
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder.path, cases[i].name);
		assert_int_equal(
			reader_open_path(reader, getpid(), path, OWNER_PROCESS, &file, &err),
			cases[i].code);
		assert_non_null(strstr(err.text, cases[i].name));
	}
	/* As we see it ourselves a link is followed, but to a file whose owner matters. */
	snprintf(path, sizeof(path), "%s/link", folder.path);
	assert_int_equal(reader_open_path(reader, 0, path, OWNER_PROCESS, &file, &err), -ELOOP);
	assert_int_equal(reader_open_path(reader, 0, path, OWNER_ANY, &file, &err), 0);
	close(file.fd);
	snprintf(path, sizeof(path), "%s/text", folder.path);
	assert_int_equal(reader_open_path(reader, getpid(), path, OWNER_ANY, &file, &err), 0);
	assert_int_equal(file.size_bytes, 5);
	CLEANUP(buffer_release) struct buffer text = { 0 };
	assert_int_equal(reader_read(reader, file.fd, 0, 100, &text, &err), 0);
	assert_int_equal(text.size, 5);
	assert_int_equal(reader_read(reader, file.fd, 0, 3, &text, &err), -EFBIG);
	assert_int_equal(text.size, 8);
	assert_int_equal(reader_read(reader, file.fd, 3, 100, &text, &err), 0);
	assert_int_equal(text.size, 10);
	assert_memory_equal(text.data + 8, text.data + 3, 2);
	struct safe_file copy;
	assert_int_equal(reader_copy(reader, file.fd, 4, &copy, &err), -EFBIG);
	assert_int_equal(reader_copy(reader, file.fd, 5, &copy, &err), 0);
	assert_int_equal(copy.size_bytes, 5);
	assert_true(copy.copied);
	assert_int_equal(write(copy.fd, "x", 1), -1); /* for no reader to change */
	assert_int_equal(ftruncate(copy.fd, 0), -1);
	assert_int_equal(reader_read(reader, copy.fd, 0, 100, &text, &err), 0);
	assert_int_equal(text.size, 15);
	assert_memory_equal(text.data + 10, text.data, 5);
	close(copy.fd);
	assert_int_equal(reader_identify(reader, file.fd, &identity, &err), -ENOEXEC);
	assert_string_equal(err.text, "not an ELF file");
	close(file.fd);
	assert_int_equal(reader_open_path(reader, getpid(), "/dev/null", OWNER_ANY, &file, &err),
			 -ENOTSUP);
	assert_int_equal(reader_open_executable(reader, getpid(), &file, &err), 0);
	assert_int_equal(reader_identify(reader, file.fd, &identity, &err), 0);
	close(file.fd);
}

static void signal_helper_of(const struct temporary_folder *folder, const char *helper,
			     const char *name)
{
	if (!toolchain_has("pkill"))
		skip();
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

static void a_helper_that_hangs_is_killed_at_the_deadline(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = folder_with_program();
	CLEANUP(reader_freep) struct reader *reader = NULL;
	struct reader_options options = { .open_timeout_ms = 100 };
	struct identity identity;
	struct error err = { 0 };
	assert_int_equal(reader_new(&options, &reader, &err), 0);
	CLEANUP(close_fd) int fd = open_built(&folder, "p");
	assert_int_equal(reader_identify(reader, fd, &identity, &err), 0);
	signal_helper(&folder, "STOP");
	uint64_t start_ns = clock_monotonic_ns();
	assert_int_equal(reader_identify(reader, fd, &identity, &err), -ETIMEDOUT);
	assert_true(clock_monotonic_ns() - start_ns >= 100000000);
	assert_string_equal(err.text, "could not be read: no answer within 100 ms");
	assert_int_equal(reader_identify(reader, fd, &identity, &err), 0);
}

/* That tells nothing about the file. */
static void what_no_opener_took_up_is_asked_once_more(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	CLEANUP(reader_freep) struct reader *reader = NULL;
	struct reader_options options = { .open_timeout_ms = 300 };
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
	assert_true(clock_monotonic_ns() - start_ns >= 300000000);
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
		skip(); /* a kernel without CONFIG_PROC_CHILDREN */
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
	toolchain_write(folder.path, "p.c", program);
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

/* Lines that take some ten seconds, of a function whose name takes a millisecond. */
static void names_come_before_the_account_is_empty(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	if (!toolchain_has("python3") || !toolchain_has("objcopy"))
		skip();
	toolchain_run(folder.path, "%s/tests/tools/hostile make nested bomb 16", SOURCE_FOLDER);
	CLEANUP(reader_freep) struct reader *reader = NULL;
	struct reader_options options = { .strange_bytes = (uint64_t)480 << 20 };
	struct reader_account account = { .strange = true,
					  .left_ns = 600000000,
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

/* A FUSE file system whose server never reads a request. */
static void a_mount_that_never_answers_costs_one_deadline(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	CLEANUP(reader_freep) struct reader *reader = NULL;
	struct reader_options options = { .open_timeout_ms = 100 };
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
		print_message("no FUSE here, or no right to mount: skipped\n");
		skip();
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
	assert_string_equal(err.text, "could not be read: no answer within 100 ms");
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
					  .request_ns = 100000000 };
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
		print_message("no FUSE here, or no right to mount: skipped\n");
		skip();
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
	assert_true(took_ns < 100000000);
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
		skip();
	toolchain_run(folder.path,
		      "pid=$(pgrep -P %d culprit-parse) && "
		      "grep -q 'CapEff:[[:space:]]*0000000000000000' /proc/$pid/status && "
		      "grep -q 'CapPrm:[[:space:]]*0000000000000000' /proc/$pid/status && "
		      "grep -q 'NoNewPrivs:[[:space:]]*1' /proc/$pid/status",
		      getpid());
}

/* Every flip of a whole small program: whatever comes, the reader answers and goes on. */
static void flipped_programs_do_no_harm(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	toolchain_write(folder.path, "p.c", program);
	toolchain_run(folder.path, "cc -g -O2 -nostdlib -shared -fPIC p.c -o p");
	uint64_t work = toolchain_address(folder.path, "nm p | grep ' work'");
	struct built_file bytes = toolchain_read(folder.path, "p");
	CLEANUP(reader_freep) struct reader *reader = new_reader();
	size_t step = bytes.size_bytes / 1500 + 1;
	for (size_t at = 0; at < bytes.size_bytes; at += step) {
		CLEANUP(record_set_release) struct record_set records = { 0 };
		uint8_t *byte = (uint8_t *)bytes.bytes + at;
		struct error err = { 0 };
		uint8_t kept = *byte;
		*byte ^= (uint8_t)(1 << at % 8);
		int ret =
			reader_gather_bytes(reader, (struct span){ bytes.bytes, bytes.size_bytes },
					    &work, 1, GATHER_ALL, &records, NULL, &err);
		if (ret < 0)
			assert_true(err.text[0] != 0);
		for (size_t i = 0; i < records.count; i++)
			assert_null(record_fault(&records.list[i]));
		*byte = kept;
	}
	built_file_release(&bytes);
}

static void the_vdso_is_read_from_memory(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	if (vdso_read(&bytes, NULL) < 0) {
		print_message("this kernel has no vdso\n");
		skip();
	}
	CLEANUP(reader_freep) struct reader *reader = new_reader();
	CLEANUP(record_set_release) struct record_set records = { 0 };
	struct gather_counts counts;
	uint64_t vaddrs[4096];
	for (size_t i = 0; i < 4096; i++)
		vaddrs[i] = i;
	assert_int_equal(reader_gather_bytes(reader, (struct span){ bytes.data, bytes.size },
					     vaddrs, 4096, GATHER_ALL, &records, &counts, NULL),
			 0);
	assert_true(counts.functions > 0);
	assert_true(counts.named > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_code_and_lines_come_back_from_the_helper),
		cmocka_unit_test(parts_of_debug_information_in_other_files_are_found),
		cmocka_unit_test(parts_of_a_strange_binary_are_paid_for),
		cmocka_unit_test(a_separate_debug_file_is_found_and_must_be_of_the_same_build),
		cmocka_unit_test(the_same_request_gives_the_same_records),
		cmocka_unit_test(files_that_are_read_at_once_come_in_the_order_they_were_begun),
		cmocka_unit_test(what_was_begun_is_given_up_when_its_time_is_used_up),
		cmocka_unit_test(strange_files_cost_one_message_each),
		cmocka_unit_test(a_helper_that_dies_is_replaced),
		cmocka_unit_test(a_helper_that_hangs_is_killed_at_the_deadline),
		cmocka_unit_test(a_wait_ends_when_its_owner_gives_it_up),
		cmocka_unit_test(a_request_that_is_not_wanted_leaves_the_helper_alone),
		cmocka_unit_test(what_is_gathered_has_a_limit_in_bytes),
		cmocka_unit_test(names_come_before_the_account_is_empty),
		cmocka_unit_test(a_mount_that_never_answers_costs_one_deadline),
		cmocka_unit_test(what_no_opener_took_up_is_asked_once_more),
		cmocka_unit_test(one_user_keeps_few_processes_waiting_and_nobody_else),
		cmocka_unit_test(the_parser_has_no_rights),
		cmocka_unit_test(flipped_programs_do_no_harm),
		cmocka_unit_test(the_vdso_is_read_from_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
