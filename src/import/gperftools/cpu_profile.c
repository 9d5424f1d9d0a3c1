/*
 * cpu_profile - CPU profiles as gperftools and programs linked with its profiler
 * write them (import/gperftools/cpu_profile_file.h). One event: CPU time, period by
 * period. A sample's addresses but the first are return addresses.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/number_map.h"
#include "import/code/code_lines.h"
#include "import/gperftools/cpu_profile_file.h"
#include "import/gperftools/cpu_profile_mappings.h"
#include "import/formats.h"
#include "import/code/mapped_image.h"
#include "import/text/text_lines.h"
#include "import/whole_file.h"
#include "profile/profile.h"
#include "symbol/record.h"

/* The signal handler's frame: as google/pprof finds it. */
#define HANDLER_FRAMES 2  /* at most so many */
#define HANDLER_SHARE  32 /* in all samples but one of so many */

struct cpu_reader {
	const struct import_options *options;
	struct buffer bytes;
	struct profile *profile;
	struct cpu_profile_head head;
	size_t end; /* of the samples */
	size_t samples;
	uint64_t period_ns, total_ns;
	uint64_t handlers[HANDLER_FRAMES]; /* addresses that are left out */
	size_t handler_count;
	struct cpu_mappings mappings;
	uint32_t nowhere;	   /* image of addresses outside all mappings */
	struct number_map symbols; /* where the line of an address begins */
	struct span names;	   /* all those lines */
	struct number_map decoded; /* what a frame is called, by address, and NO_TEXT more */
	struct code_lines lines;
	uint32_t event;
};

static void reader_close(void *context)
{
	struct cpu_reader *reader = context;
	if (!reader)
		return;
	profile_free(reader->profile);
	buffer_release(&reader->bytes);
	cpu_mappings_release(&reader->mappings);
	number_map_release(&reader->symbols);
	number_map_release(&reader->decoded);
	code_lines_release(&reader->lines);
	free(reader);
}

