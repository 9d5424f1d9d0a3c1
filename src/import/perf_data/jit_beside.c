#include "import/perf_data/jit_beside.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "base/number_map.h"
#include "profile/image_addresses.h"
#include "profile/profile.h"
#include "profile/stash.h"
#include "symbol/jit_records.h"
#include "symbol/jit_timeline.h"
#include "symbol/jitdump.h"
#include "symbol/perf_map.h"
#include "symbol/reader.h"

#define DUMP_MAX_BYTES (512u << 20)

/* The third last word of "comm PID START BOOT". */
static bool pid_of(struct span name, uint64_t *pid)
{
	char text[256];
	if (name.size == 0 || name.size >= sizeof(text))
		return false;
	memcpy(text, name.data, name.size);
	text[name.size] = 0;
	for (int words = 0; words < 2; words++) {
		char *last = strrchr(text, ' ');
		if (!last)
			return false;
		*last = 0;
	}
	char *word = strrchr(text, ' ');
	return word && number_parse_u64(word + 1, pid);
}

/* Marks images of run-time code by their ids; *any: there are some. NULL: out of memory. */
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
static bool read_file(struct reader *reader, const char *folder, const char *name, uint64_t limit,
		      struct buffer *out)
{
	struct safe_file file;
	buffer_empty(out);
	if (reader_open_below(reader, folder, name, &file, NULL) < 0)
		return false;
	int ret = reader_read(reader, file.fd, 0, limit, out, NULL);
	close(file.fd);
	return (ret == 0 || ret == -EFBIG) && out->size > 0;
}

struct beside_process {
	uint64_t pid;
	bool timed;	  /* a jitdump was found and read, with the times of its code */
	uint64_t *stages; /* rising times at which code was loaded */
	size_t stage_count, stage_capacity;
	struct jit_timeline timeline;
};

struct jit_beside {
	char *folder;	       /* absolute; NULL: none */
	struct reader *reader; /* NULL: not needed yet, or there is none */
	bool reader_failed;
	size_t untimed;
	struct number_map processes; /* struct beside_process, by pid */
};

int jit_beside_new(const char *folder, struct jit_beside **out)
{
	struct jit_beside *beside = calloc(1, sizeof(*beside));
	if (!beside)
		return -ENOMEM;
	beside->folder = folder ? realpath(folder, NULL) : NULL;
	*out = beside;
	return 0;
}

void jit_beside_free(struct jit_beside *beside)
{
	size_t position = 0;
	if (!beside)
		return;
	for (struct beside_process *process;
	     (process = number_map_next(&beside->processes, &position));) {
		jit_timeline_release(&process->timeline);
		free(process->stages);
		free(process);
	}
	number_map_release(&beside->processes);
	reader_free(beside->reader);
	free(beside->folder);
	free(beside);
}

void jit_beside_freep(struct jit_beside **beside)
{
	jit_beside_free(*beside);
}

/* False when none can be made: then no file is read. */
static bool need_reader(struct jit_beside *beside)
{
	if (!beside->reader && !beside->reader_failed)
		beside->reader_failed = reader_new(NULL, &beside->reader, NULL) < 0;
	return beside->reader;
}

/* Appends the text of "FOLDER/PREFIX-PID.SUFFIX". False when it is not there or cannot be read. */
static bool read_beside(struct jit_beside *beside, const char *prefix, uint64_t pid,
			const char *suffix, uint64_t limit, struct buffer *out)
{
	CLEANUP(buffer_release) struct buffer path = { 0 };
	buffer_printf(&path, "%s/%s-%" PRIu64 ".%s", beside->folder, prefix, pid, suffix);
	return access(buffer_text(&path), R_OK) == 0 && need_reader(beside) &&
	       read_file(beside->reader, beside->folder,
			 buffer_text(&path) + strlen(beside->folder), limit, out);
}

