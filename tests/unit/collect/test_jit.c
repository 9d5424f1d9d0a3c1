#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "collect/file_table.h"
#include "collect/jit.h"
#include "image/process_table.h"
#include "profile/profile.h"
#include "symbol/reader.h"
#include "symbol/record.h"

#define IMAGE	   7u
#define STEP_BYTES (4u << 20) /* of a file at once */
#define LINE_BYTES 64u
#define TOP_BIT	   (UINT64_C(1) << 63)
#define TIMES_OUT  60 /* seconds: then the test has failed */

/* Our own process as one that compiles code. */
struct watched {
	char path[64];
	struct reader *reader;
	struct profile *profile;
	struct file_table files;
	struct jit_table jits;
	struct process process;
};

static void release(struct watched *watched)
{
	jit_table_release(&watched->jits);
	file_table_release(&watched->files);
	profile_free(watched->profile);
	reader_free(watched->reader);
	unlink(watched->path);
}

static void watch_by(struct watched *watched, const struct reader_options *options)
{
	*watched = (struct watched){ .profile = profile_new(),
				     .process = { .pid = (uint32_t)getpid(), .start_ns = 1 } };
	snprintf(watched->path, sizeof(watched->path), "/tmp/perf-%d.map", getpid());
	unlink(watched->path);
	assert_non_null(watched->profile);
	assert_int_equal(reader_new(options, &watched->reader, NULL), 0);
	assert_int_equal(file_table_init(&watched->files, watched->profile, watched->reader, NULL),
			 0);
	jit_table_init(&watched->jits, watched->reader, &watched->files, NULL);
}

static void watch(struct watched *watched)
{
	watch_by(watched, NULL);
}

static void put_line(struct buffer *text, uint64_t address, const char *name)
{
	char line[LINE_BYTES + 1];
	int size = snprintf(line, sizeof(line), "%lx 10 %s", (unsigned long)address, name);
	memset(line + size, '.', LINE_BYTES - (size_t)size);
	line[LINE_BYTES - 1] = '\n';
	buffer_append(text, line, LINE_BYTES);
}

/* More than is read at once: the same address twice, and others between. */
static void put_long_map(struct buffer *text)
{
	put_line(text, 0x1000, "old");
	while (text->size < STEP_BYTES + STEP_BYTES / 4)
		put_line(text, 0x10000 + 16 * (text->size / LINE_BYTES), "other");
	put_line(text, 0x1000, "new");
}

static void write_map(const struct watched *watched, const struct buffer *text)
{
	CLEANUP(close_fd) int fd = open(watched->path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text->data, text->size), (ssize_t)text->size);
}

static uint64_t locate(struct watched *watched, uint32_t image, uint64_t address, uint64_t time_ns)
{
	uint64_t vaddr = 0;
	struct jit *jit = number_map_find(&watched->jits.by_image, image);
	if (jit)
		jit->pause_ns = jit->retry_ns = 0; /* files are looked at again at once */
	assert_int_equal(jit_table_locate(&watched->jits, &watched->process, NULL, image, address,
					  time_ns, &vaddr),
			 0);
	return vaddr;
}

static struct jit *jit_of(const struct watched *watched, uint32_t image)
{
	struct jit *jit = number_map_find(&watched->jits.by_image, image);
	assert_non_null(jit);
	return jit;
}

static void what_a_map_had_before_is_no_news_in_any_piece(void **state)
{
	(void)state;
	struct watched watched;
	CLEANUP(buffer_release) struct buffer text = { 0 };
	watch(&watched);
	put_long_map(&text);
	write_map(&watched, &text);
	locate(&watched, IMAGE, 0x1000, UINT64_MAX);
	const struct jit *jit = jit_of(&watched, IMAGE);
	assert_true(jit->map.read_bytes < text.size);
	for (size_t i = 0; i < 10 && jit->map.read_bytes < text.size; i++)
		locate(&watched, IMAGE, 0x1000, UINT64_MAX);
	assert_int_equal(jit->map.read_bytes, text.size);
	/* a sample of before both pieces were read */
	assert_true(locate(&watched, IMAGE, 0x1008, 1) & TOP_BIT);

	/* What comes now is. */
	put_line(&text, 0x1000, "newest");
	write_map(&watched, &text);
	uint64_t before = locate(&watched, IMAGE, 0x1008, 1);
	assert_int_not_equal(locate(&watched, IMAGE, 0x1008, UINT64_MAX), before);
	assert_int_equal(locate(&watched, IMAGE, 0x1008, 1), before);
	release(&watched);
}

static void an_empty_map_has_no_names_yet(void **state)
{
	(void)state;
	struct watched watched;
	CLEANUP(buffer_release) struct buffer text = { 0 };
	watch(&watched);
	write_map(&watched, &text);
	assert_int_equal(locate(&watched, IMAGE, 0x1008, UINT64_MAX), 0x1008);
	assert_int_equal(jit_of(&watched, IMAGE)->refused.code, 0);
	put_line(&text, 0x1000, "first");
	write_map(&watched, &text);
	locate(&watched, IMAGE, 0x1008, UINT64_MAX);
	assert_int_equal(jit_of(&watched, IMAGE)->timeline.count, 1);
	release(&watched);
}