static int reader_open(const struct import_options *options, void **out)
{
	struct cpu_reader *reader = calloc(1, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	reader->options = options;
	reader->profile = profile_new();
	if (!reader->profile || cpu_mappings_init(&reader->mappings) < 0) {
		reader_close(reader);
		return -ENOMEM;
	}
	*out = reader;
	return 0;
}

static int reader_feed(void *context, const void *bytes, size_t size, struct error *err)
{
	struct cpu_reader *reader = context;
	return whole_file_feed(&reader->bytes, bytes, size, err);
}

/* ---- samples, without the frames that are not the program's */

/* The addresses that count: positions in the file, leaf first. */
struct stack {
	size_t leaf;
	size_t next, end; /* of the callers */
};

static uint64_t word(const struct cpu_reader *reader, size_t at)
{
	return cpu_word_at(&reader->head.words, at);
}

/* The sample's stack without the signal handler's frames. */
static struct stack stack_of(const struct cpu_reader *reader, const struct cpu_sample *sample)
{
	size_t width = reader->head.words.width;
	struct stack stack = { sample->first, sample->first + width,
			       sample->first + sample->depth * width };
	for (size_t i = 0; i < reader->handler_count; i++)
		if (stack.next < stack.end && word(reader, stack.next) == reader->handlers[i])
			stack.next += width;
	return stack;
}

/* Finds the address that is above nearly all leaves, if there is one. 0 or -EBADMSG. */
static int find_handler(const struct cpu_reader *reader, uint64_t *address, bool *found)
{
	struct cpu_words words = reader->head.words;
	struct cpu_sample sample;
	/* the only candidate for a majority (Boyer and Moore 1981), then its count */
	size_t votes = 0, count = 0;
	*found = false;
	for (size_t pass = 0; pass < 2; pass++) {
		words = reader->head.words;
		for (size_t i = 0; i < reader->samples; i++) {
			int ret = cpu_next_sample(&words, &sample, NULL);
			if (ret < 0)
				return ret;
			struct stack stack = stack_of(reader, &sample);
			if (sample.depth == 0 || stack.next >= stack.end)
				continue;
			uint64_t caller = word(reader, stack.next);
			if (pass == 1)
				count += caller == *address;
			else if (votes == 0)
				*address = caller;
			if (pass == 0)
				votes = caller == *address ? votes + 1 : votes - 1;
		}
	}
	*found = count && count >= reader->samples - reader->samples / HANDLER_SHARE;
	return 0;
}

static void find_handlers(struct cpu_reader *reader)
{
	bool found = true;
	while (found && reader->handler_count < HANDLER_FRAMES) {
		uint64_t address = 0;
		if (find_handler(reader, &address, &found) < 0 || !found)
			return;
		reader->handlers[reader->handler_count++] = address;
		import_report(reader->options, IMPORT_NOTE,
			      "nearly all stacks have %#llx above the leaf: the signal handler, "
			      "which is left out",
			      (unsigned long long)address);
	}
}

/* Counts the samples and finds their end. */
static int pass_samples(struct cpu_reader *reader, struct error *err)
{
	struct cpu_words words = reader->head.words;
	struct cpu_sample sample;
	struct error fault = { 0 };
	int ret;
	while ((ret = cpu_next_sample(&words, &sample, &fault)) > 0)
		reader->samples++;
	reader->end = words.at;
	if (ret == 0)
		return 0;
	reader->end = words.size;
	return import_fault(reader->options, ret, err, "%s", fault.text);
}

/* ---- mappings and names, which stay where they are in the bytes */

/* The text behind the samples. */
static struct span text_behind(const struct cpu_reader *reader)
{
	return (struct span){ reader->head.words.start + reader->end,
			      reader->head.words.size - reader->end };
}

static int take_mappings(struct cpu_reader *reader)
{
	int ret = cpu_mappings_read(&reader->mappings, text_behind(reader), reader->profile);
	if (ret == 0 && reader->mappings.cut)
		import_report(reader->options, IMPORT_WARNING,
			      "mappings beyond the first %u are left out", ADDRESS_SPACE_LIMIT);
	return ret;
}

static int take_symbols(struct cpu_reader *reader)
{
	struct span rest = reader->head.java ? text_behind(reader) : reader->head.symbols;
	reader->names = rest;
	struct span line, names;
	uint64_t address;
	while (text_lines_cut(&rest, &line))
		if (cpu_symbol_parse(line, &address, &names) &&
		    number_map_put(&reader->symbols, address, (void *)(uintptr_t)line.data) < 0)
			return -ENOMEM;
	return 0;
}

/* ---- frames */

/* Where the last of several names begins. */
static size_t last_name(struct span names)
{
	static const char decrement[] = "operator--";
	const size_t size = sizeof(decrement) - 1;
	const char *text = names.data;
	for (size_t at = names.size; at > 2; at--)
		if (memcmp(text + at - 2, "--", 2) == 0 &&
		    (at < size || memcmp(text + at - size, decrement, size) != 0))
			return at;
	return 0;
}

/* "outer--inner" in the order of frames: innermost first, and of too many the outermost ones. */
static int split_names(struct cpu_reader *reader, struct span names, struct code_frame *frames,
		       size_t *count)
{
	*count = 0;
	while (names.size) {
		const char *text = names.data;
		size_t from = last_name(names);
		if (*count == RECORD_MAX_DEPTH)
			memmove(frames, frames + 1, --*count * sizeof(*frames));
		struct code_frame *frame = &frames[(*count)++];
		*frame = (struct code_frame){ 0 };
		if (profile_add_bytes(reader->profile,
				      (struct span){ text + from, names.size - from },
				      &frame->function) < 0)
			return -ENOMEM;
		names.size = from ? from - 2 : 0;
	}
	return 0;
}

/* What the file calls an address; empty: nothing. */
static struct span names_of(const struct cpu_reader *reader, uint64_t address)
{
	const char *text = number_map_find(&reader->symbols, address);
	struct span names = { NULL, 0 };
	if (!text)
		return names;
	const char *end = (const char *)reader->names.data + reader->names.size;
	const char *line_end = memchr(text, '\n', (size_t)(end - text));
	const struct span line = { text, (size_t)((line_end ? line_end : end) - text) };
	return cpu_symbol_parse(line, &address, &names) ? names : (struct span){ NULL, 0 };
}

#define NO_TEXT 1 /* is added: the map has no NULL */

/* Stores the name that was found for an address, 0 for none. False: it was not looked up yet. */
static bool recall(const struct cpu_reader *reader, uint64_t address, uint32_t *name)
{
	const void *known = number_map_find(&reader->decoded, address);
	*name = known ? (uint32_t)((uintptr_t)known - NO_TEXT) : 0;
	return known != NULL;
}

/* So that no line is read again for each frame with its address. */
static int remember(struct cpu_reader *reader, uint64_t address, uint32_t name)
{
	return number_map_put(&reader->decoded, address, (void *)((uintptr_t)name + NO_TEXT));
}

/* The frame of a number in Java's profiles, which stands for a name. */
static int java_frame(struct cpu_reader *reader, uint64_t number, struct profile_frame *frame)
{
	*frame = (struct profile_frame){ .kind = FRAME_IP };
	if (recall(reader, number, &frame->name))
		return 0;
	struct span name = cpu_java_name(names_of(reader, number));
	if (name.size == 0)
		name = span_of_text("[unknown]");
	int ret = profile_add_bytes(reader->profile, name, &frame->name);
	return ret < 0 ? ret : remember(reader, number, frame->name);
}

/* Names the frame if the file has names for the address `looked_up`. */
static int name_frame(struct cpu_reader *reader, uint64_t looked_up, struct profile_frame *frame)
{
	struct code_frame frames[RECORD_MAX_DEPTH];
	size_t count;
	if (recall(reader, looked_up, &frame->name))
		return 0;
	struct span names = names_of(reader, looked_up);
	if (names.size == 0)
		return 0;
	if (split_names(reader, names, frames, &count) < 0)
		return -ENOMEM;
	frame->name = frames[count - 1].function;
	frames[count - 1].function = 0;
	/* a lookup of lines goes to the byte before a return address */
	uint64_t vaddr = frame->vaddr - (frame->kind == FRAME_RETURN);
	if (code_lines_add(&reader->lines, frame->image, vaddr, frames, count, NULL) < 0)
		return -ENOMEM;
	return remember(reader, looked_up, frame->name);
}

static int frame_of(struct cpu_reader *reader, uint64_t address, enum frame_kind kind,
		    struct profile_frame *frame)
{
	if (reader->head.java)
		return java_frame(reader, address, frame);
	*frame = (struct profile_frame){ .kind = kind };
	uint64_t within = address - (kind == FRAME_RETURN && address);
	const struct mapping *mapping = address_space_find(reader->mappings.space, within);
	frame->vaddr = mapping ? address - mapping->start + mapping->offset : address;
	frame->image = mapping ? mapping->file : reader->nowhere;
	if (!frame->image) {
		const struct profile_image none = { .kind = IMAGE_UNKNOWN,
						    .space = SPACE_PROCESS,
						    .name = span_of_text("outside all mappings") };
		int ret = reader->mappings.space->count
				  ? profile_add_image(reader->profile, &none, &reader->nowhere)
				  : mapped_image_add(reader->profile, span_of_text(""),
						     span_of_text(""), &reader->nowhere);
		if (ret < 0)
			return ret;
		frame->image = reader->nowhere;
	}
	return name_frame(reader, within, frame);
}

/* ---- the profile */

static int add_event(struct cpu_reader *reader)
{
	const struct profile_event event = {
		.name = span_of_text("cpu"),
		.unit = span_of_text("ns"),
		.policy = PERIOD_FIXED,
		.period = reader->period_ns,
		.origin = ORIGIN_IMPORTED,
		.sampled = 1,
	};
	const struct profile_source source = { .tool = span_of_text("CPU profile of gperftools") };
	int ret = profile_add_event(reader->profile, &event, &reader->event);
	return ret < 0 ? ret : profile_add_source(reader->profile, &source);
}

static int add_sample(struct cpu_reader *reader, const struct cpu_sample *sample)
{
	size_t width = reader->head.words.width;
	struct stack stack = stack_of(reader, sample);
	struct cell cell = { .samples = sample->count };
	struct profile_frame frame;
	uint32_t node = 0;
	if (sample->depth == 0 || sample->count == 0)
		return 0;
	if (__builtin_mul_overflow(sample->count, reader->period_ns, &cell.estimate) ||
	    __builtin_add_overflow(reader->total_ns, cell.estimate, &reader->total_ns))
		return -EOVERFLOW;
	cell.squares = (unsigned __int128)cell.estimate * reader->period_ns;
	/* the unwinder's own start is the leaf again, as a return address */
	if (!reader->head.java && stack.next < stack.end &&
	    word(reader, stack.next) == word(reader, stack.leaf))
		stack.next += width;
	for (size_t at = stack.end; at > stack.next; at -= width) {
		int ret = frame_of(reader, word(reader, at - width), FRAME_RETURN, &frame);
		if (ret == 0)
			ret = profile_add_node(reader->profile, node, &frame, &node);
		if (ret < 0)
			return ret;
	}
	int ret = frame_of(reader, word(reader, stack.leaf), FRAME_IP, &frame);
	if (ret == 0)
		ret = profile_add_node(reader->profile, node, &frame, &node);
	if (ret == 0)
		ret = profile_add_stack(reader->profile, reader->event, 0, node, &cell);
	return ret == 0 ? profile_add_flat(reader->profile, reader->event, 0, &frame, &cell) : ret;
}

static int add_samples(struct cpu_reader *reader)
{
	struct cpu_words words = reader->head.words;
	struct cpu_sample sample;
	for (size_t i = 0; i < reader->samples && cpu_next_sample(&words, &sample, NULL) > 0; i++) {
		int ret = add_sample(reader, &sample);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int reader_finish(void *context, struct profile **out, struct error *err)
{
	struct cpu_reader *reader = context;
	int ret = cpu_profile_head((struct span){ reader->bytes.data, reader->bytes.size },
				   &reader->head, err);
	if (ret == 0)
		ret = pass_samples(reader, err);
	if (ret < 0)
		return ret;
	if (reader->samples == 0)
		return error_set(err, -ENODATA, "the profile has no sample");
	reader->period_ns = reader->head.period_us * 1000;
	if (!reader->head.java) {
		find_handlers(reader);
		ret = take_mappings(reader);
	}
	if (ret == 0)
		ret = take_symbols(reader);
	if (ret == 0)
		ret = add_event(reader);
	if (ret == 0)
		ret = add_samples(reader);
	if (ret == 0)
		ret = code_lines_finish(&reader->lines, reader->profile, NULL);
	if (ret == -EOVERFLOW)
		return error_set(err, ret, "the samples add up to more than 64 bits of ns");
	if (ret < 0)
		return error_set(err, -ENOMEM, "out of memory");
	if (reader->end < reader->head.words.size && !span_ends_with(text_behind(reader), "\n"))
		import_report_unended(reader->options);
	*out = reader->profile;
	reader->profile = NULL; /* the caller's from here on */
	return 0;
}

const struct importer importer_cpu_profile = {
	.name = "cpu-profile",
	.what = "a CPU profile of gperftools",
	.recognise = cpu_profile_looks_like,
	.open = reader_open,
	.feed = reader_feed,
	.finish = reader_finish,
	.close = reader_close,
};