static int compare_times(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a;
	uint64_t right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

static int add_stage(struct beside_process *process, uint64_t time_ns)
{
	int ret = array_reserve(&process->stages, &process->stage_capacity, process->stage_count,
				sizeof(uint64_t));
	if (ret == 0)
		process->stages[process->stage_count++] = time_ns;
	return ret;
}

static int fill_timeline(struct beside_process *process, const struct jitdump *dump)
{
	int ret = 0;
	for (size_t i = 0; i < dump->count && ret == 0; i++) {
		const struct jit_function *function = &dump->functions[i];
		struct jit_loaded loaded = { .address = function->address,
					     .size_bytes = function->size_bytes,
					     .time_ns = dump->own_clock ? 0 : function->loaded,
					     .name = function->name,
					     .ordinal = (uint32_t)i };
		size_t before = process->timeline.count;
		ret = jit_timeline_add(&process->timeline, &loaded);
		if (ret == -EFBIG) /* a smaller one may have room */
			ret = 0;
		else if (ret == 0 && process->timeline.count > before)
			ret = add_stage(process, loaded.time_ns);
	}
	if (process->stage_count)
		qsort(process->stages, process->stage_count, sizeof(uint64_t), compare_times);
	return ret;
}

static int read_timeline(struct jit_beside *beside, struct beside_process *process)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	if (!beside->folder ||
	    !read_beside(beside, "jit", process->pid, "dump", DUMP_MAX_BYTES, &bytes))
		return 0;
	struct jitdump dump = { .names_alone = true };
	int ret = jitdump_feed(&dump, bytes.data, bytes.size, NULL);
	if (ret != -ENOMEM) /* what was understood before the damage stands */
		ret = fill_timeline(process, &dump);
	process->timed = dump.count > 0;
	jitdump_release(&dump);
	return ret;
}

static struct beside_process *find_process(const struct jit_beside *beside, uint64_t pid)
{
	return number_map_find(&beside->processes, pid);
}

int jit_beside_vaddr(struct jit_beside *beside, uint64_t pid, uint64_t address, uint64_t time_ns,
		     uint64_t *vaddr)
{
	struct beside_process *process = find_process(beside, pid);
	int ret = 0;
	if (!process) {
		process = calloc(1, sizeof(*process));
		if (!process || number_map_put(&beside->processes, pid, process) < 0) {
			free(process);
			return -ENOMEM;
		}
		process->pid = pid;
		ret = read_timeline(beside, process);
	}
	*vaddr =
		process->timed ? jit_timeline_vaddr(&process->timeline, address, time_ns) : address;
	return ret;
}

