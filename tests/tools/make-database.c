/*
 * make-database DB HOST FIRST COUNT SECONDS [LABEL] - adds small epochs to a database, the same
 * bytes each time: numbers FIRST to FIRST + COUNT - 1 of those that follow each other, SECONDS
 * long, from 2023-11-14 22:13:20 on. A file's time is the end of what is in it, as with a
 * recording. Each has some code of one program that those before did not have.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/bill.h"
#include "profile/source_labels.h"
#include "profile/stash.h"
#include "store/database.h"
#include "store/database_epochs.h"
#include "store/epoch.h"
#include "support/test_profile.h"

#define SECOND_NS     UINT64_C(1000000000)
#define FIRST_NS      (UINT64_C(1700000000) * SECOND_NS)
#define MS	      UINT64_C(1000000)
#define FUNCTION_SIZE 64

static void must(int ret, const struct error *err)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "make-database: %s\n", err ? err->text : "out of memory");
	exit(1);
}

static void add_code(struct test_profile *test, uint64_t number)
{
	CLEANUP(buffer_release) struct buffer content = { 0 };
	char name[32];
	struct error err;
	snprintf(name, sizeof(name), "work_%u", (unsigned)number);
	const struct function_record function = { .name = span_of_text(name) };
	const uint64_t first = number * FUNCTION_SIZE;
	record_put_function(&content, first, &function);
	const struct record record = {
		RECORD_FUNCTION, first, first + FUNCTION_SIZE - 1, { content.data, content.size }
	};
	must(stash_add(test->profile, test->image, &record, &err), &err);
	test_address(test, first + 8, 100 + number % 7, MS);
}

static struct profile *make(const char *host, uint64_t number, uint64_t start_ns, uint64_t seconds,
			    const char *label)
{
	struct test_profile test = test_profile_new();
	const struct profile_source source = { .host = span_of_text(host),
					       .boot_id = span_of_text("boot"),
					       .kernel = span_of_text("Linux 6.1"),
					       .cpus = 2,
					       .start_ns = start_ns,
					       .duration_ns = seconds * SECOND_NS,
					       .epoch = number,
					       .labels = span_of_text(label) };
	const struct profile_event event = { .name = span_of_text("cpu-clock"),
					     .unit = span_of_text("ns"),
					     .type = 1,
					     .clock = EVENT_CLOCK,
					     .policy = PERIOD_RANDOM,
					     .period = MS,
					     .sampled = 1 };
	const struct profile_context context = { .comm = span_of_text("worker") };
	must(profile_add_source(test.profile, &source), NULL);
	test_event_full(&test, &event);
	test_context(&test, &context);
	test_image(&test, IMAGE_FILE, "/usr/bin/worker", "\x3f\xa9\x11\x02\x77");
	add_code(&test, number);
	test_address(&test, 8, 10, MS);
	test_bill(&test, test.event, BILL_STORED, 110 + number % 7);
	test_bill(&test, 0, BILL_ONLINE_NS, 2 * seconds * SECOND_NS);
	test_bill(&test, 0, BILL_BUSY_NS, seconds * SECOND_NS / 2);
	return test.profile;
}

static void add_epoch(const char *database, const char *host, uint64_t number, uint64_t seconds,
		      const char *label)
{
	uint64_t start_ns = FIRST_NS + number * seconds * SECOND_NS;
	CLEANUP(profile_freep)
	struct profile *profile = make(host, number, start_ns, seconds, label);
	struct epoch *epoch;
	struct error err;
	char path[4096], stem[EPOCH_STEM_BYTES];
	must(database_open_epoch(database, host, start_ns, &epoch, &err), &err);
	must(epoch_merge(epoch, profile, &err), &err);
	must(epoch_close(epoch, &err), &err);
	epoch_name_stem(start_ns, stem);
	snprintf(path, sizeof(path), "%s/%s/%s.prof", database, host, stem);
	const struct timespec end = { .tv_sec = (time_t)(start_ns / SECOND_NS + seconds) };
	utimensat(AT_FDCWD, path, (struct timespec[]){ end, end }, 0);
}

int main(int argc, char **argv)
{
	if (argc != 6 && argc != 7) {
		fprintf(stderr, "usage: make-database DB HOST FIRST COUNT SECONDS [LABEL]\n");
		return 2;
	}
	uint64_t first = strtoull(argv[3], NULL, 10);
	uint64_t count = strtoull(argv[4], NULL, 10);
	uint64_t seconds = strtoull(argv[5], NULL, 10);
	for (uint64_t i = 0; i < count; i++)
		add_epoch(argv[1], argv[2], first + i, seconds, argc == 7 ? argv[6] : NULL);
	return 0;
}
