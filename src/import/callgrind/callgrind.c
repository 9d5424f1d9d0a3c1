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

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/utf8.h"
#include "import/callgrind/callgrind_line.h"
#include "import/callgrind/callgrind_private.h"
#include "import/formats.h"
#include "profile/profile.h"

static void reader_close(void *context)
{
	struct callgrind_reader *reader = context;
	if (!reader)
		return;
	profile_free(reader->profile);
	text_lines_release(&reader->lines);
	callgrind_events_release(&reader->events);
	callgrind_places_release(&reader->places);
	buffer_release(&reader->command);
	buffer_release(&reader->creator);
	buffer_release(&reader->labels);
	free(reader);
}

int callgrind_out_of_memory(const struct callgrind_reader *reader, struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory at line %llu",
			 (unsigned long long)reader->lines.number);
}

int callgrind_fault(struct callgrind_reader *reader, struct error *err, const char *what)
{
	reader->stopped = true;
	return import_fault(reader->options, -EBADMSG, err, "line %llu: %s",
			    (unsigned long long)reader->lines.number, what);
}

static int add_edge(struct callgrind_reader *reader, const struct callgrind_place *from,
		    const struct callgrind_place *to, uint64_t count)
{
	struct profile_frame source, target;
	int ret = callgrind_places_frame(&reader->places, CALLGRIND_COST, from, &source);
	if (ret == 0)
		ret = callgrind_places_frame(&reader->places, CALLGRIND_TARGET, to, &target);
	if (ret < 0 || reader->events.count == 0 || count == 0)
		return ret; /* some writers do not know how often, and write 0 */
	if (__builtin_add_overflow(reader->arcs, count, &reader->arcs))
		return -EOVERFLOW;
	return profile_add_edge(reader->profile, reader->events.list[0].id, reader->context,
				ORIGIN_IMPORTED, &source, &target, count, 0);
}

/* ---- lines of the body */

/* Positions relative to where the line before was; false when there are none. */
static bool take_positions(const struct callgrind_reader *reader, struct callgrind_words *words,
			   uint64_t *address, uint64_t *line)
{
	if (reader->places.by_instruction &&
	    !callgrind_position(words, reader->here.address, address))
		return false;
	if (reader->by_line && !callgrind_position(words, reader->here.line, line))
		return false;
	return words->at == words->end || *words->at == ' ' || *words->at == '\t';
}

/* The inclusive cost of the calls at an instruction. */
static int add_called(struct callgrind_reader *reader, const uint64_t *costs)
{
	struct callgrind_events *events = &reader->events;
	struct profile_frame from;
	int ret = callgrind_places_frame(&reader->places, CALLGRIND_COST, &reader->here, &from);
	if (!reader->places.by_instruction || !from.image)
		return ret;
	for (size_t i = 0; ret == 0 && i < events->column_count; i++) {
		struct callgrind_event *event = &events->list[events->columns[i]];
		const struct cell cell = { .estimate = costs[i] };
		if (__builtin_add_overflow(event->called, costs[i], &event->called))
			return -EOVERFLOW;
		if (costs[i])
			ret = profile_add_value(reader->profile, event->id, reader->context,
						from.image, from.vaddr, VALUE_CALLED, 0, &cell);
	}
	return ret;
}

