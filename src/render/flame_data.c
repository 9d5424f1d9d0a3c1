#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "render/flame_page.h"
#include "render/flame_text.h"

static const char *const sources[FLAME_SOURCES] = {
	[FLAME_FROM_NOTHING] = "",
	[FLAME_FROM_PROFILE] = "",
	[FLAME_FROM_SYMBOLS] = "a symbol table",
	[FLAME_FROM_EXPORTS] = "exported symbols alone",
	[FLAME_FROM_KERNEL] = "the kernel's symbols",
	[FLAME_FROM_DEBUG] = "debug information",
	[FLAME_FROM_JIT] = "a map of JIT code",
	[FLAME_FROM_TEXT] = "the input, as text",
};

/* ---- strings, each once */

struct strings {
	const char **list;
	size_t count, capacity;
	struct hash_index index;
	bool failed;
};

static bool equal_strings(const void *rows, uint32_t position, const void *wanted)
{
	return strcmp(((const char *const *)rows)[position], wanted) == 0;
}

static uint32_t string_number(struct strings *strings, const char *text)
{
	uint64_t hash = hash_bytes(text, strlen(text));
	uint32_t found = hash_index_find(&strings->index, hash, equal_strings, strings->list, text);
	if (found != HASH_INDEX_NONE)
		return found;
	if (array_reserve(&strings->list, &strings->capacity, strings->count,
			  sizeof(*strings->list)) < 0) {
		strings->failed = true;
		return 0;
	}
	found = (uint32_t)strings->count;
	strings->list[strings->count++] = text;
	if (hash_index_add(&strings->index, hash, found) < 0)
		strings->failed = true;
	return found;
}

static void strings_release(struct strings *strings)
{
	free(strings->list);
	hash_index_release(&strings->index);
}

static void put_text(struct buffer *out, const char *text, size_t size)
{
	buffer_append_u8(out, '"');
	flame_put_json(out, text, size);
	buffer_append_u8(out, '"');
}

static void put_key(struct buffer *out, const char *key)
{
	buffer_printf(out, "\"%s\":", key);
}

static void put_texts(struct buffer *out, const char *const *list, size_t count)
{
	buffer_append_u8(out, '[');
	for (size_t i = 0; i < count; i++) {
		if (i)
			buffer_append_u8(out, ',');
		put_text(out, list[i], strlen(list[i]));
	}
	buffer_append_text(out, "],\n");
}

/* ---- columns of figures: one array over all shown frames each */

struct data {
	const struct flame_picture *picture;
	const struct flame_view *view;
	const struct flame *flame;
	struct strings strings;
	uint32_t *names, *images; /* by label: numbers of strings */
	uint32_t sources[FLAME_SOURCES];
	struct buffer *out;
};

static void start_column(struct data *data, const char *key)
{
	put_key(data->out, key);
	buffer_append_u8(data->out, '[');
}

static void put_separator(struct data *data, size_t i)
{
	if (i)
		buffer_append_u8(data->out, ',');
}

static void end_column(struct data *data)
{
	buffer_append_text(data->out, "],\n");
}

static uint32_t label_number(const struct data *data, size_t shown)
{
	return data->flame->frames[data->view->shown[shown].frame].label;
}

#define COLUMN(data, key, count, put)                                                              \
	do {                                                                                       \
		start_column(data, key);                                                           \
		for (size_t i = 0; i < (count); i++) {                                             \
			put_separator(data, i);                                                    \
			put;                                                                       \
		}                                                                                  \
		end_column(data);                                                                  \
	} while (0)

/* As web/flame_details.js numbers them. */
static const uint8_t kinds[] = {
	[FLAME_USER] = 0,    [FLAME_KERNEL] = 1, [FLAME_INLINED] = 2, [FLAME_JIT] = 3,
	[FLAME_UNKNOWN] = 4, [FLAME_TEXT] = 5,	 [FLAME_GROUP] = 6
};

static void put_places(struct data *data)
{
	const struct flame_view *view = data->view;
	struct buffer *out = data->out;
	const struct flame_label *labels = data->flame->labels;
	size_t count = view->count;
	COLUMN(data, "parent", count, buffer_append_decimal(out, view->shown[i].parent));
	COLUMN(data, "name", count, buffer_append_decimal(out, data->names[label_number(data, i)]));
	COLUMN(data, "image", count,
	       buffer_append_decimal(out, data->images[label_number(data, i)]));
	COLUMN(data, "kind", count,
	       buffer_append_decimal(out, kinds[labels[label_number(data, i)].kind]));
	COLUMN(data, "source", count,
	       buffer_append_decimal(out, data->sources[labels[label_number(data, i)].source]));
	COLUMN(data, "x", count, buffer_append_decimal(out, view->shown[i].x));
	COLUMN(data, "w", count, buffer_append_decimal(out, view->shown[i].width));
}

