#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/number_map.h"
#include "import/perf_data/simpleperf_private.h"
#include "profile/image_addresses.h"
#include "profile/profile.h"
#include "profile/stash.h"
#include "symbol/kallsyms.h"

#define KERNEL_PATH "[kernel.kallsyms]"
#define VDSO_PATH   "[vdso]"
#define JIT_MARK    "jit_app_cache:"
#define JIT_NAME    "[JIT app cache]"

/* An image of the profile under one of its paths. */
struct path_row {
	struct span path;
	uint32_t image;
};

struct naming {
	struct simpleperf *simpleperf;
	struct profile *profile;
	const struct simpleperf_bases *bases;
	struct path_row *paths;
	size_t path_count, path_capacity;
	struct hash_index path_index;
	struct image_addresses addresses;
	size_t names;
};

static void naming_release(struct naming *naming)
{
	free(naming->paths);
	hash_index_release(&naming->path_index);
	image_addresses_release(&naming->addresses);
}

static bool path_equal(const void *rows, uint32_t position, const void *wanted)
{
	return span_equal(((const struct path_row *)rows)[position].path,
			  *(const struct span *)wanted);
}

static uint32_t image_at(const struct naming *naming, struct span path)
{
	uint32_t position = hash_index_find(&naming->path_index, hash_bytes(path.data, path.size),
					    path_equal, naming->paths, &path);
	return position == HASH_INDEX_NONE ? 0 : naming->paths[position].image;
}

/* The first image of a path stays. */
static int add_path(struct naming *naming, struct span path, uint32_t image)
{
	if (path.size == 0 || image_at(naming, path))
		return 0;
	if (array_reserve(&naming->paths, &naming->path_capacity, naming->path_count,
			  sizeof(*naming->paths)) < 0)
		return -ENOMEM;
	naming->paths[naming->path_count] = (struct path_row){ path, image };
	int ret = hash_index_add(&naming->path_index, hash_bytes(path.data, path.size),
				 (uint32_t)naming->path_count);
	if (ret == 0)
		naming->path_count++;
	return ret;
}

/* Files by offset, the kernel, and the code that it maps into processes. */
static bool can_be_named(const struct profile_image *image)
{
	return (image->kind == IMAGE_FILE && image->space == SPACE_OFFSET) ||
	       image->kind == IMAGE_KERNEL || image->kind == IMAGE_VDSO;
}

static int index_images(struct naming *naming)
{
	const struct table *paths = profile_table(naming->profile, PROFILE_PATH);
	size_t count = profile_table(naming->profile, PROFILE_IMAGE)->count;
	CLEANUP(free_pointer) bool *wanted = calloc(count + 1, sizeof(*wanted));
	int ret = wanted ? 0 : -ENOMEM;
	for (uint32_t id = 1; id <= count && ret == 0; id++) {
		struct profile_image image = profile_image(naming->profile, id);
		wanted[id] = can_be_named(&image);
		if (image.kind == IMAGE_KERNEL)
			ret = add_path(naming, span_of_text(KERNEL_PATH), id);
		else if (image.kind == IMAGE_VDSO && image.name.size == 0)
			ret = add_path(naming, span_of_text(VDSO_PATH), id);
		else if (wanted[id])
			ret = add_path(naming, image.name, id);
	}
	for (size_t row = 0; row < paths->count && ret == 0; row++) {
		const uint64_t *keys = table_keys(paths, row);
		if (wanted[keys[PATH_IMAGE]])
			ret = add_path(naming, profile_bytes(naming->profile, keys[PATH_PATH]),
				       (uint32_t)keys[PATH_IMAGE]);
	}
	return ret < 0 ? ret : image_addresses_collect(naming->profile, wanted, &naming->addresses);
}

static int add_function(struct naming *naming, uint32_t image, uint64_t first, uint64_t last,
			struct span name)
{
	CLEANUP(record_set_release) struct record_set one = { 0 };
	int ret = record_set_add_function(&one, first, last,
					  &(struct function_record){ .name = name });
	if (ret == 0)
		ret = stash_add(naming->profile, image, one.list, NULL);
	naming->names += ret == 0;
	return ret == -ENOMEM ? ret : 0;
}

