#include "unit/store/database_care.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/profile.h"
#include "profile/stash.h"
#include "store/epoch.h"
#include "support/random_profile.h"

void care_shell(const char *format, ...)
{
	char command[4096];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	assert_int_equal(system(command), 0);
}

void care_record_hours(const char *database, const char *host, unsigned first, unsigned count,
		       const char *label)
{
	for (unsigned i = first; i < first + count; i++)
		made_epoch(database, host, 1 + i % 5, MADE_START_NS + i * CARE_HOUR_NS, label);
}

unsigned care_noted;
char care_last_note[1024];

void care_hear(void *context, const char *sentence)
{
	(void)context;
	care_noted++;
	snprintf(care_last_note, sizeof(care_last_note), "%s", sentence);
}

const struct database_selection care_all_aloud = { .note = care_hear };

struct database_pruned care_prune(const char *database, struct database_retention retention)
{
	struct database_pruned pruned;
	struct error err = { 0 };
	retention.note = care_hear;
	made_must(database_prune(database, &retention, &pruned, &err), &err);
	return pruned;
}

struct database_compacted care_compact(const char *database)
{
	const struct database_compaction compaction = { .now_ns = MADE_START_NS + 400 * CARE_DAY_NS,
							.note = care_hear };
	struct database_compacted compacted;
	struct error err = { 0 };
	made_must(database_compact(database, &compaction, &compacted, &err), &err);
	return compacted;
}

void care_assert_same(const char *database, const struct profile *wanted)
{
	CLEANUP(profile_freep) struct profile *read = made_read(database, &care_all_aloud);
	assert_true(profiles_are_equal(read, wanted));
}

void care_record_code(const char *database, unsigned number)
{
	struct epoch *epoch = NULL;
	struct error err = { 0 };
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	CLEANUP(buffer_release) struct buffer content = { 0 };
	const struct profile_image image = { .kind = IMAGE_FILE,
					     .build_id = span_of_text("program") };
	const struct profile_source source = { .host = span_of_text("h"),
					       .start_ns = MADE_START_NS + number };
	const struct profile_frame leaf = { .image = 1, .vaddr = 16 * number };
	const struct profile_event event = { .name = span_of_text("cycles") };
	const struct function_record function = { .name = span_of_text("f") };
	uint32_t id;
	assert_int_equal(profile_add_source(profile, &source), 0);
	assert_int_equal(profile_add_image(profile, &image, &id), 0);
	assert_int_equal(profile_add_event(profile, &event, &id), 0);
	assert_int_equal(profile_add_flat(profile, id, 0, &leaf, &(struct cell){ 1, 1, 1 }), 0);
	record_put_function(&content, 16 * number, &function);
	const struct record record = {
		RECORD_FUNCTION, 16 * number, 16 * number + 15, { content.data, content.size }
	};
	made_must(stash_add(profile, 1, &record, &err), &err);
	made_must(database_open_epoch(database, "h", MADE_START_NS + number * MADE_SECOND_NS,
				      &epoch, &err),
		  &err);
	made_must(epoch_merge(epoch, profile, &err), &err);
	made_must(epoch_close(epoch, &err), &err);
}

size_t care_records_in(const char *database)
{
	CLEANUP(profile_freep) struct profile *profile = made_read(database, NULL);
	return profile_table(profile, PROFILE_STASH)->count;
}

unsigned care_packs_in(const char *database)
{
	char images[512];
	snprintf(images, sizeof(images), "%s/images", database);
	return made_count_files(images, "");
}
