#include "analyze/compare/row_match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names/procedure_name.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/hash_index.h"

const char *const match_kind_names[MATCH_KINDS] = { [MATCH_NONE] = "none",
						    [MATCH_SAME_BUILD] = "same_build",
						    [MATCH_NAMES] = "name",
						    [MATCH_OTHER_BUILD] = "name_other_build",
						    [MATCH_OTHER_IMAGE] = "name_other_image" };

/* ---- keys: what two rows have in common when they are about the same thing */

/* KEY_BUILD_ID: on one side nothing but the build-id is known of the image. */
enum key_kind { KEY_BUILD, KEY_BUILD_ID, KEY_NAME, KEY_NAME_ALONE, KEY_KINDS };

static void put_text(struct buffer *key, const char *text, size_t size)
{
	buffer_append_u8(key, text ? 1 : 0);
	buffer_append(key, text ? text : "", size);
	buffer_append_u8(key, 0);
}

static void put_whole_text(struct buffer *key, const char *text)
{
	put_text(key, text, text ? strlen(text) : 0);
}

static void put_number(struct buffer *key, uint64_t number)
{
	buffer_append(key, &number, sizeof(number));
}

static struct profile_image image_of(const struct report *report, uint32_t image)
{
	return image ? profile_image(report->profile, image) : (struct profile_image){ 0 };
}

static bool has_build_id_alone(const struct profile_image *image)
{
	return image->build_id.size && !image->hash.size && !image->name.size;
}

/* False when the image's build is not known. */
static bool put_build(const struct profile_image *image, struct buffer *key)
{
	if (!image->build_id.size && !image->hash.size)
		return false;
	put_text(key, image->build_id.data, image->build_id.size);
	put_text(key, image->hash.data, image->hash.size);
	put_number(key, image->writer);
	if (!image->hash.size)
		put_text(key, image->name.data, image->name.size);
	return true;
}

static bool has_name(const struct report_row *row)
{
	return row->marks & (PLACE_NAMED | PLACE_BARE_NAME) || !(row->marks & PLACE_HAS_IMAGE);
}

/* The rows of one side, and which of its images KEY_BUILD_ID is for. */
struct side {
	const struct report *report;
	uint32_t *group_of; /* by row */
	bool *known_by_id;  /* by image */
	bool *split;	    /* by row: its image has several builds among the runs of a side */
};

/* False when the row has no key of that kind. */
static bool put_code(const struct side *side, const struct report_row *row, enum key_kind kind,
		     struct buffer *key)
{
	const struct report *report = side->report;
	const struct profile_image image = image_of(report, row->image);
	if (kind == KEY_BUILD) {
		if (!put_build(&image, key))
			return false;
	} else if (kind == KEY_BUILD_ID) {
		if (!side->known_by_id[row->image])
			return false;
		put_text(key, image.build_id.data, image.build_id.size);
	} else if (kind == KEY_NAME) {
		put_whole_text(key, row->image_name);
	}
	if (row->procedure == PLACE_NONE)
		return kind != KEY_NAME_ALONE; /* a row about an image */
	const struct place_procedure *procedure = places_procedure(report->places, row->procedure);
	buffer_append_u8(key, row->marks & PLACE_INLINED ? 1 : 0);
	if (kind == KEY_BUILD || kind == KEY_BUILD_ID) {
		put_number(key, row->marks & PLACE_EXTENT ? procedure->first : 0);
		put_whole_text(key, procedure->name);
		return true;
	}
	put_text(key, procedure->name, procedure_name_own_size(procedure->name));
	/* "[no symbol]" sums up an image, other code without a name is one place in it */
	bool sums_up = kind == KEY_NAME && procedure->name[0] == '[';
	return sums_up || has_name(row);
}

