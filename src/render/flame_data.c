#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/json_stream.h"
#include "base/visible_text.h"
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

/* ---- columns of figures: one array over all shown frames each */

struct data {
	const struct flame_picture *picture;
	const struct flame_view *view;
	const struct flame *flame;
	struct strings strings;
	uint32_t *names, *images; /* by label: numbers of strings */
	uint32_t sources[FLAME_SOURCES];
	struct buffer *out, safe;
	struct json_stream json;
};

/* Writes a text as the picture shows it (base/visible_text.h). */
static void put_text(struct data *data, const char *key, struct span text)
{
	buffer_empty(&data->safe);
	text_append_safe(&data->safe, text.data, text.size);
	data->out->failed |= buffer_failed(&data->safe);
	json_stream_text(&data->json, key, buffer_text(&data->safe));
}

static void put_number(struct data *data, const char *key, double value)
{
	json_stream_key(&data->json, key);
	flame_put_number(data->out, value);
}

static uint32_t label_number(const struct data *data, size_t shown)
{
	return data->flame->frames[data->view->shown[shown].frame].label;
}

#define COLUMN(data, key, count, put)                                                              \
	do {                                                                                       \
		json_stream_open(&(data)->json, key, '[', JSON_ONE_LINE);                          \
		for (size_t i = 0; i < (count); i++)                                               \
			put;                                                                       \
		json_stream_close(&(data)->json, ']');                                             \
	} while (0)

/* As web/flame_details.js numbers them. */
static const uint8_t kinds[] = {
	[FLAME_USER] = 0,    [FLAME_KERNEL] = 1, [FLAME_INLINED] = 2, [FLAME_JIT] = 3,
	[FLAME_UNKNOWN] = 4, [FLAME_TEXT] = 5,	 [FLAME_GROUP] = 6
};

static void put_places(struct data *data)
{
	const struct flame_view *view = data->view;
	struct json_stream *json = &data->json;
	const struct flame_label *labels = data->flame->labels;
	size_t count = view->count;
	COLUMN(data, "parent", count, json_stream_u64(json, NULL, view->shown[i].parent));
	COLUMN(data, "name", count,
	       json_stream_u64(json, NULL, data->names[label_number(data, i)]));
	COLUMN(data, "image", count,
	       json_stream_u64(json, NULL, data->images[label_number(data, i)]));
	COLUMN(data, "kind", count,
	       json_stream_u64(json, NULL, kinds[labels[label_number(data, i)].kind]));
	COLUMN(data, "source", count,
	       json_stream_u64(json, NULL, data->sources[labels[label_number(data, i)].source]));
	COLUMN(data, "x", count, json_stream_u64(json, NULL, view->shown[i].x));
	COLUMN(data, "w", count, json_stream_u64(json, NULL, view->shown[i].width));
}

/* An array of arrays: by event, then by frame. */
static void put_cells(struct data *data, const char *key, const struct cell *cells)
{
	const struct flame_view *view = data->view;
	size_t columns = data->flame->columns;
	json_stream_open(&data->json, key, '[', JSON_ONE_LINE);
	for (size_t c = 0; c < columns; c++)
		COLUMN(data, NULL, view->count,
		       json_stream_u64(&data->json, NULL,
				       cells[view->shown[i].frame * columns + c].estimate));
	json_stream_close(&data->json, ']');
}

/* As put_cells(); null for events without samples of their own. */
static void put_samples(struct data *data, const char *key, enum flame_side side)
{
	const struct flame_view *view = data->view;
	size_t columns = data->flame->columns;
	const struct cell *cells = data->flame->total[side];
	const struct event_column *list = data->flame->reports[side]->columns.list;
	json_stream_open(&data->json, key, '[', JSON_ONE_LINE);
	for (size_t c = 0; c < columns; c++) {
		size_t own = side == FLAME_BASE ? data->flame->base_column[c] : c;
		if (own == EVENT_COLUMN_NONE || !list[own].sampled)
			json_stream_null(&data->json, NULL);
		else
			COLUMN(data, NULL, view->count,
			       json_stream_u64(&data->json, NULL,
					       cells[view->shown[i].frame * columns + c].samples));
	}
	json_stream_close(&data->json, ']');
}

