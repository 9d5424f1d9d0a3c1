#include "render/flame_svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/visible_text.h"
#include "flame_web.h" /* made by tools/embed from web/ */
#include "render/flame_images.h"
#include "render/flame_page.h"
#include "render/flame_text.h"

#define LABEL_LEFT_PX 3.0
#define LABEL_LEAST   3 /* bytes: shorter ones say nothing */
#define ROOM_LEAST_PX 14.0
#define DOTS_PX	      8.0

double flame_min_share(double width_px, double min_px)
{
	return min_px / (width_px - 2 * FLAME_MARGIN_PX);
}

/* "u", "k", "i", "j", "n"; "t" a name from text; "g" no code. */
static const char *kind_letter(enum flame_kind kind)
{
	static const char *const letters[] = {
		[FLAME_GROUP] = "g",   [FLAME_USER] = "u", [FLAME_KERNEL] = "k",
		[FLAME_INLINED] = "i", [FLAME_JIT] = "j",  [FLAME_UNKNOWN] = "n",
		[FLAME_TEXT] = "t"
	};
	return letters[kind];
}

static enum flame_mark mark_of(enum flame_kind kind)
{
	switch (kind) {
	case FLAME_KERNEL:
		return FLAME_MARK_KERNEL;
	case FLAME_INLINED:
		return FLAME_MARK_INLINED;
	case FLAME_JIT:
		return FLAME_MARK_JIT;
	case FLAME_UNKNOWN:
		return FLAME_MARK_UNKNOWN;
	default:
		return FLAME_MARK_USER;
	}
}

static const struct flame_label *label_of(const struct flame_view *view, size_t shown)
{
	return flame_label_of(view->flame, view->shown[shown].frame);
}

enum flame_mark flame_frame_mark(const struct flame_picture *picture, size_t shown)
{
	return mark_of(label_of(picture->view, shown)->kind);
}

static const char *change_class(const struct flame_picture *picture, size_t shown)
{
	const struct flame_changes *changes = picture->changes;
	if (changes->list[shown].verdict == DIFFERENCE_NOISE)
		return flame_class_css(FLAME_CLASS_UNSURE);
	return flame_class_css(
		flame_class(picture->scale, flame_changes_ratio(changes, shown), -1));
}

/* The CSS class that gives a shown frame its colour; for views without deltas. */
static const char *frame_class(const struct flame_picture *picture, size_t shown)
{
	const struct flame_view *view = picture->view;
	switch (picture->scale->metric) {
	case FLAME_PACKAGE:
		return picture->images
			->of_label[view->flame->frames[view->shown[shown].frame].label];
	case FLAME_NONE:
		return FLAME_PLAIN_CSS;
	case FLAME_DELTA:
		return change_class(picture, shown);
	default:
		break;
	}
	if (!view->ratios)
		return FLAME_PLAIN_CSS;
	return flame_class_css(
		flame_class(picture->scale, view->ratios[shown], view->effective[shown]));
}

/* ---- frames */

/* Where things are on the page. */
struct geometry {
	double top, height; /* of the view */
	double px_a_unit;   /* of the width event */
	size_t rows;
	enum flame_layout layout;
};

static double row_y(const struct geometry *geometry, uint32_t depth)
{
	return FLAME_ROW_PX * (geometry->layout == FLAME_ICICLE
				       ? (double)depth
				       : (double)(geometry->rows - 1 - depth));
}

static void put_colour(const struct flame_picture *picture, size_t shown, struct buffer *out)
{
	const struct flame_view *view = picture->view;
	buffer_append_text(out, view->deltas ? "rgb" : frame_class(picture, shown));
	buffer_append_u8(out, ' ');
	buffer_append_text(out, kind_letter(label_of(view, shown)->kind));
	if (view->shown[shown].vanished)
		buffer_append_text(out, " v");
	if (!view->deltas)
		return;
	uint32_t rgb = flame_gregg_rgb(view->deltas[shown], view->largest_delta);
	buffer_append_text(out, "\" fill=\"rgb(");
	for (int shift = 16; shift >= 0; shift -= 8) {
		buffer_append_decimal(out, rgb >> shift & 255);
		buffer_append_text(out, shift ? "," : ")");
	}
}