static bool put_part(const struct side *side, const struct report_row *row, enum report_part part,
		     enum key_kind kind, bool *code, struct buffer *key)
{
	switch (part) {
	case REPORT_PROCEDURE:
	case REPORT_IMAGE:
	case REPORT_LINE:
		if (part == REPORT_LINE) {
			put_whole_text(key, row->texts[part]);
			put_number(key, row->line);
		}
		if (*code)
			return true; /* one of these names the code for all */
		*code = true;
		return put_code(side, row, kind, key);
	case REPORT_THREAD:
		put_whole_text(key, row->texts[REPORT_THREAD]);
		/* fallthrough */
	case REPORT_PROCESS:
		put_whole_text(key, row->texts[REPORT_PROCESS]);
		return true;
	case REPORT_CPU:
		put_number(key, row->cpu);
		return true;
	default:
		put_whole_text(key, row->texts[part]);
		return true;
	}
}

static bool put_key(const struct side *side, const struct report_row *row, enum key_kind kind,
		    struct buffer *key)
{
	const struct report *report = side->report;
	bool code = false, has = true;
	if (report->options.view != REPORT_FLAT)
		return put_code(side, row, kind, key);
	for (size_t i = 0; has && i < report->options.part_count; i++)
		has = put_part(side, row, report->options.parts[i], kind, &code, key);
	return has && (code || kind == KEY_NAME); /* contexts have names alone */
}

/* ---- joining */

#define NO_GROUP UINT32_MAX

struct key_entry {
	struct span key;
	size_t rows[2]; /* of each side */
	uint32_t group;
};

struct join {
	struct side sides[2];
	struct arena keys;
	struct hash_index index;
	struct key_entry *entries;
	size_t entry_count;
	uint32_t *entry_of[2]; /* by row, of the key kind at work */
	struct matching *matching;
};

static void join_release(struct join *join)
{
	for (size_t s = 0; s < 2; s++) {
		free(join->sides[s].group_of);
		free(join->sides[s].known_by_id);
		free(join->sides[s].split);
		free(join->entry_of[s]);
	}
	free(join->entries);
	hash_index_release(&join->index);
	arena_release(&join->keys);
}

static bool equal(const void *rows, uint32_t position, const void *wanted)
{
	return span_equal(((const struct key_entry *)rows)[position].key,
			  *(const struct span *)wanted);
}

static int add_key(struct join *join, size_t side, uint32_t row, const struct buffer *text)
{
	if (buffer_failed(text))
		return -ENOMEM;
	struct span key = { text->data, text->size };
	uint64_t hash = hash_bytes(key.data, key.size);
	uint32_t found = hash_index_find(&join->index, hash, equal, join->entries, &key);
	if (found == HASH_INDEX_NONE) {
		char *copy = arena_copy_text(&join->keys, key.data, key.size);
		if (!copy)
			return -ENOMEM;
		found = (uint32_t)join->entry_count;
		join->entries[found] = (struct key_entry){ { copy, key.size }, { 0, 0 }, NO_GROUP };
		if (hash_index_add(&join->index, hash, found) < 0)
			return -ENOMEM;
		join->entry_count++;
	}
	join->entries[found].rows[side]++;
	join->entry_of[side][row] = found;
	return 0;
}

/* Of a split image rows that have a name go by it, and others by their build. */
static bool is_left_for_name(const struct side *side, uint32_t row, enum key_kind kind,
			     struct buffer *key)
{
	if (!side->split[row] || (kind != KEY_BUILD && kind != KEY_BUILD_ID))
		return false;
	bool named = put_key(side, &side->report->rows[row], KEY_NAME, key);
	buffer_empty(key);
	return named;
}

static int collect_keys(struct join *join, enum key_kind kind)
{
	CLEANUP(buffer_release) struct buffer key = { 0 };
	hash_index_release(&join->index);
	join->entry_count = 0;
	for (size_t s = 0; s < 2; s++) {
		const struct side *side = &join->sides[s];
		for (uint32_t i = 0; i < side->report->row_count; i++) {
			join->entry_of[s][i] = NO_GROUP;
			buffer_empty(&key);
			if (side->group_of[i] != NO_GROUP ||
			    is_left_for_name(side, i, kind, &key) ||
			    !put_key(side, &side->report->rows[i], kind, &key))
				continue;
			int ret = add_key(join, s, i, &key);
			if (ret < 0)
				return ret;
		}
	}
	return 0;
}

