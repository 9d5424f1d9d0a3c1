#include "collect/kernel_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/number_map.h"
#include "base/small_file.h"
#include "base/sorted.h"
#include "image/notes.h"
#include "intake/kernel_text.h"
#include "profile/profile.h"
#include "symbol/kallsyms.h"
#include "symbol/record.h"

#define KALLSYMS_LIMIT (256u << 20) /* 15 MB on a distribution's kernel with all its modules */
#define MODULES_LIMIT  (16u << 20)
#define NOTES_LIMIT    (1u << 20)
#define REREAD_NS      1000000000u

void kernel_map_release(struct kernel_map *map)
{
	free(map->ranges);
	free(map->former);
	*map = (struct kernel_map){ 0 };
}

/* Position of the first range that ends after `address`. */
static size_t first_ending_after(const struct kernel_map *map, uint64_t address)
{
	return SORTED_BEHIND(map->ranges, map->count, end, address);
}

/* Keeps a range with an image, whose samples have its name still. */
static int remember_former(struct kernel_map *map, const struct kernel_range *range)
{
	if (!range->image)
		return 0;
	int ret = array_reserve(&map->former, &map->former_capacity, map->former_count,
				sizeof(*map->former));
	if (ret < 0)
		return ret;
	map->former[map->former_count] = *range;
	map->former[map->former_count++].gone = true;
	return 0;
}

int kernel_map_add(struct kernel_map *map, enum kernel_text what, uint64_t start, uint64_t end,
		   struct span name)
{
	if (end <= start)
		return 0;
	map->changes++;
	struct kernel_range range = { .start = start, .end = end, .what = what };
	size_t size = name.size < sizeof(range.name) - 1 ? name.size : sizeof(range.name) - 1;
	if (size)
		memcpy(range.name, name.data, size);
	size_t at = first_ending_after(map, start);
	size_t last = at;
	int ret = 0;
	if (at < map->count && map->ranges[at].start == start && map->ranges[at].what == what &&
	    strcmp(map->ranges[at].name, range.name) == 0)
		range.image = map->ranges[last++].image; /* the same again, maybe longer */
	/* What overlaps has been unloaded: the kernel does not give one address to two. */
	while (last < map->count && map->ranges[last].start < end && ret == 0)
		ret = remember_former(map, &map->ranges[last++]);
	if (ret == 0)
		ret = array_reserve(&map->ranges, &map->capacity, map->count, sizeof(*map->ranges));
	if (ret < 0)
		return ret;
	memmove(map->ranges + at + 1, map->ranges + last,
		(map->count - last) * sizeof(*map->ranges));
	map->ranges[at] = range;
	map->count = map->count - (last - at) + 1;
	map->last = 0;
	return 0;
}

static int read_modules(struct kernel_map *map)
{
	map->modules_read_ns = clock_monotonic_ns();
	CLEANUP(buffer_release) struct buffer text = { 0 };
	int ret = small_file_read("/proc/modules", MODULES_LIMIT, &text);
	if (ret < 0)
		return ret == -ENOMEM ? ret : 0; /* a kernel without modules has no such file */
	struct kernel_modules modules = { 0 };
	ret = kernel_modules_parse((struct span){ text.data, text.size }, &modules);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < map->count; i++)
		map->ranges[i].gone |= map->ranges[i].what == KERNEL_MODULE;
	for (size_t i = 0; i < modules.count && ret == 0; i++) {
		const struct kernel_module *module = &modules.list[i];
		if (!module->base) {
			map->modules_hidden = true;
			continue;
		}
		/* The size counts data too, which may lie elsewhere: text ends at the next module.
		 */
		uint64_t end = module->base + module->size_bytes;
		if (i + 1 < modules.count && modules.list[i + 1].base < end)
			end = modules.list[i + 1].base;
		ret = kernel_map_add(map, KERNEL_MODULE, module->base, end, module->name);
	}
	kernel_modules_release(&modules);
	return ret;
}

static uint64_t end_of_text(const struct kallsyms *kallsyms)
{
	if (kallsyms->etext > kallsyms->stext)
		return kallsyms->etext;
	uint64_t end = kallsyms->stext;
	for (size_t i = 0; i < kallsyms->count; i++) {
		const struct kernel_symbol *symbol = &kallsyms->symbols[i];
		if (!symbol->module.size && symbol->address >= end)
			end = symbol->address + symbol->size_bytes;
	}
	return end;
}

