#include "profile/stash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "profile/profile.h"
#include "symbol/interval_map.h"

int stash_add(struct profile *profile, uint32_t image, const struct record *record,
	      struct error *err)
{
	const char *fault = record_fault(record);
	if (fault)
		return error_set(err, fault == record_no_memory ? -ENOMEM : -EBADMSG,
				 "a record of the stash cannot be kept: %s", fault);
	uint32_t content;
	if (profile_add_bytes(profile, record->content, &content) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	uint64_t keys[] = {
		[STASH_IMAGE] = image,	       [STASH_KIND] = record->kind,
		[STASH_FIRST] = record->first, [STASH_LAST] = record->last,
		[STASH_CONTENT] = content,
	};
	if (table_add(profile->tables[PROFILE_STASH], keys, NULL, NULL) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	return 0;
}

int stash_add_set(struct profile *profile, uint32_t image, const struct record_set *set,
		  struct error *err)
{
	for (size_t i = 0; i < set->count; i++) {
		int ret = stash_add(profile, image, &set->list[i], err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int stash_copy(struct profile *profile, const struct profile *from)
{
	const struct table *stash = profile_table(from, PROFILE_STASH);
	size_t images = profile_table(from, PROFILE_IMAGE)->count;
	CLEANUP(free_pointer) uint32_t *ids = calloc(images + 1, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	for (uint32_t id = 1; id <= images; id++) {
		const struct profile_image image = profile_image(from, id);
		ids[id] = profile_find_image(profile, &image);
	}
	for (size_t row = 0; row < stash->count; row++) {
		uint64_t keys[TABLE_MAX_COLUMNS] = { 0 }; /* a newer version may have more */
		uint32_t content;
		memcpy(keys, table_keys(stash, row), (STASH_CONTENT + 1) * sizeof(*keys));
		if (keys[STASH_IMAGE] > images || !ids[keys[STASH_IMAGE]])
			continue;
		if (profile_add_bytes(profile, profile_bytes(from, keys[STASH_CONTENT]), &content) <
		    0)
			return -ENOMEM;
		keys[STASH_IMAGE] = ids[keys[STASH_IMAGE]];
		keys[STASH_CONTENT] = content;
		if (table_add(profile->tables[PROFILE_STASH], keys, NULL, NULL) < 0)
			return -ENOMEM;
	}
	return 0;
}

int stash_drop(struct profile *profile, uint32_t image)
{
	struct table *stash = profile->tables[PROFILE_STASH];
	struct table *kept = table_new_like(stash);
	int ret = kept ? 0 : -ENOMEM;
	for (size_t row = 0; ret == 0 && row < stash->count; row++)
		if (table_keys(stash, row)[STASH_IMAGE] != image)
			ret = table_append(kept, table_keys(stash, row), NULL);
	if (ret < 0) {
		table_free(kept);
		return ret;
	}
	table_free(stash);
	profile->tables[PROFILE_STASH] = kept;
	return 0;
}

/* One record that could be decoded. */
struct entry {
	uint32_t image;
	struct record record;
	struct function_record function; /* of a RECORD_FUNCTION */
	struct lines_table *lines;	 /* of a RECORD_LINES, once it was asked for */
};

/* Entries of one kind in one image: where they are in the index's list. */
struct shelf {
	size_t from, to;
	struct interval_map map; /* owners are positions in the index's list */
};

enum {
	SHELF_FUNCTION,
	SHELF_CODE,
	SHELF_LINES,
	SHELF_DATA,
	SHELF_ENTRIES,
	SHELF_CALLEE,
	SHELVES,
	SHELVES_WITH_MAP = SHELF_DATA, /* the ones before are looked up by any address inside */
};

struct stash_image {
	uint32_t records_of; /* the image whose records it has; 0: its own */
	struct shelf shelves[SHELVES];
};

struct cold_entry {
	uint32_t image;
	uint64_t parent;
	size_t entry;
};

struct stash_index {
	struct entry *entries; /* by image, kind, then worst first */
	size_t count;
	struct stash_image *images; /* by image id - 1 */
	size_t image_count;
	struct cold_entry *cold; /* by image, parent, then best first */
	size_t cold_count;
	size_t damaged;
};

/* Of two functions at one address the later in this order is shown. */
static int compare_quality(const struct entry *left, const struct entry *right)
{
	bool left_unnamed = (left->function.flags & FUNCTION_UNNAMED) != 0;
	bool right_unnamed = (right->function.flags & FUNCTION_UNNAMED) != 0;
	if (left_unnamed != right_unnamed)
		return left_unnamed ? -1 : 1;
	if (left->record.first != right->record.first)
		return left->record.first < right->record.first ? -1 : 1;
	if (left->record.last != right->record.last)
		return left->record.last > right->record.last ? -1 : 1;
	return -span_compare(left->record.content, right->record.content);
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *left = a;
	const struct entry *right = b;
	if (left->image != right->image)
		return left->image < right->image ? -1 : 1;
	if (left->record.kind != right->record.kind)
		return left->record.kind < right->record.kind ? -1 : 1;
	return compare_quality(left, right);
}

static int shelf_of_kind(uint64_t kind)
{
	switch (kind) {
	case RECORD_FUNCTION:
		return SHELF_FUNCTION;
	case RECORD_CODE:
		return SHELF_CODE;
	case RECORD_LINES:
		return SHELF_LINES;
	case RECORD_DATA:
		return SHELF_DATA;
	case RECORD_ENTRIES:
		return SHELF_ENTRIES;
	case RECORD_CALLEE:
		return SHELF_CALLEE;
	default:
		return -1; /* of a later version: kept in the profile, not used here */
	}
}

/* Whether a record can be decoded. Lines are not checked here, which would take time: they are when
 * they are asked for. */
static bool read_entry(struct stash_index *index, struct entry *entry)
{
	const struct record *record = &entry->record;
	if (entry->image == 0 || entry->image > index->image_count ||
	    record->last < record->first || record->content.size > RECORD_MAX_BYTES)
		return false;
	if (record->kind == RECORD_FUNCTION)
		return record_get_function(record, &entry->function);
	if (record->kind == RECORD_LINES)
		return true;
	return record_fault(record) == NULL;
}

static int read_entries(struct stash_index *index, const struct profile *profile)
{
	const struct table *table = profile_table(profile, PROFILE_STASH);
	index->entries = calloc(table->count ? table->count : 1, sizeof(*index->entries));
	if (!index->entries)
		return -ENOMEM;
	for (size_t row = 0; row < table->count; row++) {
		const uint64_t *keys = table_keys(table, row);
		struct entry entry = {
			.image = (uint32_t)keys[STASH_IMAGE],
			.record = { keys[STASH_KIND], keys[STASH_FIRST], keys[STASH_LAST],
				    profile_bytes(profile, keys[STASH_CONTENT]) },
		};
		if (shelf_of_kind(entry.record.kind) < 0)
			continue;
		if (read_entry(index, &entry))
			index->entries[index->count++] = entry;
		else
			index->damaged++;
	}
	if (index->count)
		qsort(index->entries, index->count, sizeof(*index->entries), compare_entries);
	return 0;
}

static int map_shelf(struct stash_index *index, struct shelf *shelf)
{
	size_t count = shelf->to - shelf->from;
	struct interval *intervals = calloc(count, sizeof(*intervals));
	if (!intervals)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct record *record = &index->entries[shelf->from + i].record;
		intervals[i] = (struct interval){ record->first, record->last, i,
						  (uint32_t)(shelf->from + i) };
	}
	int ret = interval_map_build(&shelf->map, intervals, count);
	free(intervals);
	return ret;
}

static int fill_shelves(struct stash_index *index)
{
	for (size_t from = 0, to; from < index->count; from = to) {
		const struct entry *first = &index->entries[from];
		for (to = from + 1; to < index->count; to++)
			if (index->entries[to].image != first->image ||
			    index->entries[to].record.kind != first->record.kind)
				break;
		int number = shelf_of_kind(first->record.kind);
		if (number < 0)
			continue; /* read_entries() left none */
		struct shelf *shelf = &index->images[first->image - 1].shelves[number];
		shelf->from = from;
		shelf->to = to;
		int ret = number < SHELVES_WITH_MAP ? map_shelf(index, shelf) : 0;
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int compare_cold(const void *a, const void *b)
{
	const struct cold_entry *left = a;
	const struct cold_entry *right = b;
	if (left->image != right->image)
		return left->image < right->image ? -1 : 1;
	if (left->parent != right->parent)
		return left->parent < right->parent ? -1 : 1;
	return (left->entry < right->entry) - (left->entry > right->entry);
}

static int list_cold(struct stash_index *index)
{
	size_t count = 0;
	for (size_t i = 0; i < index->count; i++)
		count += (index->entries[i].function.flags & FUNCTION_COLD) != 0;
	index->cold = calloc(count ? count : 1, sizeof(*index->cold));
	if (!index->cold)
		return -ENOMEM;
	for (size_t i = 0; i < index->count; i++)
		if (index->entries[i].function.flags & FUNCTION_COLD)
			index->cold[index->cold_count++] =
				(struct cold_entry){ index->entries[i].image,
						     index->entries[i].function.parent, i };
	if (count)
		qsort(index->cold, count, sizeof(*index->cold), compare_cold);
	return 0;
}

int stash_index_new(const struct profile *profile, struct stash_index **out)
{
	CLEANUP(stash_index_freep) struct stash_index *index = calloc(1, sizeof(*index));
	if (!index)
		return -ENOMEM;
	index->image_count = profile_table(profile, PROFILE_IMAGE)->count;
	index->images = calloc(index->image_count ? index->image_count : 1, sizeof(*index->images));
	if (!index->images)
		return -ENOMEM;
	int ret = read_entries(index, profile);
	if (ret == 0)
		ret = fill_shelves(index);
	if (ret == 0)
		ret = list_cold(index);
	if (ret < 0)
		return ret;
	*out = index;
	index = NULL;
	return 0;
}

void stash_index_free(struct stash_index *index)
{
	if (!index)
		return;
	for (size_t i = 0; i < index->count; i++) {
		if (index->entries[i].lines)
			lines_table_release(index->entries[i].lines);
		free(index->entries[i].lines);
	}
	for (size_t i = 0; index->images && i < index->image_count; i++)
		for (size_t shelf = 0; shelf < SHELVES; shelf++)
			interval_map_release(&index->images[i].shelves[shelf].map);
	free(index->entries);
	free(index->images);
	free(index->cold);
	free(index);
}

void stash_index_freep(struct stash_index **index)
{
	stash_index_free(*index);
}

size_t stash_index_count(const struct stash_index *index)
{
	return index->count;
}

size_t stash_index_damaged(const struct stash_index *index)
{
	return index->damaged;
}

void stash_index_share(struct stash_index *index, uint32_t image, uint32_t of)
{
	index->images[image - 1].records_of = of;
}

/* Whose records an image has; 0: there is no such image. */
static uint32_t owner_of(const struct stash_index *index, uint32_t image)
{
	if (image == 0 || image > index->image_count)
		return 0;
	uint32_t of = index->images[image - 1].records_of;
	return of ? of : image;
}

static const struct shelf *shelf_of(const struct stash_index *index, uint32_t image, int shelf)
{
	image = owner_of(index, image);
	return image ? &index->images[image - 1].shelves[shelf] : NULL;
}

static struct entry *find_entry(const struct stash_index *index, uint32_t image, uint64_t vaddr,
				int shelf_number)
{
	const struct shelf *shelf = shelf_of(index, image, shelf_number);
	uint32_t position = shelf ? interval_map_owner(&shelf->map, vaddr) : INTERVAL_NONE;
	return position == INTERVAL_NONE ? NULL : &index->entries[position];
}

bool stash_has_image(const struct stash_index *index, uint32_t image)
{
	const struct shelf *shelf = shelf_of(index, image, SHELF_FUNCTION);
	return shelf && shelf->to > shelf->from;
}

bool stash_has_lines(const struct stash_index *index, uint32_t image)
{
	const struct shelf *shelf = shelf_of(index, image, SHELF_LINES);
	return shelf && shelf->to > shelf->from;
}

static struct stash_function function_of(const struct stash_index *index, const struct entry *entry)
{
	return (struct stash_function){ entry->record.first, entry->record.last,
					(uint32_t)(entry - index->entries), entry->function };
}

bool stash_find_function(const struct stash_index *index, uint32_t image, uint64_t vaddr,
			 struct stash_function *function)
{
	const struct entry *entry = find_entry(index, image, vaddr, SHELF_FUNCTION);
	if (entry)
		*function = function_of(index, entry);
	return entry != NULL;
}

size_t stash_names_around(const struct stash_index *index, const struct stash_function *function,
			  struct span *names, size_t most)
{
	const struct entry *own = &index->entries[function->number];
	size_t count = 0, from = function->number - function->number % most;
	for (size_t i = from; i < index->count && i - from < most; i++) {
		const struct entry *entry = &index->entries[i];
		if (entry->image == own->image && entry->record.kind == own->record.kind)
			names[count++] = entry->function.name;
	}
	return count;
}

bool stash_find_cold(const struct stash_index *index, uint32_t image, uint64_t first,
		     struct stash_function *function)
{
	size_t low = 0;
	size_t high = index->cold_count;
	image = owner_of(index, image);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct cold_entry *cold = &index->cold[middle];
		if (cold->image < image || (cold->image == image && cold->parent < first))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == index->cold_count || index->cold[low].image != image ||
	    index->cold[low].parent != first)
		return false;
	*function = function_of(index, &index->entries[index->cold[low].entry]);
	return true;
}

struct span stash_find_code(const struct stash_index *index, uint32_t image, uint64_t vaddr,
			    uint64_t *first)
{
	struct span code = { NULL, 0 };
	const struct entry *entry = find_entry(index, image, vaddr, SHELF_CODE);
	if (!entry || !record_get_code(&entry->record, &code))
		return (struct span){ NULL, 0 };
	*first = entry->record.first;
	return code;
}

size_t stash_record_count(const struct stash_index *index, uint32_t image, enum record_kind kind)
{
	const struct shelf *shelf = shelf_of(index, image, shelf_of_kind(kind));
	return shelf ? shelf->to - shelf->from : 0;
}

const struct record *stash_record(const struct stash_index *index, uint32_t image,
				  enum record_kind kind, size_t number)
{
	const struct shelf *shelf = shelf_of(index, image, shelf_of_kind(kind));
	return &index->entries[shelf->from + number].record;
}

const struct lines_table *stash_find_lines(struct stash_index *index, uint32_t image,
					   uint64_t vaddr)
{
	struct entry *entry = find_entry(index, image, vaddr, SHELF_LINES);
	if (!entry)
		return NULL;
	if (!entry->lines) {
		entry->lines = calloc(1, sizeof(*entry->lines));
		/* One that cannot be decoded stays empty. */
		if (entry->lines && lines_table_decode(&entry->record, entry->lines) == -EBADMSG)
			index->damaged++;
	}
	return entry->lines && entry->lines->row_count ? entry->lines : NULL;
}