/* Gives the rows of keys that both sides have to groups. A name alone has to be the only one. */
static void make_groups(struct join *join, enum key_kind kind)
{
	static const enum match_kind kinds[] = { [KEY_BUILD] = MATCH_SAME_BUILD,
						 [KEY_BUILD_ID] = MATCH_SAME_BUILD,
						 [KEY_NAME] = MATCH_NAMES,
						 [KEY_NAME_ALONE] = MATCH_OTHER_IMAGE };
	struct matching *matching = join->matching;
	for (size_t s = 0; s < 2; s++) {
		const struct side *side = &join->sides[s];
		for (uint32_t i = 0; i < side->report->row_count; i++) {
			if (join->entry_of[s][i] == NO_GROUP)
				continue;
			struct key_entry *entry = &join->entries[join->entry_of[s][i]];
			bool one = entry->rows[0] == 1 && entry->rows[1] == 1;
			if (!entry->rows[0] || !entry->rows[1] || (kind == KEY_NAME_ALONE && !one))
				continue;
			if (entry->group == NO_GROUP) {
				entry->group = (uint32_t)matching->count++;
				matching->groups[entry->group].kind = kinds[kind];
			}
			side->group_of[i] = entry->group;
		}
	}
}

/* The rows of one name that the other side lacks, of images that were built anew between runs. The
 * keys are those of names. */
static void join_split(struct join *join)
{
	for (size_t s = 0; s < 2; s++) {
		const struct side *side = &join->sides[s];
		for (uint32_t i = 0; i < side->report->row_count; i++) {
			if (!side->split[i] || join->entry_of[s][i] == NO_GROUP)
				continue;
			struct key_entry *entry = &join->entries[join->entry_of[s][i]];
			if (entry->rows[1 - s])
				continue;
			if (entry->group == NO_GROUP)
				entry->group = (uint32_t)join->matching->count++;
			side->group_of[i] = entry->group;
		}
	}
}

static void group_the_rest(struct join *join)
{
	struct matching *matching = join->matching;
	for (size_t s = 0; s < 2; s++)
		for (uint32_t i = 0; i < join->sides[s].report->row_count; i++)
			if (join->sides[s].group_of[i] == NO_GROUP)
				join->sides[s].group_of[i] = (uint32_t)matching->count++;
}

/* Writes each group's rows behind each other. */
static void fill_groups(struct join *join)
{
	struct matching *matching = join->matching;
	const struct side *left = &join->sides[0], *right = &join->sides[1];
	for (uint32_t i = 0; i < left->report->row_count; i++)
		matching->groups[left->group_of[i]].before_count++;
	for (uint32_t i = 0; i < right->report->row_count; i++)
		matching->groups[right->group_of[i]].after_count++;
	uint32_t *next = matching->rows;
	for (size_t g = 0; g < matching->count; g++) {
		struct match_group *group = &matching->groups[g];
		group->before = next;
		group->after = next + group->before_count;
		next = group->after + group->after_count;
		group->before_count = group->after_count = 0;
	}
	for (uint32_t i = 0; i < left->report->row_count; i++) {
		struct match_group *group = &matching->groups[left->group_of[i]];
		group->before[group->before_count++] = i;
	}
	for (uint32_t i = 0; i < right->report->row_count; i++) {
		struct match_group *group = &matching->groups[right->group_of[i]];
		group->after[group->after_count++] = i;
	}
}

/* Of groups by name: whether the builds are known to differ. */
static void compare_builds(struct join *join)
{
	const struct report *left = join->sides[0].report, *right = join->sides[1].report;
	for (size_t g = 0; g < join->matching->count; g++) {
		struct match_group *group = &join->matching->groups[g];
		if (group->kind != MATCH_NAMES)
			continue;
		struct profile_image a = image_of(left, left->rows[group->before[0]].image);
		struct profile_image b = image_of(right, right->rows[group->after[0]].image);
		if (profile_image_other_build(&a, &b))
			group->kind = MATCH_OTHER_BUILD;
	}
}

/* The images of one build-id. */
struct build_images {
	struct span build_id;
	size_t count;
	bool alone; /* of one of them nothing else is known */
};

struct builds {
	struct build_images *list;
	size_t count;
	struct hash_index index;
};

