#include "render/stat_topdown.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LEAST_SHOWN 0.0005 /* what reads as 0.1 point */

bool stat_topdown_is_shown(const struct topdown *topdown, unsigned category)
{
	return topdown->figures[category].known || category < TOPDOWN_LEVEL_1;
}

__attribute__((format(printf, 2, 3))) static void add_note(char note[STAT_TOPDOWN_NOTE_SIZE],
							   const char *format, ...)
{
	size_t size = strlen(note);
	va_list args;
	if (size)
		size += (size_t)snprintf(note + size, STAT_TOPDOWN_NOTE_SIZE - size, ", ");
	if (size >= STAT_TOPDOWN_NOTE_SIZE)
		return;
	va_start(args, format);
	vsnprintf(note + size, STAT_TOPDOWN_NOTE_SIZE - size, format, args);
	va_end(args);
}

static void add_doubts(unsigned doubts, char note[STAT_TOPDOWN_NOTE_SIZE])
{
	if (doubts & TOPDOWN_BELOW_ZERO)
		add_note(note, "below 0: the counts contradict each other");
	if (doubts & TOPDOWN_ABOVE_ONE)
		add_note(note, "above all: the counts contradict each other");
	if (doubts & TOPDOWN_ABOVE_PARENT)
		add_note(note, "more than what it is a part of");
	if (doubts & TOPDOWN_EXTRAPOLATED)
		add_note(note, "counted a part of the time");
}

void stat_topdown_line(const struct topdown *topdown, const char *core_type, unsigned category,
		       char figure[STAT_TOPDOWN_NAME_SIZE], char name[STAT_TOPDOWN_NAME_SIZE],
		       char note[STAT_TOPDOWN_NOTE_SIZE])
{
	const struct topdown_figure *of = &topdown->figures[category];
	bool part = topdown_category_level((enum topdown_category)category) > 1;
	snprintf(name, STAT_TOPDOWN_NAME_SIZE, "%s%s", part ? "  " : "",
		 topdown_category_name(category));
	note[0] = 0;
	if (core_type)
		add_note(note, "%s", core_type);
	if (!of->known) {
		snprintf(figure, STAT_TOPDOWN_NAME_SIZE, "<not counted>");
		if (of->why)
			add_note(note, "%s", of->why);
		return;
	}
	snprintf(figure, STAT_TOPDOWN_NAME_SIZE, "%.1f", 100 * of->value);
	if (topdown->unit == TOPDOWN_CYCLES)
		add_note(note, "of cycles");
	if (of->resolution >= LEAST_SHOWN)
		add_note(note, "+- %.1f", 100 * of->resolution);
	add_doubts(of->doubts, note);
	if (category == TOPDOWN_RETIRING && topdown->sum_state == TOPDOWN_SUM_OFF)
		add_note(note, "level 1 adds up to %.1f %%", 100 * topdown->sum);
}

static void add_figure(struct json_stream *json, const struct topdown *topdown, unsigned category)
{
	const struct topdown_figure *figure = &topdown->figures[category];
	json_stream_open(json, NULL, '{', JSON_ONE_LINE);
	json_stream_text(json, "category", topdown_category_name(category));
	json_stream_u64(json, "level", topdown_category_level((enum topdown_category)category));
	json_stream_double(json, "share", figure->known ? figure->value : NAN);
	json_stream_double(json, "resolution", figure->known ? figure->resolution : NAN);
	json_stream_bool(json, "in_doubt", figure->known && figure->doubts);
	json_stream_text(json, "why", figure->known ? NULL : figure->why);
	json_stream_close(json, '}');
}

void stat_topdown_add_json(struct json_stream *json, const struct counts *counts,
			   const struct counts_row *row)
{
	json_stream_open(json, "topdown", '[', JSON_LINES);
	for (size_t i = 0; i < counts->topdown_count; i++) {
		const struct topdown *topdown = &row->topdown[i];
		bool sum = topdown->sum_state == TOPDOWN_SUM_HOLDS ||
			   topdown->sum_state == TOPDOWN_SUM_OFF;
		json_stream_open(json, NULL, '{', JSON_LINES);
		json_stream_text(json, "core_type", counts->core_types[i]);
		json_stream_text(json, "method", topdown->method);
		json_stream_text(json, "of", topdown->unit == TOPDOWN_CYCLES ? "cycles" : "slots");
		json_stream_bool(json, "corrected", topdown->corrected);
		json_stream_double(json, "sum", sum ? topdown->sum : NAN);
		json_stream_double(json, "running_share", topdown->running_share);
		json_stream_open(json, "figures", '[', JSON_LINES);
		for (unsigned category = 0; category < TOPDOWN_CATEGORIES; category++)
			add_figure(json, topdown, category);
		json_stream_close(json, ']');
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
}
