#include "analyze/names/image_claims.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "image/deleted_path.h"
#include "image/writer.h"
#include "profile/image_paths.h"
#include "profile/profile.h"

#define FILES_SHOWN	 3 /* in a sentence */
#define BUILDS_SHOWN	 3 /* a sentence each */
#define SHORT_HASH_BYTES 4

static struct profile_image image_of(const struct image_claims *claims,
				     const struct image_claim *claim)
{
	return profile_image(claims->profile, claim->image);
}

static int fill_paths(struct image_claims *claims)
{
	CLEANUP(image_paths_release) struct image_paths paths;
	if (image_paths_init(&paths, claims->profile) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < claims->count; i++) {
		struct image_claim *claim = &claims->list[i];
		struct profile_image image = image_of(claims, claim);
		if (image.kind == IMAGE_FILE)
			claim->path = image_paths_best(&paths, claim->image);
		if (image.kind == IMAGE_FILE && !claim->path.size)
			claim->path = image.name;
		claim->base = span_base_name(deleted_path_strip(claim->path));
	}
	return 0;
}

/* By what files of one build-id are told apart: their content where it is known, else their name.
 */
enum told_by { TOLD_BY_NOTHING, TOLD_BY_NAME, TOLD_BY_CONTENT };

static enum told_by told_by(const struct profile_image *image)
{
	return image->hash.size	  ? TOLD_BY_CONTENT
	       : image->name.size ? TOLD_BY_NAME
				  : TOLD_BY_NOTHING;
}

static int compare_content(const struct profile_image *a, const struct profile_image *b)
{
	enum told_by left = told_by(a), right = told_by(b);
	if (left != right)
		return left > right ? 1 : -1;
	return left == TOLD_BY_CONTENT ? span_compare(a->hash, b->hash)
				       : span_compare(a->name, b->name);
}

/* What must follow a file's name to tell it from another of that name. */
enum suffix { SUFFIX_NONE, SUFFIX_OWNER, SUFFIX_CONTENT };

static const char *make_suffix(const struct image_claims *claims, const struct image_claim *claim,
			       enum suffix suffix, struct arena *arena)
{
	const struct profile_image image = image_of(claims, claim);
	bool has_hash = suffix == SUFFIX_CONTENT && image.hash.size;
	bool has_path = image.writer || !has_hash;
	CLEANUP(buffer_release) struct buffer text = { 0 };
	char writer[WRITER_TEXT_BYTES];
	writer_text(image.writer, writer);
	buffer_printf(&text, " (%s%s", writer, image.writer ? ": " : "");
	if (has_path)
		buffer_append(&text, claim->path.data, claim->path.size);
	if (has_hash) {
		buffer_append_text(&text, has_path ? ", " : "");
		buffer_append_hex(&text, image.hash.data,
				  image.hash.size < SHORT_HASH_BYTES ? image.hash.size
								     : SHORT_HASH_BYTES);
	}
	buffer_append_text(&text, ")");
	return buffer_failed(&text) ? NULL
				    : arena_copy_text(arena, (const char *)text.data, text.size);
}

static int compare_writers(const struct profile_image *a, const struct profile_image *b)
{
	return (a->writer > b->writer) - (a->writer < b->writer);
}

/* By name, and those of one name by writer, build-id and content. */
static int by_base(const void *a, const void *b, void *context)
{
	const struct image_claim *left = *(const struct image_claim *const *)a;
	const struct image_claim *right = *(const struct image_claim *const *)b;
	int order = span_compare(left->base, right->base);
	if (order)
		return order;
	const struct profile_image image = image_of(context, left);
	const struct profile_image other = image_of(context, right);
	order = compare_writers(&image, &other);
	order = order ? order : span_compare(image.build_id, other.build_id);
	order = order ? order : compare_content(&image, &other);
	return order ? order : (left->image > right->image) - (left->image < right->image);
}

/* How many from list[0] on are of one writer and build-id, and told apart in one way. */
static size_t count_of_build(const struct image_claims *claims, struct image_claim **list,
			     size_t count)
{
	const struct profile_image first = image_of(claims, list[0]);
	size_t same = 1;
	for (; same < count; same++) {
		const struct profile_image image = image_of(claims, list[same]);
		if (image.writer != first.writer || told_by(&image) != told_by(&first) ||
		    !span_equal(image.build_id, first.build_id))
			break;
	}
	return same;
}

