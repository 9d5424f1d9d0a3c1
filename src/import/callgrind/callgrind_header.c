/*
 * Lines "KEY: VALUE" of a callgrind file: what it is of, what its lines count, and what
 * they add up to. Most of them stand before the costs, "totals:" and "summary:" behind.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "import/callgrind/callgrind_line.h"
#include "import/callgrind/callgrind_private.h"
#include "profile/profile.h"

#define COMM_BYTES 15 /* TASK_COMM_LEN without its NUL: what other recordings call the process */

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
	buffer_empty(&reader->command);
	buffer_append(&reader->command, command.data, command.size);
	if (program.size && profile_add_context(reader->profile, &context, &reader->context) < 0)
		return callgrind_out_of_memory(reader, err);
	return 0;
}

static int take_positions_header(struct callgrind_reader *reader, struct span value,
				 struct error *err)
{
	struct callgrind_words words = callgrind_words_of(value);
	reader->places.by_instruction = reader->by_line = false;
	while (!callgrind_at_end(&words)) {
		struct span word = callgrind_word(&words);
		bool *has = span_equal(word, span_of_text("instr")) ? &reader->places.by_instruction
			    : span_equal(word, span_of_text("line")) ? &reader->by_line
								     : NULL;
		/* an instruction's position comes before its line's */
		if (!has || *has || (has == &reader->places.by_instruction && reader->by_line))
			return callgrind_fault(reader, err,
					       "positions are 'instr', 'line' or 'instr line'");
		*has = true;
	}
	if (!reader->places.by_instruction && !reader->by_line)
		return callgrind_fault(reader, err,
				       "positions are 'instr', 'line' or 'instr line'");
	return 0;
}

/* "totals:" closes a part: it is what its costs add up to. */
static int take_totals(struct callgrind_reader *reader, struct span value, struct error *err)
{
	struct callgrind_events *events = &reader->events;
	uint64_t totals[CALLGRIND_MAX_EVENTS];
	if (!callgrind_events_costs(events, value, totals))
		return callgrind_fault(reader, err,
				       "its totals are no numbers, or more than the events");
	for (size_t i = 0; i < events->column_count; i++) {
		struct callgrind_event *event = &events->list[events->columns[i]];
		struct span name = profile_event(reader->profile, event->id).name;
		if (event->part != totals[i])
			import_report(reader->options, IMPORT_WARNING,
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
		return callgrind_fault(reader, err,
				       "its sums are no numbers, or more than the events");
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
	return ret == -EBADMSG ? callgrind_fault(reader, err, what)
	       : ret < 0       ? callgrind_out_of_memory(reader, err)
			       : 0;
}

int callgrind_take_header(struct callgrind_reader *reader, struct span key, struct span value,
			  struct error *err)
{
	if (reader->waiting != WAITING_NOTHING)
		return callgrind_fault(reader, err,
				       "the line before needs a position and costs here");
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
		buffer_empty(&reader->creator);
		buffer_append(&reader->creator, value.data, value.size);
	}
	reader->versioned |= span_equal(key, span_of_text("version")) != 0;
	if (span_equal(key, span_of_text("pid")) && reader->labels.size == 0)
		buffer_printf(&reader->labels, "pid=%.*s", (int)value.size,
			      (const char *)value.data);
	return 0; /* other keys are not kept */
}
