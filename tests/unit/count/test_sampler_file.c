/* The perf.data file that a sampler writes: what is in it, and what happens when it cannot be
 * written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/small_file.h"
#include "culprit/sampler.h"
#include "machine/perf_record.h"
#include "support/skip.h"
#include "support/temporary_folder.h"

#define PERIOD_NS     250000
#define PATIENCE_S    60
#define HEADER_BYTES  16
#define HEADER_ATTR   64
#define BUILD_ID      67
#define ROUND	      68
#define EVENT_UPDATE  78
#define MAPPINGS_MOST 512

static volatile uint64_t sink;

static double cpu_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void spin(void)
{
	for (double since = cpu_s(); cpu_s() - since < 0.02;)
		for (unsigned i = 0; i < 10000; i++)
			sink = sink * 3 + i;
}

/* ---- reading it */

struct made_mapping {
	uint64_t start, end, time;
	char path[256];
};

struct file_content {
	struct buffer bytes;
	struct perf_layout layout;
	size_t attrs, updates, builds, rounds, samples, comms;
	char name[64]; /* of the first event */
	char thread_name[32];
	uint64_t lost, first_ns, last_ns; /* of samples */
	struct made_mapping mappings[MAPPINGS_MOST];
	size_t mapping_count;
};

static void take_attr(struct file_content *content, const uint8_t *record)
{
	struct perf_event_attr attr;
	memcpy(&attr, record + 8, sizeof(attr));
	if (!content->attrs++)
		content->layout = (struct perf_layout){ .sample_type = attr.sample_type,
							.read_format = attr.read_format,
							.sample_id_all = attr.sample_id_all };
	assert_int_equal(attr.sample_type, content->layout.sample_type);
	assert_true(attr.use_clockid && attr.clockid == CLOCK_MONOTONIC);
}

static void take_mapping(struct file_content *content, const struct perf_record *record)
{
	const struct perf_mapping *mapping = &record->mapping;
	struct made_mapping *made = &content->mappings[content->mapping_count];
	assert_true(content->mapping_count++ < MAPPINGS_MOST);
	made->start = mapping->start;
	made->end = mapping->start + mapping->size_bytes;
	made->time = record->identity.time;
	snprintf(made->path, sizeof(made->path), "%.*s", (int)mapping->path.size,
		 (const char *)mapping->path.data);
}

static void take_record(struct file_content *content, const uint8_t *bytes, size_t size)
{
	struct perf_record record;
	assert_int_equal(perf_record_decode(bytes, size, &content->layout, &record), size);
	switch (record.type) {
	case PERF_RECORD_SAMPLE:
		content->first_ns = content->samples ? content->first_ns : record.identity.time;
		content->last_ns = record.identity.time;
		content->samples++;
		break;
	case PERF_RECORD_MMAP2:
		take_mapping(content, &record);
		break;
	case PERF_RECORD_COMM:
		content->comms++;
		snprintf(content->thread_name, sizeof(content->thread_name), "%.*s",
			 (int)record.comm.name.size, (const char *)record.comm.name.data);
		break;
	case PERF_RECORD_LOST:
		content->lost += record.lost.lost;
		break;
	default:
		break;
	}
}

static void read_content(struct file_content *content, const char *path)
{
	*content = (struct file_content){ .attrs = 0 };
	assert_int_equal(small_file_read(path, 64u << 20, &content->bytes), 0);
	const uint8_t *bytes = content->bytes.data;
	size_t at = HEADER_BYTES;
	assert_true(content->bytes.size > at);
	assert_memory_equal(bytes, "PERFILE2\x10\0\0\0\0\0\0", HEADER_BYTES);
	while (at < content->bytes.size) {
		struct perf_event_header header;
		size_t size = perf_record_size(bytes + at, content->bytes.size - at);
		assert_int_equal(size % 8, 0);
		assert_true(size > 0);
		memcpy(&header, bytes + at, sizeof(header));
		if (header.type < HEADER_ATTR)
			take_record(content, bytes + at, size);
		else if (header.type == HEADER_ATTR)
			take_attr(content, bytes + at);
		else if (header.type == EVENT_UPDATE && !content->updates++)
			snprintf(content->name, sizeof(content->name), "%s", bytes + at + 24);
		content->builds += header.type == BUILD_ID;
		content->rounds += header.type == ROUND;
		at += size;
	}
	buffer_release(&content->bytes);
}

static const struct made_mapping *mapping_at(const struct file_content *content,
					     const void *address)
{
	for (size_t i = content->mapping_count; i > 0; i--) {
		const struct made_mapping *mapping = &content->mappings[i - 1];
		if ((uintptr_t)address >= mapping->start && (uintptr_t)address < mapping->end)
			return mapping;
	}
	return NULL;
}

