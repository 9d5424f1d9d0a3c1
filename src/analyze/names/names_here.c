#include "analyze/names/names_here.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/names/local_files.h"
#include "analyze/names/resolver_options.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/image_addresses.h"
#include "profile/profile.h"
#include "profile/stash.h"

struct names_here {
	struct resolver_options options;
	struct profile *asked; /* a flat row for each address that was looked for */
	struct profile *known; /* images, and the records that were found */
};

struct names_here *names_here_new(const struct resolver_options *options)
{
	struct names_here *names = calloc(1, sizeof(*names));
	if (!names)
		return NULL;
	names->options = *options;
	names->options.names_only = true;
	names->asked = profile_new();
	names->known = profile_new();
	if (names->asked && names->known)
		return names;
	names_here_free(names);
	return NULL;
}

void names_here_free(struct names_here *names)
{
	if (!names)
		return;
	profile_free(names->asked);
	profile_free(names->known);
	free(names);
}

static int add_address(struct profile *profile, uint32_t image, uint64_t vaddr)
{
	const struct profile_frame frame = { .kind = FRAME_IP, .image = image, .vaddr = vaddr };
	const struct cell cell = { .samples = 1 };
	return profile_add_flat(profile, 0, 0, &frame, &cell);
}

/* Adds the image to `into`. 0 or -ENOMEM. */
static int add_image(struct profile *into, const struct profile *from, uint32_t id, uint32_t *out)
{
	const struct profile_image image = profile_image(from, id);
	return profile_add_image(into, &image, out);
}

