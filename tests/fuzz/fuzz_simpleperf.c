#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "import/perf_data/simpleperf.h"
#include "profile/profile.h"
#include "profile/stash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_image(struct profile *profile, enum image_kind kind, enum vaddr_space space,
		      const char *path)
{
	const struct profile_image image = { .kind = kind,
					     .space = space,
					     .name = span_of_text(path) };
	const struct cell cell = { 1, 1, 1 };
	struct profile_frame frame = { .kind = FRAME_IP };
	uint32_t context;
	assert(profile_add_image(profile, &image, &frame.image) == 0);
	assert(profile_add_context(profile, &(struct profile_context){ 0 }, &context) == 0);
	for (frame.vaddr = 0; frame.vaddr < 64; frame.vaddr += 8)
		assert(profile_add_flat(profile, 1, context, &frame, &cell) == 0);
}

static struct profile *new_profile(void)
{
	struct profile *profile = profile_new();
	uint32_t event;
	assert(profile &&
	       profile_add_event(profile, &(struct profile_event){ .name = span_of_text("cycles") },
				 &event) == 0);
	add_image(profile, IMAGE_FILE, SPACE_OFFSET, "/a");
	add_image(profile, IMAGE_FILE, SPACE_OFFSET, "jit_app_cache:");
	add_image(profile, IMAGE_KERNEL, SPACE_TEXT, "");
	return profile;
}

/* Any bytes as any part: names that are found make sound records, and events have names. The first
 * byte says which part. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct simpleperf simpleperf = { 0 };
	struct simpleperf_event events[8];
	struct simpleperf_id id;
	size_t names;
	if (size < 9)
		return 0;
	struct span part = { data + 1, size - 1 };
	switch (data[0] % 4) {
	case 0:
		assert(simpleperf_take_feature(&simpleperf, SIMPLEPERF_FILE, part) == 0);
		break;
	case 1:
		assert(simpleperf_take_feature(&simpleperf, SIMPLEPERF_FILE2, part) == 0);
		break;
	case 2:
		assert(simpleperf_take_feature(&simpleperf, SIMPLEPERF_META_INFO, part) == 0);
		break;
	default:
		for (size_t at = 0; part.size - at >= 8;) {
			const uint8_t *record = (const uint8_t *)part.data + at;
			size_t step = simpleperf_record_size(record);
			if (!step || step > part.size - at)
				break;
			assert(simpleperf_take_record(&simpleperf, (struct span){ record, step }) ==
			       0);
			at += step;
		}
	}
	struct profile *profile = new_profile();
	const struct simpleperf_bases bases = { .kernel = 16 };
	assert(simpleperf_name_images(&simpleperf, profile, &bases, &names) == 0);
	struct stash_index *index;
	assert(stash_index_new(profile, &index) == 0);
	assert(stash_index_damaged(index) == 0);
	stash_index_free(index);
	profile_free(profile);
	size_t count = simpleperf_events(&simpleperf, events, COUNT_OF(events));
	for (size_t i = 0; i < count; i++)
		assert(events[i].name.size > 0);
	for (size_t i = 0; simpleperf_event_id(part, i, &id); i++)
		assert(i < part.size / 16);
	simpleperf_release(&simpleperf);
	return 0;
}