/* A symbol's vaddr as the addresses of the image count. */
static uint64_t place_symbol(const struct naming *naming, uint32_t image,
			     const struct simpleperf_file *file, uint64_t vaddr)
{
	const uint64_t *text_offsets = naming->bases->text_offsets;
	uint64_t min_offset = file->has_min_offset ? file->min_offset
			      : text_offsets	   ? text_offsets[image]
						   : 0;
	switch (file->type) {
	case SIMPLEPERF_TYPE_KERNEL:
		return vaddr - naming->bases->kernel;
	case SIMPLEPERF_TYPE_ELF:
		return vaddr - file->min_vaddr + min_offset;
	default:
		return vaddr; /* of dex files and code made at run time */
	}
}

static int name_file(struct naming *naming, struct simpleperf_file *file)
{
	struct simpleperf_symbol symbol;
	size_t count;
	uint32_t image = image_at(naming, file->path);
	if (!image)
		return 0;
	if (memmem(file->path.data, file->path.size, JIT_MARK, sizeof(JIT_MARK) - 1) &&
	    profile_add_path(naming->profile, image, span_of_text(JIT_NAME)) < 0)
		return -ENOMEM;
	const struct image_address *sampled = image_addresses_of(&naming->addresses, image, &count);
	int ret = 0;
	while (ret == 0 && simpleperf_next_symbol(file, &symbol)) {
		uint64_t first = place_symbol(naming, image, file, symbol.vaddr), last;
		/* a symbol of unknown size holds its first byte */
		if (symbol.name.size == 0 ||
		    __builtin_add_overflow(first, symbol.size_bytes ? symbol.size_bytes - 1 : 0,
					   &last) ||
		    !image_addresses_hit(sampled, count, first, last))
			continue;
		ret = add_function(naming, image, first, last, symbol.name);
	}
	return ret;
}

static int name_files(struct naming *naming)
{
	const struct simpleperf *simpleperf = naming->simpleperf;
	struct cursor all = cursor_of(simpleperf->files.data, simpleperf->files.size);
	struct simpleperf_file file;
	int ret = 0;
	while (ret == 0 && simpleperf_next_file(&all, &file, &naming->simpleperf->bad))
		ret = name_file(naming, &file);
	all = cursor_of(simpleperf->files2.data, simpleperf->files2.size);
	while (ret == 0 && simpleperf_next_file2(&all, &file, &naming->simpleperf->bad))
		ret = name_file(naming, &file);
	return ret;
}

/* ---- Records of old versions: files by number, then symbols of those numbers */

struct numbered_files {
	struct simpleperf_file *list;
	size_t count, capacity;
	struct number_map by_number; /* position plus one, as a pointer */
};

/* A DSO record behind its header. False when it is cut. */
static bool take_dso(struct cursor *record, struct simpleperf_file *file, uint64_t *number)
{
	*file = (struct simpleperf_file){ .type = (uint32_t)cursor_u64(record) };
	*number = cursor_u64(record);
	file->min_vaddr = cursor_u64(record);
	file->path = cursor_text(record);
	return !record->failed;
}

static int take_file(struct numbered_files *files, struct cursor *record)
{
	struct simpleperf_file found;
	uint64_t number;
	if (!take_dso(record, &found, &number))
		return 1;
	if (array_reserve(&files->list, &files->capacity, files->count, sizeof(*files->list)) < 0)
		return -ENOMEM;
	files->list[files->count++] = found;
	return number_map_put(&files->by_number, number, (void *)(uintptr_t)files->count);
}

static int take_symbol(struct naming *naming, const struct numbered_files *files,
		       struct cursor *record)
{
	uint64_t vaddr = cursor_u64(record), size = cursor_u64(record);
	uint64_t number = cursor_u64(record), last, first;
	struct span name = cursor_text(record);
	size_t count;
	if (record->failed || !name.size)
		return 1;
	/* symbols follow their file */
	uintptr_t position = (uintptr_t)number_map_find(&files->by_number, number);
	const struct simpleperf_file *of = position ? &files->list[position - 1] : NULL;
	uint32_t image = of ? image_at(naming, of->path) : 0;
	if (!image)
		return 0;
	first = place_symbol(naming, image, of, vaddr);
	const struct image_address *sampled = image_addresses_of(&naming->addresses, image, &count);
	if (__builtin_add_overflow(first, size ? size - 1 : 0, &last) ||
	    !image_addresses_hit(sampled, count, first, last))
		return 0;
	return add_function(naming, image, first, last, name);
}

