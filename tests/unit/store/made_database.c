#include "unit/store/made_database.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/profile.h"
#include "profile/stash.h"
#include "store/database.h"
#include "store/epoch.h"
#include "support/random_profile.h"

void made_must(int ret, const struct error *err)
{
	if (ret < 0)
		fail_msg("%d: %s", ret, err->text);
}

struct profile *made_profile(const char *host, uint64_t seed, uint64_t start_ns, const char *label)
{
	struct profile *profile = random_profile_new(seed, RANDOM_KNOWN);
	struct error err = { 0 };
	table_clear(profile->tables[PROFILE_STASH]);
	table_clear(profile->tables[PROFILE_SOURCE]);
	const struct profile_source source = { .host = span_of_text(host),
					       .start_ns = start_ns,
					       .duration_ns = MADE_SECOND_NS,
					       .labels = span_of_text(label) };
	made_must(profile_add_source(profile, &source), &err);
	for (uint32_t image = 1; image <= 2; image++) {
		CLEANUP(buffer_release) struct buffer content = { 0 };
		const struct function_record function = { .name = span_of_text("f") };
		const uint64_t first = 16 * (seed % 4);
		record_put_function(&content, first, &function);
		const struct record record = {
			RECORD_FUNCTION, first, first + 15, { content.data, content.size }
		};
		made_must(stash_add(profile, image, &record, &err), &err);
	}
	return profile;
}

void made_epoch(const char *database, const char *host, uint64_t seed, uint64_t start_ns,
		const char *label)
{
	struct epoch *epoch = NULL;
	struct error err = { 0 };
	CLEANUP(profile_freep) struct profile *profile = made_profile(host, seed, start_ns, label);
	made_must(database_open_epoch(database, host, start_ns, &epoch, &err), &err);
	made_must(epoch_merge(epoch, profile, &err), &err);
	made_must(epoch_close(epoch, &err), &err);
}

struct profile *made_read(const char *database, const struct database_selection *selection)
{
	struct profile *profile = NULL;
	struct error err = { 0 };
	made_must(database_read(database, selection, &profile, &err), &err);
	return profile;
}

unsigned made_count_files(const char *path, const char *ending)
{
	CLEANUP(free_pointer) char *command = NULL;
	unsigned count = 0;
	assert_true(asprintf(&command, "find '%s' -type f -name '*%s' | wc -l", path, ending) > 0);
	FILE *found = popen(command, "r");
	assert_non_null(found);
	assert_int_equal(fscanf(found, "%u", &count), 1);
	assert_int_equal(pclose(found), 0);
	return count;
}

uint64_t made_bytes_read(void)
{
	char text[512] = "";
	FILE *file = fopen("/proc/self/io", "r");
	assert_non_null(file);
	size_t size = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	assert_int_equal(strncmp(text, "rchar: ", 7), 0);
	return size ? strtoull(text + 7, NULL, 10) : 0;
}
