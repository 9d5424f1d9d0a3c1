#include "analyze/accuracy/exact_counts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "profile/profile.h"

struct count {
	uint32_t column, image;
	uint64_t vaddr;
	double value;
};

struct jump {
	uint32_t image;
	uint64_t from, to; /* of one image; to UINT64_MAX: in another */
	double value;
};

struct exact_counts {
	struct event_columns columns;
	size_t executions; /* column */
	uint32_t *images;  /* by id in `sampled` */
	size_t image_count;
	struct count *counts; /* by column, image, vaddr */
	size_t count_count;
	struct jump *jumps; /* by image, from, to */
	size_t jump_count;
};

void exact_counts_free(struct exact_counts *truth)
{
	if (!truth)
		return;
	event_columns_release(&truth->columns);
	free(truth->images);
	free(truth->counts);
	free(truth->jumps);
	free(truth);
}

void exact_counts_freep(struct exact_counts **truth)
{
	exact_counts_free(*truth);
}

/* ---- images */

static struct span last_part(struct span path)
{
	const char *slash = path.size ? memrchr(path.data, '/', path.size) : NULL;
	if (!slash)
		return path;
	size_t before = (size_t)(slash + 1 - (const char *)path.data);
	return (struct span){ slash + 1, path.size - before };
}

struct path_match {
	uint32_t image; /* of `counted`; the first one that fits */
	bool several;
};

static void add_match(struct path_match *match, uint32_t image)
{
	match->several |= match->image && match->image != image;
	if (!match->image)
		match->image = image;
}

/* Paths, or their last parts, with the image of `counted` that has each. */
struct known_path {
	struct span path;
	struct path_match match;
};

struct known_paths {
	struct known_path *list;
	size_t count;
	struct hash_index index;
};

static void known_paths_release(struct known_paths *known)
{
	free(known->list);
	hash_index_release(&known->index);
}

static bool path_equal(const void *rows, uint32_t position, const void *wanted)
{
	return span_equal(((const struct known_path *)rows)[position].path,
			  *(const struct span *)wanted);
}

static uint32_t known_paths_find(const struct known_paths *known, struct span path)
{
	return hash_index_find(&known->index, hash_bytes(path.data, path.size), path_equal,
			       known->list, &path);
}

/* 0 or -ENOMEM. The list has room for it. */
static int known_paths_add(struct known_paths *known, struct span path, uint32_t image)
{
	uint32_t position = known_paths_find(known, path);
	if (position == HASH_INDEX_NONE) {
		position = (uint32_t)known->count++;
		known->list[position] = (struct known_path){ .path = path };
		if (hash_index_add(&known->index, hash_bytes(path.data, path.size), position) < 0)
			return -ENOMEM;
	}
	add_match(&known->list[position].match, image);
	return 0;
}

static int known_paths_init(struct known_paths *known, const struct profile *counted,
			    bool last_parts)
{
	const struct table *paths = profile_table(counted, PROFILE_PATH);
	known->list = calloc(paths->count + 1, sizeof(*known->list));
	int ret = known->list ? 0 : -ENOMEM;
	for (size_t row = 0; ret == 0 && row < paths->count; row++) {
		const uint64_t *keys = table_keys(paths, row);
		struct span path = profile_bytes(counted, keys[PATH_PATH]);
		ret = known_paths_add(known, last_parts ? last_part(path) : path,
				      (uint32_t)keys[PATH_IMAGE]);
	}
	return ret;
}

static void match_known(struct path_match *match, const struct known_paths *known, struct span path)
{
	uint32_t position = known_paths_find(known, path);
	if (position == HASH_INDEX_NONE)
		return;
	add_match(match, known->list[position].match.image);
	match->several |= known->list[position].match.several;
}

/* Finds the image of `counted` for each image of `sampled`: by whole paths, else by their last
 * parts.
 */