static int name_by_records(struct naming *naming)
{
	struct buffer *records = &naming->simpleperf->records;
	struct cursor all = cursor_of(records->data, records->size);
	struct numbered_files files = { 0 };
	int ret = 0;
	while (ret == 0 && cursor_left(&all) > 0) {
		uint32_t size = cursor_u32(&all);
		const void *bytes = cursor_take(&all, size);
		struct cursor record = cursor_of(bytes, bytes ? size : 0);
		uint32_t type = cursor_u32(&record);
		cursor_u32(&record);
		ret = type == SIMPLEPERF_DSO ? take_file(&files, &record)
					     : take_symbol(naming, &files, &record);
		naming->simpleperf->bad += ret > 0;
		ret = ret > 0 ? 0 : ret;
	}
	number_map_release(&files.by_number);
	free(files.list);
	return ret;
}

/* The device's /proc/kallsyms. */
static int name_kernel(struct naming *naming)
{
	const struct buffer *text = &naming->simpleperf->kallsyms;
	CLEANUP(kallsyms_release) struct kallsyms kallsyms = { 0 };
	CLEANUP(record_set_release) struct record_set records = { 0 };
	uint32_t image = image_at(naming, span_of_text(KERNEL_PATH));
	size_t count;
	const struct image_address *sampled = image_addresses_of(&naming->addresses, image, &count);
	if (!image || !count || text->size == 0)
		return 0;
	if (kallsyms_parse((struct span){ text->data, text->size }, &kallsyms) < 0)
		return -ENOMEM;
	CLEANUP(free_pointer) uint64_t *vaddrs = calloc(count, sizeof(*vaddrs));
	if (!vaddrs)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		vaddrs[i] = sampled[i].vaddr;
	if (!kallsyms.hidden &&
	    kallsyms_records(&kallsyms, (struct span){ NULL, 0 }, naming->bases->kernel, vaddrs,
			     count, &records) < 0)
		return -ENOMEM;
	naming->names += records.count;
	int ret = stash_add_set(naming->profile, image, &records, NULL);
	return ret == -ENOMEM ? ret : 0;
}

static void each_dex_by_records(struct simpleperf *simpleperf,
				void (*take)(void *context, struct span path), void *context)
{
	struct cursor all = cursor_of(simpleperf->records.data, simpleperf->records.size);
	while (cursor_left(&all) > 0) {
		uint32_t size = cursor_u32(&all);
		const void *bytes = cursor_take(&all, size);
		struct cursor record = cursor_of(bytes, bytes ? size : 0);
		struct simpleperf_file file;
		uint64_t number;
		uint32_t type = cursor_u32(&record);
		cursor_u32(&record);
		if (type == SIMPLEPERF_DSO && take_dso(&record, &file, &number) &&
		    file.type == SIMPLEPERF_TYPE_DEX)
			take(context, file.path);
	}
}

void simpleperf_each_dex(struct simpleperf *simpleperf,
			 void (*take)(void *context, struct span path), void *context)
{
	size_t bad = 0; /* is counted where names are read */
	struct simpleperf_file file;
	struct cursor all = cursor_of(simpleperf->files.data, simpleperf->files.size);
	while (simpleperf_next_file(&all, &file, &bad))
		if (file.type == SIMPLEPERF_TYPE_DEX)
			take(context, file.path);
	all = cursor_of(simpleperf->files2.data, simpleperf->files2.size);
	while (simpleperf_next_file2(&all, &file, &bad))
		if (file.type == SIMPLEPERF_TYPE_DEX)
			take(context, file.path);
	each_dex_by_records(simpleperf, take, context);
}

int simpleperf_name_images(struct simpleperf *simpleperf, struct profile *profile,
			   const struct simpleperf_bases *bases, size_t *names)
{
	CLEANUP(naming_release)
	struct naming naming = { .simpleperf = simpleperf, .profile = profile, .bases = bases };
	*names = 0;
	if (simpleperf->files.size + simpleperf->files2.size + simpleperf->records.size +
		    simpleperf->kallsyms.size ==
	    0)
		return 0;
	int ret = index_images(&naming);
	if (ret == 0)
		ret = name_files(&naming);
	if (ret == 0)
		ret = name_by_records(&naming);
	if (ret == 0)
		ret = name_kernel(&naming);
	*names = naming.names;
	return ret;
}
