#include "import/jit_beside.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "profile/image_addresses.h"
#include "profile/profile.h"
#include "profile/stash.h"
#include "symbol/jit_records.h"
#include "symbol/perf_map.h"
#include "symbol/reader.h"

#define DUMP_MAX_BYTES (512u << 20)

/* The last word but one of "comm PID START". */
static bool pid_of(struct span name, uint64_t *pid)
{
	char text[256];
	if (name.size == 0 || name.size >= sizeof(text))
		return false;
	memcpy(text, name.data, name.size);
	text[name.size] = 0;
	char *last = strrchr(text, ' ');
	if (!last)
		return false;
	*last = 0;
	char *word = strrchr(text, ' ');
	return word && number_parse_u64(word + 1, pid);
}

/* Images of run-time code; NULL when out of memory, *any says whether there are some. */
static bool *mark_images(const struct profile *profile, bool *any)
{
	size_t count = profile_table(profile, PROFILE_IMAGE)->count;
	bool *wanted = calloc(count + 1, sizeof(*wanted));
	*any = false;
	for (uint32_t id = 1; wanted && id <= count; id++) {
		struct profile_image image = profile_image(profile, id);
		uint64_t pid;
		wanted[id] = image.kind == IMAGE_JIT && image.space == SPACE_PROCESS &&
			     pid_of(image.name, &pid);
		*any |= wanted[id];
	}
	return wanted;
}

/* Appends the file's text. False when it is not there or cannot be read. */
static bool read_file(struct reader *reader, const char *path, uint64_t limit, struct buffer *out)
{
	struct safe_file file;
	out->size = 0;
	if (reader_open_path(reader, 0, path, OWNER_ANY, &file, NULL) < 0)
		return false;
	int ret = reader_read(reader, file.fd, 0, limit, out, NULL);
	close(file.fd);
	return (ret == 0 || ret == -EFBIG) && out->size > 0;
}

static int name_image(struct reader *reader, const char *folder, struct profile *profile,
		      uint32_t image, const uint64_t *addresses, size_t count, size_t *files)
{
	CLEANUP(buffer_release) struct buffer path = { 0 };
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	CLEANUP(record_set_release) struct record_set records = { 0 };
	uint64_t pid = 0;
	int ret = 0;
	pid_of(profile_image(profile, image).name, &pid);
	buffer_printf(&path, "%s/jit-%" PRIu64 ".dump", folder, pid);
	if (read_file(reader, buffer_text(&path), DUMP_MAX_BYTES, &bytes)) {
		ret = jit_records_of_dump((struct span){ bytes.data, bytes.size }, addresses, count,
					  &records);
		++*files;
	}
	path.size = 0;
	buffer_printf(&path, "%s/perf-%" PRIu64 ".map", folder, pid);
	/* a program that writes both says the same twice */
	if (ret == 0 && records.count == 0 &&
	    read_file(reader, buffer_text(&path), PERF_MAP_MAX_BYTES, &bytes)) {
		ret = jit_records_of_map((struct span){ bytes.data, bytes.size }, addresses, count,
					 &records);
		++*files;
	}
	if (ret == 0)
		ret = stash_add_set(profile, image, &records, NULL);
	return ret == -ENOMEM ? ret : 0;
}

int jit_beside_name_images(const char *folder, struct profile *profile, size_t *files)
{
	CLEANUP(image_addresses_release) struct image_addresses addresses = { 0 };
	CLEANUP(reader_freep) struct reader *reader = NULL;
	bool any;
	*files = 0;
	CLEANUP(free_pointer) bool *wanted = mark_images(profile, &any);
	CLEANUP(free_pointer) char *absolute = realpath(folder, NULL);
	if (!wanted)
		return -ENOMEM;
	if (!any || !absolute)
		return 0;
	if (image_addresses_collect(profile, wanted, &addresses) < 0)
		return -ENOMEM;
	CLEANUP(free_pointer) uint64_t *vaddrs = calloc(addresses.count + 1, sizeof(*vaddrs));
	if (!vaddrs)
		return -ENOMEM;
	for (size_t i = 0; i < addresses.count; i++)
		vaddrs[i] = addresses.list[i].vaddr;
	if (addresses.count && reader_new(NULL, &reader, NULL) < 0)
		return 0; /* as if they were not there */
	int ret = 0;
	for (size_t from = 0, count; ret == 0 && from < addresses.count; from += count) {
		count = image_addresses_run(&addresses, from);
		ret = name_image(reader, absolute, profile, addresses.list[from].image,
				 vaddrs + from, count, files);
	}
	return ret;
}