/* Nothing without a list; the bounds only where keys[1] and keys[2] name them. */
static void put_estimates(struct data *data, const char *const keys[3], const struct estimate *list)
{
	size_t count = data->view->count;
	if (!list)
		return;
#define BOUND(end, least) put_number(data, NULL, list[i].kind >= (least) ? list[i].end : NAN)
	COLUMN(data, keys[0], count, BOUND(value, ESTIMATE_VALUE));
	if (!keys[1])
		return;
	COLUMN(data, keys[1], count, BOUND(low, ESTIMATE_INTERVAL));
	COLUMN(data, keys[2], count, BOUND(high, ESTIMATE_INTERVAL));
#undef BOUND
}

static void put_verdict(struct json_stream *json, enum difference_verdict verdict)
{
	json_stream_known(json, NULL,
			  verdict == DIFFERENCE_SIGNIFICANT || verdict == DIFFERENCE_NOISE,
			  verdict == DIFFERENCE_SIGNIFICANT);
}

/* By frame: after / before with its interval, its parts by instructions and by CPI, and whether it
 * is significant. */
static void put_changes(struct data *data)
{
	const struct flame_changes *changes = data->picture->changes;
	const struct difference *list = changes->list;
	const struct difference_split *splits = changes->splits;
	size_t count = data->view->count;
#define RATIO(end, least)                                                                          \
	put_number(data, NULL,                                                                     \
		   list[i].change_ratio.kind >= (least) ? 1 + list[i].change_ratio.end : NAN)
#define PART(part) put_number(data, NULL, part.kind != ESTIMATE_ABSENT ? part.value : NAN)
	json_stream_open(&data->json, "change", '{', JSON_LINES);
	COLUMN(data, "value", count, RATIO(value, ESTIMATE_VALUE));
	COLUMN(data, "low", count, RATIO(low, ESTIMATE_INTERVAL));
	COLUMN(data, "high", count, RATIO(high, ESTIMATE_INTERVAL));
	if (splits) {
		COLUMN(data, "instructions", count, PART(splits[i].instructions));
		COLUMN(data, "cpi", count, PART(splits[i].cpi));
	}
#undef PART
#undef RATIO
	COLUMN(data, "significant", count, put_verdict(&data->json, list[i].verdict));
	json_stream_close(&data->json, '}');
}

static void put_frames(struct data *data)
{
	static const char *const ratio[] = { "ratio", "low", "high" };
	static const char *const base_ratio[] = { "ratio_before", NULL, NULL };
	const struct flame *flame = data->flame;
	const struct flame_view *view = data->view;
	json_stream_open(&data->json, "frames", '{', JSON_LINES);
	put_places(data);
	put_cells(data, "self", flame->self[FLAME_MAIN]);
	put_cells(data, "total", flame->total[FLAME_MAIN]);
	put_samples(data, "samples", FLAME_MAIN);
	put_estimates(data, ratio, view->ratios);
	put_estimates(data, base_ratio, view->base_ratios);
	if (flame->reports[FLAME_BASE]) {
		json_stream_open(&data->json, "before", '{', JSON_LINES);
		put_cells(data, "self", flame->self[FLAME_BASE]);
		put_cells(data, "total", flame->total[FLAME_BASE]);
		put_samples(data, "samples", FLAME_BASE);
		json_stream_close(&data->json, '}');
	}
	if (data->picture->changes)
		put_changes(data);
	json_stream_u64(&data->json, "count", view->count);
	json_stream_close(&data->json, '}');
}

/* ---- what the figures are of */

