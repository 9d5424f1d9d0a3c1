#include "analyze/names/local_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/names/local_files_private.h"
#include "analyze/names/resolver_options.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sorted.h"
#include "image/elf_file.h"
#include "image/vdso.h"
#include "profile/image_addresses.h"
#include "profile/stash.h"
#include "symbol/debuginfod.h"
#include "symbol/reader.h"

/* Could a file of this machine tell more of the image than the profile itself? */
static bool may_be_here(const struct search *search, const struct stash_index *known, uint32_t id)
{
	struct profile_image image = profile_image(search->profile, id);
	/* names that an import found in a recording come without code */
	if (stash_has_image(known, id) && image.space != SPACE_OFFSET)
		return false;
	switch (image.kind) {
	case IMAGE_FILE:
		return image.space == SPACE_OFFSET ||
		       (image.space == SPACE_ELF && (image.build_id.size || image.hash.size));
	case IMAGE_KERNEL:
	case IMAGE_MODULE:
	case IMAGE_VDSO:
		return true;
	default:
		return false;
	}
}

static int mark_images(const struct search *search, const struct stash_index *known, bool **marks)
{
	size_t count = profile_table(search->profile, PROFILE_IMAGE)->count;
	*marks = calloc(count + 1, sizeof(**marks));
	if (!*marks)
		return -ENOMEM;
	for (uint32_t id = 1; id <= count; id++)
		(*marks)[id] = may_be_here(search, known, id);
	return 0;
}

void local_search_note(struct search *search, const char *format, ...)
{
	char sentence[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	search->note(search->context, sentence);
}

void local_search_count(struct buffer *names, size_t *count, const char *name)
{
	if (++*count <= SHOWN_MISSING)
		buffer_printf(names, "%s'%s'", *count > 1 ? ", " : "", name);
}

const char *local_search_counted(struct buffer *names, size_t count)
{
	if (count > SHOWN_MISSING)
		buffer_printf(names, " and %zu more", count - SHOWN_MISSING);
	return buffer_text(names);
}

static uint64_t time_of(const struct resolver_options *options)
{
	return options->read_time_ns ? options->read_time_ns : LOCAL_FILES_TIME_NS;
}

static void note_counted(struct search *search)
{
	if (search->missing_count)
		local_search_note(search, "no file of the same build as %s is on this machine",
				  local_search_counted(&search->missing, search->missing_count));
	if (search->buildless_count)
		local_search_note(
			search,
			"the recording does not say of which build %s is; --symfs names "
			"a folder where the name is enough",
			local_search_counted(&search->buildless, search->buildless_count));
	if (search->by_name_count)
		local_search_note(search,
				  "%s matched by name alone: the recording does not say of which "
				  "build",
				  local_search_counted(&search->by_name, search->by_name_count));
	if (search->late_count)
		local_search_note(search,
				  "of %s this machine's files were not read: those of other "
				  "images took %.3g s, the limit",
				  local_search_counted(&search->late, search->late_count),
				  (double)time_of(search->options) / 1e9);
	if (search->finder && binary_finder_gave_up(search->finder))
		local_search_note(search,
				  "'%s' has more files than the %u that were looked into for "
				  "build-ids",
				  search->options->symfs, BINARY_FINDER_MAX_FILES);
}

int local_search_keep(struct search *search, uint32_t id, const struct record_set *records)
{
	int ret = stash_add_set(search->files->stash, id, records, NULL);
	search->files->images[id - 1].found |= records->count > 0;
	return ret == -ENOMEM ? ret : 0; /* the reader gave out checked records only */
}

bool local_image_translate(const struct local_image *image, uint64_t *vaddr)
{
	if (image->segment_count == 0)
		return true;
	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct identity_segment *segment = &image->segments[i];
		if (*vaddr < segment->offset || *vaddr - segment->offset >= segment->file_bytes)
			continue;
		*vaddr = segment->vaddr + (*vaddr - segment->offset);
		return true;
	}
	return false;
}

