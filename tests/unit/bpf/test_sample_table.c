#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "bpf/sample_table.h"
#include "machine/perf_open.h"
#include "support/refused_program.h"
#include "support/skip.h"

#define CPUS_MOST     1024
#define EVENT	      5 /* number of the event */
#define CONTEXTS_MOST 65536
#define IMAGES_MOST   65536
#define PERIOD_NS     100003

/* The clock of all CPUs, counted in a table, and what came out of it. */
struct scene {
	struct sample_table *table;
	int events[CPUS_MOST], links[CPUS_MOST];
	size_t count;
	/* by their numbers; what had no news has number 0 */
	struct {
		struct sample_table_image_key key;
		struct sample_table_image value;
		uint64_t samples;
	} images[IMAGES_MOST];
	struct {
		struct sample_table_context_key key;
		struct sample_table_context value;
		uint64_t samples, of_kernel, of_addresses;
	} contexts[CONTEXTS_MOST];
	uint32_t images_end, contexts_end; /* above the highest number */
	uint64_t samples, entries, unknown, unnamed;
	uint64_t first, last, in_range; /* offsets or addresses that are counted, of `range_image` */
	uint32_t range_image;
};

static int note_image(void *context, const struct sample_table_image_key *key,
		      const struct sample_table_image *value)
{
	struct scene *scene = context;
	assert_true(value->number >= SAMPLE_TABLE_IMAGES && value->number < IMAGES_MOST);
	assert_true(value->start < value->end && value->pid > 0);
	scene->images[value->number].key = *key;
	scene->images[value->number].value = *value;
	if (value->number >= scene->images_end)
		scene->images_end = value->number + 1;
	return 0;
}

static int note_context(void *context, const struct sample_table_context_key *key,
			const struct sample_table_context *value)
{
	struct scene *scene = context;
	assert_true(value->number > 0 && value->number < CONTEXTS_MOST);
	scene->contexts[value->number].key = *key;
	scene->contexts[value->number].value = *value;
	if (value->number >= scene->contexts_end)
		scene->contexts_end = value->number + 1;
	return 0;
}

static int note_count(void *context, const struct sample_table_count *count)
{
	struct scene *scene = context;
	assert_int_equal(count->event, EVENT);
	assert_true(count->context < CONTEXTS_MOST && count->image < IMAGES_MOST);
	assert_true(count->samples > 0 && count->cpu < sample_table_cpus(scene->table));
	scene->samples += count->samples;
	scene->entries++;
	scene->contexts[count->context].samples += count->samples;
	if (count->context == SAMPLE_TABLE_UNKNOWN)
		scene->unknown += count->samples;
	else /* the news came before */
		assert_int_equal(scene->contexts[count->context].value.number, count->context);
	scene->images[count->image].samples += count->samples;
	if (count->image >= SAMPLE_TABLE_IMAGES)
		assert_int_equal(scene->images[count->image].value.number, count->image);
	if (count->image == SAMPLE_TABLE_KERNEL) {
		assert_true(count->offset >> 63);
		scene->contexts[count->context].of_kernel += count->samples;
	}
	if (count->image == SAMPLE_TABLE_ADDRESS) {
		scene->contexts[count->context].of_addresses += count->samples;
		/* it is of one process */
		if (count->context != SAMPLE_TABLE_UNKNOWN)
			assert_int_not_equal(scene->contexts[count->context].key.kind,
					     SAMPLE_TABLE_BY_NAME);
	}
	if (count->image == scene->range_image && count->offset >= scene->first &&
	    count->offset < scene->last)
		scene->in_range += count->samples;
	return 0;
}

static void drain(struct scene *scene)
{
	const struct sample_table_visit visit = { scene, note_image, note_context, note_count };
	assert_int_equal(sample_table_drain(scene->table, &visit), 0);
}

static struct error refusal;