/* Adds the paths of the images. Their ids are by those of `part`, 0 for what is not wanted. */
static int add_paths(struct profile *wanted, const struct profile *part, const uint32_t *ids)
{
	const struct table *paths = profile_table(part, PROFILE_PATH);
	for (size_t row = 0; row < paths->count; row++) {
		uint32_t image = ids[table_keys(paths, row)[PATH_IMAGE]];
		struct span path = profile_bytes(part, table_keys(paths, row)[PATH_PATH]);
		if (image && profile_add_seen_path(wanted, image, path,
						   table_values(paths, row)[PATH_SEEN]) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* What is looked for, as a profile, and its images' ids elsewhere. */
struct looked_for {
	struct profile *profile;
	/* by id in `profile`, which has at most the part's images */
	uint32_t *in_known, *in_part;
	uint32_t *of_part; /* ids in `profile` by id in the part */
};

static void looked_for_release(struct looked_for *wanted)
{
	profile_free(wanted->profile);
	free(wanted->in_known);
	free(wanted->in_part);
	free(wanted->of_part);
}

/* Of one image's addresses those without a function, which nobody has asked for yet. */
static int choose_of_image(struct names_here *names, const struct profile *part, uint32_t image,
			   const struct image_address *addresses, size_t count,
			   const struct stash_index *known, uint32_t in_known,
			   struct looked_for *wanted)
{
	uint32_t asked, id;
	int ret = add_image(names->asked, part, image, &asked);
	for (size_t i = 0; i < count && ret == 0; i++) {
		struct stash_function function;
		const struct table *all = profile_table(names->asked, PROFILE_FLAT);
		size_t before = all->count;
		if (stash_find_function(known, in_known, addresses[i].vaddr, &function))
			continue;
		ret = add_address(names->asked, asked, addresses[i].vaddr);
		if (ret < 0 || all->count == before)
			continue;
		ret = add_image(wanted->profile, part, image, &id);
		if (ret == 0)
			ret = add_address(wanted->profile, id, addresses[i].vaddr);
		if (ret < 0)
			continue;
		wanted->in_known[id] = in_known;
		wanted->in_part[id] = image;
		wanted->of_part[image] = id;
	}
	return ret;
}

static int choose(struct names_here *names, const struct profile *part, struct looked_for *wanted)
{
	CLEANUP(image_addresses_release) struct image_addresses addresses = { 0 };
	CLEANUP(stash_index_freep) struct stash_index *known = NULL;
	size_t images = profile_table(part, PROFILE_IMAGE)->count;
	CLEANUP(free_pointer) bool *all = malloc(images + 1);
	wanted->profile = profile_new();
	wanted->in_known = calloc(images + 1, sizeof(uint32_t));
	wanted->in_part = calloc(images + 1, sizeof(uint32_t));
	wanted->of_part = calloc(images + 1, sizeof(uint32_t));
	if (!all || !wanted->profile || !wanted->in_known || !wanted->in_part || !wanted->of_part)
		return -ENOMEM;
	for (size_t i = 0; i <= images; i++)
		all[i] = true;
	int ret = image_addresses_collect(part, all, &addresses);
	if (ret == 0)
		ret = stash_index_new(names->known, &known);
	for (size_t from = 0, count; ret == 0 && from < addresses.count; from += count) {
		uint32_t in_known, image = addresses.list[from].image;
		count = image_addresses_run(&addresses, from);
		ret = add_image(names->known, part, image, &in_known);
		if (ret == 0)
			ret = choose_of_image(names, part, image, &addresses.list[from], count,
					      known, in_known, wanted);
	}
	return ret < 0 ? ret : add_paths(wanted->profile, part, wanted->of_part);
}

/* From a vaddr of the file back to the image's own address. */
static bool address_of(const struct local_image *image, uint64_t *vaddr)
{
	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct identity_segment *segment = &image->segments[i];
		if (*vaddr < segment->vaddr || *vaddr - segment->vaddr >= segment->file_bytes)
			continue;
		*vaddr = segment->offset + (*vaddr - segment->vaddr);
		return true;
	}
	return image->segment_count == 0;
}

/* The functions of the file's records, at the image's addresses. */
static int keep_image(const struct local_files *files, uint32_t id, struct profile *into,
		      uint32_t in_it)
{
	const struct local_image *image = &files->images[id - 1];
	uint64_t owner = image->records_of ? image->records_of : id;
	const struct table *stash = profile_table(files->stash, PROFILE_STASH);
	for (size_t row = 0; row < stash->count; row++) {
		const uint64_t *keys = table_keys(stash, row);
		struct record record = { .kind = keys[STASH_KIND],
					 .first = keys[STASH_FIRST],
					 .last = keys[STASH_LAST],
					 .content =
						 profile_bytes(files->stash, keys[STASH_CONTENT]) };
		struct error err;
		if (keys[STASH_IMAGE] != owner || record.kind != RECORD_FUNCTION ||
		    !address_of(image, &record.first) || !address_of(image, &record.last) ||
		    record.last < record.first)
			continue;
		if (stash_add(into, in_it, &record, &err) == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

static void ignore_note(void *context, const char *sentence)
{
	(void)context;
	(void)sentence;
}

static int look(const struct names_here *names, const struct looked_for *wanted,
		struct profile *part)
{
	CLEANUP(local_files_release) struct local_files files = { 0 };
	CLEANUP(stash_index_freep) struct stash_index *nothing = NULL;
	int ret = stash_index_new(wanted->profile, &nothing);
	if (ret == 0)
		ret = local_files_gather(wanted->profile, nothing, &names->options, ignore_note,
					 NULL, &files);
	for (uint32_t id = 1; ret == 0 && id <= files.image_count; id++) {
		if (!files.images[id - 1].found)
			continue;
		ret = keep_image(&files, id, names->known, wanted->in_known[id]);
		if (ret == 0)
			ret = keep_image(&files, id, part, wanted->in_part[id]);
	}
	return ret;
}

int names_here_add(struct names_here *names, struct profile *part, struct error *err)
{
	CLEANUP(looked_for_release) struct looked_for wanted = { 0 };
	int ret = choose(names, part, &wanted);
	if (ret == 0 && profile_table(wanted.profile, PROFILE_FLAT)->count)
		ret = look(names, &wanted, part);
	return ret < 0 ? error_set(err, ret, "out of memory for names of code") : 0;
}
