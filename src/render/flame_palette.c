#include "render/flame_palette.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "image/libc_name.h"
#include "render/flame_colour.h"

/*
 * Blue to red over a near-white (near-black) middle, found by a search in OKLCH:
 * lightness falls evenly from the middle to both ends, hue and saturation move one
 * way, and the least CIEDE2000 distance of two classes under normal vision and
 * three kinds of colour blindness was made as large as the labels' contrast of
 * 4.7:1 allows.
 */
static const uint32_t classes[2][FLAME_CLASSES] = {
	[FLAME_LIGHT] = { 0x3a84e3, 0x5e9fdd, 0x80b6de, 0x98ceed, 0xc8e1ef, 0xf6f4ea, 0xf0dbb9,
			  0xf4ba97, 0xf99766, 0xf27261, 0xef4147 },
	[FLAME_DARK] = { 0x2f6cbd, 0x0364a0, 0x025789, 0x024a74, 0x1c3e50, 0x2e3033, 0x473820,
			 0x6a3a18, 0x834218, 0x974a3f, 0xc43c33 },
};
static const uint32_t hatch_ground[2] = { 0xdadada, 0x3d3d3d };
static const uint32_t hatch_stroke[2] = { 0xbdbdbd, 0x555555 };
static const uint32_t absent[2] = { 0xc9c9c9, 0x4b4b4b };
static const uint32_t text[2] = { 0x101418, 0xf2f4f5 };
static const uint32_t plain[2] = { 0xf0dbb9, 0x473820 };
/* The fixed ones first; the others by a search for colours far from all before them. */
static const uint32_t packages[2][FLAME_PACKAGES] = {
	[FLAME_LIGHT] = { 0xf5b183, 0x8fc1e8, 0xb5c3d0, 0x9bd39b, 0xf0a0a8, 0xc3b1e6, 0xd9b99b,
			  0xf2b5dc, 0xe3d37a, 0x86d3cf, 0xc9d98a, 0x9fb0f2, 0x8f9581, 0xb58b2b,
			  0xca6bb5, 0xa18b95, 0xd0765d, 0xd7e3ce, 0xaa83ea, 0xddc3c5, 0xaeab18 },
	[FLAME_DARK] = { 0x82481f, 0x2c5a80, 0x46545f, 0x2f6636, 0x84323d, 0x58468a, 0x654b33,
			 0x7d3a66, 0x645812, 0x1d6360, 0x4f601c, 0x3a4a8c, 0x2b3424, 0x3a2b36,
			 0x6f5a60, 0x681500, 0x5a0962, 0x5a6453, 0x013648, 0x0a3b0d, 0x5b2036 },
};

uint32_t flame_class_rgb(int class_number, enum flame_theme theme)
{
	if (class_number == FLAME_CLASS_UNSURE)
		return hatch_ground[theme];
	if (class_number < 0 || class_number >= FLAME_CLASSES)
		return absent[theme];
	return classes[theme][class_number];
}

uint32_t flame_hatch_rgb(enum flame_theme theme)
{
	return hatch_stroke[theme];
}

uint32_t flame_package_rgb(int number, enum flame_theme theme)
{
	return packages[theme][number];
}

uint32_t flame_text_rgb(enum flame_theme theme)
{
	return text[theme];
}

const char *flame_class_css(int class_number)
{
	static const char *const names[] = { "c0", "c1", "c2", "c3",  "c4", "c5", "c6",
					     "c7", "c8", "c9", "c10", "ns", "nv" };
	return class_number < 0 || class_number > FLAME_CLASS_ABSENT ? "nv" : names[class_number];
}

/* "libz.so" of "libz.so.1.2.13": a new version keeps its colour. */
static struct span without_version(struct span image)
{
	const char *end = memmem(image.data, image.size, ".so.", 4);
	if (end)
		image.size = (size_t)(end - (const char *)image.data) + 3;
	return image;
}

unsigned flame_package_number(struct span image)
{
	if (span_equal(image, span_of_text("[kernel]")) || span_starts_with(image, "[kernel."))
		return FLAME_PACKAGE_KERNEL;
	if (libc_name_is(image))
		return FLAME_PACKAGE_LIBC;
	if (span_starts_with(image, "[unknown"))
		return FLAME_PACKAGE_UNKNOWN;
	struct span name = without_version(image);
	return FLAME_PACKAGES_FIXED + (unsigned)(hash_bytes_stable(name.data, name.size) %
						 (FLAME_PACKAGES - FLAME_PACKAGES_FIXED));
}

