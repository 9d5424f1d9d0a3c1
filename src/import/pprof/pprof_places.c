#include "import/pprof/pprof_places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/protobuf.h"
#include "import/code/mapped_image.h"
#include "import/pprof/pprof_wire.h"

#define MEMORY_TIMES 2		 /* tables may take so many times the file's size, */
#define MEMORY_BYTES (32u << 20) /* and so many bytes more */

/* Each begins with its id. */
struct pprof_named {
	uint64_t id;
	uint32_t name, file; /* in the byte pool */
};

struct pprof_mapped {
	uint64_t id, start, limit, offset;
	uint32_t image;
};

struct pprof_place {
	uint64_t id;
	struct profile_frame frame; /* when it is one */
	uint32_t first, count;	    /* among `chains`, when it is more */
};

void pprof_places_release(struct pprof_places *places)
{
	free(places->texts);
	free(places->text_ids);
	number_map_release(&places->paths);
	number_map_release(&places->builds);
	arena_release(&places->read_paths);
	free(places->functions);
	free(places->mappings);
	free(places->locations);
	free(places->chains);
	code_lines_release(&places->lines);
	*places = (struct pprof_places){ 0 };
}

static int damaged(const struct pprof_places *places, struct span message, struct error *err,
		   const char *what)
{
	const uint8_t *start = places->bytes.data;
	return error_set(err, -EBADMSG, "at byte %zu: %s",
			 (size_t)((const uint8_t *)message.data - start), what);
}

bool pprof_text(const struct pprof_places *places, uint64_t number, struct span *text)
{
	*text = (struct span){ "", 0 };
	if (number >= places->text_count)
		return number == 0; /* the first text is empty; a profile may have none */
	struct cursor cursor = cursor_of(places->bytes.data, places->bytes.size);
	struct protobuf_field field;
	cursor.at = (size_t)places->texts[number];
	if (!protobuf_next(&cursor, &field))
		return false;
	*text = field.bytes;
	return true;
}

int pprof_text_id(struct pprof_places *places, uint64_t number, uint32_t *id)
{
	struct span text;
	*id = number < places->text_count ? places->text_ids[number] : 0;
	if (*id || !pprof_text(places, number, &text) || !text.size)
		return 0;
	int ret = profile_add_bytes(places->profile, text, id);
	if (ret == 0)
		places->text_ids[number] = *id;
	return ret;
}

int pprof_dangling(struct pprof_places *places)
{
	if (!places->lenient)
		return -EBADMSG;
	places->dangling++;
	return 0;
}

/* ---- by id */

static int compare_ids(const void *a, const void *b)
{
	uint64_t left, right;
	memcpy(&left, a, sizeof(left));
	memcpy(&right, b, sizeof(right));
	return (left > right) - (left < right);
}

/* Sorts by id; false when two are equal. Most files have them in order already. */
static bool sort_by_id(void *list, size_t count, size_t size)
{
	bool sorted = true;
	for (size_t i = 1; i < count && sorted; i++)
		sorted = compare_ids((char *)list + (i - 1) * size, (char *)list + i * size) < 0;
	if (sorted)
		return true;
	qsort(list, count, size, compare_ids);
	for (size_t i = 1; i < count; i++)
		if (compare_ids((char *)list + (i - 1) * size, (char *)list + i * size) == 0)
			return false;
	return true;
}

/* Ids mostly count from 1 without holes. */
static const void *find_by_id(const void *list, size_t count, size_t size, uint64_t id)
{
	if (count == 0)
		return NULL;
	if (id - 1 < count) {
		const char *guess = (const char *)list + (size_t)(id - 1) * size;
		if (compare_ids(guess, &id) == 0)
			return guess;
	}
	return bsearch(&id, list, count, size, compare_ids);
}

/* ---- texts and functions */

static int add_text(struct pprof_places *places, uint64_t number, uint32_t *id)
{
	struct span text;
	*id = 0;
	if (!pprof_text(places, number, &text) && pprof_dangling(places) < 0)
		return -EBADMSG;
	return pprof_text_id(places, number, id);
}