static int add_costs(struct callgrind_reader *reader, const uint64_t *costs)
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
			return -EOVERFLOW;
		event->part += costs[i];
		if (!framed && callgrind_places_frame(&reader->places, CALLGRIND_COST,
						      &reader->here, &leaf) < 0)
			return -ENOMEM;
		framed = true;
		if (profile_add_flat(reader->profile, event->id, reader->context, &leaf, &cell) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Adds a line of costs: its own, or, by the line before it, those of a call or a jump. 0,
 * -EOVERFLOW or -ENOMEM. */
static int add_line(struct callgrind_reader *reader, enum waiting before, const uint64_t *costs)
{
	int ret = 0;
	if (before == WAITING_NOTHING)
		return add_costs(reader, costs);
	/* without addresses, a jump within a function goes from it to itself */
	if (before == WAITING_CALL || reader->places.by_instruction)
		ret = add_edge(reader, &reader->here, &reader->target, reader->count);
	if (ret == 0 && before == WAITING_CALL)
		ret = add_called(reader, costs);
	reader->target = (struct callgrind_place){ 0 };
	return ret;
}

static int take_costs(struct callgrind_reader *reader, struct span text, struct error *err)
{
	struct callgrind_words words = callgrind_words_of(text);
	uint64_t costs[CALLGRIND_MAX_EVENTS];
	enum waiting waiting = reader->waiting;
	reader->waiting = WAITING_NOTHING;
	if (reader->events.column_count == 0)
		return callgrind_fault(reader, err, "a cost comes before the names of the events");
	if (!take_positions(reader, &words, &reader->here.address, &reader->here.line))
		return callgrind_fault(reader, err, "its position is no number, or below zero");
	if (!callgrind_events_costs(&reader->events, callgrind_rest(&words), costs))
		return callgrind_fault(
			reader, err, "its costs are no numbers, or more than the file has events");
	reader->whole = false;
	int ret = add_line(reader, waiting, costs);
	if (ret == -EOVERFLOW)
		return error_set(err, ret, "line %llu: the costs add up to more than 64 bits",
				 (unsigned long long)reader->lines.number);
	return ret < 0 ? callgrind_out_of_memory(reader, err) : 0;
}

/* "calls=COUNT POSITIONS", "jump=COUNT POSITIONS", "jcnd=FOLLOWED/EXECUTED POSITIONS" */
static int take_arc(struct callgrind_reader *reader, enum waiting waiting, struct span text,
		    struct error *err)
{
	struct callgrind_words words = callgrind_words_of(text);
	struct callgrind_place *target = &reader->target;
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
		return callgrind_fault(reader, err, "its count or its target is no number");
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
	int ret = callgrind_places_name(&reader->places, map, text, out);
	return ret == -EBADMSG ? callgrind_fault(reader, err, "nothing had that number before")
	       : ret < 0       ? callgrind_out_of_memory(reader, err)
			       : 0;
}

static int take_assignment(struct callgrind_reader *reader, struct span key, struct span value,
			   struct error *err)
{
	const struct {
		const char *key;
		struct number_map *map;
		uint32_t *place;
	} names[] = {
		{ "fn", &reader->places.functions, &reader->here.function },
		{ "fl", &reader->places.files, &reader->here.file },
		{ "fi", &reader->places.files, &reader->here.file },
		{ "fe", &reader->places.files, &reader->here.file },
		{ "ob", &reader->places.objects, &reader->here.object },
		{ "cfn", &reader->places.functions, &reader->target.function },
		{ "cfi", &reader->places.files, &reader->target.file },
		{ "cfl", &reader->places.files, &reader->target.file },
		{ "cob", &reader->places.objects, &reader->target.object },
		{ "jfn", &reader->places.functions, &reader->target.function },
		{ "jfi", &reader->places.files, &reader->target.file },
	};
	if (reader->waiting != WAITING_NOTHING)
		return callgrind_fault(reader, err,
				       "the line before needs a position and costs here");
	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (span_equal(key, span_of_text(names[i].key)))
			return take_name(reader, names[i].map, value, names[i].place, err);
	if (span_equal(key, span_of_text("calls")))
		return take_arc(reader, WAITING_CALL, value, err);
	if (span_equal(key, span_of_text("jump")) || span_equal(key, span_of_text("jcnd")))
		return take_arc(reader, WAITING_JUMP, value, err);
	return callgrind_fault(reader, err, "it is neither a cost nor a name");
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
		return callgrind_fault(reader, err, "it is neither a cost nor a name");
	words.at = text + length + 1;
	struct span key = { text, length };
	return text[length] == '='
		       ? take_assignment(reader, key, callgrind_rest(&words), err)
		       : callgrind_take_header(reader, key, callgrind_rest(&words), err);
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
	reader->places.profile = reader->profile;
	*out = reader;
	return 0;
}

static int reader_feed(void *context, const void *bytes, size_t size, struct error *err)
{
	struct callgrind_reader *reader = context;
	return reader->stopped ? 0 : text_lines_feed(&reader->lines, bytes, size, err);
}

/* ---- the end */

/* Cachegrind writes the command that it ran, and neither a version nor a creator; other writers of
 * a command write these too. */
static bool is_of_cachegrind(const struct callgrind_reader *reader)
{
	return reader->command.size && !reader->creator.size && !reader->versioned;
}

static int check_end(struct callgrind_reader *reader, struct error *err)
{
	static const char valgrind[] = "callgrind-";
	if (reader->stopped)
		return 0;
	if (reader->waiting != WAITING_NOTHING)
		return callgrind_fault(reader, err,
				       "the file ends in the middle of a call or a jump");
	if (!reader->whole && reader->creator.size >= sizeof(valgrind) &&
	    memcmp(reader->creator.data, valgrind, sizeof(valgrind) - 1) == 0)
		return callgrind_fault(reader, err, "the file is cut off: its totals are missing");
	if (is_of_cachegrind(reader) && !reader->events.has_summary)
		import_report(reader->options, IMPORT_WARNING,
			      "the file is cut off: cachegrind ends it with a summary");
	else if (reader->lines.unended)
		import_report_unended(reader->options);
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
	import_report(
		reader->options, IMPORT_NOTE,
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
		return callgrind_out_of_memory(reader, err);
	if (left_out.size)
		import_report(reader->options, IMPORT_WARNING,
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
	if (add_counters(reader) < 0 || add_source(reader) < 0)
		return callgrind_out_of_memory(reader, err);
	ret = callgrind_places_finish(&reader->places, err);
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
