/*
 * callgrind - callgrind.out and cachegrind.out, as "Callgrind Format
 * Specification" of valgrind's manual has them. Costs are exact: cells have an
 * estimate and no samples. Stacks are not in the file: who called whom, and how
 * often, goes to the relation "edge", and what the calls of an instruction cost,
 * all they called included, to "value", which has room for addresses only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/number_map.h"
#include "base/utf8.h"
#include "import/callgrind_events.h"
#include "import/callgrind_line.h"
#include "import/code_lines.h"
#include "import/formats.h"
#include "import/text_lines.h"
#include "profile/profile.h"

#define COMM_BYTES 15 /* TASK_COMM_LEN without its NUL: what other recordings call the process */

/* What a line's place is made of; names are numbers in the byte pool. */
struct place {
	uint32_t object, file, function;
	uint64_t address, line;
};

/* A line that says what the next one's cost or position is of. */
enum waiting { WAITING_NOTHING, WAITING_CALL, WAITING_JUMP };

struct callgrind_reader {
	const struct import_options *options;
	struct profile *profile;
	struct text_lines lines;
	bool stopped; /* at a fault, with --force */
	struct callgrind_events events;
	struct code_lines code;	   /* of places with costs */
	struct code_lines targets; /* of calls and jumps, whose file may be a guess */
	struct number_map objects, files, functions; /* by their numbers: struct place's names */
	struct number_map images;		     /* by the object's name: their ids */
	bool by_instruction, by_line;		     /* what positions hold */
	struct place here;
	struct place target; /* of a call or a jump */
	enum waiting waiting;
	uint64_t count; /* of the call or the jump */
	struct buffer command, creator, labels;
	uint32_t context;
	bool whole; /* a totals line came after the last cost */
};

static void reader_close(void *context)
{
	struct callgrind_reader *reader = context;
	if (!reader)
		return;
	profile_free(reader->profile);
	text_lines_release(&reader->lines);
	callgrind_events_release(&reader->events);
	code_lines_release(&reader->code);
	code_lines_release(&reader->targets);
	number_map_release(&reader->objects);
	number_map_release(&reader->files);
	number_map_release(&reader->functions);
	number_map_release(&reader->images);
	buffer_release(&reader->command);
	buffer_release(&reader->creator);
	buffer_release(&reader->labels);
	free(reader);
}

static int out_of_memory(const struct callgrind_reader *reader, struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory at line %llu",
			 (unsigned long long)reader->lines.number);
}

static int fault(struct callgrind_reader *reader, struct error *err, const char *what)
{
	reader->stopped = true;
	return import_fault(reader->options, -EBADMSG, err, "line %llu: %s",
			    (unsigned long long)reader->lines.number, what);
}

/* ---- places */

/* The number in the byte pool goes into the map as it is: it is never 0. */
static void *as_value(uint32_t id)
{
	return (void *)(uintptr_t)id;
}