/* NULL: it cannot be, as `refusal` says. */
static struct scene *begin(const struct sample_table_options *options, uint64_t period_ns)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	assert_non_null(scene);
	if (sample_table_new(options, &scene->table, &refusal) < 0) {
		free(scene);
		return NULL;
	}
	struct perf_event_attr attr = { .size = sizeof(attr),
					.type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.sample_period = period_ns,
					.exclude_idle = 1,
					.disabled = 1 };
	for (int cpu = 0; cpu < CPUS_MOST && (uint32_t)cpu < sample_table_cpus(scene->table); cpu++) {
		int fd = perf_open(&attr, -1, cpu, -1, 0);
		if (fd < 0)
			continue; /* it is not there now */
		int link = sample_table_attach(scene->table, fd, EVENT);
		assert_true(link >= 0);
		scene->events[scene->count] = fd;
		scene->links[scene->count++] = link;
	}
	assert_true(scene->count > 0);
	for (size_t i = 0; i < scene->count; i++)
		assert_int_equal(ioctl(scene->events[i], PERF_EVENT_IOC_ENABLE, 0), 0);
	return scene;
}

#define BEGIN(scene, period_ns, ...)                                                               \
	struct scene *scene = begin(&(struct sample_table_options){ __VA_ARGS__ }, (period_ns));   \
	if (!scene)                                                                                \
	SKIP_UNLOADED(refusal.code, refusal.text)

/* One sample in 64 of each CPU and event is timed, the first one too, whatever became of it. */
static void expect_timed(const struct scene *scene)
{
	struct sample_table_times times = sample_table_times(scene->table);
	uint64_t wanted = 0;
	for (uint32_t cpu = 0; cpu < sample_table_cpus(scene->table); cpu++) {
		uint64_t seen = sample_table_sums(scene->table, (int)cpu, EVENT).seen;
		wanted += (seen + PROGRAM_TIMED_ONE_IN - 1) / PROGRAM_TIMED_ONE_IN;
	}
	assert_int_equal(times.hits.samples + times.misses.samples, wanted);
	const struct program_time both[] = { times.hits, times.misses };
	for (size_t i = 0; i < COUNT_OF(both); i++) {
		assert_int_equal(both[i].samples == 0, both[i].ns == 0);
		assert_true(both[i].most_ns <= both[i].ns);
		assert_true(both[i].most_ns * both[i].samples >= both[i].ns);
	}
}

/* From here on nothing is counted, and all that was, is out. */
static struct sample_table_sums stop(struct scene *scene)
{
	for (size_t i = 0; i < scene->count; i++)
		ioctl(scene->events[i], PERF_EVENT_IOC_DISABLE, 0);
	drain(scene);
	drain(scene);
	uint64_t before = scene->samples;
	drain(scene);
	assert_int_equal(scene->samples, before);
	struct sample_table_sums sums = sample_table_sums(scene->table, -1, EVENT), each = { 0 };
	for (uint32_t cpu = 0; cpu < sample_table_cpus(scene->table); cpu++) {
		struct sample_table_sums one = sample_table_sums(scene->table, (int)cpu, EVENT);
		each.seen += one.seen;
		each.lost += one.lost;
	}
	assert_int_equal(each.seen, sums.seen);
	assert_int_equal(each.lost, sums.lost);
	assert_int_equal(scene->samples + sums.lost, sums.seen);
	expect_timed(scene);
	return sums;
}

static void end(struct scene *scene)
{
	for (size_t i = 0; i < scene->count; i++) {
		close(scene->links[i]);
		close(scene->events[i]);
	}
	sample_table_free(scene->table);
	free(scene);
}

static uint64_t cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static __attribute__((noinline, noclone)) void spin(uint64_t turns)
{
	for (uint64_t i = 0; i < turns; i++)
		__asm__ volatile("");
}

static void burn(uint64_t ns)
{
	uint64_t start = cpu_ns();
	while (cpu_ns() - start < ns)
		spin(200000);
}

