#include "store/database_replaced.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "profile/profile.h"
#include "store/database_epochs.h"
#include "store/profile_file.h"

void replaced_release(struct replaced_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		profile_free(set->list[i].sources);
		free(set->list[i].epoch);
	}
	free(set->list);
	*set = (struct replaced_set){ 0 };
}

/* Whether the sources tell a recording from all others, and this version knows all that they say.
 */
static bool is_telling(const struct profile *profile)
{
	const struct table *source = profile_table(profile, PROFILE_SOURCE);
	size_t known;
	profile_columns(PROFILE_SOURCE, &known);
	for (size_t row = 0; row < source->count; row++) {
		const struct profile_source one = profile_source(profile, row);
		if (one.start_ns == 0 || one.host.size == 0)
			return false;
	}
	return source->count && source->column_count == known;
}

/* How many of the profile's sources are in the other. */
static size_t common(const struct profile *profile, const struct profile *other)
{
	size_t count = 0;
	for (size_t row = 0; row < profile_table(profile, PROFILE_SOURCE)->count; row++) {
		const struct profile_source one = profile_source(profile, row);
		count += profile_has_source(other, &one);
	}
	return count;
}

bool replaced_has(const struct replaced_set *set, const struct profile *profile, const char *epoch)
{
	if (set->count == 0 || !is_telling(profile))
		return false;
	size_t all = profile_table(profile, PROFILE_SOURCE)->count;
	for (size_t i = 0; i < set->count; i++)
		if (strcmp(set->list[i].epoch, epoch) != 0 &&
		    common(profile, set->list[i].sources) == all)
			return true;
	return false;
}

bool replaced_equal(const struct replaced_set *set, const struct profile *profile,
		    const char *epoch)
{
	size_t all = profile_table(profile, PROFILE_SOURCE)->count;
	bool later = false;
	for (size_t i = 0; i < set->count; i++) {
		int order = strcmp(set->list[i].epoch, epoch);
		if (order == 0 || common(profile, set->list[i].sources) != all)
			continue;
		/* What has more, or is equal and comes first, is the one that stays. */
		if (order < 0 || profile_table(set->list[i].sources, PROFILE_SOURCE)->count != all)
			return false;
		later = true;
	}
	return later;
}

const char *replaced_overlap(const struct replaced_set *set, const struct profile *profile,
			     const char *epoch)
{
	size_t all = profile_table(profile, PROFILE_SOURCE)->count;
	for (size_t i = 0; i < set->count; i++) {
		if (strcmp(set->list[i].epoch, epoch) == 0 || !is_telling(profile))
			continue;
		size_t both = common(profile, set->list[i].sources);
		if (both && both < all)
			return set->list[i].epoch;
	}
	return NULL;
}

int replaced_add(struct replaced_set *set, const struct profile *profile, const char *epoch)
{
	const struct table *source = profile_table(profile, PROFILE_SOURCE);
	if (!is_telling(profile))
		return 0;
	if (array_reserve(&set->list, &set->capacity, set->count, sizeof(*set->list)) < 0)
		return -ENOMEM;
	struct replacing *made = &set->list[set->count++];
	made->sources = profile_new();
	made->epoch = strdup(epoch);
	int ret = made->sources && made->epoch ? 0 : -ENOMEM;
	for (size_t row = 0; ret == 0 && row < source->count; row++) {
		const struct profile_source one = profile_source(profile, row);
		ret = profile_add_source(made->sources, &one);
	}
	return ret;
}

struct position {
	size_t file, sources;
	const char *name;
};

static int compare_positions(const void *a, const void *b)
{
	const struct position *left = a, *right = b;
	if (left->sources != right->sources)
		return left->sources > right->sources ? -1 : 1;
	return strcmp(left->name, right->name);
}

static size_t count_sources(const struct epoch_file *file)
{
	CLEANUP(profile_freep) struct profile *sources = NULL;
	struct profile_file_info info;
	if (file->naming != EPOCH_NAME_COMPACTED ||
	    profile_file_read_sources(file->path, &sources, &info, NULL) < 0)
		return 0;
	return profile_table(sources, PROFILE_SOURCE)->count;
}

int replaced_order(const struct epoch_files *files, size_t **order)
{
	CLEANUP(free_pointer)
	struct position *positions = calloc(files->count + 1, sizeof(*positions));
	*order = calloc(files->count + 1, sizeof(**order));
	if (!positions || !*order)
		return -ENOMEM;
	for (size_t i = 0; i < files->count; i++) {
		const struct epoch_file *file = &files->list[i];
		positions[i] = (struct position){ i, count_sources(file), file->name };
	}
	qsort(positions, files->count, sizeof(*positions), compare_positions);
	for (size_t i = 0; i < files->count; i++)
		(*order)[i] = positions[i].file;
	return 0;
}