/* An array of arrays: by event, then by frame. */
static void put_cells(struct data *data, const char *key, const struct cell *cells)
{
	const struct flame_view *view = data->view;
	size_t columns = data->flame->columns;
	start_column(data, key);
	for (size_t c = 0; c < columns; c++) {
		put_separator(data, c);
		buffer_append_u8(data->out, '[');
		for (size_t i = 0; i < view->count; i++) {
			put_separator(data, i);
			buffer_append_decimal(data->out,
					      cells[view->shown[i].frame * columns + c].estimate);
		}
		buffer_append_u8(data->out, ']');
	}
	end_column(data);
}

/* null for events without samples of their own. */
static void put_samples(struct data *data, const char *key, enum flame_side side)
{
	const struct flame_view *view = data->view;
	size_t columns = data->flame->columns;
	const struct cell *cells = data->flame->total[side];
	const struct event_column *list = data->flame->reports[side]->columns.list;
	start_column(data, key);
	for (size_t c = 0; c < columns; c++) {
		size_t own = side == FLAME_BASE ? data->flame->base_column[c] : c;
		put_separator(data, c);
		if (own == EVENT_COLUMN_NONE || !list[own].sampled) {
			buffer_append_text(data->out, "null");
			continue;
		}
		buffer_append_u8(data->out, '[');
		for (size_t i = 0; i < view->count; i++) {
			put_separator(data, i);
			buffer_append_decimal(data->out,
					      cells[view->shown[i].frame * columns + c].samples);
		}
		buffer_append_u8(data->out, ']');
	}
	end_column(data);
}

static void put_or_null(struct buffer *out, bool known, double value)
{
	if (known)
		flame_put_number(out, value);
	else
		buffer_append_text(out, "null");
}

static void put_estimates(struct data *data, const char *const keys[3], const struct estimate *list)
{
	size_t count = data->view->count;
	if (!list)
		return;
	COLUMN(data, keys[0], count,
	       put_or_null(data->out, list[i].kind != ESTIMATE_ABSENT, list[i].value));
	if (!keys[1])
		return;
	COLUMN(data, keys[1], count,
	       put_or_null(data->out, list[i].kind == ESTIMATE_INTERVAL, list[i].low));
	COLUMN(data, keys[2], count,
	       put_or_null(data->out, list[i].kind == ESTIMATE_INTERVAL, list[i].high));
}

/* After / before with its interval, whether it is told from chance, and what it is made of. */
static void put_changes(struct data *data)
{
	const struct flame_changes *changes = data->picture->changes;
	const struct difference *list = changes->list;
	const struct difference_split *splits = changes->splits;
	struct buffer *out = data->out;
	size_t count = data->view->count;
#define RATIO(end, least)                                                                          \
	put_or_null(out, list[i].change_ratio.kind >= (least), 1 + list[i].change_ratio.end)
	buffer_append_text(out, "\"change\":{\n");
	COLUMN(data, "value", count, RATIO(value, ESTIMATE_VALUE));
	COLUMN(data, "low", count, RATIO(low, ESTIMATE_INTERVAL));
	COLUMN(data, "high", count, RATIO(high, ESTIMATE_INTERVAL));
#undef RATIO
	if (splits) {
		COLUMN(data, "instructions", count,
		       put_or_null(out, splits[i].instructions.kind != ESTIMATE_ABSENT,
				   splits[i].instructions.value));
		COLUMN(data, "cpi", count,
		       put_or_null(out, splits[i].cpi.kind != ESTIMATE_ABSENT,
				   splits[i].cpi.value));
	}
	start_column(data, "significant");
	for (size_t i = 0; i < count; i++) {
		put_separator(data, i);
		buffer_append_text(out, list[i].verdict == DIFFERENCE_SIGNIFICANT ? "1"
					: list[i].verdict == DIFFERENCE_NOISE	  ? "0"
										  : "null");
	}
	buffer_append_text(out, "]},\n");
}

