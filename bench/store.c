/*
 * bench store - what the profile file costs: bytes per row and the time to
 * write, read and merge, at several sizes, for a profile shaped like a real
 * one: functions of images with their hot instructions, a few contexts, clock
 * weights of a random period, and with --stash names, code and lines of
 * functions.
 *
 *     bench-store [ROWS...]      (default: 10000 100000 1000000)
 *
 * Without arguments also what a database of 1000 hourly epochs costs to list, and to read
 * one hour of; with LONG_FORM=1 one of a year.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "profile/profile.h"
#include "profile/stash.h"
#include "store/database.h"
#include "store/epoch.h"
#include "store/profile_file.h"

static void must(int ret, const struct error *err)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "bench-store: %s\n", err && err->code ? err->text : strerror(-ret));
	exit(1);
}

static double ms_since(uint64_t begin_ns)
{
	return (double)(clock_monotonic_ns() - begin_ns) / 1e6;
}

#define IMAGES	 200
#define CONTEXTS 60

struct shape {
	uint32_t event;
	uint32_t images[IMAGES];
	uint32_t contexts[CONTEXTS];
};

static void add_dictionaries(struct profile *profile, struct random_state *random,
			     struct shape *shape)
{
	const struct profile_event event = { .name = span_of_text("cpu-clock"),
					     .unit = span_of_text("ns"),
					     .type = 1,
					     .clock = EVENT_CLOCK,
					     .policy = PERIOD_RANDOM,
					     .period = 200003,
					     .sampled = 1 };
	must(profile_add_event(profile, &event, &shape->event), NULL);
	for (int i = 0; i < IMAGES; i++) {
		uint64_t id[3] = { random_u64(random), random_u64(random), random_u64(random) };
		char path[64];
		snprintf(path, sizeof(path), "/usr/lib/x86_64-linux-gnu/libsomething%d.so.1", i);
		const struct profile_image image = { .kind = IMAGE_FILE,
						     .space = SPACE_ELF,
						     .build_id = { id, 20 } };
		must(profile_add_image(profile, &image, &shape->images[i]), NULL);
		must(profile_add_path(profile, shape->images[i], span_of_text(path)), NULL);
	}
	for (int i = 0; i < CONTEXTS; i++) {
		char comm[16], cgroup[64];
		snprintf(comm, sizeof(comm), "program-%d", i);
		snprintf(cgroup, sizeof(cgroup), "/system.slice/program-%d.service", i % 20);
		const struct profile_context context = { .comm = span_of_text(comm),
							 .cgroup = span_of_text(cgroup) };
		must(profile_add_context(profile, &context, &shape->contexts[i]), NULL);
	}
}

/* Most instructions are hit once or twice, few often; weights as of periods drawn from 0.5 to 1.5.
 */
static void add_cells(struct profile *profile, struct random_state *random,
		      const struct shape *shape, size_t rows)
{
	while (profile_table(profile, PROFILE_FLAT)->count < rows) {
		double skew = random_unit(random);
		struct profile_frame leaf = {
			.image = shape->images[(size_t)(skew * skew * IMAGES)],
			.vaddr = 0x1000 + random_below(random, rows / 20 + 10) * 64,
		};
		uint32_t context = shape->contexts[(size_t)(skew * CONTEXTS)];
		int hot = 1 + (int)random_below(random, 12);
		for (int i = 0; i < hot; i++) {
			uint64_t samples = 1 + random_below(random, 1 + random_below(random, 6));
			struct cell cell = { .samples = samples };
			for (uint64_t j = 0; j < samples; j++) {
				uint64_t period = 100001 + random_below(random, 200003);
				cell.estimate += period;
				cell.squares += (unsigned __int128)period * period;
			}
			leaf.vaddr += 1 + random_below(random, 9);
			must(profile_add_flat(profile, shape->event, context, &leaf, &cell), NULL);
		}
	}
}

/* Bytes with the redundancy of machine code: frequent opcodes, few registers, small numbers. */
static void add_stash(struct profile *profile, struct random_state *random,
		      const struct shape *shape, size_t functions)
{
	static const uint8_t common[] = { 0x48, 0x8b, 0x89, 0xe8, 0x0f, 0x85, 0x74, 0x31,
					  0xc0, 0x00, 0x00, 0x00, 0xff, 0x83, 0xc4, 0x5d };
	CLEANUP(buffer_release) struct buffer content = { 0 };
	for (size_t i = 0; i < functions; i++) {
		uint32_t image = shape->images[i % IMAGES];
		uint64_t first = 0x1000 + i * 512;
		size_t size = 64 + random_below(random, 400);
		char name[64];
		uint8_t code[512];
		snprintf(name, sizeof(name), "_ZN7library%zu6method%" PRIu64 "Ev", i % 300,
			 random_below(random, 100000));
		for (size_t j = 0; j < size; j++)
			code[j] = random_below(random, 3) ? common[random_below(random, 16)]
							  : (uint8_t)random_u64(random);
		const struct function_record function = { .name = span_of_text(name) };
		struct record record = { RECORD_FUNCTION, first, first + size - 1, { NULL, 0 } };
		struct error err = { 0 };
		content.size = 0;
		record_put_function(&content, first, &function);
		record.content = (struct span){ content.data, content.size };
		must(stash_add(profile, image, &record, &err), &err);
		content.size = 0;
		record_put_code(&content, (struct span){ code, size });
		record.kind = RECORD_CODE;
		record.content = (struct span){ content.data, content.size };
		must(stash_add(profile, image, &record, &err), &err);
	}
}