/* A child that has a name of its own and burns some time. */
static pid_t burn_as(const char *name, uint64_t ns)
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_NAME, name);
		burn(ns);
		_exit(0);
	}
	return pid;
}

static void wait_for(pid_t pid)
{
	int status;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}

static void run_true(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	wait_for(pid);
}

/* How often the kernel has run our program, as it counted itself; false: it did not. */
static bool kernel_runs(uint64_t *runs)
{
	for (int fd = 0; fd < 4096; fd++) {
		char path[64], line[128];
		bool ours = false;
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
		CLEANUP(close_file) FILE *file = fopen(path, "re");
		while (file && fgets(line, sizeof(line), file)) {
			ours = ours || !strncmp(line, "prog_jited:", 11);
			unsigned long long count;
			if (ours && sscanf(line, "run_cnt: %llu", &count) == 1) {
				*runs = count;
				return true;
			}
		}
	}
	return false;
}

static void each_sample_comes_out_once(void **state)
{
	(void)state;
	int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	BEGIN(scene, 50021, .contexts = SAMPLE_TABLE_BY_NAME);
	pid_t busy[2] = { burn_as("busy", 400000000), burn_as("busy", 400000000) };
	for (int i = 0; i < 10; i++) {
		run_true();
		drain(scene);
		burn(10000000);
	}
	wait_for(busy[0]);
	wait_for(busy[1]);
	assert_false(sample_table_fills(scene->table));
	struct sample_table_sums sums = stop(scene);
	uint64_t runs;
	assert_int_equal(sums.lost, 0);
	assert_true(sums.seen > 1000);
	assert_true(scene->entries < sums.seen);
	/* most find the entry that they had: what is busy is one loop */
	struct sample_table_times times = sample_table_times(scene->table);
	assert_true(times.hits.samples > times.misses.samples);
	if (stats >= 0 && kernel_runs(&runs))
		assert_int_equal(runs, sums.seen);
	else
		print_message("the kernel does not say how often programs run\n");
	print_message("%llu samples in %llu entries\n", (unsigned long long)sums.seen,
		      (unsigned long long)scene->entries);
	end(scene);
	if (stats >= 0)
		close(stats);
}

/* Where this program's spin() lies in its file, and in what mapping. */
static void find_spin(uint64_t *start, uint64_t *end, uint64_t *offset, uint64_t *inode)
{
	unsigned long from, to, at, number;
	char line[512];
	CLEANUP(close_file) FILE *maps = fopen("/proc/self/maps", "re");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx %*s %lu", &from, &to, &at, &number) == 4 &&
		    (uintptr_t)spin >= from && (uintptr_t)spin < to) {
			*start = from;
			*end = to;
			*offset = at;
			*inode = number;
			return;
		}
	fail_msg("no mapping has spin()");
}

/* Of this process's user code. */
static uint64_t own_samples(const struct scene *scene)
{
	uint64_t own = 0;
	for (uint32_t i = 1; i < scene->contexts_end; i++)
		if (scene->contexts[i].key.pid == (uint32_t)getpid())
			own += scene->contexts[i].samples - scene->contexts[i].of_kernel;
	return own;
}

/* Samples of user code are in spin(), which lies at `first`, but for those of the clock: most, on a
 * machine that is emulated, where interrupts come as a system call ends. Few are in user code there. */
static void count_spin(struct scene *scene, uint64_t first)
{
	uint64_t before = own_samples(scene);
	scene->first = first;
	scene->last = first + 64;
	scene->in_range = 0;
	for (int tries = 0; tries < 200 && own_samples(scene) - before < 100; tries++) {
		burn(20000000);
		drain(scene);
	}
	uint64_t own = own_samples(scene) - before;
	print_message("%llu of %llu samples in spin()\n", (unsigned long long)scene->in_range,
		      (unsigned long long)own);
	assert_true(own >= 100);
	assert_true((double)scene->in_range > 0.03 * (double)own);
}