/* The name for people, or else the linker's, as it is: what is exported and imported again stays
 * the same. */
static int add_name(struct pprof_places *places, const struct pprof_function *function,
		    uint32_t *id)
{
	struct span name, system_name;
	bool known = pprof_text(places, function->name, &name);
	known &= pprof_text(places, function->system_name, &system_name);
	if (!known && pprof_dangling(places) < 0)
		return -EBADMSG;
	return pprof_text_id(places, name.size ? function->name : function->system_name, id);
}

static int read_function(struct pprof_places *places, struct span message, struct error *err)
{
	struct pprof_function function;
	if (!pprof_get_function(message, &function))
		return damaged(places, message, err, "this is no function");
	struct pprof_named *named = &places->functions[places->function_count];
	named->id = function.id;
	int ret = add_name(places, &function, &named->name);
	if (ret == 0)
		ret = add_text(places, function.file, &named->file);
	if (ret == -EBADMSG)
		return damaged(places, message, err, "the function has a text that is not there");
	places->function_count++;
	return ret;
}

/* A text read as a path, once for all mappings that have it. */
static int path_of(struct pprof_places *places, uint64_t number, struct mapped_path *path)
{
	struct mapped_path *read = number_map_find(&places->paths, number);
	struct span text;
	if (!read) {
		pprof_text(places, number, &text);
		read = arena_allocate(&places->read_paths, sizeof(*read));
		if (!read || mapped_path_read(places->profile, text, read) < 0 ||
		    number_map_put(&places->paths, number, read) < 0)
			return -ENOMEM;
	}
	*path = *read;
	return 0;
}

/* A text read as a build-id, likewise. */
static int build_of(struct pprof_places *places, uint64_t number, uint32_t *build)
{
	struct span text;
	*build = (uint32_t)(uintptr_t)number_map_find(&places->builds, number);
	if (*build || !pprof_text(places, number, &text) || !text.size)
		return 0;
	int ret = mapped_build_read(places->profile, text, build);
	return ret < 0 ? ret : number_map_put(&places->builds, number, (void *)(uintptr_t)*build);
}

static int add_image(struct pprof_places *places, uint64_t file, uint64_t build_id, uint32_t *image)
{
	struct mapped_path path;
	uint32_t build;
	int ret = path_of(places, file, &path);
	if (ret == 0)
		ret = build_of(places, build_id, &build);
	return ret < 0 ? ret : mapped_image_of(places->profile, &path, build, image);
}

static int read_mapping(struct pprof_places *places, struct span message, struct error *err)
{
	struct pprof_mapping mapping;
	struct span path, build_id;
	if (!pprof_get_mapping(message, &mapping))
		return damaged(places, message, err, "this is no mapping");
	bool known = pprof_text(places, mapping.file, &path);
	known &= pprof_text(places, mapping.build_id, &build_id);
	if (!known && pprof_dangling(places) < 0)
		return damaged(places, message, err, "the mapping has a text that is not there");
	struct pprof_mapped *mapped = &places->mappings[places->mapping_count++];
	*mapped = (struct pprof_mapped){ .id = mapping.id,
					 .start = mapping.start,
					 .limit = mapping.limit,
					 .offset = mapping.offset };
	return add_image(places, mapping.file, mapping.build_id, &mapped->image);
}

/* ---- locations */

/* The frame of the address itself, without its name. */
static int address_frame(struct pprof_places *places, const struct pprof_location *location,
			 const struct pprof_mapped *mapped, struct profile_frame *frame)
{
	*frame = (struct profile_frame){ .kind = FRAME_IP, .vaddr = location->address };
	if (mapped) {
		frame->image = mapped->image;
		if (location->address >= mapped->start &&
		    (location->address < mapped->limit || !mapped->limit))
			frame->vaddr = location->address - mapped->start + mapped->offset;
		return 0;
	}
	int ret = places->unmapped ? 0
				   : mapped_image_add(places->profile, span_of_text(""),
						      span_of_text(""), &places->unmapped);
	frame->image = places->unmapped;
	return ret;
}