static const struct made_mapping *mapping_of(const struct file_content *content, const char *name)
{
	for (size_t i = 0; i < content->mapping_count; i++)
		if (strstr(content->mappings[i].path, name))
			return &content->mappings[i];
	return NULL;
}

/* ---- writing it */

static struct culprit_sampler *opened(struct culprit_sampler_options options)
{
	struct culprit_sampler *sampler = NULL;
	struct culprit_error error;
	options.period = PERIOD_NS;
	int ret = culprit_sampler_open("cpu-clock:u", &options, &sampler, &error);
	if (ret == -ENOSYS ||
	    (ret < 0 && strstr(error.text, "permission denied (kernel.perf_event")))
		SKIP("perf events may not be used here: %s", error.text);
	if (ret)
		fail_msg("%s", error.text);
	return sampler;
}

static void sample_once(struct culprit_sampler *sampler)
{
	struct culprit_sampler_counts counts;
	double since = cpu_s();
	assert_int_equal(culprit_sampler_start(sampler), 0);
	do {
		spin();
		assert_int_equal(culprit_sampler_drain(sampler), 0);
		culprit_sampler_counts(sampler, &counts);
	} while (!counts.samples && cpu_s() - since < PATIENCE_S);
	assert_int_equal(culprit_sampler_stop(sampler), 0);
	assert_true(counts.samples > 0);
}

static void it_has_events_names_mappings_and_samples(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "data");
	struct culprit_sampler_counts counts;
	static struct file_content content;
	prctl(PR_SET_NAME, "segment");
	struct culprit_sampler *sampler = opened((struct culprit_sampler_options){ .path = path });
	sample_once(sampler);
	sample_once(sampler);
	culprit_sampler_counts(sampler, &counts);
	assert_int_equal(culprit_sampler_close(sampler, NULL), 0);
	read_content(&content, path);
	assert_int_equal(content.attrs, 2);
	assert_string_equal(content.name, "cpu-clock:u");
	assert_string_equal(content.thread_name, "segment");
	assert_int_equal(content.samples, counts.samples);
	assert_true(content.rounds >= 2);
	const struct made_mapping *own = mapping_at(&content, (const void *)(uintptr_t)spin);
	assert_non_null(strstr(own ? own->path : "", "test_count_sampler_file"));
	assert_true(own && own->time <= content.first_ns);
	assert_non_null(mapping_at(&content, (const void *)(uintptr_t)getpid)); /* the C library */
	assert_true(content.builds >= 2);
}

static void *sample_in_thread(void *context)
{
	prctl(PR_SET_NAME, "worker");
	struct culprit_sampler *sampler =
		opened((struct culprit_sampler_options){ .path = context });
	culprit_sampler_close(sampler, NULL);
	return NULL;
}

static void a_thread_that_is_not_the_first_has_its_name(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "data");
	static struct file_content content;
	pthread_t thread;
	/* opened() may skip, which only this thread can */
	culprit_sampler_close(opened((struct culprit_sampler_options){ .path = path }), NULL);
	assert_int_equal(pthread_create(&thread, NULL, sample_in_thread, (void *)path), 0);
	pthread_join(thread, NULL);
	read_content(&content, path);
	assert_int_equal(content.comms, 2);
	assert_string_equal(content.thread_name, "worker");
}

static void an_open_descriptor_stays_open(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "data");
	static struct file_content content;
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	struct culprit_sampler *sampler = opened((struct culprit_sampler_options){ .fd = fd });
	sample_once(sampler);
	assert_int_equal(culprit_sampler_close(sampler, NULL), 0);
	assert_int_equal(close(fd), 0);
	read_content(&content, path);
	assert_true(content.samples > 0);
}

/* The dummy event is on between segments, too. */
static void what_is_mapped_between_segments_is_in_it(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "data");
	static struct file_content content;
	int self = open("/proc/self/exe", O_RDONLY);
	struct culprit_sampler *sampler = opened((struct culprit_sampler_options){ .path = path });
	sample_once(sampler);
	void *mapped = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, self, 0);
	assert_ptr_not_equal(mapped, MAP_FAILED);
	sample_once(sampler);
	assert_int_equal(culprit_sampler_close(sampler, NULL), 0);
	read_content(&content, path);
	assert_non_null(mapping_at(&content, mapped));
	assert_true(mapping_at(&content, mapped)->time > content.first_ns);
	munmap(mapped, 4096);
	close(self);
}

struct load {
	const char *name;
	void *library;
};

static void *load(void *context)
{
	struct load *wanted = context;
	wanted->library = dlopen(wanted->name, RTLD_NOW);
	return NULL;
}

