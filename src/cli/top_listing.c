#include "cli/top_listing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/cycles/cycles.h"
#include "analyze/names/resolve.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/annotate_subject.h"
#include "cli/source_files.h"
#include "cli/top_page.h"
#include "profile/profile.h"
#include "profile/stash.h"
#include "render/listing.h"

struct work {
	struct profile *profile; /* without names of the row's image, for its file to be read */
	struct resolver *resolver;
	struct event_columns columns;
	struct annotate_index *index;
	struct cycles *cycles; /* NULL: no event tells of them */
	struct source_files files;
};

static void work_release(struct work *work)
{
	source_files_release(&work->files);
	cycles_free(work->cycles);
	annotate_index_free(work->index);
	event_columns_release(&work->columns);
	resolver_free(work->resolver);
	profile_free(work->profile);
}

/* Where the code is looked for, which the profile has names of. */
enum code_of {
	CODE_OF_FILES,	 /* here: they have names, too, and are read where the profile has none */
	CODE_OF_PROFILE, /* of code made at run time, of files that are gone or not ours to read */
};

static int take_profile(struct work *work, const struct profile *profile, uint32_t image,
			enum code_of code_of, struct error *err)
{
	work->profile = profile_new();
	int ret = work->profile ? profile_merge(work->profile, profile, err)
				: error_set(err, -ENOMEM, "out of memory");
	if (ret < 0 || !image || code_of == CODE_OF_PROFILE)
		return ret;
	return stash_drop(work->profile, image) < 0 ? error_set(err, -ENOMEM, "out of memory") : 0;
}

static int open_work(struct work *work, const struct profile *profile, const struct top_row *row,
		     enum code_of code_of, struct error *err)
{
	const struct resolver_options naming = { 0 };
	const struct cycles_options options = { 0 };
	int ret = take_profile(work, profile, row->image_id, code_of, err);
	if (ret == 0)
		ret = resolver_new(work->profile, &naming, &work->resolver, err);
	if (ret == 0)
		ret = event_columns_init(&work->columns, work->profile, NULL, 0, err);
	if (ret == 0)
		ret = annotate_index_new(work->profile, work->resolver, &work->columns,
					 &work->index, err);
	if (ret < 0)
		return ret;
	ret = cycles_new(work->index, &options, &work->cycles, err);
	for (size_t i = 0; i < profile_table(work->profile, PROFILE_SOURCE)->count; i++) {
		uint64_t start_ns = profile_source(work->profile, i).start_ns;
		if (start_ns > work->files.start_ns)
			work->files.start_ns = start_ns;
	}
	return ret == -ENOENT ? 0 : ret;
}

static bool is_row(const struct procedure *procedure, const struct top_row *row)
{
	if (procedure->image != row->image_id)
		return false;
	if (row->first)
		return procedure->extent_known && procedure->first <= row->first &&
		       row->first <= procedure->last;
	return strcmp(procedure->name, row->name) == 0;
}

static int find(const struct work *work, const struct top_row *row, size_t *position,
		struct error *err)
{
	const struct annotate_index *index = work->index;
	for (*position = 0; *position < index->count; ++*position)
		if (is_row(index->procedures[*position].procedure, row))
			return 0;
	return error_set(err, -ENOENT, "'%s' has no samples any more", row->name);
}

static int print(struct work *work, size_t position, struct buffer *out, struct error *err)
{
	CLEANUP(annotate_subject_release) struct annotate_subject subject = { 0 };
	const struct annotate_options options = { 0 };
	const struct listing_options listing = { .colour = TEXT_WITH_COLOUR,
						 .source = source_files_line,
						 .source_context = &work->files };
	int ret =
		annotate_subject_init(&subject, work->index, position, &options, work->cycles, err);
	if (ret < 0)
		return ret;
	listing_print(&subject.shown, work->index, &listing, out);
	if (subject.cycles)
		listing_print_foot(work->cycles, 1U << subject.cycles->scale, out);
	return buffer_failed(out) ? error_set(err, -ENOMEM, "out of memory for the listing") : 0;
}

static int make(const struct profile *profile, const struct top_row *row, enum code_of code_of,
		struct buffer *out, struct error *err)
{
	CLEANUP(work_release) struct work work = { 0 };
	size_t position = 0;
	int ret = open_work(&work, profile, row, code_of, err);
	if (ret == 0)
		ret = find(&work, row, &position, err);
	return ret < 0 ? ret : print(&work, position, out, err);
}

int top_listing_make(const struct profile *profile, const struct top_row *row, struct buffer *out,
		     struct error *err)
{
	if (!row->is_code)
		return error_set(err, -ENOENT, "only procedures have instructions to show");
	int ret = make(profile, row, CODE_OF_FILES, out, err);
	return ret == -ENOENT ? make(profile, row, CODE_OF_PROFILE, out, err) : ret;
}