/* The lines of a location as frames, innermost first. 0, -EBADMSG for a function that is not there,
 * or -ENOMEM. */
static int read_lines(struct pprof_places *places, const struct pprof_location *location,
		      struct code_frame *frames)
{
	int ret = 0;
	for (size_t i = 0; i < location->line_count; i++) {
		const struct pprof_line *line = &location->lines[i];
		const struct pprof_named *named =
			find_by_id(places->functions, places->function_count,
				   sizeof(*places->functions), line->function);
		if (!named && line->function && pprof_dangling(places) < 0)
			return -EBADMSG;
		frames[i] = (struct code_frame){
			.function = named ? named->name : 0,
			.file = named ? named->file : 0,
			.line = line->line <= UINT32_MAX ? (uint32_t)line->line : 0,
		};
		if (!frames[i].function && i + 1 < location->line_count)
			ret = profile_add_text(places->profile, "[unknown]", &frames[i].function);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int add_chain(struct pprof_places *places, struct pprof_place *place,
		     const struct profile_frame *frame)
{
	if (places->chain_count >= UINT32_MAX ||
	    array_reserve(&places->chains, &places->chain_capacity, places->chain_count,
			  sizeof(*places->chains)) < 0)
		return -ENOMEM;
	if (place->count++ == 0)
		place->first = (uint32_t)places->chain_count;
	places->chains[places->chain_count++] = *frame;
	return 0;
}

/*
 * Adds functions as frames of their own, outermost first: where there is no address that they
 * could be inlined at, or another location has other functions at the same address.
 */
static int add_names(struct pprof_places *places, struct pprof_place *place, uint32_t image,
		     const struct code_frame *frames, size_t count)
{
	for (size_t i = count; i-- > 0;) {
		struct profile_frame frame = { .kind = FRAME_IP,
					       .image = image,
					       .name = frames[i].function };
		int ret = frame.name ? 0
				     : profile_add_text(places->profile, "[unknown]", &frame.name);
		if (ret == 0)
			ret = add_chain(places, place, &frame);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int add_place(struct pprof_places *places, struct pprof_place *place,
		     const struct pprof_location *location, const struct pprof_mapped *mapped)
{
	struct code_frame frames[RECORD_MAX_DEPTH];
	size_t count = location->line_count;
	int ret = read_lines(places, location, frames);
	if (ret < 0)
		return ret;
	if (location->address == 0 && count)
		return add_names(places, place, mapped ? mapped->image : 0, frames, count);
	ret = address_frame(places, location, mapped, &place->frame);
	if (ret < 0 || count == 0)
		return ret;
	bool same;
	uint32_t outermost = frames[count - 1].function;
	frames[count - 1].function = 0;
	ret = code_lines_add(&places->lines, place->frame.image, place->frame.vaddr, frames, count,
			     &same);
	place->frame.name = outermost;
	if (ret < 0 || same)
		return ret;
	frames[count - 1].function = outermost;
	return add_names(places, place, place->frame.image, frames, count);
}

static int read_location(struct pprof_places *places, struct span message, struct error *err)
{
	struct pprof_location location;
	if (!pprof_get_location(message, &location))
		return damaged(places, message, err, "this is no location");
	const struct pprof_mapped *mapped = find_by_id(places->mappings, places->mapping_count,
						       sizeof(*places->mappings), location.mapping);
	if (!mapped && location.mapping && pprof_dangling(places) < 0)
		return damaged(places, message, err,
			       "the location has a mapping that is not there");
	struct pprof_place *place = &places->locations[places->location_count];
	*place = (struct pprof_place){ .id = location.id };
	int ret = add_place(places, place, &location, mapped);
	if (ret == -EBADMSG)
		return damaged(places, message, err,
			       "the location has a function that is not there");
	places->location_count++;
	return ret;
}

const struct profile_frame *pprof_frames(const struct pprof_places *places, uint64_t location,
					 size_t *count)
{
	const struct pprof_place *place = find_by_id(places->locations, places->location_count,
						     sizeof(*places->locations), location);
	if (!place)
		return NULL;
	*count = place->count ? place->count : 1;
	return place->count ? &places->chains[place->first] : &place->frame;
}

/* ---- the file */

static int make_room(struct pprof_places *places, const size_t *counts, struct error *err)
{
	unsigned __int128 bytes =
		(unsigned __int128)counts[PPROF_STRING] *
			(sizeof(*places->texts) + sizeof(*places->text_ids)) +
		(unsigned __int128)counts[PPROF_FUNCTION] * sizeof(*places->functions) +
		(unsigned __int128)counts[PPROF_MAPPING] * sizeof(*places->mappings) +
		(unsigned __int128)counts[PPROF_LOCATION] * sizeof(*places->locations);
	if (bytes > (unsigned __int128)places->bytes.size * MEMORY_TIMES + MEMORY_BYTES)
		return error_set(err, -EPROTO,
				 "it has %zu texts and %zu locations of next to no bytes each: it "
				 "is made to fill memory",
				 counts[PPROF_STRING], counts[PPROF_LOCATION]);
	places->texts = calloc(counts[PPROF_STRING] + 1, sizeof(*places->texts));
	places->text_ids = calloc(counts[PPROF_STRING] + 1, sizeof(*places->text_ids));
	places->functions = calloc(counts[PPROF_FUNCTION] + 1, sizeof(*places->functions));
	places->mappings = calloc(counts[PPROF_MAPPING] + 1, sizeof(*places->mappings));
	places->locations = calloc(counts[PPROF_LOCATION] + 1, sizeof(*places->locations));
	return places->texts && places->text_ids && places->functions && places->mappings &&
			       places->locations
		       ? 0
		       : -ENOMEM;
}

typedef int (*read_message)(struct pprof_places *places, struct span message, struct error *err);

/* All messages of one number, in the order of the file. */
static int read_all(struct pprof_places *places, uint32_t number, read_message read,
		    struct error *err)
{
	struct cursor cursor = cursor_of(places->bytes.data, places->bytes.size);
	struct protobuf_field field;
	while (protobuf_next(&cursor, &field)) {
		if (field.number != number)
			continue;
		int ret = read(places, field.bytes, err);
		if (ret == -EBADMSG && places->lenient)
			places->skipped++;
		else if (ret < 0)
			return ret;
	}
	return 0;
}

static void read_texts(struct pprof_places *places)
{
	struct cursor cursor = cursor_of(places->bytes.data, places->bytes.size);
	struct protobuf_field field;
	for (size_t start = 0; protobuf_next(&cursor, &field); start = cursor.at)
		if (field.number == PPROF_STRING)
			places->texts[places->text_count++] = start;
}

int pprof_places_read(struct pprof_places *places, struct profile *profile, struct span bytes,
		      bool lenient, struct error *err)
{
	*places = (struct pprof_places){ .profile = profile, .bytes = bytes, .lenient = lenient };
	size_t counts[PPROF_DOC_URL + 1] = { 0 };
	struct cursor cursor = cursor_of(bytes.data, bytes.size);
	struct protobuf_field field;
	while (protobuf_next(&cursor, &field))
		if (field.number <= PPROF_DOC_URL)
			counts[field.number]++;
	int ret = make_room(places, counts, err);
	if (ret == 0) {
		read_texts(places);
		ret = read_all(places, PPROF_FUNCTION, read_function, err);
	}
	if (ret == 0)
		ret = read_all(places, PPROF_MAPPING, read_mapping, err);
	bool unique =
		sort_by_id(places->functions, places->function_count, sizeof(*places->functions));
	unique &= sort_by_id(places->mappings, places->mapping_count, sizeof(*places->mappings));
	if (ret == 0 && !unique && !lenient)
		ret = error_set(err, -EBADMSG, "two functions or mappings have the same id");
	if (ret == 0)
		ret = read_all(places, PPROF_LOCATION, read_location, err);
	unique = sort_by_id(places->locations, places->location_count, sizeof(*places->locations));
	if (ret == 0 && !unique && !lenient)
		ret = error_set(err, -EBADMSG, "two locations have the same id");
	return ret == -ENOMEM ? error_set(err, ret, "out of memory") : ret;
}
