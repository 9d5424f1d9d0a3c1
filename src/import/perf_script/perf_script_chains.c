#include "import/perf_script/perf_script_chains.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/code/perf_dso.h"
#include "import/perf_script/perf_script_line.h"
#include "profile/profile.h"

#define CHAIN_MAX_BYTES (16u << 20)

/* What a line of a chain stands for: frames[first .. first + count - 1], the caller first. */
struct chain_line {
	uint32_t first, count; /* count 0: no frame */
	bool inlined;	       /* in the image of the frame that follows in the text */
};

/* A line of the chain that is read. */
struct chain_step {
	size_t at, size;
	struct hash128 text, path; /* path: from the root to here */
};

void perf_script_chains_release(struct perf_script_chains *chains)
{
	known_text_release(&chains->dsos);
	known_text_release(&chains->line_texts);
	free(chains->images);
	free(chains->lines);
	free(chains->frames);
	path_nodes_release(&chains->paths);
	free(chains->steps);
	buffer_release(&chains->text);
}

/* ---- frames */

static int find_image(struct perf_script_chains *chains, struct span dso, uint32_t *image)
{
	uint32_t number;
	bool added;
	if (known_text_number(&chains->dsos, dso.data, dso.size, &number, &added) < 0)
		return -ENOMEM;
	if (added) {
		if (array_reserve(&chains->images, &chains->image_capacity, number,
				  sizeof(*chains->images)) < 0 ||
		    perf_dso_image(chains->profile, dso, &chains->images[number]) < 0)
			return -ENOMEM;
	}
	*image = chains->images[number];
	return 0;
}

static int add_frame(struct perf_script_chains *chains, const struct profile_frame *frame)
{
	if (array_reserve(&chains->frames, &chains->frame_capacity, chains->frame_count,
			  sizeof(*frame)) < 0 ||
	    chains->frame_count >= UINT32_MAX)
		return -ENOMEM;
	chains->frames[chains->frame_count++] = *frame;
	return 0;
}

/* Of run-time code, one name may hold what was inlined there: "a->b->c", the caller first. */
static int add_names(struct perf_script_chains *chains, struct span name,
		     struct profile_frame frame)
{
	bool compiled =
		frame.image && profile_image(chains->profile, frame.image).kind == IMAGE_JIT;
	while (name.size) {
		const char *arrow = compiled ? memmem(name.data, name.size, "->", 2) : NULL;
		size_t size = arrow ? (size_t)(arrow - (const char *)name.data) : name.size;
		if (size && (profile_add_bytes(chains->profile, (struct span){ name.data, size },
					       &frame.name) < 0 ||
			     add_frame(chains, &frame) < 0))
			return -ENOMEM;
		size += arrow ? 2 : 0;
		name = (struct span){ (const char *)name.data + size, name.size - size };
	}
	return 0;
}

static int frame_of(struct perf_script_chains *chains, const struct perf_script_frame *parsed,
		    struct chain_line *line)
{
	struct profile_frame frame = { .kind = FRAME_IP };
	line->first = (uint32_t)chains->frame_count;
	line->inlined = parsed->inlined;
	int ret = 0;
	if (parsed->dso.data && !parsed->inlined)
		ret = find_image(chains, parsed->dso, &frame.image);
	if (ret == 0 && parsed->name.size) {
		ret = add_names(chains, parsed->name, frame);
	} else if (ret == 0) {
		frame.vaddr = parsed->address;
		ret = add_frame(chains, &frame);
	}
	line->count = (uint32_t)chains->frame_count - line->first;
	return ret;
}

int perf_script_chains_frame(struct perf_script_chains *chains,
			     const struct perf_script_frame *parsed, struct profile_frame *frame)
{
	struct chain_line line;
	size_t before = chains->frame_count;
	int ret = frame_of(chains, parsed, &line);
	if (ret == 0 && line.count)
		*frame = chains->frames[line.first + line.count - 1];
	chains->frame_count = before;
	return ret;
}

/* ---- chains */

static int find_line(struct perf_script_chains *chains, const char *text, size_t size,
		     uint32_t *number)
{
	bool added;
	if (known_text_number(&chains->line_texts, text, size, number, &added) < 0)
		return -ENOMEM;
	if (!added)
		return 0;
	if (array_reserve(&chains->lines, &chains->line_capacity, *number, sizeof(*chains->lines)) <
	    0)
		return -ENOMEM;
	struct chain_line line = { 0 };
	struct perf_script_frame parsed;
	int ret =
		perf_script_parse_frame(text, size, &parsed) ? frame_of(chains, &parsed, &line) : 0;
	chains->lines[*number] = line;
	return ret;
}

/* Adds the frames of a line whose path from the root is new. */
static int add_step(struct perf_script_chains *chains, const struct chain_step *step,
		    uint32_t *node)
{
	uint32_t number;
	const char *text = (const char *)chains->text.data + step->at;
	if (find_line(chains, text, step->size, &number) < 0)
		return -ENOMEM;
	const struct chain_line *line = &chains->lines[number];
	for (uint32_t i = 0; i < line->count; i++) {
		struct profile_frame frame = chains->frames[line->first + i];
		if (line->inlined && *node)
			frame.image = profile_node(chains->profile, *node, NULL).image;
		if (profile_add_node(chains->profile, *node, &frame, node) < 0)
			return -ENOMEM;
	}
	chains->trailing |= line->count == 0;
	return *node ? path_nodes_add(&chains->paths, step->path, *node) : 0;
}

/*
 * How many steps, from the leaf on, are new: the path to the step behind them is known,
 * and *node is its node (0: none is known). Steps are leaf first, so what is known is
 * the end of the list, mostly all but the leaf.
 */
static size_t known_steps(const struct perf_script_chains *chains, uint32_t *node)
{
	const struct chain_step *steps = chains->steps;
	size_t low = 0, high = chains->step_count; /* the first known step is among them */
	size_t probe = 0;
	*node = 0;
	while (low < high) {
		uint32_t found = path_nodes_find(&chains->paths, steps[probe].path);
		if (found) {
			*node = found;
			high = probe;
		} else {
			low = probe + 1;
		}
		probe = low <= 1 ? low : low + (high - low) / 2;
	}
	return high;
}

void perf_script_chains_drop(struct perf_script_chains *chains)
{
	buffer_empty(&chains->text);
	chains->step_count = 0;
}

int perf_script_chains_add(struct perf_script_chains *chains, struct span line)
{
	if (line.size >= CHAIN_MAX_BYTES - chains->text.size)
		return -E2BIG;
	if (array_reserve(&chains->steps, &chains->step_capacity, chains->step_count,
			  sizeof(*chains->steps)) < 0)
		return -ENOMEM;
	chains->steps[chains->step_count++] =
		(struct chain_step){ .at = chains->text.size,
				     .size = line.size,
				     .text = hash128_of_text(line.data, line.size) };
	buffer_append(&chains->text, line.data, line.size);
	return buffer_failed(&chains->text) ? -ENOMEM : 0;
}

int perf_script_chains_node(struct perf_script_chains *chains, uint32_t *node)
{
	struct hash128 path = { 0 };
	for (size_t i = chains->step_count; i-- > 0;) {
		path = path_hash(path, chains->steps[i].text);
		chains->steps[i].path = path;
	}
	for (size_t i = known_steps(chains, node); i-- > 0;)
		if (add_step(chains, &chains->steps[i], node) < 0)
			return -ENOMEM;
	perf_script_chains_drop(chains);
	return 0;
}