int local_search_translate(struct search *search, struct wanted_image *wanted,
			   const struct identity_segment *segments, size_t count)
{
	struct local_image *image = &search->files->images[wanted->id - 1];
	if (count == 0)
		return 0;
	image->segments = calloc(count, sizeof(*segments));
	if (!image->segments)
		return -ENOMEM;
	memcpy(image->segments, segments, count * sizeof(*segments));
	image->segment_count = (uint32_t)count;
	size_t kept = 0;
	for (size_t i = 0; i < wanted->count; i++) {
		uint64_t vaddr = wanted->vaddrs[i];
		if (local_image_translate(image, &vaddr))
			wanted->vaddrs[kept++] = vaddr;
	}
	wanted->count = kept;
	if (kept)
		qsort(wanted->vaddrs, kept, sizeof(*wanted->vaddrs), sorted_compare_u64);
	return 0;
}

/* ---- Files */

static bool is_absolute(struct span path)
{
	return path.size && *(const char *)path.data == '/';
}

/* The absolute paths that an image was seen at, and its name where that is one; the caller frees
 * the list. */
static int paths_of(const struct search *search, const struct wanted_image *wanted,
		    struct span **list, size_t *count)
{
	size_t seen, kept = 0;
	const struct span *paths = image_paths_of(&search->paths, wanted->id, &seen);
	*list = calloc(seen + 1, sizeof(**list));
	if (!*list)
		return -ENOMEM;
	for (size_t i = 0; i < seen; i++)
		if (is_absolute(paths[i]))
			(*list)[kept++] = paths[i];
	if (is_absolute(wanted->image.name))
		(*list)[kept++] = wanted->image.name;
	*count = kept;
	return 0;
}

/* Whether a server's file is the image: it was asked by build-id, which many files can claim. */
static bool is_wanted_content(struct search *search, const struct wanted_image *wanted, int fd,
			      struct identity *identity)
{
	const struct profile_image *image = &wanted->image;
	enum content_kind kind = image->hash.size == 0 ? CONTENT_NONE
				 : image->writer       ? CONTENT_FILE
						       : CONTENT_TEXT;
	return reader_identify_content(search->reader, fd, kind, (struct span){ NULL, 0 }, identity,
				       NULL) == 0 &&
	       binary_same_build_id(image->build_id, identity) &&
	       (kind == CONTENT_NONE ||
		span_equal(image->hash, (struct span){ &identity->hash, sizeof(identity->hash) }));
}

/* 0, -ENOENT or -ENOMEM. */
static int fetch_executable(struct search *search, const struct wanted_image *wanted,
			    struct binary_found *found)
{
	*found = (struct binary_found){ .fd = -1, .owner = SAFE_NO_USER };
	if (!search->debuginfod || wanted->image.build_id.size == 0)
		return -ENOENT;
	int fd = local_fetch(search, wanted, DEBUGINFOD_EXECUTABLE);
	if (fd < 0)
		return -ENOENT;
	if (!is_wanted_content(search, wanted, fd, &found->identity)) {
		close(fd);
		return -ENOENT;
	}
	found->fd = fd;
	return 0;
}

static int open_debug(struct search *search, const struct wanted_image *wanted,
		      const struct identity *identity, const char *path, uint32_t owner,
		      uint64_t writer)
{
	int fd = binary_finder_open_debug(search->finder, identity, path, owner, writer);
	if (fd >= 0 || !search->debuginfod || wanted->image.build_id.size == 0)
		return fd;
	return local_fetch(search, wanted, DEBUGINFOD_DEBUG_FILE);
}

const char *local_search_name(const struct search *search, uint32_t id, struct buffer *text)
{
	struct span path = image_paths_best(&search->paths, id);
	if (path.size == 0)
		path = profile_image(search->profile, id).name;
	buffer_append(text, path.data, path.size);
	return buffer_text(text);
}

void local_search_late(struct search *search, uint32_t id)
{
	CLEANUP(buffer_release) struct buffer name = { 0 };
	local_search_count(&search->late, &search->late_count,
			   local_search_name(search, id, &name));
}

static void count_missing(struct search *search, const struct wanted_image *wanted)
{
	CLEANUP(buffer_release) struct buffer name = { 0 };
	const char *text = local_search_name(search, wanted->id, &name);
	bool has_build = wanted->image.build_id.size || wanted->image.hash.size;
	if (!search->time.left_ns)
		local_search_late(search, wanted->id);
	else if (has_build || search->options->symfs)
		local_search_count(&search->missing, &search->missing_count, text);
	else if (*text == '/')
		local_search_count(&search->buildless, &search->buildless_count, text);
}