static void builds_release(struct builds *builds)
{
	free(builds->list);
	hash_index_release(&builds->index);
}

static bool same_build_id(const void *rows, uint32_t position, const void *wanted)
{
	return span_equal(((const struct build_images *)rows)[position].build_id,
			  *(const struct span *)wanted);
}

/* NULL: no image has that build-id. */
static struct build_images *find_build(const struct builds *builds, struct span build_id)
{
	uint32_t at = hash_index_find(&builds->index, hash_bytes(build_id.data, build_id.size),
				      same_build_id, builds->list, &build_id);
	return at == HASH_INDEX_NONE ? NULL : &builds->list[at];
}

static int builds_init(struct builds *builds, const struct report *report)
{
	size_t count = profile_table(report->profile, PROFILE_IMAGE)->count;
	*builds = (struct builds){ .list = calloc(count + 1, sizeof(*builds->list)) };
	for (uint32_t id = 1; builds->list && id <= count; id++) {
		const struct profile_image image = image_of(report, id);
		struct build_images *build = find_build(builds, image.build_id);
		if (!build) {
			uint64_t hash = hash_bytes(image.build_id.data, image.build_id.size);
			build = &builds->list[builds->count];
			build->build_id = image.build_id;
			if (hash_index_add(&builds->index, hash, (uint32_t)builds->count) < 0)
				return -ENOMEM;
			builds->count++;
		}
		build->count++;
		build->alone |= has_build_id_alone(&image);
	}
	return builds->list ? 0 : -ENOMEM;
}

/*
 * Does the other side have that very build, known by its build-id alone? A file that others can
 * write is not taken for it where several of its own side claim the build-id.
 */
static bool is_known_alone(const struct profile_image *image, const struct builds *own,
			   const struct builds *other)
{
	const struct build_images *there = find_build(other, image->build_id);
	if (!there || !there->alone || image->name.size)
		return false;
	return !image->writer || find_build(own, image->build_id)->count == 1;
}

/* Fills side->known_by_id: nothing but the build-id is known of the image on this side or the
 * other.
 */
static int find_known_by_id(struct side *side, const struct builds *own, const struct builds *other)
{
	size_t count = profile_table(side->report->profile, PROFILE_IMAGE)->count;
	side->known_by_id = calloc(count + 1, sizeof(*side->known_by_id));
	if (!side->known_by_id)
		return -ENOMEM;
	for (uint32_t id = 1; id <= count; id++) {
		const struct profile_image image = image_of(side->report, id);
		side->known_by_id[id] = has_build_id_alone(&image) ||
					(image.hash.size && is_known_alone(&image, own, other));
	}
	return 0;
}

static int compare_images(struct side *left, struct side *right)
{
	CLEANUP(builds_release) struct builds of_left = { 0 };
	CLEANUP(builds_release) struct builds of_right = { 0 };
	if (builds_init(&of_left, left->report) < 0 || builds_init(&of_right, right->report) < 0 ||
	    find_known_by_id(left, &of_left, &of_right) < 0)
		return -ENOMEM;
	return find_known_by_id(right, &of_right, &of_left);
}

/* ---- images that were built anew between runs */

/* An image's name, and the first image that has it on each side. */
struct image_name {
	const char *name;
	uint32_t first[2]; /* 0: none */
	bool split;
};

struct image_names {
	struct image_name *list;
	size_t count;
	struct hash_index index;
};

static void image_names_release(struct image_names *names)
{
	free(names->list);
	hash_index_release(&names->index);
}

static bool same_name(const void *rows, uint32_t position, const void *wanted)
{
	return strcmp(((const struct image_name *)rows)[position].name, wanted) == 0;
}

/* The name's entry, made where `names` lacks it; NULL: out of memory. */
static struct image_name *find_name(struct image_names *names, const char *name)
{
	uint64_t hash = hash_bytes(name, strlen(name));
	uint32_t at = hash_index_find(&names->index, hash, same_name, names->list, name);
	if (at != HASH_INDEX_NONE)
		return &names->list[at];
	if (hash_index_add(&names->index, hash, (uint32_t)names->count) < 0)
		return NULL;
	names->list[names->count] = (struct image_name){ .name = name };
	return &names->list[names->count++];
}

