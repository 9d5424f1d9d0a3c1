#include "analyze/local_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/resolve.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/small_file.h"
#include "image/elf_file.h"
#include "image/notes.h"
#include "image/vdso.h"
#include "symbol/debuginfod.h"
#include "symbol/kallsyms.h"
#include "symbol/reader.h"

#define NOTES_MAX_BYTES	   65536
#define KALLSYMS_MAX_BYTES (256u << 20) /* 20 MB on large kernels */
#define MODULES_MAX_BYTES  (4u << 20)

/* An address in an image. */
struct address {
	uint32_t image;
	uint64_t vaddr;
};

struct addresses {
	struct address *list; /* by image and vaddr, each once */
	size_t count;
	size_t capacity;
};

struct search {
	const struct profile *profile;
	const struct resolver_options *options;
	struct profile *found;
	struct reader *reader;
	struct debuginfod *debuginfod;
	local_files_note note;
	void *context;
};

static int add_address(struct addresses *addresses, uint64_t image, uint64_t vaddr)
{
	if (array_reserve(&addresses->list, &addresses->capacity, addresses->count,
			  sizeof(*addresses->list)) < 0)
		return -ENOMEM;
	addresses->list[addresses->count++] = (struct address){ (uint32_t)image, vaddr };
	return 0;
}

static int compare_addresses(const void *a, const void *b)
{
	const struct address *left = a;
	const struct address *right = b;
	if (left->image != right->image)
		return left->image < right->image ? -1 : 1;
	return (left->vaddr > right->vaddr) - (left->vaddr < right->vaddr);
}

/* Columns of a table that are an image and a vaddr in it. */
struct address_columns {
	enum profile_table table;
	size_t image, vaddr;
};

/* Could a file of this machine tell more of the image than the profile itself? */
static bool may_be_here(const struct profile *profile, const struct stash_index *known, uint32_t id)
{
	if (stash_has_image(known, id))
		return false;
	struct profile_image image = profile_image(profile, id);
	switch (image.kind) {
	case IMAGE_FILE:
		return image.space == SPACE_ELF && (image.build_id.size || image.hash.size);
	case IMAGE_KERNEL:
	case IMAGE_MODULE:
	case IMAGE_VDSO:
		return true;
	default:
		return false;
	}
}

static int mark_images(const struct profile *profile, const struct stash_index *known, bool **marks)
{
	size_t count = profile_table(profile, PROFILE_IMAGE)->count;
	*marks = calloc(count + 1, sizeof(**marks));
	if (!*marks)
		return -ENOMEM;
	for (uint32_t id = 1; id <= count; id++)
		(*marks)[id] = may_be_here(profile, known, id);
	return 0;
}

/* The addresses in images that a file here may know. */
static int collect_addresses(const struct profile *profile, const struct stash_index *known,
			     struct addresses *addresses)
{
	static const struct address_columns columns[] = {
		{ PROFILE_FLAT, FLAT_IMAGE, FLAT_VADDR },
		{ PROFILE_NODE, NODE_IMAGE, NODE_VADDR },
		{ PROFILE_EDGE, EDGE_FROM_IMAGE, EDGE_FROM_VADDR },
		{ PROFILE_EDGE, EDGE_TO_IMAGE, EDGE_TO_VADDR },
		{ PROFILE_RANGE, RANGE_IMAGE, RANGE_FIRST },
		{ PROFILE_RANGE, RANGE_IMAGE, RANGE_LAST },
		{ PROFILE_VALUE, VALUE_IMAGE, VALUE_VADDR },
	};
	CLEANUP(free_pointer) bool *wanted = NULL;
	if (mark_images(profile, known, &wanted) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		const struct table *table = profile_table(profile, columns[i].table);
		for (size_t row = 0; row < table->count; row++) {
			const uint64_t *keys = table_keys(table, row);
			if (!wanted[keys[columns[i].image]])
				continue;
			uint64_t vaddr = keys[columns[i].vaddr];
			if (columns[i].table == PROFILE_NODE && keys[NODE_KIND] == FRAME_RETURN &&
			    vaddr)
				vaddr--;
			if (add_address(addresses, keys[columns[i].image], vaddr) < 0)
				return -ENOMEM;
		}
	}
	if (addresses->count)
		qsort(addresses->list, addresses->count, sizeof(*addresses->list),
		      compare_addresses);
	size_t kept = 0;
	for (size_t i = 0; i < addresses->count; i++)
		if (kept == 0 ||
		    compare_addresses(&addresses->list[i], &addresses->list[kept - 1]) != 0)
			addresses->list[kept++] = addresses->list[i];
	addresses->count = kept;
	return 0;
}