static struct profile *realistic(size_t rows, size_t functions, uint64_t seed)
{
	struct random_state random = random_seed(seed);
	struct shape shape;
	struct profile *profile = profile_new();
	must(profile ? 0 : -ENOMEM, NULL);
	add_dictionaries(profile, &random, &shape);
	add_cells(profile, &random, &shape, rows);
	add_stash(profile, &random, &shape, functions);
	return profile;
}

static void measure(const char *folder, size_t rows, size_t functions)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/bench.prof", folder);
	struct error err = { 0 };
	CLEANUP(profile_freep) struct profile *profile = realistic(rows, functions, 1);
	uint64_t begin = clock_monotonic_ns();
	must(profile_file_write(path, profile, &err), &err);
	double write_ms = ms_since(begin);
	struct profile_file_info info;
	double read_ms = 1e9;
	for (int i = 0; i < 5; i++) {
		CLEANUP(profile_freep) struct profile *read = NULL;
		begin = clock_monotonic_ns();
		must(profile_file_read(path, &read, &info, &err), &err);
		double ms = ms_since(begin);
		read_ms = ms < read_ms ? ms : read_ms;
	}
	CLEANUP(profile_freep) struct profile *other = realistic(rows, 0, 2);
	begin = clock_monotonic_ns();
	must(profile_merge(profile, other, &err), &err);
	double merge_ms = ms_since(begin);
	printf("%9zu %9zu %10" PRIu64 " %9.2f %9.1f %9.1f %9.1f\n", rows, functions,
	       info.file_bytes, rows ? (double)info.file_bytes / (double)rows : 0, write_ms,
	       read_ms, merge_ms);
	unlink(path);
}

/* A long recording: one merge a second of 5000 samples into a profile of `rows`. */
static void measure_epoch(const char *folder, size_t rows)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/epoch.prof", folder);
	struct error err = { 0 };
	struct epoch *epoch = NULL;
	must(epoch_open(path, EPOCH_KEEP_OLD, &epoch, &err), &err);
	CLEANUP(profile_freep) struct profile *base = realistic(rows, 0, 1);
	must(epoch_merge(epoch, base, &err), &err);
	double total = 0, worst = 0;
	const int merges = 200;
	for (int i = 0; i < merges; i++) {
		/* Half of it known rows (the same seed makes the same addresses), half new. */
		CLEANUP(profile_freep)
		struct profile *delta = realistic(2000, 0, i % 2 ? 1 : 100 + (uint64_t)i);
		uint64_t begin = clock_monotonic_ns();
		must(epoch_merge(epoch, delta, &err), &err);
		double ms = ms_since(begin);
		total += ms;
		worst = ms > worst ? ms : worst;
	}
	struct profile_file_info info;
	CLEANUP(profile_freep) struct profile *read = NULL;
	uint64_t begin = clock_monotonic_ns();
	must(profile_file_read(path, &read, &info, &err), &err);
	double read_ms = ms_since(begin);
	begin = clock_monotonic_ns();
	must(epoch_close(epoch, &err), &err);
	printf("%9zu  merge of 2000 rows: mean %.1f ms, worst %.1f ms; open file %" PRIu64
	       " bytes, read in %.1f ms, closed in %.1f ms\n",
	       rows, total / merges, worst, info.file_bytes, read_ms, ms_since(begin));
	unlink(path);
}

#define HOUR_NS	   UINT64_C(3600000000000)
/* 2024-01-01: no epoch ends after its file was written */
#define START_NS   (UINT64_C(1704067200) * 1000000000u)
#define EPOCH_ROWS 1000u

static uint64_t bytes_read(void)
{
	char line[64] = "";
	FILE *file = fopen("/proc/self/io", "r");
	if (!file || !fgets(line, sizeof(line), file))
		exit(1);
	fclose(file);
	return strtoull(line + sizeof("rchar:"), NULL, 10);
}