uint64_t jit_beside_stage(const struct jit_beside *beside, uint64_t pid, uint64_t time_ns)
{
	const struct beside_process *process = find_process(beside, pid);
	size_t low = 0;
	size_t high = process ? process->stage_count : 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (process->stages[middle] <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Whether code was loaded over other code. */
static bool reuses_addresses(const struct jitdump *dump)
{
	struct beside_process process = { 0 };
	bool reuses = false;
	if (fill_timeline(&process, dump) == 0)
		for (size_t i = 0; i < process.timeline.count; i++)
			reuses |=
				process.timeline.list[i].vaddr != process.timeline.list[i].address;
	jit_timeline_release(&process.timeline);
	free(process.stages);
	return reuses;
}

size_t jit_beside_untimed(const struct jit_beside *beside)
{
	return beside->untimed;
}

/* The files of one process, read once for all its images: each exec makes another. */
struct beside_files {
	uint64_t pid;
	bool has_dump, map_sought;
	struct jitdump dump;
	struct buffer map_text; /* the map borrows its names */
	struct perf_map map;
	size_t read; /* files, of all processes */
};

static void files_release(struct beside_files *files)
{
	jitdump_release(&files->dump);
	perf_map_release(&files->map);
	buffer_release(&files->map_text);
}

/* Reads the dump of another process in place of the former one's. */
static int turn_to_process(struct jit_beside *beside, uint64_t pid, struct beside_files *files)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	const struct beside_process *process = find_process(beside, pid);
	files_release(files);
	*files = (struct beside_files){ .pid = pid, .read = files->read };
	if (!read_beside(beside, "jit", pid, "dump", DUMP_MAX_BYTES, &bytes))
		return 0;
	files->read++;
	files->has_dump = true;
	if (jitdump_feed(&files->dump, bytes.data, bytes.size, NULL) == -ENOMEM)
		return -ENOMEM;
	/* otherwise what was understood before the damage stands */
	beside->untimed += !(process && process->timed) && reuses_addresses(&files->dump);
	return 0;
}

static int need_map(struct jit_beside *beside, struct beside_files *files)
{
	if (files->map_sought)
		return 0;
	files->map_sought = true;
	if (!read_beside(beside, "perf", files->pid, "map", PERF_MAP_MAX_BYTES, &files->map_text))
		return 0;
	files->read++;
	const struct span text = { files->map_text.data, files->map_text.size };
	return perf_map_parse(text, &files->map);
}

/* By the timeline that the samples were located with, where there is one. */
static int name_from_dump(struct jit_beside *beside, struct beside_files *files,
			  const uint64_t *vaddrs, size_t count, struct record_set *records)
{
	const struct beside_process *process = find_process(beside, files->pid);
	const struct jitdump *const dumps[] = { &files->dump };
	if (!process || !process->timed)
		return jit_records_of_dump(&files->dump, vaddrs, count, records);
	return jit_records_of_timeline(&process->timeline, &(struct jit_sources){ dumps, 1 },
				       vaddrs, count, records);
}

/* Addresses of one image: `count` from `from` on. */
struct beside_image {
	uint64_t pid;
	uint32_t id;
	size_t from, count;
};

static int compare_images(const void *a, const void *b)
{
	const struct beside_image *left = a, *right = b;
	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return (left->from > right->from) - (left->from < right->from);
}

static int name_image(struct jit_beside *beside, struct profile *profile,
		      const struct beside_image *image, const uint64_t *vaddrs,
		      struct beside_files *files)
{
	CLEANUP(record_set_release) struct record_set records = { 0 };
	int ret = 0;
	if (files->has_dump)
		ret = name_from_dump(beside, files, vaddrs + image->from, image->count, &records);
	/* a program that writes both writes the same names to the map */
	if (ret == 0 && records.count == 0) {
		ret = need_map(beside, files);
		if (ret == 0)
			ret = jit_records_of_map(&files->map, vaddrs + image->from, image->count,
						 &records);
	}
	if (ret == 0)
		ret = stash_add_set(profile, image->id, &records, NULL);
	return ret == -ENOMEM ? ret : 0;
}

/* Process by process, so that no more than the files of one are in memory. */
static int name_by_process(struct jit_beside *beside, struct profile *profile,
			   struct beside_image *images, size_t count, const uint64_t *vaddrs,
			   size_t *files_read)
{
	CLEANUP(files_release) struct beside_files files = { 0 };
	int ret = 0;
	if (count)
		qsort(images, count, sizeof(*images), compare_images);
	for (size_t i = 0; ret == 0 && i < count; i++) {
		if (i == 0 || images[i].pid != files.pid)
			ret = turn_to_process(beside, images[i].pid, &files);
		if (ret == 0)
			ret = name_image(beside, profile, &images[i], vaddrs, &files);
	}
	*files_read = files.read;
	return ret;
}

int jit_beside_name_images(struct jit_beside *beside, struct profile *profile, size_t *files)
{
	CLEANUP(image_addresses_release) struct image_addresses addresses = { 0 };
	bool any;
	*files = 0;
	CLEANUP(free_pointer) bool *wanted = mark_images(profile, &any);
	if (!wanted)
		return -ENOMEM;
	if (!any || !beside->folder)
		return 0;
	if (image_addresses_collect(profile, wanted, &addresses) < 0)
		return -ENOMEM;
	size_t most = profile_table(profile, PROFILE_IMAGE)->count;
	CLEANUP(free_pointer) uint64_t *vaddrs = calloc(addresses.count + 1, sizeof(*vaddrs));
	CLEANUP(free_pointer) struct beside_image *images = calloc(most + 1, sizeof(*images));
	if (!vaddrs || !images)
		return -ENOMEM;
	for (size_t i = 0; i < addresses.count; i++)
		vaddrs[i] = addresses.list[i].vaddr;
	size_t image_count = 0;
	for (size_t from = 0, count; from < addresses.count; from += count) {
		count = image_addresses_run(&addresses, from);
		struct beside_image image = { .id = addresses.list[from].image,
					      .from = from,
					      .count = count };
		pid_of(profile_image(profile, image.id).name, &image.pid);
		images[image_count++] = image;
	}
	return name_by_process(beside, profile, images, image_count, vaddrs, files);
}