static bool has_image(const struct report_row *row)
{
	return row->image && row->image_name;
}

/* Sees which names are of several builds on a side. */
static int collect_names(const struct side *side, size_t at, struct image_names *names)
{
	for (size_t i = 0; i < side->report->row_count; i++) {
		const struct report_row *row = &side->report->rows[i];
		if (!has_image(row))
			continue;
		struct image_name *name = find_name(names, row->image_name);
		if (!name)
			return -ENOMEM;
		if (!name->first[at])
			name->first[at] = row->image;
		if (name->first[at] == row->image)
			continue;
		struct profile_image a = image_of(side->report, name->first[at]);
		struct profile_image b = image_of(side->report, row->image);
		name->split |= !profile_image_same_build(&a, &b);
	}
	return 0;
}

/* Fills `split` of both sides: with one run a side, no row's. */
static int find_split(struct join *join, enum matching_runs runs)
{
	CLEANUP(image_names_release) struct image_names names = { 0 };
	size_t all = join->sides[0].report->row_count + join->sides[1].report->row_count;
	names.list = calloc(all + 1, sizeof(*names.list));
	if (!names.list)
		return -ENOMEM;
	for (size_t s = 0; s < 2; s++) {
		struct side *side = &join->sides[s];
		side->split = calloc(side->report->row_count + 1, sizeof(*side->split));
		if (!side->split || (runs == MATCHING_RUNS && collect_names(side, s, &names) < 0))
			return -ENOMEM;
	}
	for (size_t s = 0; runs == MATCHING_RUNS && s < 2; s++)
		for (size_t i = 0; i < join->sides[s].report->row_count; i++) {
			const struct report_row *row = &join->sides[s].report->rows[i];
			/* every name has its entry */
			join->sides[s].split[i] =
				has_image(row) && find_name(&names, row->image_name)->split;
		}
	return 0;
}

static int join_init(struct join *join, struct matching *matching, const struct report *before,
		     const struct report *after)
{
	*join = (struct join){ .sides = { { .report = before }, { .report = after } },
			       .matching = matching };
	size_t all = before->row_count + after->row_count;
	if (all >= NO_GROUP)
		return -ENOMEM;
	join->entries = calloc(all + 1, sizeof(*join->entries));
	matching->groups = calloc(all + 1, sizeof(*matching->groups));
	matching->rows = calloc(all + 1, sizeof(*matching->rows));
	bool failed = !join->entries || !matching->groups || !matching->rows;
	for (size_t s = 0; s < 2; s++) {
		struct side *side = &join->sides[s];
		size_t count = side->report->row_count;
		side->group_of = malloc((count + 1) * sizeof(*side->group_of));
		join->entry_of[s] = malloc((count + 1) * sizeof(*join->entry_of[s]));
		if (!side->group_of || !join->entry_of[s])
			failed = true;
		for (size_t i = 0; i < count && !failed; i++)
			side->group_of[i] = NO_GROUP;
	}
	return failed ? -ENOMEM : compare_images(&join->sides[0], &join->sides[1]);
}

int matching_init(struct matching *matching, const struct report *before,
		  const struct report *after, enum matching_runs runs, struct error *err)
{
	*matching = (struct matching){ 0 };
	CLEANUP(join_release) struct join join;
	int ret = join_init(&join, matching, before, after);
	if (ret == 0)
		ret = find_split(&join, runs);
	for (int kind = 0; ret == 0 && kind < KEY_KINDS; kind++) {
		ret = collect_keys(&join, (enum key_kind)kind);
		if (ret == 0)
			make_groups(&join, (enum key_kind)kind);
		if (ret == 0 && kind == KEY_NAME)
			join_split(&join);
	}
	if (ret == 0) {
		group_the_rest(&join);
		fill_groups(&join);
		compare_builds(&join);
		return 0;
	}
	matching_release(matching);
	return error_set(err, ret, "out of memory matching rows");
}

void matching_release(struct matching *matching)
{
	free(matching->groups);
	free(matching->rows);
	*matching = (struct matching){ 0 };
}