/* Where the next piece is held against the one before. */
static void change_for_ever(const char *path)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* the test may be killed itself */
	int fd = open(path, O_RDWR);
	char *bytes = mmap(NULL, 2 * STEP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED)
		_exit(1);
	for (uint64_t i = 0;; i++) {
		char text[17];
		snprintf(text, sizeof(text), "%016lx", (unsigned long)i);
		memcpy(bytes + STEP_BYTES - LINE_BYTES / 2, text, 16);
	}
}

static void a_map_that_changes_all_the_time_holds_nobody_up(void **state)
{
	(void)state;
	struct watched watched;
	struct record_set records = { 0 };
	CLEANUP(buffer_release) struct buffer text = { 0 };
	const uint64_t vaddr = 0x1008;
	watch(&watched);
	put_long_map(&text);
	write_map(&watched, &text);
	pid_t child = fork();
	if (child == 0)
		change_for_ever(watched.path);
	assert_true(child > 0);
	alarm(TIMES_OUT);
	locate(&watched, IMAGE, vaddr, 1);
	assert_int_equal(jit_gather(&watched.jits, jit_of(&watched, IMAGE), &vaddr, 1, &records),
			 0);
	alarm(0);
	assert_int_equal(records.count, 1);
	record_set_release(&records);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	release(&watched);
}

static void all_processes_share_the_room_for_names(void **state)
{
	(void)state;
	struct watched watched;
	CLEANUP(buffer_release) struct buffer text = { 0 };
	watch(&watched);
	put_line(&text, 0x1000, "one");
	write_map(&watched, &text);
	watched.jits.most_bytes = 1;
	locate(&watched, IMAGE, 0x1000, UINT64_MAX);
	assert_int_equal(jit_of(&watched, IMAGE)->timeline.count, 1);
	locate(&watched, IMAGE + 1, 0x1000, UINT64_MAX);
	const struct jit *other = jit_of(&watched, IMAGE + 1);
	assert_int_equal(other->timeline.count, 0);
	assert_non_null(strstr(other->refused.text, "more code than"));

	watched.jits.most_bytes = JIT_KEPT_BYTES;
	locate(&watched, IMAGE + 2, 0x1000, UINT64_MAX);
	assert_int_equal(jit_of(&watched, IMAGE + 2)->timeline.count, 1);
	assert_int_equal(watched.jits.kept_bytes,
			 2 * jit_timeline_bytes(&jit_of(&watched, IMAGE)->timeline));
	release(&watched);
}

static void a_map_that_was_refused_is_looked_at_again(void **state)
{
	(void)state;
	struct watched watched;
	CLEANUP(buffer_release) struct buffer text = { 0 };
	watch(&watched);
	put_line(&text, 0x1000, "first");
	write_map(&watched, &text);
	assert_int_equal(chmod(watched.path, 0622), 0);
	locate(&watched, IMAGE, 0x1008, UINT64_MAX);
	assert_int_equal(jit_of(&watched, IMAGE)->refused.code, -EPERM);
	unlink(watched.path);
	locate(&watched, IMAGE, 0x1008, UINT64_MAX);
	write_map(&watched, &text);
	locate(&watched, IMAGE, 0x1008, UINT64_MAX);
	assert_int_equal(jit_of(&watched, IMAGE)->timeline.count, 1);
	assert_int_equal(jit_of(&watched, IMAGE)->refused.code, 0);
	release(&watched);
}

/* Its n-th question is answered with no, and none that comes after. */
static int says_no_once(void *context)
{
	int *questions = context;
	return --*questions == 0 ? -ECANCELED : 0;
}

/* Whatever of it was wanting: opening it or reading it. */
static void a_map_that_there_was_no_time_for_is_read_later(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer text = { 0 };
	put_line(&text, 0x1000, "first");
	unsigned cut = 0;
	for (int no = 1; no < 12; no++) { /* the first questions are of who the process is */
		struct watched watched;
		int questions = 0;
		const struct helper_watch watch = { .wake_fd = -1,
						    .look = says_no_once,
						    .context = &questions };
		watch_by(&watched, &(struct reader_options){ .watch = &watch });
		write_map(&watched, &text);
		questions = no;
		locate(&watched, IMAGE, 0x1008, UINT64_MAX);
		cut += jit_of(&watched, IMAGE)->cut;
		assert_int_equal(jit_of(&watched, IMAGE)->refused.code, 0);
		questions = 0;
		locate(&watched, IMAGE, 0x1008, UINT64_MAX);
		assert_int_equal(jit_of(&watched, IMAGE)->timeline.count, 1);
		assert_false(jit_of(&watched, IMAGE)->cut);
		release(&watched);
	}
	assert_true(cut >= 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_map_had_before_is_no_news_in_any_piece),
		cmocka_unit_test(an_empty_map_has_no_names_yet),
		cmocka_unit_test(a_map_that_changes_all_the_time_holds_nobody_up),
		cmocka_unit_test(all_processes_share_the_room_for_names),
		cmocka_unit_test(a_map_that_was_refused_is_looked_at_again),
		cmocka_unit_test(a_map_that_there_was_no_time_for_is_read_later),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