static int find_images(struct exact_counts *truth, const struct profile *counted,
		       const struct profile *sampled)
{
	const struct table *paths = profile_table(sampled, PROFILE_PATH);
	CLEANUP(known_paths_release) struct known_paths whole = { 0 };
	CLEANUP(known_paths_release) struct known_paths names = { 0 };
	truth->image_count = profile_table(sampled, PROFILE_IMAGE)->count;
	truth->images = calloc(truth->image_count + 1, sizeof(*truth->images));
	CLEANUP(free_pointer)
	struct path_match *matches = calloc(2 * truth->image_count + 2, sizeof(*matches));
	if (!truth->images || !matches || known_paths_init(&whole, counted, false) < 0 ||
	    known_paths_init(&names, counted, true) < 0)
		return -ENOMEM;
	for (size_t row = 0; row < paths->count; row++) {
		const uint64_t *keys = table_keys(paths, row);
		struct span path = profile_bytes(sampled, keys[PATH_PATH]);
		if (keys[PATH_IMAGE] > truth->image_count)
			continue;
		match_known(&matches[2 * keys[PATH_IMAGE]], &whole, path);
		match_known(&matches[2 * keys[PATH_IMAGE] + 1], &names, last_part(path));
	}
	for (size_t id = 1; id <= truth->image_count; id++) {
		const struct path_match *best = &matches[2 * id];
		best += best->image ? 0 : 1;
		truth->images[id] = best->several ? 0 : best->image;
	}
	return 0;
}

/* ---- counts */

