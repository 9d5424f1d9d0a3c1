/* The perf.data file that a sampler writes: what is in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sampled_file.h"
#include "support/skip.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_has_events_names_mappings_and_samples),
		cmocka_unit_test(a_thread_that_is_not_the_first_has_its_name),
		cmocka_unit_test(an_open_descriptor_stays_open),
		cmocka_unit_test(what_is_mapped_between_segments_is_in_it),
		cmocka_unit_test(what_another_thread_loads_is_in_it),
		cmocka_unit_test(losses_of_which_the_kernel_wrote_nothing_are_in_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