static int read_kallsyms(struct kernel_map *map)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	int ret = small_file_read("/proc/kallsyms", KALLSYMS_LIMIT, &text);
	if (ret == -ENOMEM)
		return ret;
	if (ret < 0) {
		map->hidden = true;
		return 0;
	}
	struct kallsyms kallsyms = { 0 };
	ret = kallsyms_parse((struct span){ text.data, text.size }, &kallsyms);
	if (ret < 0)
		return ret;
	map->hidden = kallsyms.hidden || !kallsyms.stext;
	if (!map->hidden)
		ret = kernel_map_add(map, KERNEL_CORE, kallsyms.stext, end_of_text(&kallsyms),
				     span_of_text("kernel"));
	for (size_t i = 0; i < kallsyms.count && ret == 0; i++) {
		const struct kernel_symbol *symbol = &kallsyms.symbols[i];
		if (span_equal(symbol->module, span_of_text("bpf")))
			ret = kernel_map_add(map, KERNEL_BPF, symbol->address,
					     symbol->address + symbol->size_bytes, symbol->name);
	}
	kallsyms_release(&kallsyms);
	return ret;
}

static size_t read_build_id(const char *path, uint8_t *build_id, size_t size)
{
	CLEANUP(buffer_release) struct buffer notes = { 0 };
	if (small_file_read(path, NOTES_LIMIT, &notes) < 0)
		return 0;
	struct span found = notes_find_build_id((struct span){ notes.data, notes.size });
	if (found.size > size)
		return 0;
	if (found.size)
		memcpy(build_id, found.data, found.size);
	return found.size;
}

int kernel_map_init(struct kernel_map *map, struct profile *session)
{
	*map = (struct kernel_map){ .session = session };
	map->build_id_bytes =
		read_build_id("/sys/kernel/notes", map->build_id, sizeof(map->build_id));
	int ret = read_kallsyms(map);
	return ret < 0 ? ret : read_modules(map);
}

int kernel_map_symbol(struct kernel_map *map, uint64_t address, uint32_t size_bytes,
		      struct span name, bool unregistered)
{
	if (!unregistered)
		return kernel_map_add(map, KERNEL_BPF, address, address + size_bytes, name);
	size_t at = first_ending_after(map, address);
	if (at < map->count && map->ranges[at].start == address)
		map->ranges[at].gone = true;
	map->changes++;
	return 0;
}

static int make_image(struct kernel_map *map, struct kernel_range *range)
{
	struct profile_image image = { .space = SPACE_TEXT };
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	char path[256];
	switch (range->what) {
	case KERNEL_CORE:
		image.kind = IMAGE_KERNEL;
		image.build_id = (struct span){ map->build_id, map->build_id_bytes };
		break;
	case KERNEL_MODULE:
		image.kind = IMAGE_MODULE;
		image.name = span_of_text(range->name);
		snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id",
			 range->name);
		image.build_id =
			(struct span){ build_id, read_build_id(path, build_id, sizeof(build_id)) };
		break;
	case KERNEL_BPF:
		image.kind = IMAGE_BPF;
		image.name = span_of_text(range->name);
		break;
	}
	if (!image.build_id.size)
		image.build_id = (struct span){ NULL, 0 };
	return profile_add_image(map->session, &image, &range->image);
}

static bool find_range(struct kernel_map *map, uint64_t address, size_t *at)
{
	*at = map->last;
	if (*at < map->count && address >= map->ranges[*at].start && address < map->ranges[*at].end)
		return true;
	*at = first_ending_after(map, address);
	if (*at >= map->count || map->ranges[*at].start > address)
		return false;
	map->last = *at;
	return true;
}

/* The range of the kernel's core, where `address` is of what it ran when it started; else NULL. */
static struct kernel_range *core_of_init(struct kernel_map *map, uint64_t address)
{
	for (size_t at = first_ending_after(map, address); at-- > 0;) {
		struct kernel_range *range = &map->ranges[at];
		if (!kernel_text_is_init(range->end, address))
			break;
		if (range->what == KERNEL_CORE)
			return range;
	}
	return NULL;
}