static void places_are_offsets_in_files(void **state)
{
	uint64_t start = 0, finish = 0, offset = 0, inode = 0;
	(void)state;
	BEGIN(scene, PERIOD_NS, .contexts = SAMPLE_TABLE_BY_PROCESS);
	find_spin(&start, &finish, &offset, &inode);
	burn(20000000);
	drain(scene);
	for (uint32_t i = SAMPLE_TABLE_IMAGES; i < scene->images_end; i++)
		if (scene->images[i].key.inode == inode && scene->images[i].value.start == start)
			scene->range_image = i;
	if (!scene->range_image) {
		end(scene);
		SKIP("this kernel has no tree of mappings that can be read (Linux 6.1)");
	}
	assert_int_equal(scene->images[scene->range_image].value.end, finish);
	assert_int_equal(scene->images[scene->range_image].value.offset, offset);
	count_spin(scene, (uintptr_t)spin - start + offset);
	/* unless they are to stay addresses */
	assert_int_equal(sample_table_keep_addresses(scene->table,
						     &scene->images[scene->range_image].key),
			 0);
	drain(scene);
	scene->range_image = SAMPLE_TABLE_ADDRESS;
	count_spin(scene, (uintptr_t)spin);
	stop(scene);
	end(scene);
}

/* sub $1, %rdi; jne; ret and the like */
#if defined(__x86_64__)
static const uint8_t code[] = { 0x48, 0x83, 0xef, 0x01, 0x75, 0xfa, 0xc3 };
#elif defined(__aarch64__)
static const uint8_t code[] = { 0x00, 0x04, 0x00, 0xf1, 0xe1, 0xff,
				0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6 };
#endif

static void run_code(uint8_t *at, uint64_t turns)
{
	((void (*)(uint64_t))(uintptr_t)at)(turns);
}

static uint64_t samples_of_file(const struct scene *scene, uint64_t inode)
{
	uint64_t samples = 0;
	for (uint32_t i = SAMPLE_TABLE_IMAGES; i < scene->images_end; i++)
		if (scene->images[i].key.inode == inode)
			samples += scene->images[i].samples;
	return samples;
}

/* Two files by turns at one address, beside mappings that have nothing to do with it. */
static void what_is_mapped_anew_is_another_file(void **state)
{
	int files[2];
	struct stat known[2];
	uint8_t *page = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	(void)state;
	assert_ptr_not_equal(page, MAP_FAILED);
	for (int i = 0; i < 2; i++) {
		files[i] = memfd_create("code", MFD_CLOEXEC);
		assert_true(files[i] >= 0);
		assert_int_equal(pwrite(files[i], code, sizeof(code), 0), sizeof(code));
		assert_int_equal(ftruncate(files[i], 8192), 0);
		assert_int_equal(fstat(files[i], &known[i]), 0);
	}
	BEGIN(scene, PERIOD_NS, .contexts = SAMPLE_TABLE_BY_NAME);
	burn(20000000);
	drain(scene);
	bool knows_files = scene->images_end > 0;
	for (int turn = 0; turn < 30 && knows_files; turn++) {
		uint64_t before[2];
		int now = turn % 2;
		for (int i = 0; i < 2; i++)
			before[i] = samples_of_file(scene, known[i].st_ino);
		/* sometimes another address is in use in between */
		if (turn % 3 == 2)
			munmap(page, 8192);
		assert_ptr_equal(mmap(page, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
				      files[now], 0),
				 page);
		for (int tries = 0;
		     tries < 2000 && samples_of_file(scene, known[now].st_ino) < before[now] + 20;
		     tries++) {
			for (int i = 0; i < 10; i++) {
				run_code(page, 200000);
				munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
					    0),
				       4096);
			}
			drain(scene);
		}
		run_code(page, 2000000);
		mprotect(page + 4096, 4096, PROT_READ); /* it ends a page earlier */
		run_code(page, 2000000);
		drain(scene);
		assert_true(samples_of_file(scene, known[now].st_ino) >= before[now] + 20);
		assert_int_equal(samples_of_file(scene, known[!now].st_ino), before[!now]);
	}
	stop(scene);
	end(scene);
	munmap(page, 8192);
	close(files[0]);
	close(files[1]);
	if (!knows_files)
		SKIP("this kernel has no tree of mappings that can be read (Linux 6.1)");
}