/* list[0..count-1] are all of one name. Files that nobody else can write keep the name alone. */
static int tell_apart(struct image_claims *claims, struct image_claim **list, size_t count,
		      struct arena *arena)
{
	const struct profile_image lowest = image_of(claims, list[0]);
	const struct profile_image highest = image_of(claims, list[count - 1]);
	bool writers_differ = lowest.writer != highest.writer;
	for (size_t from = 0, to; from < count; from = to) {
		to = from + count_of_build(claims, list + from, count - from);
		const struct profile_image image = image_of(claims, list[from]);
		const struct profile_image last = image_of(claims, list[to - 1]);
		enum suffix needed = image.build_id.size && compare_content(&image, &last) != 0
					     ? SUFFIX_CONTENT
				     : writers_differ && image.writer ? SUFFIX_OWNER
								      : SUFFIX_NONE;
		for (size_t i = from; i < to && needed != SUFFIX_NONE; i++) {
			list[i]->suffix = make_suffix(claims, list[i], needed, arena);
			if (!list[i]->suffix)
				return -ENOMEM;
		}
	}
	return 0;
}

static int name_all(struct image_claims *claims, struct arena *arena)
{
	CLEANUP(free_pointer)
	struct image_claim **sorted = calloc(claims->count + 1, sizeof(struct image_claim *));
	size_t count = 0;
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < claims->count; i++)
		if (claims->list[i].base.size)
			sorted[count++] = &claims->list[i];
	qsort_r(sorted, count, sizeof(struct image_claim *), by_base, claims);
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from + 1; to < count && span_equal(sorted[to]->base, sorted[from]->base);
		     to++)
			;
		int ret = tell_apart(claims, sorted + from, to - from, arena);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int image_claims_init(struct image_claims *claims, const struct profile *profile,
		      struct arena *arena)
{
	size_t count = profile_table(profile, PROFILE_IMAGE)->count;
	*claims = (struct image_claims){ .profile = profile, .count = count };
	claims->list = calloc(count + 1, sizeof(*claims->list));
	if (!claims->list)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		claims->list[i].image = i + 1;
	int ret = fill_paths(claims);
	return ret < 0 ? ret : name_all(claims, arena);
}

void image_claims_release(struct image_claims *claims)
{
	free(claims->list);
	*claims = (struct image_claims){ 0 };
}

const char *image_claims_name(const struct image_claims *claims, uint32_t image,
			      struct arena *arena)
{
	const struct image_claim *claim = &claims->list[image - 1];
	if (!claim->base.size)
		return NULL;
	return claim->suffix ? arena_printf(arena, "%.*s%s", (int)claim->base.size,
					    (const char *)claim->base.data, claim->suffix)
			     : arena_copy_text(arena, claim->base.data, claim->base.size);
}

/* ---- sentences */

static int by_path(const void *a, const void *b)
{
	const struct image_claim *left = *(const struct image_claim *const *)a;
	const struct image_claim *right = *(const struct image_claim *const *)b;
	int order = span_compare(left->path, right->path);
	return order ? order : (left->image > right->image) - (left->image < right->image);
}

/* "'/bin/a', '/bin/b' (uid 1000), '/bin/c' and 2 more" */
static void list_files(const struct image_claims *claims, struct image_claim **files, size_t count,
		       struct buffer *text)
{
	qsort(files, count, sizeof(struct image_claim *), by_path);
	for (size_t i = 0; i < count && i < FILES_SHOWN; i++) {
		const struct profile_image image = image_of(claims, files[i]);
		char writer[WRITER_TEXT_BYTES];
		writer_text(image.writer, writer);
		buffer_printf(text, "%s'", i ? ", " : "");
		if (files[i]->path.size)
			buffer_append(text, files[i]->path.data, files[i]->path.size);
		else
			buffer_append_hex(text, image.build_id.data, image.build_id.size);
		buffer_printf(text, image.writer ? "' (%s)" : "'", writer);
	}
	if (count > FILES_SHOWN)
		buffer_printf(text, " and %zu more", count - FILES_SHOWN);
}

/* Files of one build-id; different ones if is_shared(). */
struct shared_build {
	struct image_claim **files;
	size_t count;
	uint32_t first; /* the lowest image of them */
};

