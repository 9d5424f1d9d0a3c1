#include "import/perf_data/perf_data_images.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void perf_images_release(struct perf_images *images)
{
	for (size_t i = 0; i < images->count; i++) {
		free(images->list[i].name);
		free(images->list[i].path);
	}
	free(images->list);
	for (size_t i = 0; i < images->build_count; i++)
		free(images->builds[i].path);
	free(images->builds);
	hash_index_release(&images->index);
	*images = (struct perf_images){ 0 };
}

static bool image_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct perf_image *image = &((const struct perf_image *)rows)[position];
	const struct perf_wanted_image *key = wanted;
	return image->kind == key->kind && span_equal(span_of_text(image->name), key->name) &&
	       span_equal((struct span){ image->build_id, image->build_id_bytes }, key->build_id);
}

static uint64_t image_hash(const struct perf_wanted_image *wanted)
{
	return hash_bytes(wanted->name.data, wanted->name.size) ^
	       hash_u64(hash_bytes(wanted->build_id.data, wanted->build_id.size) + wanted->kind);
}

/* The image that has them, or NULL. */
static struct perf_image *find_image(const struct perf_images *images,
				     const struct perf_wanted_image *wanted)
{
	uint32_t position = hash_index_find(&images->index, image_hash(wanted), image_equal,
					    images->list, wanted);
	return position == HASH_INDEX_NONE ? NULL : &images->list[position];
}

int perf_images_need(struct perf_images *images, const struct perf_wanted_image *wanted,
		     enum vaddr_space space, uint32_t *number)
{
	const struct perf_image *known = find_image(images, wanted);
	if (known) {
		*number = (uint32_t)(known - images->list) + 1;
		return 0;
	}
	if (array_reserve(&images->list, &images->capacity, images->count, sizeof(*images->list)) <
	    0)
		return -ENOMEM;
	struct perf_image image = { .kind = wanted->kind, .space = space };
	image.name = strndup(wanted->name.data ? wanted->name.data : "", wanted->name.size);
	if (!image.name)
		return -ENOMEM;
	if (wanted->build_id.size) {
		memcpy(image.build_id, wanted->build_id.data, wanted->build_id.size);
		image.build_id_bytes = (uint8_t)wanted->build_id.size;
	}
	images->list[images->count] = image;
	if (hash_index_add(&images->index, image_hash(wanted), (uint32_t)images->count) < 0) {
		free(image.name);
		return -ENOMEM;
	}
	*number = (uint32_t)++images->count;
	return 0;
}

bool perf_image_is_kernel(struct span name)
{
	return span_starts_with(name, "[kernel") || span_ends_with(name, "vmlinux");
}

struct span perf_image_module_name(struct span path, char *room, size_t size)
{
	const char *text = path.data;
	const char *slash = path.size ? memrchr(text, '/', path.size) : NULL;
	size_t at = slash ? (size_t)(slash - text) + 1 : 0;
	size_t end = path.size;
	if (at < end && text[at] == '[') {
		at++;
		const char *bracket = memchr(text + at, ']', end - at);
		end = bracket ? (size_t)(bracket - text) : end;
	} else {
		for (size_t i = at; i + 3 <= end; i++)
			if (memcmp(text + i, ".ko", 3) == 0) {
				end = i;
				break;
			}
	}
	size_t used = 0;
	for (; at < end && used < size; at++)
		room[used++] = text[at] == '-' ? '_' : text[at];
	return (struct span){ room, used };
}

int perf_images_remember_build(struct perf_images *images, enum code_mode mode, struct span path,
			       struct span build_id)
{
	if (!path.size || !build_id.size || build_id.size > PERF_BUILD_ID_ROOM)
		return 0;
	if (array_reserve(&images->builds, &images->build_capacity, images->build_count,
			  sizeof(*images->builds)) < 0)
		return -ENOMEM;
	struct perf_build build = { .mode = mode, .build_id_bytes = (uint8_t)build_id.size };
	memcpy(build.build_id, build_id.data, build_id.size);
	build.path = strndup(path.data, path.size);
	if (!build.path)
		return -ENOMEM;
	images->builds[images->build_count++] = build;
	return 0;
}

static int take_build(struct perf_image *image, const struct perf_build *build)
{
	if (!image->build_id_bytes) {
		memcpy(image->build_id, build->build_id, build->build_id_bytes);
		image->build_id_bytes = build->build_id_bytes;
	}
	if (build->mode != CODE_KERNEL || image->path)
		return 0;
	image->path = strdup(build->path);
	return image->path ? 0 : -ENOMEM;
}

void perf_images_mark_calls_exact(struct perf_images *images, struct span path)
{
	const struct perf_wanted_image wanted = { IMAGE_FILE, path, { NULL, 0 } };
	struct perf_image *image = find_image(images, &wanted);
	if (image)
		image->calls_exact = true;
}

/* Finds the image that a row of the table is of, and gives it the build-id. */
static int name_build(struct perf_images *images, const struct perf_build *build, uint32_t kernel)
{
	char room[128];
	struct span path = span_of_text(build->path);
	struct span module = perf_image_module_name(path, room, sizeof(room));
	struct perf_wanted_image wanted = { IMAGE_FILE, path, { NULL, 0 } };
	if (build->mode != CODE_KERNEL) {
		if (span_starts_with(path, "[vdso"))
			wanted.kind = IMAGE_VDSO;
	} else if (!perf_image_is_kernel(path)) {
		wanted.kind = IMAGE_MODULE;
		wanted.name = module;
	} else {
		return kernel ? take_build(&images->list[kernel - 1], build) : 0;
	}
	struct perf_image *image = find_image(images, &wanted);
	return image ? take_build(image, build) : 0;
}

int perf_images_name_builds(struct perf_images *images, uint32_t kernel)
{
	int ret = 0;
	for (size_t i = 0; i < images->build_count && ret == 0; i++)
		ret = name_build(images, &images->builds[i], kernel);
	return ret;
}

int perf_images_write(struct perf_images *images, struct profile *profile, uint32_t number,
		      uint32_t *row)
{
	struct perf_image *image = &images->list[number - 1];
	*row = image->row;
	if (*row)
		return 0;
	/* Files keep their path beside a build-id: two files may claim the same one, unless the
	 * content is known. */
	bool named_by_build =
		image->build_id_bytes && image->kind != IMAGE_MODULE && image->kind != IMAGE_FILE;
	struct profile_image made = { .kind = image->kind,
				      .space = image->space,
				      .writer = image->writer };
	if (image->build_id_bytes)
		made.build_id = (struct span){ image->build_id, image->build_id_bytes };
	if (image->has_hash)
		made.hash = (struct span){ &image->hash, sizeof(image->hash) };
	if (!named_by_build && !image->has_hash && image->name[0])
		made.name = span_of_text(image->name);
	/* A kernel whose base is not known is another image than one whose text it counts from. */
	if (image->kind == IMAGE_KERNEL && image->space == SPACE_PROCESS)
		made.name = span_of_text(image->name);
	/* The same process in all recordings of its boot; another one on every host and boot. */
	char name[128];
	if (image->process) {
		snprintf(name, sizeof(name), "%s %s", image->name, images->boot);
		made.name = span_of_text(name);
	}
	int ret = profile_add_image(profile, &made, &image->row);
	if (ret == 0 && image->kind == IMAGE_FILE)
		ret = profile_add_path(profile, image->row, span_of_text(image->name));
	if (ret == 0 && image->path)
		ret = profile_add_path(profile, image->row, span_of_text(image->path));
	*row = image->row;
	return ret;
}