static int compare_counts(const void *left, const void *right)
{
	const struct count *a = left, *b = right;
	if (a->column != b->column)
		return a->column < b->column ? -1 : 1;
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

static int compare_jumps(const void *left, const void *right)
{
	const struct jump *a = left, *b = right;
	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* Adds up the rows of each address, of which there is one by each name it was called by. */
static int list_counts(struct exact_counts *truth, const struct profile *counted)
{
	const struct table *flat = profile_table(counted, PROFILE_FLAT);
	size_t kept = 0;
	truth->counts = calloc(flat->count + 1, sizeof(*truth->counts));
	if (!truth->counts)
		return -ENOMEM;
	for (size_t row = 0; row < flat->count; row++) {
		const uint64_t *keys = table_keys(flat, row);
		uint32_t column = truth->columns.of_event[keys[FLAT_EVENT]];
		if (column == EVENT_COLUMN_NONE || !keys[FLAT_IMAGE] || !keys[FLAT_VADDR])
			continue;
		truth->counts[truth->count_count++] = (struct count){
			.column = column,
			.image = (uint32_t)keys[FLAT_IMAGE],
			.vaddr = keys[FLAT_VADDR],
			.value = (double)table_values(flat, row)[CELL_ESTIMATE],
		};
	}
	qsort(truth->counts, truth->count_count, sizeof(*truth->counts), compare_counts);
	for (size_t i = 0; i < truth->count_count; i++) {
		if (kept && compare_counts(&truth->counts[kept - 1], &truth->counts[i]) == 0)
			truth->counts[kept - 1].value += truth->counts[i].value;
		else
			truth->counts[kept++] = truth->counts[i];
	}
	truth->count_count = kept;
	return 0;
}

static int list_jumps(struct exact_counts *truth, const struct profile *counted)
{
	const struct table *edges = profile_table(counted, PROFILE_EDGE);
	size_t kept = 0;
	truth->jumps = calloc(edges->count + 1, sizeof(*truth->jumps));
	if (!truth->jumps)
		return -ENOMEM;
	for (size_t row = 0; row < edges->count; row++) {
		const uint64_t *keys = table_keys(edges, row);
		bool inside = keys[EDGE_FROM_IMAGE] == keys[EDGE_TO_IMAGE];
		if (keys[EDGE_ORIGIN] != ORIGIN_IMPORTED || !keys[EDGE_FROM_VADDR])
			continue;
		truth->jumps[truth->jump_count++] = (struct jump){
			.image = (uint32_t)keys[EDGE_FROM_IMAGE],
			.from = keys[EDGE_FROM_VADDR],
			.to = inside ? keys[EDGE_TO_VADDR] : UINT64_MAX,
			.value = (double)table_values(edges, row)[0],
		};
	}
	qsort(truth->jumps, truth->jump_count, sizeof(*truth->jumps), compare_jumps);
	for (size_t i = 0; i < truth->jump_count; i++) {
		if (kept && compare_jumps(&truth->jumps[kept - 1], &truth->jumps[i]) == 0)
			truth->jumps[kept - 1].value += truth->jumps[i].value;
		else
			truth->jumps[kept++] = truth->jumps[i];
	}
	truth->jump_count = kept;
	return 0;
}

/* ---- all of it */

static int find_executions(struct exact_counts *truth, struct error *err)
{
	truth->executions = SIZE_MAX;
	for (size_t c = 0; c < truth->columns.count; c++)
		if (span_equal(truth->columns.list[c].name, span_of_text("Ir")))
			truth->executions = c;
	for (size_t i = 0; i < truth->count_count; i++)
		if (truth->counts[i].column == truth->executions)
			return 0;
	return error_set(err, -ENODATA,
			 "the exact counts have no event 'Ir' by instruction; callgrind keeps it "
			 "with --dump-instr=yes");
}

int exact_counts_new(const struct profile *counted, const struct profile *sampled,
		     struct exact_counts **out, struct error *err)
{
	CLEANUP(exact_counts_freep) struct exact_counts *truth = calloc(1, sizeof(*truth));
	if (!truth)
		return error_set(err, -ENOMEM, "out of memory for exact counts");
	int ret = event_columns_init(&truth->columns, counted, NULL, 0, err);
	if (ret < 0)
		return ret;
	if (find_images(truth, counted, sampled) < 0 || list_counts(truth, counted) < 0 ||
	    list_jumps(truth, counted) < 0)
		return error_set(err, -ENOMEM, "out of memory for exact counts");
	ret = find_executions(truth, err);
	if (ret < 0)
		return ret;
	*out = truth;
	truth = NULL; /* the caller's from here on */
	return 0;
}

uint32_t exact_counts_image(const struct exact_counts *truth, uint32_t sampled_image)
{
	return sampled_image <= truth->image_count ? truth->images[sampled_image] : 0;
}

const struct event_columns *exact_counts_columns(const struct exact_counts *truth)
{
	return &truth->columns;
}

size_t exact_counts_executions_column(const struct exact_counts *truth)
{
	return truth->executions;
}

/* The first count that is not before `wanted`. */
static size_t find_count(const struct exact_counts *truth, const struct count *wanted)
{
	size_t low = 0, high = truth->count_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare_counts(&truth->counts[middle], wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

double exact_counts_sum(const struct exact_counts *truth, size_t column, uint32_t image,
			uint64_t first, uint64_t last)
{
	const struct count wanted = { (uint32_t)column, image, first, 0 };
	double sum = 0;
	for (size_t i = find_count(truth, &wanted);
	     i < truth->count_count && truth->counts[i].column == column &&
	     truth->counts[i].image == image && truth->counts[i].vaddr <= last;
	     i++)
		sum += truth->counts[i].value;
	return sum;
}

double exact_counts_count(const struct exact_counts *truth, size_t column, uint32_t image,
			  uint64_t vaddr)
{
	return exact_counts_sum(truth, column, image, vaddr, vaddr);
}

/* The first jump from that instruction; its jumps are next to each other. */
static size_t find_jumps(const struct exact_counts *truth, uint32_t image, uint64_t from)
{
	const struct jump wanted = { image, from, 0, 0 };
	size_t low = 0, high = truth->jump_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare_jumps(&truth->jumps[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

double exact_counts_jumps_into(const struct exact_counts *truth, uint32_t image, uint64_t from,
			       uint64_t first, uint64_t last)
{
	double sum = 0;
	for (size_t i = find_jumps(truth, image, from);
	     i < truth->jump_count && truth->jumps[i].image == image &&
	     truth->jumps[i].from == from;
	     i++)
		if (truth->jumps[i].to >= first && truth->jumps[i].to <= last)
			sum += truth->jumps[i].value;
	return sum;
}

double exact_counts_jumps(const struct exact_counts *truth, uint32_t image, uint64_t from,
			  uint64_t to)
{
	return exact_counts_jumps_into(truth, image, from, to, to);
}

double exact_counts_jumps_elsewhere(const struct exact_counts *truth, uint32_t image, uint64_t from,
				    uint64_t to)
{
	return exact_counts_jumps_into(truth, image, from, 0, UINT64_MAX) -
	       exact_counts_jumps(truth, image, from, to);
}
