/*
 * flame_page - the parts of a flame graph's page, for flame_svg.c.
 */
#pragma once

#include <stddef.h>

#include "base/buffer.h"
#include "render/flame_picture.h"

#define FLAME_ROW_PX   16.0
#define FLAME_FRAME_PX 15.0
#define FLAME_LINE_PX  15.0

/* The columns, scope and sums of the profile that is drawn; not those of the base. */
static inline const struct report *flame_main_report(const struct flame_picture *picture)
{
	return picture->view->flame->reports[FLAME_MAIN];
}

enum flame_mark flame_frame_mark(const struct flame_picture *picture, size_t shown);

void flame_put_title(const struct flame_picture *picture, struct buffer *out); /* escaped */
/* Title and scope, a line of text each at y = *y, which moves below them. */
void flame_put_head(const struct flame_picture *picture, double *y, struct buffer *out);
/* Swatches with numbers and words; *y moves. */
void flame_put_legend(const struct flame_picture *picture, double *y, struct buffer *out);
/* What hovering over a frame shows: one line, escaped. */
void flame_put_hover(const struct flame_picture *picture, size_t shown, struct buffer *out);
/* The document that the script reads: a <script> element. */
void flame_put_data(const struct flame_picture *picture, struct buffer *out);