/* A thread that is not sampled reports nothing by itself. */
static void what_another_thread_loads_is_in_it(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "data");
	static struct file_content content;
	struct load between = { .name = "libanl.so.1" }, during = { .name = "libresolv.so.2" };
	pthread_t thread;
	struct culprit_sampler *sampler = opened((struct culprit_sampler_options){ .path = path });
	assert_int_equal(pthread_create(&thread, NULL, load, &between), 0);
	pthread_join(thread, NULL);
	sample_once(sampler);
	uint64_t begin = 0;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	begin = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	assert_int_equal(culprit_sampler_start(sampler), 0);
	assert_int_equal(pthread_create(&thread, NULL, load, &during), 0);
	pthread_join(thread, NULL);
	spin(); /* samples in it would be of the time before it is seen */
	clock_gettime(CLOCK_MONOTONIC, &now);
	assert_int_equal(culprit_sampler_stop(sampler), 0);
	assert_int_equal(culprit_sampler_close(sampler, NULL), 0);
	if (!between.library || !during.library)
		SKIP("no small libraries of glibc's to load here");
	read_content(&content, path);
	assert_non_null(mapping_of(&content, "libanl"));
	assert_true(mapping_of(&content, "libanl")->time <= content.first_ns);
	assert_non_null(mapping_of(&content, "libresolv"));
	assert_true(mapping_of(&content, "libresolv")->time >= begin);
	assert_true(mapping_of(&content, "libresolv")->time <
		    (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
	dlclose(between.library);
	dlclose(during.library);
}

static void losses_of_which_the_kernel_wrote_nothing_are_in_it(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "data");
	struct culprit_sampler_counts counts = { .samples = 0 };
	static struct file_content content;
	struct culprit_sampler *sampler = opened(
		(struct culprit_sampler_options){ .path = path, .buffer_bytes = 1, .stacks = 1 });
	double since = cpu_s();
	assert_int_equal(culprit_sampler_start(sampler), 0);
	while (counts.lost < 20 && cpu_s() - since < PATIENCE_S) {
		spin();
		culprit_sampler_counts(sampler, &counts);
	}
	assert_int_equal(culprit_sampler_stop(sampler), 0);
	culprit_sampler_counts(sampler, &counts);
	assert_int_equal(culprit_sampler_close(sampler, NULL), 0);
	read_content(&content, path);
	assert_true(counts.lost >= 20);
	assert_int_equal(content.lost, counts.lost);
	assert_int_equal(content.samples, counts.samples);
}

/* ---- where it goes */

static void a_file_is_made_anew_and_private(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "data");
	struct stat status;
	static char old[1u << 20];
	int fd = open(path, O_WRONLY | O_CREAT, 0644);
	assert_int_equal(write(fd, old, sizeof(old)), sizeof(old));
	close(fd);
	assert_int_equal(chmod(path, 0644), 0);
	culprit_sampler_close(opened((struct culprit_sampler_options){ .path = path }), NULL);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_true(status.st_size > 0 && status.st_size < (off_t)sizeof(old));
}

static void refused(struct culprit_sampler_options options, int code, const char *text)
{
	struct culprit_sampler *sampler = NULL;
	struct culprit_error error = { .code = 0 };
	options.period = PERIOD_NS;
	assert_int_equal(culprit_sampler_open("cpu-clock:u", &options, &sampler, &error), code);
	if (!strstr(error.text, text))
		fail_msg("'%s' does not say '%s'", error.text, text);
}

static void what_cannot_be_written_is_refused_in_a_sentence(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "link");
	culprit_sampler_close(opened((struct culprit_sampler_options){
				      .path = temporary_folder_path(&folder, "d") }),
			      NULL);
	assert_int_equal(symlink("target", path), 0);
	refused((struct culprit_sampler_options){ .path = path }, -ELOOP, "it is a symbolic link");
	assert_int_equal(access(temporary_folder_path(&folder, "target"), F_OK), -1);
	refused((struct culprit_sampler_options){ .path = "/nowhere/data" }, -ENOENT,
		"cannot write '/nowhere/data': No such file");
	refused((struct culprit_sampler_options){ .path = "/dev/full" }, -ENOSPC,
		"cannot write '/dev/full': No space left");
	refused((struct culprit_sampler_options){ .fd = 1000 }, -EBADF,
		"descriptor 1000: it is not open");
	int fd = open("/dev/null", O_RDONLY);
	refused((struct culprit_sampler_options){ .fd = fd }, -EBADF, "not open for writing");
	close(fd);
}