static int by_build(const void *a, const void *b, void *context)
{
	const struct profile_image image = image_of(context, *(const struct image_claim *const *)a);
	const struct profile_image other = image_of(context, *(const struct image_claim *const *)b);
	int order = span_compare(image.build_id, other.build_id);
	order = order ? order : compare_content(&image, &other);
	return order ? order : compare_writers(&image, &other);
}

/* The files of one build-id and one enum told_by that list[0..] begins with. */
static struct shared_build take_build(const struct image_claims *claims, struct image_claim **list,
				      size_t count)
{
	const struct profile_image first = image_of(claims, list[0]);
	struct shared_build build = { .files = list, .count = 1, .first = list[0]->image };
	for (; build.count < count; build.count++) {
		const struct image_claim *claim = list[build.count];
		const struct profile_image image = image_of(claims, claim);
		if (!span_equal(image.build_id, first.build_id) ||
		    told_by(&image) != told_by(&first))
			break;
		build.first = claim->image < build.first ? claim->image : build.first;
	}
	return build;
}

static bool is_shared(const struct image_claims *claims, const struct shared_build *build)
{
	const struct profile_image first = image_of(claims, build->files[0]);
	const struct profile_image last = image_of(claims, build->files[build->count - 1]);
	return compare_content(&first, &last) != 0 ||
	       (first.hash.size && first.writer != last.writer);
}

/* Keeps the first BUILDS_SHOWN in the order of their first images. */
static void keep_first(struct shared_build *shown, size_t *count, struct shared_build build)
{
	size_t at = *count;
	if (at == BUILDS_SHOWN && shown[at - 1].first < build.first)
		return;
	if (at == BUILDS_SHOWN)
		at--;
	else
		++*count;
	for (; at && shown[at - 1].first > build.first; at--)
		shown[at] = shown[at - 1];
	shown[at] = build;
}

static int note_builds(const struct image_claims *claims, struct image_claim **room,
		       void (*note)(void *context, const char *sentence), void *context)
{
	struct shared_build shown[BUILDS_SHOWN];
	size_t shown_count = 0, count = 0;
	for (size_t i = 0; i < claims->count; i++) {
		const struct profile_image image = image_of(claims, &claims->list[i]);
		if (image.kind == IMAGE_FILE && image.build_id.size)
			room[count++] = &claims->list[i];
	}
	qsort_r(room, count, sizeof(struct image_claim *), by_build, (void *)claims);
	for (size_t from = 0; from < count;) {
		const struct shared_build build = take_build(claims, room + from, count - from);
		from += build.count;
		if (is_shared(claims, &build))
			keep_first(shown, &shown_count, build);
	}
	for (size_t i = 0; i < shown_count; i++) {
		CLEANUP(buffer_release) struct buffer text = { 0 };
		const struct profile_image image = image_of(claims, shown[i].files[0]);
		buffer_printf(&text, "%zu different files claim build-id ", shown[i].count);
		buffer_append_hex(&text, image.build_id.data,
				  image.build_id.size < 8 ? image.build_id.size : 8);
		buffer_append_text(&text, ", each is shown by itself: ");
		list_files(claims, shown[i].files, shown[i].count, &text);
		if (buffer_failed(&text))
			return -ENOMEM;
		note(context, buffer_text(&text));
	}
	return 0;
}

static int note_writers(const struct image_claims *claims, struct image_claim **room,
			void (*note)(void *context, const char *sentence), void *context)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	size_t count = 0;
	for (size_t i = 0; i < claims->count; i++)
		if (image_of(claims, &claims->list[i]).writer)
			room[count++] = &claims->list[i];
	if (count == 0)
		return 0;
	buffer_printf(&text,
		      "%zu %s by others than root and who recorded, who choose what %s: ", count,
		      count > 1 ? "files can be written" : "file can be written",
		      count > 1 ? "their code is called" : "its code is called");
	list_files(claims, room, count, &text);
	if (buffer_failed(&text))
		return -ENOMEM;
	note(context, buffer_text(&text));
	return 0;
}

int image_claims_note(const struct image_claims *claims,
		      void (*note)(void *context, const char *sentence), void *context)
{
	CLEANUP(free_pointer)
	struct image_claim **room = calloc(claims->count + 1, sizeof(struct image_claim *));
	if (!room)
		return -ENOMEM;
	int ret = note_builds(claims, room, note, context);
	return ret < 0 ? ret : note_writers(claims, room, note, context);
}
