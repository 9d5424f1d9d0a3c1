#include "render/stat_figures.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/count_of.h"

#define MOST_DECIMALS 15
#define MEAN_BELOW    100

static const char *const state_words[] = {
	[COUNTS_NOT_COUNTED] = "<not counted>",
	[COUNTS_NOT_SUPPORTED] = "<not supported>",
};

/* A comma before each three digits of the whole part, in place. */
static void group_digits(char text[STAT_FIGURE_SIZE])
{
	size_t whole = strspn(text + (text[0] == '-'), "0123456789") + (text[0] == '-');
	size_t size = strlen(text);
	for (size_t at = whole; at > 3u + (text[0] == '-') && size + 1 < STAT_FIGURE_SIZE; size++) {
		at -= 3;
		memmove(text + at + 1, text + at, size + 1 - at);
		text[at] = ',';
	}
}

void stat_figure_count(double value, char text[STAT_FIGURE_SIZE])
{
	bool whole = value == floor(value) || fabs(value) >= MEAN_BELOW;
	snprintf(text, STAT_FIGURE_SIZE, "%.*f", whole ? 0 : 2, value);
}

void stat_figure_value(const struct counts_event *event, const struct counts_value *value,
		       enum stat_digits digits, char text[STAT_FIGURE_SIZE], const char **unit)
{
	bool clock = event->meaning == COUNTS_CLOCK;
	*unit = clock ? "msec" : event->scale != 1 ? event->unit : "";
	if (value->state != COUNTS_KNOWN) {
		snprintf(text, STAT_FIGURE_SIZE, "%s", state_words[value->state]);
		return;
	}
	if (clock)
		snprintf(text, STAT_FIGURE_SIZE, "%.2f", value->value / 1e6);
	else if (event->scale != 1)
		snprintf(text, STAT_FIGURE_SIZE, "%.2f", value->value);
	else
		stat_figure_count(value->value, text);
	if (digits == STAT_GROUPED)
		group_digits(text);
}

static void write_rate(double value, char text[STAT_FIGURE_SIZE], const char **words)
{
	static const struct {
		double factor;
		const char *words;
	} units[] = { { 1e9, "G/sec" }, { 1e6, "M/sec" }, { 1e3, "K/sec" } };
	*words = "/sec";
	for (size_t i = 0; i < COUNT_OF(units); i++)
		if (value >= units[i].factor) {
			value /= units[i].factor;
			*words = units[i].words;
			break;
		}
	snprintf(text, STAT_FIGURE_SIZE, "%.3f", value);
}

void stat_figure_remark(const struct counts_remark *remark, char text[STAT_FIGURE_SIZE],
			const char **words)
{
	text[0] = 0;
	*words = "";
	switch (remark->kind) {
	case COUNTS_NO_REMARK:
		return;
	case COUNTS_RATE:
		write_rate(remark->value, text, words);
		return;
	case COUNTS_PER_CYCLE:
	case COUNTS_SHARE:
		snprintf(text, STAT_FIGURE_SIZE, "%.2f%s", remark->value,
			 remark->kind == COUNTS_SHARE ? "%" : "");
		break;
	default:
		snprintf(text, STAT_FIGURE_SIZE, "%.3f", remark->value);
		break;
	}
	*words = remark->words;
}

void stat_figure_number(double value, char text[STAT_FIGURE_SIZE])
{
	double size = fabs(value);
	int decimals = size >= 1000 ? 1 : 4;
	if (size > 0 && size < 0.1)
		decimals = (int)fmin(MOST_DECIMALS, 3 - floor(log10(size)));
	snprintf(text, STAT_FIGURE_SIZE, "%.*f", decimals, value);
}

void stat_figure_metric(const struct counts_value *value, char text[STAT_FIGURE_SIZE])
{
	if (value->state == COUNTS_KNOWN)
		stat_figure_number(value->value, text);
	else
		snprintf(text, STAT_FIGURE_SIZE, "%s", state_words[value->state]);
}