static void put_events(struct data *data)
{
	const struct flame *flame = data->flame;
	struct json_stream *json = &data->json;
	const struct report *report = flame->reports[FLAME_MAIN];
	json_stream_open(json, "events", '[', JSON_LINES);
	for (size_t c = 0; c < flame->columns; c++) {
		const struct event_column *column = &report->columns.list[c];
		json_stream_open(json, NULL, '{', JSON_ONE_LINE);
		put_text(data, "name", column->name);
		put_text(data, "unit", column->unit);
		put_text(data, "core_type", column->core_type);
		json_stream_u64(json, "scale", flame->scales[c]);
		json_stream_bool(json, "clock", column->clock == EVENT_CLOCK);
		json_stream_bool(json, "sampled", column->sampled);
		json_stream_u64(json, "total", flame_total(flame, FLAME_MAIN, 0)[c].estimate);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
	json_stream_u64(json, "width_event", data->view->options.width);
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
	struct json_stream *json = &data->json;
	json_stream_text(json, "colour", metric_name(scale->metric));
	json_stream_bool(json, "stretch", data->view->deltas);
	if (!ratio->known || !data->view->ratios) {
		json_stream_null(json, "ratio");
		return;
	}
	json_stream_open(json, "ratio", '{', JSON_ONE_LINE);
	json_stream_text(json, "name", metric_name(scale->metric));
	json_stream_bool(json, "percent", is_share(scale->metric));
	json_stream_u64(json, "above", ratio->above);
	json_stream_u64(json, "below", ratio->below);
	if (scale->has_scale) {
		put_number(data, "lo", scale->low);
		put_number(data, "mid", scale->middle);
		put_number(data, "hi", scale->high);
	}
	json_stream_close(json, '}');
}

/* By event: the factor of before's counts; null where one side has nothing of what is taken as
 * constant. */
static void put_factors(struct data *data)
{
	const struct flame *flame = data->flame;
	const struct difference_scale *scale = &data->picture->changes->options.event.scale;
	json_stream_open(&data->json, "factor", '[', JSON_ONE_LINE);
	for (size_t c = 0; c < flame->columns; c++) {
		double factor = scale->factor;
		if (scale->base == DIFFERENCE_TOTAL) {
			const struct cell *before = &flame_total(flame, FLAME_BASE, 0)[c];
			const struct cell *after = &flame_total(flame, FLAME_MAIN, 0)[c];
			factor = (double)after->estimate / (double)before->estimate;
		}
		json_stream_key(&data->json, NULL);
		if (isnormal(factor) && factor > 0)
			buffer_printf(data->out, "%.12g", factor);
		else
			buffer_append_text(data->out, "null");
	}
	json_stream_close(&data->json, ']');
}

static void put_difference(struct data *data)
{
	const struct flame *flame = data->flame;
	struct json_stream *json = &data->json;
	if (!flame->reports[FLAME_BASE]) {
		json_stream_null(json, "diff");
		return;
	}
	const struct cell *totals = flame_total(flame, FLAME_BASE, 0);
	json_stream_open(json, "diff", '{', JSON_ONE_LINE);
	COLUMN(data, "total", flame->columns,
	       json_stream_known(json, NULL, flame->base_column[i] != EVENT_COLUMN_NONE,
				 totals[i].estimate));
	if (data->picture->changes)
		put_factors(data);
	json_stream_text(json, "side", data->view->options.side == FLAME_BASE ? "before" : "after");
	put_text(data, "said", span_of_text(data->picture->per ? data->picture->per : ""));
	json_stream_close(json, '}');
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
			     .out = out,
			     .json = { .out = out, .in_markup = true } };
	number_labels(&data);
	buffer_append_text(out, "<script type=\"application/json\" id=\"flame-data\">");
	json_stream_open(&data.json, NULL, '{', JSON_LINES);
	json_stream_u64(&data.json, "schema", 1);
	put_events(&data);
	put_ratio(&data);
	put_difference(&data);
	json_stream_bool(&data.json, "icicle", picture->layout == FLAME_ICICLE);
	json_stream_u64(&data.json, "row", FLAME_ROW_PX);
	json_stream_key(&data.json, "width");
	flame_put_px(out, picture->width_px - 2 * FLAME_MARGIN_PX);
	COLUMN(&data, "strings", data.strings.count,
	       put_text(&data, NULL, span_of_text(data.strings.list[i])));
	put_frames(&data);
	json_stream_close(&data.json, '}');
	buffer_append_text(out, "</script>\n");
	buffer_release(&data.safe);
	out->failed |= data.strings.failed;
	strings_release(&data.strings);
}