static void put_frames(struct data *data)
{
	static const char *const ratio[] = { "ratio", "low", "high" };
	static const char *const base_ratio[] = { "ratio_before", NULL, NULL };
	const struct flame *flame = data->flame;
	const struct flame_view *view = data->view;
	buffer_append_text(data->out, "\"frames\":{\n");
	put_places(data);
	put_cells(data, "self", flame->self[FLAME_MAIN]);
	put_cells(data, "total", flame->total[FLAME_MAIN]);
	put_samples(data, "samples", FLAME_MAIN);
	put_estimates(data, ratio, view->ratios);
	put_estimates(data, base_ratio, view->base_ratios);
	if (flame->reports[FLAME_BASE]) {
		buffer_append_text(data->out, "\"before\":{");
		put_cells(data, "self", flame->self[FLAME_BASE]);
		put_cells(data, "total", flame->total[FLAME_BASE]);
		put_samples(data, "samples", FLAME_BASE);
		buffer_append_text(data->out, "\"side\":0},\n");
	}
	if (data->picture->changes)
		put_changes(data);
	buffer_append_text(data->out, "\"count\":");
	buffer_append_decimal(data->out, view->count);
	buffer_append_text(data->out, "}}");
}

/* ---- what the figures are of */

static void put_events(struct data *data)
{
	const struct flame *flame = data->flame;
	struct buffer *out = data->out;
	const struct report *report = flame->reports[FLAME_MAIN];
	buffer_append_text(out, "{\"schema\":1,\n\"events\":[");
	for (size_t c = 0; c < flame->columns; c++) {
		const struct event_column *column = &report->columns.list[c];
		put_separator(data, c);
		buffer_append_text(out, "\n{\"name\":");
		put_text(out, column->name.data, column->name.size);
		buffer_append_text(out, ",\"unit\":");
		put_text(out, column->unit.data, column->unit.size);
		buffer_append_text(out, ",\"core_type\":");
		put_text(out, column->core_type.data, column->core_type.size);
		buffer_append_text(out, ",\"scale\":");
		buffer_append_decimal(out, flame->scales[c]);
		buffer_append_text(out, column->clock == EVENT_CLOCK ? ",\"clock\":true"
								     : ",\"clock\":false");
		buffer_append_text(out,
				   column->sampled ? ",\"sampled\":true" : ",\"sampled\":false");
		buffer_append_text(out, ",\"total\":");
		buffer_append_decimal(out, flame_total(flame, FLAME_MAIN, 0)[c].estimate);
		buffer_append_u8(out, '}');
	}
	buffer_append_text(out, "],\n\"width_event\":");
	buffer_append_decimal(out, data->view->options.width);
	buffer_append_text(out, ",\n");
}

static const char *metric_name(enum flame_metric metric)
{
	static const char *const names[] = {
		[FLAME_CPI] = "CPI",	     [FLAME_IPC] = "IPC",
		[FLAME_STALLS] = "stalls",   [FLAME_RETIRING] = "retiring",
		[FLAME_BACKEND] = "backend", [FLAME_RATIO] = "ratio",
		[FLAME_DELTA] = "change",    [FLAME_PACKAGE] = "package",
		[FLAME_NONE] = "none"
	};
	return names[metric];
}

static bool is_share(enum flame_metric metric)
{
	return metric == FLAME_STALLS || metric == FLAME_RETIRING || metric == FLAME_BACKEND;
}

static void put_ratio(struct data *data)
{
	const struct flame_ratio *ratio = &data->view->options.ratio;
	const struct flame_scale *scale = data->picture->scale;
	struct buffer *out = data->out;
	buffer_append_text(out, "\"colour\":");
	put_text(out, metric_name(scale->metric), strlen(metric_name(scale->metric)));
	buffer_append_text(out, ",\n\"stretch\":");
	buffer_append_text(out, data->view->deltas ? "true" : "false");
	buffer_append_text(out, ",\n\"ratio\":");
	if (!ratio->known || !data->view->ratios) {
		buffer_append_text(out, "null,\n");
		return;
	}
	buffer_append_text(out, "{\"name\":");
	put_text(out, metric_name(scale->metric), strlen(metric_name(scale->metric)));
	buffer_append_text(out,
			   is_share(scale->metric) ? ",\"percent\":true" : ",\"percent\":false");
	buffer_append_text(out, ",\"above\":");
	buffer_append_decimal(out, ratio->above);
	buffer_append_text(out, ",\"below\":");
	buffer_append_decimal(out, ratio->below);
	if (scale->has_scale) {
		buffer_append_text(out, ",\"lo\":");
		flame_put_number(out, scale->low);
		buffer_append_text(out, ",\"mid\":");
		flame_put_number(out, scale->middle);
		buffer_append_text(out, ",\"hi\":");
		flame_put_number(out, scale->high);
	}
	buffer_append_text(out, "},\n");
}