int kernel_map_locate(struct kernel_map *map, uint64_t address, struct profile_frame *frame,
		      enum unknown_cause *cause)
{
	if (map->hidden) {
		*cause = UNKNOWN_KERNEL_HIDDEN;
		return 0;
	}
	size_t at;
	bool found = find_range(map, address, &at);
	bool fleeting = !found || map->ranges[at].gone || map->ranges[at].what == KERNEL_MODULE;
	if (fleeting && clock_monotonic_ns() - map->modules_read_ns >= REREAD_NS) {
		int ret = read_modules(map);
		if (ret < 0)
			return ret;
		found = find_range(map, address, &at);
	}
	struct kernel_range *range = found ? &map->ranges[at] : core_of_init(map, address);
	if (!range) {
		*cause = map->modules_hidden ? UNKNOWN_KERNEL_HIDDEN : UNKNOWN_KERNEL_ADDRESS;
		return 0;
	}
	if (!range->image) {
		int ret = make_image(map, range);
		if (ret < 0)
			return ret;
	}
	frame->image = range->image;
	frame->vaddr = address - range->start;
	return 0;
}

const struct kernel_range *kernel_map_of_image(const struct kernel_map *map, uint32_t image)
{
	const struct kernel_range *found = NULL;
	for (size_t i = 0; i < map->former_count; i++)
		if (map->former[i].image == image)
			found = &map->former[i];
	for (size_t i = 0; i < map->count; i++)
		if (map->ranges[i].image == image && (!found || found->gone))
			found = &map->ranges[i];
	return found;
}

static void renumber(struct kernel_range *ranges, size_t count, const uint32_t *images)
{
	for (size_t i = 0; i < count; i++)
		ranges[i].image = images[ranges[i].image];
}

/* Fills *found with what kernel_map_of_image() finds, by image. Empty when out of memory. */
static void find_all(const struct kernel_map *map, struct number_map *found)
{
	int ret = 0;
	for (size_t i = 0; i < map->former_count && ret == 0; i++)
		if (map->former[i].image)
			ret = number_map_put(found, map->former[i].image, &map->former[i]);
	for (size_t i = 0; i < map->count && ret == 0; i++) {
		struct kernel_range *range = &map->ranges[i];
		const struct kernel_range *other = number_map_find(found, range->image);
		if (range->image && (!other || other->gone))
			ret = number_map_put(found, range->image, range);
	}
	if (ret < 0)
		number_map_release(found);
}

/* Drops what has gone, but for the range of each image that kernel_map_of_image() finds: a program
 * may come back any number of times. How many are left. */
static size_t drop_gone(struct kernel_range *ranges, size_t count, const struct number_map *found)
{
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		const struct kernel_range *wanted = number_map_find(found, ranges[i].image);
		bool wanted_elsewhere = wanted && wanted != &ranges[i];
		if (!ranges[i].gone || (ranges[i].image && !wanted_elsewhere))
			ranges[kept++] = ranges[i];
	}
	return kept;
}

void kernel_map_renumber_images(struct kernel_map *map, const uint32_t *images)
{
	CLEANUP(number_map_release) struct number_map found = { 0 };
	renumber(map->former, map->former_count, images);
	renumber(map->ranges, map->count, images);
	find_all(map, &found);
	map->former_count = drop_gone(map->former, map->former_count, &found);
	size_t kept = drop_gone(map->ranges, map->count, &found);
	map->changes += kept != map->count;
	map->count = kept;
	map->last = 0;
}

/* Whether the kernel has a BPF program of that name at that address. */
static bool is_loaded(const struct kernel_range *range, const struct kallsyms *kallsyms)
{
	const struct kernel_symbol *symbol = kallsyms_find(kallsyms, range->start);
	return !range->gone && symbol && symbol->address == range->start &&
	       span_equal(symbol->name, span_of_text(range->name));
}

int kernel_range_records(const struct kernel_range *range, const struct kallsyms *kallsyms,
			 const uint64_t *vaddrs, size_t count, struct record_set *out,
			 bool *is_there)
{
	*is_there = !range->gone;
	if (range->what == KERNEL_BPF) {
		const struct function_record function = { .name = span_of_text(range->name) };
		*is_there = is_loaded(range, kallsyms);
		return count ? record_set_add_function(out, 0, range->end - range->start - 1,
						       &function)
			     : 0;
	}
	struct span module =
		range->what == KERNEL_MODULE ? span_of_text(range->name) : (struct span){ NULL, 0 };
	long found = range->gone
			     ? 0
			     : kallsyms_records(kallsyms, module, range->start, vaddrs, count, out);
	return found < 0 ? (int)found : 0;
}
