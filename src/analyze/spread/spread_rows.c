#include "analyze/spread/spread_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names/procedure_name.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hash_index.h"

int spread_row_init(struct spread *spread, struct spread_row *row)
{
	size_t runs = spread->run_count;
	*row = (struct spread_row){
		.cells = arena_allocate(&spread->arena, runs * sizeof(*row->cells)),
		.values = arena_allocate(&spread->arena, runs * sizeof(*row->values)),
	};
	if (!row->cells || !row->values)
		return -ENOMEM;
	memset(row->cells, 0, runs * sizeof(*row->cells));
	return 0;
}

void spread_row_add(struct spread_row *row, size_t run, const struct cell *cell)
{
	cell_add(&row->sum, cell);
	cell_add(&row->cells[run], cell);
}

/* ---- rows of one name */

/* The rows of one name are one row where they are of several images: another build of the same
 * program. Two functions of one name in one image are two rows. */
struct name {
	struct span key;
	uint32_t image;
	bool several;	/* images */
	uint32_t group; /* of `all`, once it has one */
};

struct names {
	struct name *list;
	size_t count;
	struct hash_index index;
	struct arena keys;
	uint32_t *of_row; /* by row of the report */
};

#define NO_GROUP UINT32_MAX

static void names_release(struct names *names)
{
	free(names->list);
	free(names->of_row);
	hash_index_release(&names->index);
	arena_release(&names->keys);
}

static bool equal(const void *rows, uint32_t position, const void *wanted)
{
	return span_equal(((const struct name *)rows)[position].key, *(const struct span *)wanted);
}

static void put_text(struct buffer *key, const char *text, size_t size)
{
	buffer_append_u8(key, text ? 1 : 0);
	buffer_append(key, text ? text : "", size);
	buffer_append_u8(key, 0);
}

/* All that a reader sees of a row. */
static void put_key(const struct report_row *row, struct buffer *key)
{
	for (size_t part = 0; part < REPORT_PARTS; part++) {
		const char *text = row->texts[part];
		size_t size = text ? part == REPORT_PROCEDURE ? procedure_name_own_size(text)
							      : strlen(text)
				   : 0;
		put_text(key, text, size);
	}
	put_text(key, row->image_name, row->image_name ? strlen(row->image_name) : 0);
	const uint64_t numbers[] = { row->pid, row->tid, row->cpu, row->line,
				     row->marks & PLACE_INLINED };
	buffer_append(key, numbers, sizeof(numbers));
}

static int add_name(struct names *names, const struct report_row *row, uint32_t at,
		    const struct buffer *text)
{
	struct span key = { text->data, text->size };
	uint64_t hash = hash_bytes(key.data, key.size);
	uint32_t found = hash_index_find(&names->index, hash, equal, names->list, &key);
	if (found == HASH_INDEX_NONE) {
		char *copy = arena_copy_text(&names->keys, key.data, key.size);
		found = (uint32_t)names->count;
		if (!copy || hash_index_add(&names->index, hash, found) < 0)
			return -ENOMEM;
		names->list[names->count++] =
			(struct name){ { copy, key.size }, row->image, false, NO_GROUP };
	}
	names->list[found].several |= names->list[found].image != row->image;
	names->of_row[at] = found;
	return 0;
}

static int names_init(struct names *names, const struct report *report)
{
	CLEANUP(buffer_release) struct buffer key = { 0 };
	names->list = calloc(report->row_count + 1, sizeof(*names->list));
	names->of_row = calloc(report->row_count + 1, sizeof(*names->of_row));
	if (!names->list || !names->of_row)
		return -ENOMEM;
	for (uint32_t i = 0; i < report->row_count; i++) {
		buffer_empty(&key);
		put_key(&report->rows[i], &key);
		if (buffer_failed(&key) || add_name(names, &report->rows[i], i, &key) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* ---- builds of a row */

/* One that a row of `all` has samples of. */
struct build {
	const struct profile *profile;
	uint32_t group, image;
};

struct builds {
	struct build *list;
	size_t count;
	struct hash_index index;
};

static void builds_release(struct builds *builds)
{
	free(builds->list);
	hash_index_release(&builds->index);
}

static bool same_build(const void *rows, uint32_t position, const void *wanted)
{
	const struct build *a = (const struct build *)rows + position, *b = wanted;
	if (a->group != b->group || a->image == b->image)
		return a->group == b->group;
	if (a->image == 0 || b->image == 0)
		return false;
	struct profile_image x = profile_image(a->profile, a->image);
	struct profile_image y = profile_image(b->profile, b->image);
	return profile_image_same_build(&x, &y);
}

/* Equal for images that may be of one build. */
static uint64_t build_hash(const struct build *build)
{
	struct profile_image image = { 0 };
	if (build->image)
		image = profile_image(build->profile, build->image);
	struct span of = image.build_id.size ? image.build_id : image.hash;
	return hash_u64(build->group) ^
	       (of.size ? hash_bytes(of.data, of.size) : hash_u64(~(uint64_t)build->image));
}

/* Counts the build of a report's row once in the row it belongs to. 0 or -ENOMEM. */
static int add_build(struct spread *spread, struct builds *builds, struct spread_row *row,
		     uint32_t image)
{
	const struct build build = { spread->report->profile, (uint32_t)(row - spread->all),
				     image };
	uint64_t hash = build_hash(&build);
	if (hash_index_find(&builds->index, hash, same_build, builds->list, &build) !=
	    HASH_INDEX_NONE)
		return 0;
	builds->list[builds->count] = build;
	row->builds++;
	return hash_index_add(&builds->index, hash, (uint32_t)builds->count++);
}

/* ---- the rows */

/* The row that a report's row belongs to. */
static int find_row(struct spread *spread, struct names *names, uint32_t at,
		    struct spread_row **out)
{
	struct name *name = &names->list[names->of_row[at]];
	if (name->several && name->group != NO_GROUP) {
		*out = &spread->all[name->group];
		return 0;
	}
	name->group = (uint32_t)spread->all_count;
	*out = &spread->all[spread->all_count++];
	int ret = spread_row_init(spread, *out);
	(*out)->row = &spread->report->rows[at];
	return ret;
}

/* Those of other events alone. */
static void drop_empty(struct spread *spread)
{
	size_t kept = 0;
	for (size_t i = 0; i < spread->all_count; i++)
		if (!cell_is_empty(&spread->all[i].sum))
			spread->all[kept++] = spread->all[i];
	spread->all_count = kept;
}

int spread_make_rows(struct spread *spread)
{
	const struct report *report = spread->report;
	CLEANUP(names_release) struct names names = { 0 };
	CLEANUP(builds_release) struct builds builds = { 0 };
	spread->all = calloc(report->row_count + 1, sizeof(*spread->all));
	builds.list = calloc(report->row_count + 1, sizeof(*builds.list));
	if (!spread->all || !builds.list || names_init(&names, report) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < report->row_count; i++) {
		struct spread_row *row;
		int ret = find_row(spread, &names, i, &row);
		if (ret == 0)
			ret = add_build(spread, &builds, row, report->rows[i].image);
		if (ret < 0)
			return ret;
		for (size_t run = 0; run < spread->run_count; run++)
			spread_row_add(row, run,
				       run_cells_of(&spread->cells, &report->rows[i],
						    spread->column, run));
	}
	drop_empty(spread);
	return 0;
}
