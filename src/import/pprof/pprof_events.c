#include "import/pprof/pprof_events.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/count_of.h"

static bool is_text(struct span text, const char *wanted)
{
	return span_equal(text, span_of_text(wanted));
}

/* Nanoseconds a unit of time has; 0: it is none. */
static uint64_t unit_ns(struct span unit)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "nanoseconds", 1 },	     { "nanosecond", 1 },	 { "ns", 1 },
		{ "microseconds", 1000 },    { "microsecond", 1000 },	 { "us", 1000 },
		{ "milliseconds", 1000000 }, { "millisecond", 1000000 }, { "ms", 1000000 },
		{ "seconds", 1000000000 },   { "second", 1000000000 },	 { "s", 1000000000 }
	};
	for (size_t i = 0; i < COUNT_OF(units); i++)
		if (is_text(unit, units[i].name))
			return units[i].ns;
	return 0;
}

/* The text before `end`; false when the text does not end so. */
static bool strip(struct span text, const char *end, struct span *stem)
{
	size_t size = strlen(end);
	if (text.size <= size || memcmp((const char *)text.data + text.size - size, end, size) != 0)
		return false;
	*stem = (struct span){ text.data, text.size - size };
	return true;
}

/* "cycles" of "cycles_sample" and "cycles_samples", in "count". */
static bool counts_samples_of(const struct pprof_column *column, struct span *stem)
{
	return is_text(column->unit, "count") &&
	       (strip(column->type, "_sample", stem) || strip(column->type, "_samples", stem));
}

static bool counts_samples(const struct pprof_column *column)
{
	return is_text(column->unit, "count") &&
	       (is_text(column->type, "samples") || is_text(column->type, "sample"));
}

/* The column that stands for the samples in column `of`, or -1. */
static int column_sampled_by(const struct pprof_events *events, size_t of,
			     const struct pprof_period *period)
{
	struct span stem, other;
	int found = -1;
	size_t others = 0;
	bool specific = counts_samples_of(&events->columns[of], &stem);
	for (size_t i = 0; i < events->count; i++) {
		const struct pprof_column *column = &events->columns[i];
		if (i == of || counts_samples(column) || counts_samples_of(column, &other))
			continue;
		others++;
		if (specific ? span_equal(column->type, stem) ||
				       (strip(column->type, "_event", &other) &&
					span_equal(other, stem))
			     : span_equal(column->type, period->type) &&
				       span_equal(column->unit, period->unit))
			return (int)i;
		found = (int)i;
	}
	return !specific && others == 1 ? found : -1;
}

/* "10^-3 cycles", as our own export writes decimals: 3, and the unit behind it. */
static uint64_t take_scale(struct span *unit)
{
	static const char mark[] = "10^-";
	const char *text = unit->data;
	size_t at = sizeof(mark) - 1;
	uint64_t scale = 0;
	if (unit->size <= at || memcmp(text, mark, at) != 0)
		return 0;
	for (; at < unit->size && text[at] >= '0' && text[at] <= '9' && scale < 100; at++)
		scale = scale * 10 + (uint64_t)(text[at] - '0');
	if (scale == 0 || scale > 18 || at == unit->size || text[at] != ' ')
		return 0;
	*unit = (struct span){ text + at + 1, unit->size - at - 1 };
	return scale;
}

static int add_event(struct pprof_column *column, struct profile *profile,
		     const struct pprof_period *period)
{
	struct span unit = column->unit;
	uint64_t scale = take_scale(&unit);
	uint64_t ns = unit_ns(unit);
	bool its_period = period->period && span_equal(column->type, period->type) &&
			  span_equal(column->unit, period->unit);
	struct profile_event event = {
		.name = column->type,
		.unit = ns ? span_of_text("ns") : unit,
		.scale = scale,
		.origin = ORIGIN_IMPORTED,
		.sampled = column->samples >= 0,
	};
	column->factor = ns ? ns : 1;
	if (its_period && !__builtin_mul_overflow(period->period, column->factor, &event.period))
		event.policy = PERIOD_FIXED;
	if (column->samples >= 0)
		strip(column->type, "_event", &event.name);
	if (event.name.size == 0)
		event.name = span_of_text("value");
	if (counts_samples(column))
		event.unit = span_of_text("samples");
	return profile_add_event(profile, &event, &column->event);
}

int pprof_events_add(struct pprof_events *events, struct profile *profile,
		     const struct pprof_period *period)
{
	bool given[PPROF_MAX_TYPES] = { false }; /* this column's samples are another's */
	for (size_t i = 0; i < events->count; i++)
		events->columns[i].samples = -1;
	for (size_t i = 0; i < events->count; i++) {
		struct pprof_column *column = &events->columns[i];
		struct span stem;
		if (!counts_samples(column) && !counts_samples_of(column, &stem))
			continue;
		int of = column_sampled_by(events, i, period);
		if (of >= 0 && events->columns[of].samples < 0) {
			events->columns[of].samples = (int)i;
			given[i] = true;
		} else if (counts_samples(column)) {
			column->samples = (int)i;
		}
	}
	for (size_t i = 0; i < events->count; i++) {
		struct pprof_column *column = &events->columns[i];
		column->event = 0;
		if (!given[i] && add_event(column, profile, period) < 0)
			return -ENOMEM;
	}
	return 0;
}

int pprof_events_cell(struct pprof_events *events, size_t column, const int64_t *values,
		      struct cell *cell)
{
	struct pprof_column *from = &events->columns[column];
	*cell = (struct cell){ 0 };
	if (__builtin_mul_overflow((uint64_t)values[column], from->factor, &cell->estimate) ||
	    __builtin_add_overflow(from->total, cell->estimate, &from->total))
		return -EOVERFLOW;
	if (from->samples < 0)
		return 0;
	cell->samples = (uint64_t)values[from->samples];
	if (__builtin_add_overflow(from->total_samples, cell->samples, &from->total_samples))
		return -EOVERFLOW;
	if (cell->samples)
		cell->squares = (unsigned __int128)cell->estimate * cell->estimate / cell->samples;
	return 0;
}