/* Reads the image's own file and its debug file. Owns the descriptors, also when it fails. */
static int gather_from_file(struct search *search, struct wanted_image *wanted,
			    const struct binary_found *found, int debug_fd)
{
	search->files->images[wanted->id - 1].machine = found->identity.machine;
	if (wanted->image.space == SPACE_OFFSET &&
	    local_search_translate(search, wanted, found->identity.segments,
				   found->identity.segment_count) < 0) {
		close(found->fd);
		if (debug_fd >= 0)
			close(debug_fd);
		return -ENOMEM;
	}
	return local_readings_add(search, wanted, found->fd, debug_fd, GATHER_ALL,
				  found->by_name ? FOUND_BY_NAME : FOUND_BY_BUILD);
}

/* Reads a debug file alone: it has names and lines. */
static int gather_from_debug(struct search *search, struct wanted_image *wanted)
{
	struct identity identity = { 0 };
	struct error err = { 0 };
	if (wanted->image.build_id.size &&
	    wanted->image.build_id.size <= sizeof(identity.build_id)) {
		memcpy(identity.build_id, wanted->image.build_id.data, wanted->image.build_id.size);
		identity.build_id_bytes = (uint32_t)wanted->image.build_id.size;
	}
	int fd = open_debug(search, wanted, &identity, NULL, SAFE_NO_USER, wanted->image.writer);
	if (fd < 0) {
		count_missing(search, wanted);
		return 0;
	}
	/* its program headers are the executable's */
	if (wanted->image.space == SPACE_OFFSET &&
	    (reader_identify(search->reader, fd, &identity, &err) < 0 ||
	     local_search_translate(search, wanted, identity.segments, identity.segment_count) <
		     0)) {
		close(fd);
		return err.code ? 0 : -ENOMEM;
	}
	return local_readings_add(search, wanted, fd, -1, GATHER_FUNCTIONS | GATHER_LINES,
				  FOUND_BY_BUILD);
}

static int gather_file(struct search *search, struct wanted_image *wanted)
{
	CLEANUP(free_pointer) struct span *paths = NULL;
	struct binary_wanted like = { .build_id = wanted->image.build_id,
				      .hash = wanted->image.hash,
				      .writer = wanted->image.writer };
	struct binary_found found;
	int ret = paths_of(search, wanted, &paths, &like.path_count);
	like.paths = paths;
	if (ret == 0)
		ret = binary_finder_open(search->finder, &like, &found);
	if (ret == -ENOENT)
		ret = fetch_executable(search, wanted, &found);
	if (ret == -ENOENT)
		return gather_from_debug(search, wanted);
	if (ret < 0)
		return ret;
	int debug_fd = open_debug(search, wanted, &found.identity,
				  found.path.size ? buffer_text(&found.path) : NULL, found.owner,
				  found.writer);
	ret = gather_from_file(search, wanted, &found, debug_fd);
	buffer_release(&found.path);
	return ret;
}

static int gather_vdso(struct search *search, struct wanted_image *wanted)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	CLEANUP(elf_file_release) struct elf_file file = { 0 };
	CLEANUP(record_set_release) struct record_set records = { 0 };
	struct identity identity;
	if (vdso_read(&bytes, NULL) < 0 || elf_file_parse(bytes.data, bytes.size, &file, NULL) < 0)
		return 0;
	identity_of_file(&file, &identity);
	if (!binary_same_build_id(wanted->image.build_id, &identity))
		return 0;
	if (wanted->image.space == SPACE_OFFSET &&
	    local_search_translate(search, wanted, identity.segments, identity.segment_count) < 0)
		return -ENOMEM;
	if (reader_gather_bytes(search->reader, (struct span){ bytes.data, bytes.size },
				wanted->vaddrs, wanted->count, search->what, &records, NULL,
				NULL) < 0)
		return 0;
	return local_search_keep(search, wanted->id, &records);
}

static int gather_by_kind(struct search *search, struct wanted_image *wanted)
{
	switch (wanted->image.kind) {
	case IMAGE_FILE:
		return gather_file(search, wanted);
	case IMAGE_KERNEL:
	case IMAGE_MODULE:
		return local_kernel_gather(search, wanted);
	case IMAGE_VDSO:
		return gather_vdso(search, wanted);
	default:
		return 0;
	}
}