static void code_without_a_file_is_an_address_of_its_process(void **state)
{
	(void)state;
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	memcpy(page, code, sizeof(code));
	__builtin___clear_cache((char *)page, (char *)page + sizeof(code));
	if (mprotect(page, 4096, PROT_READ | PROT_EXEC)) {
		munmap(page, 4096);
		SKIP("no code may be made here");
	}
	BEGIN(scene, PERIOD_NS, .contexts = SAMPLE_TABLE_BY_NAME);
	scene->range_image = SAMPLE_TABLE_ADDRESS;
	scene->first = (uintptr_t)page;
	scene->last = scene->first + sizeof(code);
	for (int tries = 0; tries < 1000 && scene->in_range <= 100; tries++) {
		run_code(page, 5000000);
		drain(scene);
	}
	stop(scene);
	uint64_t own = 0, addresses = 0;
	for (uint32_t i = 1; i < scene->contexts_end; i++)
		if (scene->contexts[i].key.kind == SAMPLE_TABLE_BY_PROCESS &&
		    scene->contexts[i].key.pid == (uint32_t)getpid()) {
			own += scene->contexts[i].samples;
			addresses += scene->contexts[i].of_addresses;
		}
	assert_int_equal(own, addresses);
	assert_true(scene->in_range > 100);
	end(scene);
	munmap(page, 4096);
}

static void without_files_places_are_addresses(void **state)
{
	(void)state;
	BEGIN(scene, PERIOD_NS, .contexts = SAMPLE_TABLE_BY_NAME, .addresses = true);
	scene->range_image = SAMPLE_TABLE_ADDRESS;
	count_spin(scene, (uintptr_t)spin);
	stop(scene);
	end(scene);
}

static unsigned contexts_named(const struct scene *scene, const char *name, uint64_t *samples)
{
	unsigned count = 0;
	*samples = 0;
	for (uint32_t i = 1; i < scene->contexts_end; i++)
		if (scene->contexts[i].value.number &&
		    scene->contexts[i].key.kind == SAMPLE_TABLE_BY_NAME &&
		    !strcmp(scene->contexts[i].key.name, name)) {
			count++;
			*samples += scene->contexts[i].samples;
		}
	return count;
}

static void processes_of_one_name_share_a_context(void **state)
{
	uint64_t samples;
	(void)state;
	BEGIN(scene, PERIOD_NS, .contexts = SAMPLE_TABLE_BY_NAME);
	for (int i = 0; i < 12; i++)
		wait_for(burn_as("one of many", 3000000));
	stop(scene);
	assert_int_equal(contexts_named(scene, "one of many", &samples), 1);
	assert_true(samples > 0);
	end(scene);
}

static void a_process_is_another_one_after_exec(void **state)
{
	unsigned found = 0;
	uint64_t execs[2] = { 0 };
	(void)state;
	BEGIN(scene, PERIOD_NS, .contexts = SAMPLE_TABLE_BY_PROCESS);
	pid_t pid = fork();
	if (pid == 0) {
		burn(5000000);
		execl("/proc/self/exe", "again", "again", (char *)NULL);
		_exit(1);
	}
	wait_for(pid);
	stop(scene);
	for (uint32_t i = 1; i < scene->contexts_end; i++) {
		const struct sample_table_context_key *key = &scene->contexts[i].key;
		if (key->pid != (uint32_t)pid)
			continue;
		assert_int_equal(key->kind, SAMPLE_TABLE_BY_PROCESS);
		/* in the middle of an exec it has its new name already */
		if (!found++ || key->execs > execs[1])
			execs[1] = key->execs;
		if (found == 1 || key->execs < execs[0])
			execs[0] = key->execs;
	}
	assert_in_range(found, 2, 3);
	assert_int_equal(execs[1], execs[0] + 1);
	end(scene);
}