static void write_hour(const char *folder, size_t hour, struct profile *profile)
{
	char path[256];
	struct error err = { 0 };
	const struct profile_source source = { .host = span_of_text("h"),
					       .start_ns = START_NS + hour * HOUR_NS,
					       .duration_ns = HOUR_NS };
	table_clear(profile->tables[PROFILE_SOURCE]);
	must(profile_add_source(profile, &source), NULL);
	snprintf(path, sizeof(path), "%s/h/%08zu.prof", folder, hour);
	must(profile_file_write(path, profile, &err), &err);
}

struct cost {
	double ms;
	uint64_t bytes;
};

static struct cost cost_of_list(const char *folder, const struct database_selection *selection)
{
	CLEANUP(database_list_release) struct database_list list = { 0 };
	struct error err = { 0 };
	uint64_t begin = clock_monotonic_ns();
	uint64_t before = bytes_read();
	must(database_list(folder, selection, &list, &err), &err);
	return (struct cost){ ms_since(begin), bytes_read() - before };
}

static struct cost cost_of_read(const char *folder, const struct database_selection *selection)
{
	CLEANUP(profile_freep) struct profile *profile = NULL;
	struct error err = { 0 };
	uint64_t begin = clock_monotonic_ns();
	uint64_t before = bytes_read();
	must(database_read(folder, selection, &profile, &err), &err);
	return (struct cost){ ms_since(begin), bytes_read() - before };
}

/* A database of that many hourly epochs: its list, the last hour by its time and by its name; and,
 * for comparison, all of every epoch. */
static void measure_database(const char *parent, size_t hours)
{
	char folder[200], host[256], name[64];
	snprintf(folder, sizeof(folder), "%s/db", parent);
	snprintf(host, sizeof(host), "%s/h", folder);
	mkdir(folder, 0700);
	mkdir(host, 0700);
	CLEANUP(profile_freep) struct profile *profile = realistic(EPOCH_ROWS, 0, 1);
	for (size_t hour = 0; hour < hours; hour++)
		write_hour(folder, hour, profile);
	snprintf(name, sizeof(name), "%08zu", hours - 1);
	const char *names[] = { name };
	const struct database_selection all = { .whole = true }, none = { 0 },
					last = { .since_ns = START_NS + hours * HOUR_NS - 1 },
					named = { .epochs = names, .epoch_count = 1 };
	const struct cost whole = cost_of_list(folder, &all), list = cost_of_list(folder, &none),
			  since = cost_of_read(folder, &last), one = cost_of_read(folder, &named);
	printf("%9zu %9.1f %11" PRIu64 " %9.1f %11" PRIu64 " %9.1f %11" PRIu64 " %9.1f %11" PRIu64
	       "\n",
	       hours, whole.ms, whole.bytes, list.ms, list.bytes, since.ms, since.bytes, one.ms,
	       one.bytes);
	for (size_t hour = 0; hour < hours; hour++) {
		char path[300];
		snprintf(path, sizeof(path), "%s/%08zu.prof", host, hour);
		unlink(path);
	}
	rmdir(host);
	rmdir(folder);
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/culprit-bench-XXXXXX";
	struct utsname machine;
	if (!mkdtemp(folder) || uname(&machine) < 0)
		return 1;
	printf("# %s %s, %ld CPUs\n", machine.machine, machine.release,
	       sysconf(_SC_NPROCESSORS_ONLN));
	printf("%9s %9s %10s %9s %9s %9s %9s\n", "rows", "functions", "bytes", "per row",
	       "write ms", "read ms", "merge ms");
	static const size_t usual[] = { 10000, 100000, 1000000 };
	measure(folder, 0, 0);
	measure(folder, 150000, 20000);
	size_t count = argc > 1 ? (size_t)argc - 1 : sizeof(usual) / sizeof(usual[0]);
	for (size_t i = 0; i < count; i++)
		measure(folder, argc > 1 ? strtoul(argv[i + 1], NULL, 10) : usual[i], 0);
	for (size_t i = 0; i < count; i++)
		measure_epoch(folder, argc > 1 ? strtoul(argv[i + 1], NULL, 10) : usual[i]);
	if (argc == 1) {
		static const size_t hours[] = { 1, 100, 1000, 8760 };
		size_t databases = getenv("LONG_FORM") ? 4 : 3;
		printf("# databases of hourly epochs of %u rows: ms and bytes read to list them "
		       "whole, by their sources, and to read the last by its time and by its "
		       "name\n",
		       EPOCH_ROWS);
		printf("%9s %9s %11s %9s %11s %9s %11s %9s %11s\n", "epochs", "whole ms", "bytes",
		       "list ms", "bytes", "since ms", "bytes", "epoch ms", "bytes");
		for (size_t i = 0; i < databases; i++)
			measure_database(folder, hours[i]);
	}
	rmdir(folder);
	return 0;
}
