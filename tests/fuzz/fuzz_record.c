#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "profile/profile.h"
#include "profile/stash.h"
#include "symbol/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_lines(const struct record *record)
{
	struct lines_table lines;
	struct line_frame frames[RECORD_MAX_DEPTH];
	if (lines_table_decode(record, &lines) < 0)
		return;
	for (size_t i = 0; i < lines.row_count; i++) {
		assert(lines.rows[i].vaddr >= record->first && lines.rows[i].vaddr <= record->last);
		assert(lines_table_find(&lines, lines.rows[i].vaddr) == &lines.rows[i]);
		assert(lines_table_frames(&lines, &lines.rows[i], frames, RECORD_MAX_DEPTH) > 0);
	}
	lines_table_release(&lines);
}

/* What a code_space is made of: each record that is right is told as it is, none other. */
static void read_flow(const struct stash_index *index, uint32_t image, const struct record *record,
		      bool right)
{
	struct span bytes;
	struct entries_cursor cursor = { 0 };
	struct entry_place place;
	uint64_t before = record->first;
	if (record->kind < RECORD_DATA)
		return;
	size_t count = stash_record_count(index, image, (enum record_kind)record->kind);
	assert(count == (right ? 1 : 0));
	if (count)
		assert(stash_record(index, image, (enum record_kind)record->kind, 0)->first ==
		       record->first);
	if (record->kind == RECORD_DATA)
		assert(record_get_data(record, &bytes) == right);
	if (record->kind == RECORD_CALLEE)
		assert(record_get_callee(record, &bytes) == right);
	while (record->kind == RECORD_ENTRIES && record_next_entry(record, &cursor, &place)) {
		assert(place.vaddr >= before && place.vaddr > record->first &&
		       place.vaddr <= record->last);
		before = place.vaddr;
	}
	assert(record->kind != RECORD_ENTRIES || !right || cursor.at == record->content.size);
}

/* Kind, first, length, then content: through every decoder, and into an index as a stranger's row.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3)
		return 0;
	struct record record = {
		data[0] % 7, data[1], (uint64_t)data[1] + data[2], { data + 3, size - 3 }
	};
	read_lines(&record);
	const char *fault = record_fault(&record);
	struct profile *profile = profile_new();
	struct profile_image image = { .kind = IMAGE_FILE, .build_id = { "id", 2 } };
	struct stash_index *index = NULL;
	uint32_t id, content;
	if (!profile || profile_add_image(profile, &image, &id) < 0 ||
	    profile_add_bytes(profile, record.content, &content) < 0)
		abort();
	uint64_t keys[] = { id, record.kind, record.first, record.last, content };
	if (table_add(profile->tables[PROFILE_STASH], keys, NULL, NULL) < 0 ||
	    stash_index_new(profile, &index) < 0)
		abort();
	struct stash_function function;
	uint64_t first;
	bool found = stash_find_function(index, id, record.first, &function);
	assert(record.kind != RECORD_FUNCTION || found == !fault);
	struct span code = stash_find_code(index, id, record.last, &first);
	assert(record.kind != RECORD_CODE || (code.size > 0) == !fault);
	const struct lines_table *lines = stash_find_lines(index, id, record.first);
	assert(!lines || !fault);
	read_flow(index, id, &record, !fault);
	stash_index_free(index);
	profile_free(profile);
	return 0;
}