static uint32_t of_value(const void *value)
{
	return (uint32_t)(uintptr_t)value;
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
static int image_of(struct callgrind_reader *reader, uint32_t object, uint32_t *image)
{
	*image = of_value(number_map_find(&reader->images, object));
	if (*image || !object)
		return 0;
	int ret = add_image(reader->profile, profile_bytes(reader->profile, object), image);
	return ret < 0 ? ret : number_map_put(&reader->images, object, as_value(*image));
}

static int name_line(struct callgrind_reader *reader, struct code_lines *lines, uint32_t image,
		     const struct place *place)
{
	const struct code_frame frame = {
		.file = is_unknown(profile_bytes(reader->profile, place->file)) ? 0 : place->file,
		.line = place->line <= UINT32_MAX ? (uint32_t)place->line : 0,
	};
	return code_lines_add(lines, image, place->address, &frame, 1, NULL);
}

/* The frame of a place. One address may be of several names: assembler functions that share code,
 * depths of recursion (--separate-recs), callers (--separate-callers). */
static int frame_of(struct callgrind_reader *reader, struct code_lines *lines,
		    const struct place *place, struct profile_frame *frame)
{
	*frame = (struct profile_frame){ .kind = FRAME_IP, .name = place->function };
	int ret = image_of(reader, place->object, &frame->image);
	if (ret == 0 && reader->by_instruction && frame->image) {
		frame->vaddr = place->address;
		ret = name_line(reader, lines, frame->image, place);
	}
	if (ret == 0 && !frame->name)
		ret = profile_add_text(reader->profile, "???", &frame->name);
	return ret;
}

static int add_edge(struct callgrind_reader *reader, const struct place *from,
		    const struct place *to, uint64_t count)
{
	struct profile_frame source, target;
	int ret = frame_of(reader, &reader->code, from, &source);
	if (ret == 0)
		ret = frame_of(reader, &reader->targets, to, &target);
	if (ret < 0 || reader->events.count == 0 || count == 0)
		return ret; /* some writers do not know how often, and say 0 */
	return profile_add_edge(reader->profile, reader->events.list[0].id, reader->context,
				ORIGIN_IMPORTED, &source, &target, count, 0);
}

/* ---- lines of the body */

/* Positions relative to where the line before was; false when there are none. */
static bool take_positions(const struct callgrind_reader *reader, struct callgrind_words *words,
			   uint64_t *address, uint64_t *line)
{
	if (reader->by_instruction && !callgrind_position(words, reader->here.address, address))
		return false;
	if (reader->by_line && !callgrind_position(words, reader->here.line, line))
		return false;
	return words->at == words->end || *words->at == ' ' || *words->at == '\t';
}

/* What the calls at an instruction cost. */
static int add_called(struct callgrind_reader *reader, const uint64_t *costs)
{
	struct callgrind_events *events = &reader->events;
	struct profile_frame from;
	int ret = frame_of(reader, &reader->code, &reader->here, &from);
	if (!reader->by_instruction || !from.image)
		return ret;
	for (size_t i = 0; ret == 0 && i < events->column_count; i++) {
		const struct cell cell = { .estimate = costs[i] };
		if (costs[i])
			ret = profile_add_value(
				reader->profile, events->list[events->columns[i]].id,
				reader->context, from.image, from.vaddr, VALUE_CALLED, 0, &cell);
	}
	return ret;
}

static int add_costs(struct callgrind_reader *reader, const uint64_t *costs, struct error *err)
{
	struct callgrind_events *events = &reader->events;
	struct profile_frame leaf;
	bool framed = false;
	for (size_t i = 0; i < events->column_count; i++) {
		struct callgrind_event *event = &events->list[events->columns[i]];
		const struct cell cell = { .estimate = costs[i] };
		if (costs[i] == 0)
			continue;
		if (__builtin_add_overflow(event->sum, costs[i], &event->sum))
			return error_set(err, -EOVERFLOW,
					 "line %llu: the costs add up to more than 64 bits",
					 (unsigned long long)reader->lines.number);
		event->part += costs[i];
		if (!framed && frame_of(reader, &reader->code, &reader->here, &leaf) < 0)
			return out_of_memory(reader, err);
		framed = true;
		if (profile_add_flat(reader->profile, event->id, reader->context, &leaf, &cell) < 0)
			return out_of_memory(reader, err);
	}
	return 0;
}

static int take_costs(struct callgrind_reader *reader, struct span text, struct error *err)
{
	struct callgrind_words words = callgrind_words_of(text);
	uint64_t costs[CALLGRIND_MAX_EVENTS];
	enum waiting waiting = reader->waiting;
	reader->waiting = WAITING_NOTHING;
	if (reader->events.column_count == 0)
		return fault(reader, err, "a cost comes before the names of the events");
	if (!take_positions(reader, &words, &reader->here.address, &reader->here.line))
		return fault(reader, err, "its position is no number, or below zero");
	if (!callgrind_events_costs(&reader->events, callgrind_rest(&words), costs))
		return fault(reader, err,
			     "its costs are no numbers, or more than the file has events");
	reader->whole = false;
	if (waiting == WAITING_NOTHING)
		return add_costs(reader, costs, err);
	/* a jump within a function whose instructions are not told apart says nothing */
	if (waiting == WAITING_CALL || reader->by_instruction)
		if (add_edge(reader, &reader->here, &reader->target, reader->count) < 0)
			return out_of_memory(reader, err);
	if (waiting == WAITING_CALL && add_called(reader, costs) < 0)
		return out_of_memory(reader, err);
	reader->target = (struct place){ 0 };
	return 0;
}

/* "calls=COUNT POSITIONS", "jump=COUNT POSITIONS", "jcnd=FOLLOWED/EXECUTED POSITIONS" */
static int take_arc(struct callgrind_reader *reader, enum waiting waiting, struct span text,
		    struct error *err)
{
	struct callgrind_words words = callgrind_words_of(text);
	struct place *target = &reader->target;
	uint64_t executed, more;
	bool good = callgrind_number(&words, &reader->count);
	if (good && words.at < words.end && *words.at == '/') {
		words.at++;
		good = callgrind_number(&words, &executed);
	}
	good = good && take_positions(reader, &words, &target->address, &target->line);
	/* Xdebug writes one number more than there are positions */
	while (good && !callgrind_at_end(&words))
		good = callgrind_number(&words, &more);
	if (!good)
		return fault(reader, err, "its count or its target is no number");
	if (!target->object)
		target->object = reader->here.object;
	if (!target->file)
		target->file = reader->here.file;
	if (!target->function)
		target->function = reader->here.function;
	reader->waiting = waiting;
	return 0;
}

static int take_name(struct callgrind_reader *reader, struct number_map *map, struct span text,
		     uint32_t *out, struct error *err)
{
	struct callgrind_name name;
	*out = 0;
	if (!callgrind_name(text, &name))
		return 0; /* unknown, as some writers have it */
	if (name.text.size == 0) {
		*out = of_value(number_map_find(map, name.number));
		return *out ? 0 : fault(reader, err, "nothing had that number before");
	}
	if (profile_add_bytes(reader->profile, name.text, out) < 0 ||
	    (name.numbered && number_map_put(map, name.number, as_value(*out)) < 0))
		return out_of_memory(reader, err);
	return 0;
}

static int take_assignment(struct callgrind_reader *reader, struct span key, struct span value,
			   struct error *err)
{
	const struct {
		const char *key;
		struct number_map *map;
		uint32_t *place;
	} names[] = {
		{ "fn", &reader->functions, &reader->here.function },
		{ "fl", &reader->files, &reader->here.file },
		{ "fi", &reader->files, &reader->here.file },
		{ "fe", &reader->files, &reader->here.file },
		{ "ob", &reader->objects, &reader->here.object },
		{ "cfn", &reader->functions, &reader->target.function },
		{ "cfi", &reader->files, &reader->target.file },
		{ "cfl", &reader->files, &reader->target.file },
		{ "cob", &reader->objects, &reader->target.object },
		{ "jfn", &reader->functions, &reader->target.function },
		{ "jfi", &reader->files, &reader->target.file },
	};
	if (reader->waiting != WAITING_NOTHING)
		return fault(reader, err, "the line before needs a position and costs here");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (span_equal(key, span_of_text(names[i].key)))
			return take_name(reader, names[i].map, value, names[i].place, err);
	if (span_equal(key, span_of_text("calls")))
		return take_arc(reader, WAITING_CALL, value, err);
	if (span_equal(key, span_of_text("jump")) || span_equal(key, span_of_text("jcnd")))
		return take_arc(reader, WAITING_JUMP, value, err);
	return fault(reader, err, "it is neither a cost nor a name");
}

/* ---- lines of the header */

static int take_context(struct callgrind_reader *reader, struct span command, struct error *err)
{
	struct callgrind_words words = callgrind_words_of(command);
	struct span program = callgrind_word(&words);
	const char *slash = program.size ? memrchr(program.data, '/', program.size) : NULL;
	if (slash) {
		program.size -= (size_t)(slash + 1 - (const char *)program.data);
		program.data = slash + 1;
	}
	if (program.size > COMM_BYTES)
		program.size = COMM_BYTES;
	const struct profile_context context = { .comm = program };
	reader->command.size = 0;
	buffer_append(&reader->command, command.data, command.size);
	if (program.size && profile_add_context(reader->profile, &context, &reader->context) < 0)
		return out_of_memory(reader, err);
	return 0;
}

static int take_positions_header(struct callgrind_reader *reader, struct span value,
				 struct error *err)
{
	struct callgrind_words words = callgrind_words_of(value);
	reader->by_instruction = reader->by_line = false;
	while (!callgrind_at_end(&words)) {
		struct span word = callgrind_word(&words);
		bool *has = span_equal(word, span_of_text("instr"))  ? &reader->by_instruction
			    : span_equal(word, span_of_text("line")) ? &reader->by_line
								     : NULL;
		/* an instruction's position comes before its line's */
		if (!has || *has || (has == &reader->by_instruction && reader->by_line))
			return fault(reader, err, "positions are 'instr', 'line' or 'instr line'");
		*has = true;
	}
	if (!reader->by_instruction && !reader->by_line)
		return fault(reader, err, "positions are 'instr', 'line' or 'instr line'");
	return 0;
}

/* "totals:" closes a part: it is what its costs add up to. */
static int take_totals(struct callgrind_reader *reader, struct span value, struct error *err)
{
	struct callgrind_events *events = &reader->events;
	uint64_t totals[CALLGRIND_MAX_EVENTS];
	if (!callgrind_events_costs(events, value, totals))
		return fault(reader, err, "its totals are no numbers, or more than the events");
	for (size_t i = 0; i < events->column_count; i++) {
		struct callgrind_event *event = &events->list[events->columns[i]];
		struct span name = profile_event(reader->profile, event->id).name;
		if (event->part != totals[i])
			import_tell(reader->options, IMPORT_WARNING,
				    "line %llu: the costs of %.*s add up to %llu, not to the "
				    "total of %llu",
				    (unsigned long long)reader->lines.number, (int)name.size,
				    (const char *)name.data, (unsigned long long)event->part,
				    (unsigned long long)totals[i]);
		event->part = 0;
	}
	reader->whole = true;
	return 0;
}

static int take_summary(struct callgrind_reader *reader, struct span value, struct error *err)
{
	struct callgrind_events *events = &reader->events;
	uint64_t costs[CALLGRIND_MAX_EVENTS];
	if (!callgrind_events_costs(events, value, costs))
		return fault(reader, err, "its sums are no numbers, or more than the events");
	for (size_t i = 0; i < events->column_count; i++) {
		uint64_t *summary = &events->list[events->columns[i]].summary;
		if (__builtin_add_overflow(*summary, costs[i], summary))
			return error_set(err, -EOVERFLOW,
					 "line %llu: the sums add up to more than 64 bits",
					 (unsigned long long)reader->lines.number);
	}
	events->has_summary = true;
	return 0;
}

static int take_events(struct callgrind_reader *reader, bool formula, struct span value,
		       struct error *err)
{
	const char *what;
	int ret = formula ? callgrind_events_define(&reader->events, reader->profile, value, &what)
			  : callgrind_events_name(&reader->events, reader->profile, value, &what);
	return ret == -EBADMSG ? fault(reader, err, what)
	       : ret < 0       ? out_of_memory(reader, err)
			       : 0;
}

static int take_header(struct callgrind_reader *reader, struct span key, struct span value,
		       struct error *err)
{
	if (reader->waiting != WAITING_NOTHING)
		return fault(reader, err, "the line before needs a position and costs here");
	if (span_equal(key, span_of_text("events")))
		return take_events(reader, false, value, err);
	if (span_equal(key, span_of_text("event")))
		return take_events(reader, true, value, err);
	if (span_equal(key, span_of_text("positions")))
		return take_positions_header(reader, value, err);
	if (span_equal(key, span_of_text("totals")))
		return take_totals(reader, value, err);
	if (span_equal(key, span_of_text("summary")))
		return take_summary(reader, value, err);
	if (span_equal(key, span_of_text("cmd")))
		return take_context(reader, value, err);
	if (span_equal(key, span_of_text("creator"))) {
		reader->creator.size = 0;
		buffer_append(&reader->creator, value.data, value.size);
	}
	if (span_equal(key, span_of_text("pid")) && reader->labels.size == 0)
		buffer_printf(&reader->labels, "pid=%.*s", (int)value.size,
			      (const char *)value.data);
	return 0; /* others say nothing that is kept */
}

/* ---- any line */

static size_t letters(const char *text, size_t size)
{
	size_t count = 0;
	while (count < size && text[count] >= 'a' && text[count] <= 'z')
		count++;
	return count;
}

static int take_line(void *context, struct span line, struct error *err)
{
	struct callgrind_reader *reader = context;
	const char *text = line.data;
	if (reader->stopped)
		return 0;
	struct callgrind_words words = callgrind_words_of(line);
	if (callgrind_at_end(&words) || *words.at == '#')
		return 0;
	if (strchr("0123456789+-*", *words.at))
		return take_costs(reader, line, err);
	size_t length = letters(text, line.size);
	if (length == 0 || length == line.size || (text[length] != '=' && text[length] != ':'))
		return fault(reader, err, "it is neither a cost nor a name");
	words.at = text + length + 1;
	struct span key = { text, length };
	return text[length] == '=' ? take_assignment(reader, key, callgrind_rest(&words), err)
				   : take_header(reader, key, callgrind_rest(&words), err);
}

static int reader_open(const struct import_options *options, void **out)
{
	struct callgrind_reader *reader = calloc(1, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	reader->options = options;
	reader->by_line = true;
	reader->lines = (struct text_lines){ .take = take_line, .context = reader };
	reader->profile = profile_new();
	if (!reader->profile) {
		reader_close(reader);
		return -ENOMEM;
	}
	*out = reader;
	return 0;
}

static int reader_feed(void *context, const void *bytes, size_t size, struct error *err)
{
	struct callgrind_reader *reader = context;
	return reader->stopped ? 0 : text_lines_feed(&reader->lines, bytes, size, err);
}

/* ---- the end */

static int check_end(struct callgrind_reader *reader, struct error *err)
{
	static const char valgrind[] = "callgrind-";
	if (reader->stopped)
		return 0;
	if (reader->waiting != WAITING_NOTHING)
		return fault(reader, err, "the file ends in the middle of a call or a jump");
	if (!reader->whole && reader->creator.size >= sizeof(valgrind) &&
	    memcmp(reader->creator.data, valgrind, sizeof(valgrind) - 1) == 0)
		return fault(reader, err, "the file is cut off: its totals are missing");
	return 0;
}

/* What the program as a whole cost, where the cost lines do not have all of it. */
static int add_counters(struct callgrind_reader *reader)
{
	struct callgrind_events *events = &reader->events;
	bool differs = false;
	for (size_t i = 0; i < events->count; i++)
		differs |= events->list[i].sum != events->list[i].summary;
	if (!events->has_summary || !differs || reader->stopped)
		return 0;
	import_tell(reader->options, IMPORT_NOTE,
		    "its summary counts more or less than its lines add up to; the summary is kept "
		    "as counts of the whole program");
	for (size_t i = 0; i < events->count; i++) {
		const struct cell cell = { .estimate = events->list[i].summary };
		if (profile_add_counter(reader->profile, events->list[i].id, reader->context,
					&cell) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int add_source(struct callgrind_reader *reader)
{
	if (reader->creator.size == 0)
		buffer_append_text(&reader->creator, "callgrind format");
	const struct profile_source source = {
		.command = { reader->command.data, reader->command.size },
		.tool = { reader->creator.data, reader->creator.size },
		.labels = { reader->labels.data, reader->labels.size },
	};
	if (buffer_failed(&reader->command) || buffer_failed(&reader->creator) ||
	    buffer_failed(&reader->labels))
		return -ENOMEM;
	return profile_add_source(reader->profile, &source);
}

static int add_derived(struct callgrind_reader *reader, struct error *err)
{
	struct span left_out;
	int ret = callgrind_events_derive(&reader->events, reader->profile, &left_out);
	if (ret == -EOVERFLOW)
		return error_set(err, ret, "the sums of events pass 64 bits");
	if (ret < 0)
		return out_of_memory(reader, err);
	if (left_out.size)
		import_tell(reader->options, IMPORT_WARNING,
			    "'%.*s' is left out: the file has no cost of an event that it is "
			    "made of",
			    (int)left_out.size, (const char *)left_out.data);
	return 0;
}

static int reader_finish(void *context, struct profile **out, struct error *err)
{
	struct callgrind_reader *reader = context;
	int ret = reader->stopped ? 0 : text_lines_finish(&reader->lines, err);
	if (ret == 0)
		ret = check_end(reader, err);
	if (ret < 0)
		return ret;
	if (profile_table(reader->profile, PROFILE_FLAT)->count == 0)
		return error_set(err, -ENODATA, "the file has no costs");
	ret = add_derived(reader, err);
	if (ret < 0)
		return ret;
	if (add_counters(reader) < 0 || add_source(reader) < 0 ||
	    code_lines_complete(&reader->code, &reader->targets) < 0)
		return out_of_memory(reader, err);
	ret = code_lines_finish(&reader->code, reader->profile, err);
	if (ret < 0)
		return ret;
	*out = reader->profile;
	reader->profile = NULL; /* the caller's from here on */
	return 0;
}

/* Header lines up to the names of the events, which no callgrind file lacks. */
static bool recognise(const void *bytes, size_t size)
{
	static const char *const keys[] = { "version", "creator", "pid",       "thread",  "part",
					    "cmd",     "desc",	  "positions", "summary", "event" };
	size_t mark = utf8_mark_size(bytes, size);
	struct span text = { (const char *)bytes + mark, size - mark }, line;
	while (text_lines_cut(&text, &line)) {
		const char *start = line.data;
		struct span key = { start, letters(start, line.size) };
		bool known = line.size == 0 || *start == '#';
		if (key.size && key.size < line.size && start[key.size] == ':') {
			if (span_equal(key, span_of_text("events")))
				return true;
			for (size_t i = 0; i < COUNT_OF(keys); i++)
				known |= span_equal(key, span_of_text(keys[i])) != 0;
		}
		if (!known)
			return false;
	}
	return false;
}

const struct importer importer_callgrind = {
	.name = "callgrind",
	.what = "costs counted by valgrind's callgrind or cachegrind",
	.recognise = recognise,
	.open = reader_open,
	.feed = reader_feed,
	.finish = reader_finish,
	.close = reader_close,
};
