#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
#include "support/skip.h"
#include "support/temporary_folder.h"
#include "support/toolchain.h"
#include "reader_program.h"

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
		SKIP("its parser does not ask under the thread sanitizer");
	toolchain_write(folder.path, "p.c", reader_program);
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
		SKIP("its parser does not ask under the thread sanitizer");
	assert_int_equal(reader_new(&options, &reader, NULL), 0);
	toolchain_write(folder.path, "p.c", reader_program);
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
	toolchain_write(folder.path, "p.c", reader_program);
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
	toolchain_write(folder.path, "p.c", reader_program);
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

/* Every flip of a whole small program: whatever comes, the reader answers and goes on. */
static void flipped_programs_do_no_harm(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	toolchain_write(folder.path, "p.c", reader_program);
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
		SKIP("this kernel has no vdso");
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
		cmocka_unit_test(strange_files_cost_one_message_each),
		cmocka_unit_test(flipped_programs_do_no_harm),
		cmocka_unit_test(the_vdso_is_read_from_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
