#include <stdio.h>
#include <string.h>

#include "render/flame_images.h"
#include "render/flame_page.h"
#include "render/flame_text.h"
#include "render/quantity.h"

#define LEFT_PX	  10.0
#define SWATCH_PX 44.0 /* of the scale; less in a narrow picture */

static void put_words(struct buffer *out, double x, double y, const char *anchor, const char *class,
		      const char *text)
{
	buffer_append_text(out, "<text x=\"");
	flame_put_px(out, x);
	buffer_append_text(out, "\" y=\"");
	flame_put_px(out, y);
	buffer_printf(out, "\"%s%s%s%s%s%s>", *anchor ? " text-anchor=\"" : "", anchor,
		      *anchor ? "\"" : "", *class ? " class=\"" : "", class, *class ? "\"" : "");
	flame_put_escaped(out, text, strlen(text));
	buffer_append_text(out, "</text>\n");
}

static void put_swatch(struct buffer *out, double x, double y, double width, const char *class,
		       const char *meaning)
{
	buffer_append_text(out, "<rect x=\"");
	flame_put_px(out, x);
	buffer_append_text(out, "\" y=\"");
	flame_put_px(out, y);
	buffer_append_text(out, "\" width=\"");
	flame_put_px(out, width);
	buffer_printf(out, "\" height=\"12\" class=\"%s\"><title>", class);
	flame_put_escaped(out, meaning, strlen(meaning));
	buffer_append_text(out, "</title></rect>\n");
}

/* About as wide as the page's fonts are. */
static double words_px(const char *text)
{
	return 6.6 * (double)flame_text_length(text, strlen(text));
}

/* What stands side by side below the scale: the greys, the kinds of code. */
struct row {
	double x, y, end;
	bool used;
};

/* Room for a swatch and its text, on the next line where this one is full. */
static double row_take(struct row *row, double swatch, const char *text)
{
	double width = swatch + 6 + words_px(text) + 18;
	if (row->used && row->x + width > row->end) {
		row->x = 10;
		row->y += 18;
	}
	double x = row->x;
	row->x += width;
	row->used = true;
	return x;
}

static void put_grey(struct row *row, int class_number, const char *text, struct buffer *out)
{
	double x = row_take(row, 18, text);
	put_swatch(out, x, row->y, 18, flame_class_css(class_number), text);
	put_words(out, x + 24, row->y + 10.5, "", "", text);
}

/* The swatches from x on, and below them the numbers at their edges. */
static double put_swatches(const struct flame_legend *legend, double x, double y, double width,
			   struct buffer *out)
{
	double end = x + legend->count * width;
	put_words(out, x + width / 2, y + 23, "middle", "", "\xe2\x89\xa4"); /* at most */
	put_words(out, end - width / 2, y + 23, "middle", "", "\xe2\x89\xa5");
	for (int i = 0; i < legend->count; i++, x += width) {
		const struct flame_legend_entry *entry = &legend->entries[i];
		bool middle = entry->class_number == FLAME_CLASS_MIDDLE;
		put_swatch(out, x, y, width, flame_class_css(entry->class_number), entry->range);
		if (*entry->tick)
			put_words(out, x + (middle ? width / 2 : width), y + 23, "middle", "",
				  entry->tick);
	}
	return end;
}

/* What the ends mean stands beside them; where that has no room, below. */
static void put_scale(const struct flame_legend *legend, double width_px, double *y,
		      struct buffer *out)
{
	double words = words_px(legend->low) + words_px(legend->high) + 20;
	double all = words + legend->count * SWATCH_PX + 2 * LEFT_PX;
	if (all <= width_px) {
		double x = LEFT_PX + words_px(legend->low) + 10;
		put_words(out, LEFT_PX, *y + 10.5, "", "words", legend->low);
		x = put_swatches(legend, x, *y, SWATCH_PX, out);
		put_words(out, x + 10, *y + 10.5, "", "words", legend->high);
		*y += 30;
		return;
	}
	double width = (width_px - 2 * LEFT_PX) / legend->count;
	char ends[2 * sizeof(legend->low) + 32];
	put_swatches(legend, LEFT_PX, *y, width < SWATCH_PX ? width : SWATCH_PX, out);
	snprintf(ends, sizeof(ends), "left end: %s", legend->low);
	put_words(out, LEFT_PX, *y + 40, "", "words", ends);
	snprintf(ends, sizeof(ends), "right end: %s", legend->high);
	put_words(out, LEFT_PX, *y + 55, "", "words", ends);
	*y += 62;
}

static void put_kinds(const struct flame_picture *picture, struct row *row, struct buffer *out)
{
	static const char *const names[FLAME_MARKS] = { [FLAME_MARK_KERNEL] = "kernel",
							[FLAME_MARK_INLINED] = "inlined",
							[FLAME_MARK_JIT] = "JIT code",
							[FLAME_MARK_UNKNOWN] = "no symbol" };
	bool there[FLAME_MARKS] = { false };
	for (size_t i = 0; i < picture->view->count; i++)
		there[flame_frame_mark(picture, i)] = true;
	for (int mark = 0; mark < FLAME_MARKS; mark++) {
		if (!names[mark] || !there[mark])
			continue;
		double x = row_take(row, 24, names[mark]);
		put_swatch(out, x, row->y, 24, FLAME_PLAIN_CSS, names[mark]);
		buffer_printf(out, "<path class=\"mark %s\" d=\"",
			      flame_mark_css((enum flame_mark)mark));
		flame_mark_append(out, (enum flame_mark)mark, x, row->y, 24, 12);
		buffer_append_text(out, "\"/>\n");
		put_words(out, x + 30, row->y + 10.5, "", "", names[mark]);
	}
}