static void threads_may_be_told_apart(void **state)
{
	(void)state;
	BEGIN(scene, PERIOD_NS, .contexts = SAMPLE_TABLE_BY_THREAD);
	burn(5000000);
	stop(scene);
	unsigned own = 0;
	for (uint32_t i = 1; i < scene->contexts_end; i++)
		own += scene->contexts[i].key.tid == (uint32_t)getpid() &&
		       scene->contexts[i].key.kind == SAMPLE_TABLE_BY_THREAD;
	assert_int_equal(own, 1);
	end(scene);
}

/* More names than there is room for, and no room for their news. */
static void numbers_that_run_out_cost_a_name_and_no_sample(void **state)
{
	(void)state;
	BEGIN(scene, PERIOD_NS, .contexts = SAMPLE_TABLE_BY_NAME, .numbers = 16,
	      .news = (uint32_t)sysconf(_SC_PAGESIZE));
	for (int i = 0; i < 60; i++) {
		char name[16];
		snprintf(name, sizeof(name), "name %d", i);
		wait_for(burn_as(name, 2000000));
	}
	drain(scene);
	assert_true(sample_table_renewed(scene->table));
	assert_true(scene->unknown > 0);
	/* Names get numbers again; while other programs take them all, not this one. */
	uint64_t samples = 0;
	for (int tries = 0; tries < 100 && !samples; tries++) {
		wait_for(burn_as("after them", 5000000));
		drain(scene);
		contexts_named(scene, "after them", &samples);
	}
	assert_true(samples > 0);
	assert_int_equal(stop(scene).lost, 0);
	end(scene);
}

static void what_has_no_room_is_counted_as_lost(void **state)
{
	(void)state;
	BEGIN(scene, 20011, .contexts = SAMPLE_TABLE_BY_PROCESS, .lines = 1, .spill = 4);
	for (int i = 0; i < 10; i++)
		run_true();
	assert_true(sample_table_fills(scene->table));
	struct sample_table_sums sums = stop(scene);
	assert_true(sums.lost > 0 && sums.lost < sums.seen);
	end(scene);
}

static int refuse_count(void *context, const struct sample_table_count *count)
{
	(void)context;
	(void)count;
	return -ENOMEM;
}

static void what_nobody_took_is_lost(void **state)
{
	(void)state;
	BEGIN(scene, PERIOD_NS, .contexts = SAMPLE_TABLE_BY_NAME);
	burn(20000000);
	const struct sample_table_visit visit = { scene, note_image, note_context, refuse_count };
	assert_int_equal(sample_table_drain(scene->table, &visit), -ENOMEM);
	burn(20000000);
	struct sample_table_sums sums = stop(scene);
	assert_true(sums.lost > 0);
	assert_true(scene->samples > 0);
	end(scene);
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) {
		burn(5000000);
		return 0;
	}
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_sample_comes_out_once),
		cmocka_unit_test(places_are_offsets_in_files),
		cmocka_unit_test(what_is_mapped_anew_is_another_file),
		cmocka_unit_test(code_without_a_file_is_an_address_of_its_process),
		cmocka_unit_test(without_files_places_are_addresses),
		cmocka_unit_test(processes_of_one_name_share_a_context),
		cmocka_unit_test(a_process_is_another_one_after_exec),
		cmocka_unit_test(threads_may_be_told_apart),
		cmocka_unit_test(numbers_that_run_out_cost_a_name_and_no_sample),
		cmocka_unit_test(what_has_no_room_is_counted_as_lost),
		cmocka_unit_test(what_nobody_took_is_lost),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