static void put_frame(const struct flame_picture *picture, const struct geometry *geometry,
		      size_t shown, struct buffer *out)
{
	const struct flame_shown *frame = &picture->view->shown[shown];
	const struct flame *flame = picture->view->flame;
	buffer_append_text(out, "<rect x=\"");
	flame_put_px(out, (double)frame->x * geometry->px_a_unit);
	buffer_append_text(out, "\" y=\"");
	flame_put_px(out, row_y(geometry, flame->frames[frame->frame].depth));
	buffer_append_text(out, "\" width=\"");
	flame_put_px(out, (double)frame->width * geometry->px_a_unit);
	buffer_append_text(out, "\" height=\"15\" class=\"");
	put_colour(picture, shown, out);
	buffer_append_text(out, "\" data-i=\"");
	buffer_append_decimal(out, shown);
	buffer_append_text(out, "\"><title>");
	flame_put_hover(picture, shown, out);
	buffer_append_text(out, "</title></rect>\n");
}

static void put_frames(const struct flame_picture *picture, const struct geometry *geometry,
		       struct buffer *out)
{
	buffer_append_text(out, "<g id=\"frames\">\n");
	for (size_t i = 0; i < picture->view->count; i++)
		put_frame(picture, geometry, i, out);
	buffer_append_text(out, "</g>\n");
}

/* Kernel, inlined, JIT and unknown frames have a mark each, one path a kind. */
static void put_marks(const struct flame_picture *picture, const struct geometry *geometry,
		      struct buffer *out)
{
	const struct flame_view *view = picture->view;
	struct buffer paths[FLAME_MARKS] = { { 0 } };
	for (size_t i = 0; i < view->count; i++) {
		const struct flame_shown *frame = &view->shown[i];
		double width = (double)frame->width * geometry->px_a_unit;
		enum flame_mark mark = flame_frame_mark(picture, i);
		if (mark == FLAME_MARK_USER || width < FLAME_MARK_WIDTH)
			continue;
		flame_mark_append(&paths[mark], mark, (double)frame->x * geometry->px_a_unit,
				  row_y(geometry, view->flame->frames[frame->frame].depth), width,
				  FLAME_FRAME_PX);
	}
	buffer_append_text(out, "<g id=\"marks\">\n");
	for (int mark = 0; mark < FLAME_MARKS; mark++) {
		if (paths[mark].size) {
			buffer_printf(out, "<path class=\"mark %s\" d=\"",
				      flame_mark_css((enum flame_mark)mark));
			buffer_append(out, paths[mark].data, paths[mark].size);
			buffer_append_text(out, "\"/>\n");
		}
		out->failed |= paths[mark].failed;
		buffer_release(&paths[mark]);
	}
	buffer_append_text(out, "</g>\n");
}

static void put_labels(const struct flame_picture *picture, const struct geometry *geometry,
		       struct buffer *out)
{
	const struct flame_view *view = picture->view;
	CLEANUP(buffer_release) struct buffer safe = { 0 }; /* what is measured is what is shown */
	buffer_append_text(out, "<g id=\"labels\">\n");
	for (size_t i = 0; i < view->count; i++) {
		const struct flame_shown *frame = &view->shown[i];
		double room = (double)frame->width * geometry->px_a_unit - 2 * LABEL_LEFT_PX;
		if (room < ROOM_LEAST_PX)
			continue;
		safe.size = 0;
		text_append_safe(&safe, label_of(view, i)->name, strlen(label_of(view, i)->name));
		const char *name = (const char *)safe.data;
		size_t size = safe.size, kept = flame_text_fit(name, size, room);
		bool fits = kept == size;
		if (!fits)
			kept = flame_text_fit(name, size, room - DOTS_PX);
		if (kept < LABEL_LEAST)
			continue;
		buffer_append_text(out, "<text x=\"");
		flame_put_px(out, (double)frame->x * geometry->px_a_unit + LABEL_LEFT_PX);
		buffer_append_text(out, "\" y=\"");
		flame_put_px(out, row_y(geometry, view->flame->frames[frame->frame].depth) + 11.5);
		buffer_append_text(out, "\" data-i=\"");
		buffer_append_decimal(out, i);
		buffer_append_text(out, "\">");
		flame_put_escaped(out, name, kept);
		buffer_append_text(out, fits ? "</text>\n" : "..</text>\n");
	}
	buffer_append_text(out, "</g>\n");
	out->failed |= buffer_failed(&safe);
}

/* ---- the page */

static void put_svg_start(const struct flame_picture *picture, double height, struct buffer *out)
{
	bool base = picture->view->flame->reports[FLAME_BASE] != NULL;
	buffer_append_text(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"culprit-flame\" "
				"viewBox=\"0 0 ");
	flame_put_px(out, picture->width_px);
	buffer_append_u8(out, ' ');
	flame_put_px(out, height);
	buffer_append_text(out, "\" width=\"");
	flame_put_px(out, picture->width_px);
	buffer_append_text(out, "\" height=\"");
	flame_put_px(out, height);
	buffer_printf(out, "\" data-kind=\"%s\" data-layout=\"%s\" role=\"img\" aria-label=\"",
		      base ? "diff" : "flame",
		      picture->layout == FLAME_ICICLE ? "icicle" : "flame");
	flame_put_title(picture, out);
	buffer_append_text(out, "\" font-family=\"'DejaVu Sans',Verdana,sans-serif\" "
				"font-size=\"11.5\"");
	buffer_append_text(out, picture->view->deltas ? " class=\"gregg\">\n" : ">\n");
}