static void a_reader_that_leaves_is_an_error_and_no_signal(void **state)
{
	(void)state;
	struct culprit_error error;
	char room[4096];
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	void (*before)(int) = signal(SIGPIPE, SIG_DFL); /* which would end this program */
	struct culprit_sampler *sampler = opened((struct culprit_sampler_options){ .fd = ends[1] });
	assert_true(read(ends[0], room, sizeof(room)) > 0);
	close(ends[0]);
	assert_int_equal(culprit_sampler_start(sampler), 0);
	struct culprit_sampler_counts counts = { .samples = 0 };
	int ret = 0;
	for (double since = cpu_s(); ret == 0 && cpu_s() - since < PATIENCE_S;) {
		spin();
		ret = culprit_sampler_drain(sampler);
		culprit_sampler_counts(sampler, &counts);
	}
	assert_int_equal(ret, -EPIPE);
	assert_int_equal(culprit_sampler_stop(sampler), -EPIPE);
	assert_int_equal(culprit_sampler_close(sampler, &error), -EPIPE);
	assert_string_equal(error.text, "cannot write samples to the descriptor: Broken pipe");
	close(ends[1]);
	signal(SIGPIPE, before);
}

static void a_signal_that_waited_before_still_waits(void **state)
{
	(void)state;
	sigset_t broken, before, waiting;
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	struct culprit_sampler *sampler = opened((struct culprit_sampler_options){ .fd = ends[1] });
	close(ends[0]);
	sigemptyset(&broken);
	sigaddset(&broken, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &broken, &before);
	raise(SIGPIPE);
	int ret = culprit_sampler_start(sampler);
	spin();
	while (ret == 0) {
		spin();
		ret = culprit_sampler_drain(sampler);
	}
	sigpending(&waiting);
	assert_true(sigismember(&waiting, SIGPIPE));
	sigwait(&broken, &ret);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	assert_int_equal(culprit_sampler_close(sampler, NULL), -EPIPE);
	close(ends[1]);
}

/* In a child: the limit stays. */
static int fill_up(const char *path)
{
	const struct rlimit limit = { 96u << 10, 96u << 10 };
	struct culprit_sampler_options options = { .path = path, .period = 100000 };
	struct culprit_sampler *sampler;
	struct culprit_error error = { .code = 0 };
	signal(SIGXFSZ, SIG_DFL);
	if (setrlimit(RLIMIT_FSIZE, &limit) ||
	    culprit_sampler_open("cpu-clock:u", &options, &sampler, &error) ||
	    culprit_sampler_start(sampler))
		return 1;
	int ret = 0;
	for (double since = cpu_s(); ret == 0 && cpu_s() - since < PATIENCE_S;) {
		spin();
		ret = culprit_sampler_drain(sampler);
	}
	if (ret != -EFBIG)
		return 2;
	ret = culprit_sampler_close(sampler, &error);
	return ret == -EFBIG && strstr(error.text, "File too large") ? 0 : 3;
}

static void a_file_that_may_grow_no_more_is_an_error_and_no_signal(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "data");
	culprit_sampler_close(opened((struct culprit_sampler_options){ .path = path }), NULL);
	pid_t child = fork();
	if (child == 0)
		_exit(fill_up(path));
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_child_leaves_the_file_alone(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "data");
	struct culprit_sampler_counts counts;
	static struct file_content content;
	struct culprit_sampler *sampler = opened((struct culprit_sampler_options){ .path = path });
	assert_int_equal(culprit_sampler_start(sampler), 0);
	spin();
	assert_int_equal(culprit_sampler_stop(sampler), 0); /* waits for more in its buffer */
	pid_t child = fork();
	if (child == 0)
		_exit(culprit_sampler_close(sampler, NULL) ? 1 : 0);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	sample_once(sampler);
	culprit_sampler_counts(sampler, &counts);
	assert_int_equal(culprit_sampler_close(sampler, NULL), 0);
	read_content(&content, path);
	assert_int_equal(content.samples, counts.samples);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_has_events_names_mappings_and_samples),
		cmocka_unit_test(a_thread_that_is_not_the_first_has_its_name),
		cmocka_unit_test(an_open_descriptor_stays_open),
		cmocka_unit_test(what_is_mapped_between_segments_is_in_it),
		cmocka_unit_test(what_another_thread_loads_is_in_it),
		cmocka_unit_test(losses_of_which_the_kernel_wrote_nothing_are_in_it),
		cmocka_unit_test(a_file_is_made_anew_and_private),
		cmocka_unit_test(what_cannot_be_written_is_refused_in_a_sentence),
		cmocka_unit_test(a_reader_that_leaves_is_an_error_and_no_signal),
		cmocka_unit_test(a_signal_that_waited_before_still_waits),
		cmocka_unit_test(a_file_that_may_grow_no_more_is_an_error_and_no_signal),
		cmocka_unit_test(a_child_leaves_the_file_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