/* By event what before is multiplied by to compare it; null where one side has none of what the
 * comparison is per. */
static void put_factors(struct data *data)
{
	const struct flame *flame = data->flame;
	const struct difference_scale *scale = &data->picture->changes->options.event.scale;
	for (size_t c = 0; c < flame->columns; c++) {
		double factor = scale->factor;
		if (scale->base == DIFFERENCE_TOTAL) {
			const struct cell *before = &flame_total(flame, FLAME_BASE, 0)[c];
			const struct cell *after = &flame_total(flame, FLAME_MAIN, 0)[c];
			factor = (double)after->estimate / (double)before->estimate;
		}
		put_separator(data, c);
		if (isnormal(factor) && factor > 0)
			buffer_printf(data->out, "%.12g", factor);
		else
			buffer_append_text(data->out, "null");
	}
}

static void put_difference(struct data *data)
{
	const struct flame *flame = data->flame;
	struct buffer *out = data->out;
	if (!flame->reports[FLAME_BASE]) {
		buffer_append_text(out, "\"diff\":null,\n");
		return;
	}
	buffer_append_text(out, "\"diff\":{\"total\":[");
	for (size_t c = 0; c < flame->columns; c++) {
		put_separator(data, c);
		if (flame->base_column[c] == EVENT_COLUMN_NONE)
			buffer_append_text(out, "null");
		else
			buffer_append_decimal(out, flame_total(flame, FLAME_BASE, 0)[c].estimate);
	}
	buffer_append_u8(out, ']');
	if (data->picture->changes) {
		buffer_append_text(out, ",\"factor\":[");
		put_factors(data);
		buffer_append_u8(out, ']');
	}
	buffer_append_text(out, ",\"side\":");
	put_text(out, data->view->options.side == FLAME_BASE ? "before" : "after",
		 data->view->options.side == FLAME_BASE ? 6 : 5);
	const char *said = data->picture->per ? data->picture->per : "";
	buffer_append_text(out, ",\"said\":");
	put_text(out, said, strlen(said));
	buffer_append_text(out, "},\n");
}

static void number_labels(struct data *data)
{
	const struct flame *flame = data->flame;
	string_number(&data->strings, "");
	for (size_t i = 0; i < FLAME_SOURCES; i++)
		data->sources[i] = string_number(&data->strings, sources[i]);
	for (size_t i = 0; i < data->view->count; i++) {
		uint32_t label = label_number(data, i);
		if (data->names[label])
			continue;
		data->names[label] = string_number(&data->strings, flame->labels[label].name);
		data->images[label] = string_number(&data->strings, flame->labels[label].image);
	}
}

void flame_put_data(const struct flame_picture *picture, struct buffer *out)
{
	const struct flame *flame = picture->view->flame;
	CLEANUP(free_pointer)
	uint32_t *numbers = calloc(flame->label_count, 2 * sizeof(*numbers));
	if (!numbers) {
		out->failed = true;
		return;
	}
	struct data data = { .picture = picture,
			     .view = picture->view,
			     .flame = flame,
			     .names = numbers,
			     .images = numbers + flame->label_count,
			     .out = out };
	number_labels(&data);
	buffer_append_text(out, "<script type=\"application/json\" id=\"flame-data\">");
	put_events(&data);
	put_ratio(&data);
	put_difference(&data);
	put_key(out, "icicle");
	buffer_append_text(out, picture->layout == FLAME_ICICLE ? "true,\n" : "false,\n");
	put_key(out, "row");
	buffer_append_decimal(out, FLAME_ROW_PX);
	buffer_append_text(out, ",\n\"width\":");
	flame_put_px(out, picture->width_px - 2 * FLAME_MARGIN_PX);
	buffer_append_text(out, ",\n");
	put_key(out, "strings");
	put_texts(out, data.strings.list, data.strings.count);
	put_frames(&data);
	buffer_append_text(out, "</script>\n");
	out->failed |= data.strings.failed;
	strings_release(&data.strings);
}