static void put_code(const char *element, const char *code, struct buffer *out)
{
	if (!*code)
		return;
	buffer_printf(out, "<%s><![CDATA[\n", element);
	buffer_append_text(out, code);
	buffer_printf(out, "]]></%s>\n", element);
}

static void put_style(struct buffer *out)
{
	buffer_append_text(out, "<style><![CDATA[\n");
	flame_colour_css(out);
	buffer_append_text(out, flame_css);
	buffer_append_text(out, "#frames .v{fill-opacity:.45;stroke:#808080;stroke-dasharray:2 2;"
				"vector-effect:non-scaling-stroke}\n");
	buffer_append_text(out, "]]></style>\n");
}

static void put_view(const struct flame_picture *picture, const struct geometry *geometry,
		     struct buffer *out)
{
	buffer_append_text(out, "<svg id=\"view\" x=\"10\" y=\"");
	flame_put_px(out, geometry->top);
	buffer_append_text(out, "\" width=\"");
	flame_put_px(out, picture->width_px - 2 * FLAME_MARGIN_PX);
	buffer_append_text(out, "\" height=\"");
	flame_put_px(out, geometry->height);
	buffer_append_text(out, "\" overflow=\"hidden\">\n");
	put_frames(picture, geometry, out);
	put_marks(picture, geometry, out);
	put_labels(picture, geometry, out);
	buffer_append_text(out, "</svg>\n");
}

static void put_foot(const struct geometry *geometry, double width_px, struct buffer *out)
{
	double y = geometry->top + geometry->height + 18;
	buffer_append_text(out, "<text id=\"details\" x=\"10\" y=\"");
	flame_put_px(out, y);
	buffer_append_text(out, "\"> </text>\n<text id=\"matched\" x=\"");
	flame_put_px(out, width_px - FLAME_MARGIN_PX);
	buffer_append_text(out, "\" y=\"");
	flame_put_px(out, y);
	buffer_append_text(out, "\" text-anchor=\"end\"> </text>\n");
}

static void put_document(const struct flame_picture *picture, struct buffer *out)
{
	CLEANUP(buffer_release) struct buffer head = { 0 };
	const struct flame_view *view = picture->view;
	double y = 0;
	flame_put_head(picture, &y, &head);
	flame_put_legend(picture, &y, &head);
	struct geometry geometry = {
		.top = y,
		.height = FLAME_ROW_PX * view->depth,
		.rows = view->depth,
		.layout = picture->layout,
		.px_a_unit =
			(picture->width_px - 2 * FLAME_MARGIN_PX) / (double)view->shown[0].width,
	};
	put_svg_start(picture, geometry.top + geometry.height + 44, out);
	put_style(out);
	buffer_append_text(out, "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" "
				"patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
				"<rect width=\"6\" height=\"6\" class=\"hatch-ground\"/><path "
				"d=\"M0 0v6\" class=\"hatch-line\" stroke-width=\"3\"/></pattern>"
				"</defs>\n");
	buffer_append_text(out, "<rect id=\"background\" width=\"100%\" height=\"100%\"/>\n");
	buffer_append(out, head.data, head.size);
	buffer_append_text(out, "<g id=\"controls\"></g>\n");
	put_view(picture, &geometry, out);
	put_foot(&geometry, picture->width_px, out);
	flame_put_data(picture, out);
	put_code("script", flame_js, out);
	buffer_append_text(out, "</svg>\n");
	out->failed |= head.failed;
}

static void put_page(const struct flame_picture *picture, struct buffer *out)
{
	buffer_append_text(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n"
				"<meta charset=\"utf-8\">\n<title>");
	flame_put_title(picture, out);
	buffer_append_text(out, "</title>\n</head>\n<body class=\"culprit-page\">\n");
	put_document(picture, out);
	buffer_append_text(out, "</body>\n</html>\n");
}

void flame_svg(const struct flame_picture *picture, struct buffer *out)
{
	CLEANUP(flame_images_release) struct flame_images images;
	struct flame_picture own = *picture;
	if (flame_images_init(&images, picture->view) < 0) {
		out->failed = true;
		return;
	}
	own.images = &images;
	if (picture->form == FLAME_HTML) {
		put_page(&own, out);
		return;
	}
	buffer_append_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	put_document(&own, out);
}