const char *flame_package_css(unsigned number)
{
	static const char *const names[FLAME_PACKAGES] = { "p0",  "p1",	 "p2",	"p3",  "p4",  "p5",
							   "p6",  "p7",	 "p8",	"p9",  "p10", "p11",
							   "p12", "p13", "p14", "p15", "p16", "p17",
							   "p18", "p19", "p20" };
	return names[number % FLAME_PACKAGES];
}

static void append_fill(struct buffer *out, const char *prefix, const char *selectors, uint32_t rgb)
{
	buffer_printf(out, "%s%s{fill:#%06x}\n", prefix, selectors, rgb);
}

/* The rules of one theme, each selector after `prefix`. */
static void append_theme(struct buffer *out, const char *prefix, enum flame_theme theme)
{
	for (int i = 0; i < FLAME_CLASSES; i++) {
		char selector[8];
		snprintf(selector, sizeof(selector), ".%s", flame_class_css(i));
		append_fill(out, prefix, selector, classes[theme][i]);
	}
	append_fill(out, prefix, ".nv", absent[theme]);
	append_fill(out, prefix, ".hatch-ground", hatch_ground[theme]);
	buffer_printf(out, "%s.hatch-line{stroke:#%06x}\n", prefix, hatch_stroke[theme]);
	append_fill(out, prefix, "." FLAME_PLAIN_CSS, plain[theme]);
	for (int i = 0; i < FLAME_PACKAGES; i++) {
		char selector[8];
		snprintf(selector, sizeof(selector), ".p%d", i);
		append_fill(out, prefix, selector, packages[theme][i]);
	}
	append_fill(out, prefix, "#labels text", text[theme]);
}

void flame_colour_css(struct buffer *out)
{
	buffer_append_text(out, ".ns{fill:url(#hatch)}\n");
	append_theme(out, "", FLAME_LIGHT);
	buffer_append_text(out, "@media (prefers-color-scheme:dark){\n");
	append_theme(out, "#culprit-flame:not([data-theme=light]) ", FLAME_DARK);
	buffer_append_text(out, "}\n");
	append_theme(out, "#culprit-flame[data-theme=dark] ", FLAME_DARK);
}

uint32_t flame_gregg_rgb(double delta, double largest)
{
	if (!(largest >= 1))
		largest = 1;
	double left = 210 * (largest - fmin(fabs(delta), largest)) / largest;
	uint32_t rest = (uint32_t)left; /* int() of the scripts */
	if (delta > 0)
		return 0xff0000 | rest << 8 | rest;
	if (delta < 0)
		return rest << 16 | rest << 8 | 0xff;
	return 0xffffff;
}

const char *flame_mark_css(enum flame_mark mark)
{
	static const char *const names[FLAME_MARKS] = { "u", "k", "i", "j", "n" };
	return names[mark];
}

#define MARK_CORNER 5.0 /* legs of the triangle, px */

void flame_mark_append(struct buffer *path, enum flame_mark mark, double x, double y, double width,
		       double height)
{
	if (width < FLAME_MARK_WIDTH)
		return;
	double corner = fmin(MARK_CORNER, width / 2);
	double right = x + width;
	switch (mark) {
	case FLAME_MARK_USER:
		break;
	case FLAME_MARK_KERNEL:
		buffer_printf(path, "M%.2f %.2fh%.2fv%.2fz", right - corner, y, corner, corner);
		break;
	case FLAME_MARK_JIT:
		buffer_printf(path, "M%.2f %.2fh%.2fl%.2f %.2fz", x, y, corner, -corner, corner);
		break;
	case FLAME_MARK_INLINED:
		buffer_printf(path, "M%.2f %.2fh%.2f", x + 1, y + height - 1, width - 2);
		break;
	case FLAME_MARK_UNKNOWN:
		buffer_printf(path, "M%.2f %.2fh%.2f", x + 1, y + 1, width - 2);
		break;
	}
}