static int gather_image(struct search *search, uint32_t id, const struct image_address *addresses,
			size_t count)
{
	struct wanted_image wanted = { .id = id,
				       .image = profile_image(search->profile, id),
				       .count = count };
	if (!search->time.left_ns) {
		local_search_late(search, id);
		return 0;
	}
	wanted.vaddrs = calloc(count, sizeof(*wanted.vaddrs));
	if (!wanted.vaddrs)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		wanted.vaddrs[i] = addresses[i].vaddr;
	int ret = gather_by_kind(search, &wanted);
	free(wanted.vaddrs); /* NULL where local_readings_add() owns them */
	return ret;
}

/* The same images under the same ids. */
static int copy_images(const struct profile *from, struct profile *into)
{
	size_t count = profile_table(from, PROFILE_IMAGE)->count;
	for (uint32_t id = 1; id <= count; id++) {
		struct profile_image image = profile_image(from, id);
		uint32_t copy;
		if (profile_add_image(into, &image, &copy) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int gather_images(struct search *search, const struct image_addresses *addresses)
{
	int ret = 0;
	for (size_t from = 0, count; ret == 0 && from < addresses->count; from += count) {
		count = image_addresses_run(addresses, from);
		ret = gather_image(search, addresses->list[from].image, addresses->list + from,
				   count);
	}
	return ret;
}

void local_files_release(struct local_files *files)
{
	profile_free(files->stash);
	for (size_t i = 0; i < files->image_count; i++)
		free(files->images[i].segments);
	free(files->images);
	*files = (struct local_files){ 0 };
}

static int prepare(struct search *search)
{
	struct local_files *files = search->files;
	files->image_count = profile_table(search->profile, PROFILE_IMAGE)->count;
	files->images = calloc(files->image_count + 1, sizeof(*files->images));
	files->stash = profile_new();
	if (!files->images || !files->stash)
		return -ENOMEM;
	return copy_images(search->profile, files->stash);
}

static int search_files(struct search *search, const struct image_addresses *addresses)
{
	const struct resolver_options *options = search->options;
	const struct binary_finder_options where = { options->symfs, options->debug_root,
						     options->perf_cache };
	struct error err = { 0 };
	if (options->debuginfod && debuginfod_new(&search->debuginfod, &err) < 0)
		local_search_note(search, "%s", err.text);
	if (addresses->count == 0)
		return 0;
	if (reader_new(NULL, &search->reader, &err) < 0) {
		local_search_note(search, "no file of this machine was asked for names: %s",
				  err.text);
		return 0;
	}
	if (binary_finder_new(search->reader, &where, &search->finder) < 0)
		return -ENOMEM;
	reader_charge(search->reader, &search->time);
	int ret = gather_images(search, addresses);
	local_kernel_release(search); /* they are large, and records are still to come */
	if (ret == 0)
		ret = local_readings_end(search);
	note_counted(search);
	local_fetch_note(search);
	return ret;
}

/* What is read of files: set of GATHER_*. */
static unsigned parts_of(const struct resolver_options *options)
{
	return options->names_only     ? GATHER_FUNCTIONS
	       : options->without_code ? GATHER_ALL & ~(GATHER_CODE | GATHER_FLOW)
				       : GATHER_ALL;
}

int local_files_gather(const struct profile *profile, const struct stash_index *known,
		       const struct resolver_options *options, local_files_note note, void *context,
		       struct local_files *out)
{
	*out = (struct local_files){ 0 };
	struct search search = { .profile = profile,
				 .options = options,
				 .what = parts_of(options),
				 .files = out,
				 .time = { .left_ns = time_of(options) },
				 .note = note,
				 .context = context };
	CLEANUP(image_addresses_release) struct image_addresses addresses = { 0 };
	CLEANUP(free_pointer) bool *wanted = NULL;
	int ret = prepare(&search);
	if (ret == 0)
		ret = image_paths_init(&search.paths, profile);
	if (ret == 0)
		ret = mark_images(&search, known, &wanted);
	if (ret == 0)
		ret = image_addresses_collect(profile, wanted, &addresses);
	if (ret == 0)
		ret = search_files(&search, &addresses);
	local_readings_release(&search);
	image_paths_release(&search.paths);
	local_kernel_release(&search);
	binary_finder_free(search.finder);
	reader_free(search.reader);
	debuginfod_free(search.debuginfod);
	local_fetch_release(&search);
	buffer_release(&search.missing);
	buffer_release(&search.buildless);
	buffer_release(&search.by_name);
	buffer_release(&search.late);
	if (ret < 0)
		local_files_release(out);
	return ret;
}
