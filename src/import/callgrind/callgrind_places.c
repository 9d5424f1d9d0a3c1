#include "import/callgrind/callgrind_places.h"

#include <errno.h>

#include "base/error.h"
#include "import/callgrind/callgrind_line.h"
#include "profile/profile.h"

void callgrind_places_release(struct callgrind_places *places)
{
	code_lines_release(&places->costs);
	code_lines_release(&places->targets);
	number_map_release(&places->objects);
	number_map_release(&places->files);
	number_map_release(&places->functions);
	number_map_release(&places->images);
}

/* The number in the byte pool goes into the map as it is: it is never 0. */
static void *as_value(uint32_t id)
{
	return (void *)(uintptr_t)id;
}

static uint32_t of_value(const void *value)
{
	return (uint32_t)(uintptr_t)value;
}

int callgrind_places_name(struct callgrind_places *places, struct number_map *map, struct span text,
			  uint32_t *out)
{
	struct callgrind_name name;
	*out = 0;
	if (!callgrind_name(text, &name))
		return 0;
	if (name.text.size == 0) {
		*out = of_value(number_map_find(map, name.number));
		return *out ? 0 : -EBADMSG;
	}
	int ret = profile_add_bytes(places->profile, name.text, out);
	return ret == 0 && name.numbered ? number_map_put(map, name.number, as_value(*out)) : ret;
}

static bool is_unknown(struct span text)
{
	return text.size == 0 || span_equal(text, span_of_text("???"));
}

static int add_image(struct profile *profile, struct span path, uint32_t *id)
{
	const bool is_path = path.size && *(const char *)path.data == '/';
	const struct profile_image image = { .kind = is_path ? IMAGE_FILE : IMAGE_NAME,
					     .space = SPACE_ELF,
					     .name = path };
	const struct profile_image none = { .kind = IMAGE_UNKNOWN,
					    .space = SPACE_PROCESS,
					    .name = span_of_text("no object file") };
	int ret = profile_add_image(profile, is_unknown(path) ? &none : &image, id);
	return ret == 0 && is_path ? profile_add_path(profile, *id, path) : ret;
}

/* Image 0 for a file that knows no objects. */
static int image_of(struct callgrind_places *places, uint32_t object, uint32_t *image)
{
	*image = of_value(number_map_find(&places->images, object));
	if (*image || !object)
		return 0;
	int ret = add_image(places->profile, profile_bytes(places->profile, object), image);
	return ret < 0 ? ret : number_map_put(&places->images, object, as_value(*image));
}

static int name_line(struct callgrind_places *places, struct code_lines *lines, uint32_t image,
		     const struct callgrind_place *place)
{
	const struct code_frame frame = {
		.file = is_unknown(profile_bytes(places->profile, place->file)) ? 0 : place->file,
		.line = place->line <= UINT32_MAX ? (uint32_t)place->line : 0,
	};
	return code_lines_add(lines, image, place->address, &frame, 1, NULL);
}

/* One address may be of several names: assembler functions that share code, depths of recursion
 * (--separate-recs), callers (--separate-callers). */
int callgrind_places_frame(struct callgrind_places *places, enum callgrind_use use,
			   const struct callgrind_place *place, struct profile_frame *frame)
{
	struct code_lines *lines = use == CALLGRIND_COST ? &places->costs : &places->targets;
	*frame = (struct profile_frame){ .kind = FRAME_IP, .name = place->function };
	int ret = image_of(places, place->object, &frame->image);
	if (ret == 0 && places->by_instruction && frame->image) {
		frame->vaddr = place->address;
		ret = name_line(places, lines, frame->image, place);
	}
	if (ret == 0 && !frame->name)
		ret = profile_add_text(places->profile, "???", &frame->name);
	return ret;
}

int callgrind_places_finish(struct callgrind_places *places, struct error *err)
{
	if (code_lines_complete(&places->costs, &places->targets) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	return code_lines_finish(&places->costs, places->profile, err);
}