/* ---- the images that have the most */

#define LEGEND_IMAGES 10

static void put_images(const struct flame_picture *picture, struct row *row, struct buffer *out)
{
	const struct flame_images *images = picture->images;
	size_t shown = 0;
	bool shared = false;
	while (shown < images->count && shown < LEGEND_IMAGES && images->list[shown].self)
		shown++;
	for (size_t i = 0; i < shown; i++) {
		const struct flame_image *image = &images->list[i];
		char share[QUANTITY_SIZE], text[FLAME_LEGEND_TEXT + QUANTITY_SIZE];
		quantity_percent((double)image->self, (double)picture->view->shown[0].width, share);
		snprintf(text, sizeof(text), "%.*s %s",
			 (int)flame_text_fit(image->name, strlen(image->name), 180), image->name,
			 share);
		double x = row_take(row, 18, text);
		put_swatch(out, x, row->y, 18, image->class, image->name);
		put_words(out, x + 24, row->y + 10.5, "", "", text);
		shared |= image->shared;
	}
	if (images->count > shown) {
		char text[64];
		snprintf(text, sizeof(text), "and %zu more", images->count - shown);
		put_words(out, row_take(row, 0, text), row->y + 10.5, "", "", text);
	}
	if (shared) {
		static const char words[] =
			"colours go by name, the same in all graphs: some images share one";
		put_words(out, row_take(row, 0, words), row->y + 10.5, "", "", words);
	}
}

/* ---- all of it */

static struct span event_name(const struct flame_picture *picture, size_t column)
{
	return flame_main_report(picture)->columns.list[column].name;
}

/* The colours of the 2014 scripts say which of two shares is larger, and by how much in this graph
 * alone. */
static void put_stretch(const struct flame_picture *picture, double *y, struct buffer *out)
{
	const struct flame_view *view = picture->view;
	const struct flame_ratio *ratio = &view->options.ratio;
	bool base = view->flame->reports[FLAME_BASE] != NULL;
	size_t width = view->options.width;
	struct span name = event_name(picture, width);
	char sentence[512];
	if (base)
		snprintf(sentence, sizeof(sentence), "red: more %.*s than before, blue: less",
			 (int)name.size, (const char *)name.data);
	else {
		struct span other =
			event_name(picture, ratio->above == width ? ratio->below : ratio->above);
		snprintf(sentence, sizeof(sentence),
			 "red: a larger share of %.*s than of %.*s, blue: a larger share of %.*s",
			 (int)name.size, (const char *)name.data, (int)other.size,
			 (const char *)other.data, (int)other.size, (const char *)other.data);
	}
	put_words(out, 10, *y + 10.5, "", "words", sentence);
	*y += FLAME_LINE_PX;
	put_words(out, 10, *y + 10.5, "", "",
		  "as the scripts of 2014: of the stacks that end in a frame, stretched to this "
		  "graph's largest difference; colours of two graphs do not compare");
	*y += 22;
}

static bool knows_images(const struct flame_picture *picture)
{
	const struct flame *flame = picture->view->flame;
	for (size_t i = 0; i < flame->label_count; i++)
		if (*flame->labels[i].image)
			return true;
	return !flame_main_report(picture)->has_stacks;
}

void flame_put_legend(const struct flame_picture *picture, double *y, struct buffer *out)
{
	const struct flame_view *view = picture->view;
	const struct flame_ratio *ratio = &view->options.ratio;
	struct flame_legend legend;
	struct span none = { NULL, 0 };
	buffer_append_text(out, "<g id=\"legend\">\n");
	if (view->deltas) {
		put_stretch(picture, y, out);
	} else {
		flame_legend_init(&legend, picture->scale,
				  picture->scale->metric == FLAME_DELTA
					  ? event_name(picture, view->options.width)
				  : ratio->known ? event_name(picture, ratio->above)
						 : none,
				  ratio->known ? event_name(picture, ratio->below) : none);
		if (picture->scale->metric == FLAME_PACKAGE && !knows_images(picture))
			snprintf(legend.title, sizeof(legend.title),
				 "colour by kind of code: the input names no images");
		if (*legend.title) {
			put_words(out, 10, *y + 10.5, "", "words", legend.title);
			*y += 19;
		}
		if (legend.count)
			put_scale(&legend, picture->width_px, y, out);
		if (*legend.note) {
			put_words(out, 10, *y + 10.5, "", "", legend.note);
			*y += 18;
		}
	}
	struct row row = { 10, *y, picture->width_px - 10, false };
	if (!view->deltas && legend.count) {
		put_grey(&row, FLAME_CLASS_UNSURE, legend.unsure, out);
		put_grey(&row, FLAME_CLASS_ABSENT, "no value: an event is missing there", out);
	}
	if (picture->scale->metric == FLAME_PACKAGE && !view->deltas)
		put_images(picture, &row, out);
	put_kinds(picture, &row, out);
	buffer_append_text(out, "</g>\n");
	*y = row.y + (row.used ? 26 : 8);
}