static bool is_same_build(const struct profile_image *image, const struct identity *identity)
{
	if (image->build_id.size)
		return span_equal(image->build_id,
				  (struct span){ identity->build_id, identity->build_id_bytes });
	return image->hash.size == sizeof(identity->hash) &&
	       memcmp(image->hash.data, &identity->hash, sizeof(identity->hash)) == 0;
}

__attribute__((format(printf, 2, 3))) static void note(struct search *search, const char *format,
						       ...)
{
	char sentence[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	search->note(search->context, sentence);
}

/* Opens `path` when it is the image; its identity goes to *identity. */
static int open_if_same(struct search *search, const struct profile_image *image, const char *path,
			struct identity *identity)
{
	struct safe_file file;
	if (reader_open_path(search->reader, 0, path, OWNER_ANY, &file, NULL) < 0)
		return -1;
	if (reader_identify(search->reader, file.fd, identity, NULL) == 0 &&
	    is_same_build(image, identity))
		return file.fd;
	close(file.fd);
	return -1;
}

static int open_below(struct search *search, const struct profile_image *image, const char *root,
		      const char *path, struct identity *identity)
{
	CLEANUP(buffer_release) struct buffer whole = { 0 };
	buffer_printf(&whole, "%s%s", root, path);
	return open_if_same(search, image, buffer_text(&whole), identity);
}

/* The image's file under one of the paths it was seen at; *path is that one. */
static int open_image(struct search *search, uint32_t id, const struct profile_image *image,
		      struct identity *identity, struct buffer *path)
{
	const struct table *paths = profile_table(search->profile, PROFILE_PATH);
	for (size_t row = 0; row < paths->count; row++) {
		const uint64_t *keys = table_keys(paths, row);
		struct span text = profile_bytes(search->profile, keys[PATH_PATH]);
		if (keys[PATH_IMAGE] != id || text.size == 0 || *(const char *)text.data != '/')
			continue;
		path->size = 0;
		buffer_append(path, text.data, text.size);
		int fd = -1;
		if (search->options->symfs)
			fd = open_below(search, image, search->options->symfs, buffer_text(path),
					identity);
		if (fd < 0)
			fd = open_if_same(search, image, buffer_text(path), identity);
		if (fd >= 0)
			return fd;
	}
	path->size = 0;
	if (!search->debuginfod || image->build_id.size == 0)
		return -1;
	struct error err = { 0 };
	int fd = debuginfod_open(search->debuginfod, image->build_id, DEBUGINFOD_EXECUTABLE, &err);
	if (fd >= 0 && (reader_identify(search->reader, fd, identity, &err) < 0 ||
			!is_same_build(image, identity))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int open_debug(struct search *search, const struct profile_image *image,
		      const struct identity *identity, const char *path)
{
	struct safe_file file;
	if (reader_open_debug(search->reader, 0, identity, path, search->options->debug_root, &file,
			      NULL) == 0)
		return file.fd;
	if (!search->debuginfod || image->build_id.size == 0)
		return -1;
	return debuginfod_open(search->debuginfod, image->build_id, DEBUGINFOD_DEBUG_FILE, NULL);
}

static int keep_records(struct search *search, uint32_t id, const struct record_set *records)
{
	int ret = stash_add_set(search->found, id, records, NULL);
	return ret == -ENOMEM ? ret : 0; /* the reader gave out checked records only */
}

static const char *name_for_notes(const struct search *search, uint32_t id,
				  const struct profile_image *image, struct buffer *text)
{
	const struct table *paths = profile_table(search->profile, PROFILE_PATH);
	for (size_t row = 0; text->size == 0 && row < paths->count; row++) {
		const uint64_t *keys = table_keys(paths, row);
		struct span path = profile_bytes(search->profile, keys[PATH_PATH]);
		if (keys[PATH_IMAGE] == id)
			buffer_append(text, path.data, path.size);
	}
	if (text->size == 0)
		buffer_append(text, image->name.data, image->name.size);
	return buffer_text(text);
}

static int gather_file(struct search *search, uint32_t id, const struct profile_image *image,
		       const uint64_t *vaddrs, size_t count)
{
	struct identity identity = { 0 };
	CLEANUP(buffer_release) struct buffer path = { 0 };
	CLEANUP(buffer_release) struct buffer name = { 0 };
	CLEANUP(record_set_release) struct record_set records = { 0 };
	struct gather_counts counts;
	struct error err = { 0 };
	int ret = 0;
	CLEANUP(close_fd) int fd = open_image(search, id, image, &identity, &path);
	if (fd < 0 && image->build_id.size <= sizeof(identity.build_id)) {
		/* A debug file alone still knows the names. */
		memcpy(identity.build_id, image->build_id.data, image->build_id.size);
		identity.build_id_bytes = (uint32_t)image->build_id.size;
	}
	CLEANUP(close_fd)
	int debug_fd = open_debug(search, image, &identity, path.size ? buffer_text(&path) : NULL);
	if (fd < 0 && debug_fd < 0) {
		note(search, "no file of the same build as '%s' is on this machine",
		     name_for_notes(search, id, image, &name));
		return 0;
	}
	if (fd >= 0)
		ret = reader_gather(search->reader, fd, debug_fd, vaddrs, count, GATHER_ALL,
				    &records, &counts, &err);
	else
		ret = reader_gather(search->reader, debug_fd, -1, vaddrs, count,
				    GATHER_FUNCTIONS | GATHER_LINES, &records, &counts, &err);
	if (ret < 0) {
		note(search, "'%s': %s", name_for_notes(search, id, image, &name), err.text);
		return 0;
	}
	if (fd >= 0 && counts.debug_refused)
		note(search, "the debug file of '%s' is of another build",
		     name_for_notes(search, id, image, &name));
	return keep_records(search, id, &records);
}

static bool notes_match(const char *path, struct span build_id)
{
	CLEANUP(buffer_release) struct buffer notes = { 0 };
	if (build_id.size == 0 || small_file_read(path, NOTES_MAX_BYTES, &notes) < 0)
		return false;
	return span_equal(build_id, notes_find_build_id((struct span){ notes.data, notes.size }));
}

/* This machine's kallsyms, for its own kernel and modules only. */
static int gather_kernel(struct search *search, uint32_t id, const struct profile_image *image,
			 const uint64_t *vaddrs, size_t count)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	CLEANUP(buffer_release) struct buffer module_bytes = { 0 };
	CLEANUP(kallsyms_release) struct kallsyms kallsyms = { 0 };
	CLEANUP(kernel_modules_release) struct kernel_modules modules = { 0 };
	CLEANUP(record_set_release) struct record_set records = { 0 };
	char notes_path[512] = "/sys/kernel/notes";
	struct span module = { NULL, 0 };
	if (image->kind == IMAGE_MODULE) {
		module = image->name;
		if (module.size == 0 || memchr(module.data, '/', module.size))
			return 0;
		snprintf(notes_path, sizeof(notes_path),
			 "/sys/module/%.*s/notes/.note.gnu.build-id", (int)module.size,
			 (const char *)module.data);
	}
	if (image->space != SPACE_TEXT || !notes_match(notes_path, image->build_id)) {
		note(search, "kernel addresses stay unnamed: the samples are of another kernel or "
			     "module than this machine's");
		return 0;
	}
	if (small_file_read("/proc/kallsyms", KALLSYMS_MAX_BYTES, &bytes) < 0)
		return 0;
	if (kallsyms_parse((struct span){ bytes.data, bytes.size }, &kallsyms) < 0)
		return -ENOMEM;
	uint64_t base = kallsyms.stext;
	if (image->kind == IMAGE_MODULE) {
		base = 0;
		if (small_file_read("/proc/modules", MODULES_MAX_BYTES, &module_bytes) < 0)
			return 0;
		if (kernel_modules_parse((struct span){ module_bytes.data, module_bytes.size },
					 &modules) < 0)
			return -ENOMEM;
		for (size_t i = 0; i < modules.count; i++)
			if (span_equal(modules.list[i].name, module))
				base = modules.list[i].base;
	}
	if (kallsyms.hidden || base == 0) {
		note(search, "kernel addresses stay unnamed: /proc/kallsyms hides its addresses "
			     "(kptr_restrict)");
		return 0;
	}
	if (kallsyms_records(&kallsyms, module, base, vaddrs, count, &records) < 0)
		return -ENOMEM;
	return keep_records(search, id, &records);
}

static int gather_vdso(struct search *search, uint32_t id, const struct profile_image *image,
		       const uint64_t *vaddrs, size_t count)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	CLEANUP(elf_file_release) struct elf_file file = { 0 };
	CLEANUP(record_set_release) struct record_set records = { 0 };
	struct identity identity;
	if (vdso_read(&bytes, NULL) < 0 || elf_file_parse(bytes.data, bytes.size, &file, NULL) < 0)
		return 0;
	identity_of_file(&file, &identity);
	if (!is_same_build(image, &identity))
		return 0;
	if (reader_gather_bytes(search->reader, (struct span){ bytes.data, bytes.size }, vaddrs,
				count, GATHER_ALL, &records, NULL, NULL) < 0)
		return 0;
	return keep_records(search, id, &records);
}

static int gather_image(struct search *search, uint32_t id, const struct address *addresses,
			size_t count)
{
	struct profile_image image = profile_image(search->profile, id);
	CLEANUP(free_pointer) uint64_t *vaddrs = calloc(count, sizeof(*vaddrs));
	if (!vaddrs)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		vaddrs[i] = addresses[i].vaddr;
	switch (image.kind) {
	case IMAGE_FILE:
		return gather_file(search, id, &image, vaddrs, count);
	case IMAGE_KERNEL:
	case IMAGE_MODULE:
		return gather_kernel(search, id, &image, vaddrs, count);
	case IMAGE_VDSO:
		return gather_vdso(search, id, &image, vaddrs, count);
	default:
		return 0;
	}
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

static int gather_images(struct search *search, const struct addresses *addresses)
{
	int ret = 0;
	for (size_t from = 0, to; ret == 0 && from < addresses->count; from = to) {
		uint32_t image = addresses->list[from].image;
		for (to = from + 1; to < addresses->count; to++)
			if (addresses->list[to].image != image)
				break;
		ret = gather_image(search, image, addresses->list + from, to - from);
	}
	return ret;
}

int local_files_gather(const struct profile *profile, const struct stash_index *known,
		       const struct resolver_options *options, local_files_note note_function,
		       void *context, struct profile **out)
{
	CLEANUP(profile_freep) struct profile *found = profile_new();
	struct search search = { .profile = profile,
				 .options = options,
				 .found = found,
				 .note = note_function,
				 .context = context };
	struct addresses addresses = { 0 };
	struct error err = { 0 };
	int ret = found ? copy_images(profile, found) : -ENOMEM;
	if (ret == 0)
		ret = collect_addresses(profile, known, &addresses);
	if (ret == 0 && options->debuginfod && debuginfod_new(&search.debuginfod, &err) < 0)
		note(&search, "%s", err.text);
	if (ret == 0 && addresses.count && reader_new(NULL, &search.reader, &err) < 0)
		note(&search, "no file of this machine was asked for names: %s", err.text);
	else if (ret == 0)
		ret = gather_images(&search, &addresses);
	reader_free(search.reader);
	debuginfod_free(search.debuginfod);
	free(addresses.list);
	if (ret < 0)
		return ret;
	*out = found;
	found = NULL;
	return 0;
}
