/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "render/flame_colour.h"
#include "render/flame_palette.h"

/* --- how colours are seen --- */

struct rgb {
	double r, g, b; /* linear light, 0 to 1 */
};
struct lab {
	double l, a, b;
};

/* IEC 61966-2-1 */
static double linear(uint32_t byte)
{
	double v = byte / 255.0;
	return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

static struct rgb rgb_of(uint32_t colour)
{
	return (struct rgb){ linear(colour >> 16 & 255), linear(colour >> 8 & 255),
			     linear(colour & 255) };
}

enum { NORMAL, PROTANOPIA, DEUTERANOPIA, TRITANOPIA, VISIONS };
static const char *const vision_names[] = { "normal vision", "protanopia", "deuteranopia",
					    "tritanopia" };

/* Machado, Oliveira, Fernandes 2009, "A Physiologically-based Model for Simulation of Color Vision
 * Deficiency", table 1, severity 1.0; on linear light. */
static const double visions[VISIONS][3][3] = {
	{ { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } },
	{ { 0.152286, 1.052583, -0.204868 },
	  { 0.114503, 0.786281, 0.099216 },
	  { -0.003882, -0.048116, 1.051998 } },
	{ { 0.367322, 0.860646, -0.227968 },
	  { 0.280085, 0.672501, 0.047413 },
	  { -0.011820, 0.042940, 0.968881 } },
	{ { 1.255528, -0.076749, -0.178779 },
	  { -0.078411, 0.930809, 0.147602 },
	  { 0.004733, 0.691367, 0.303900 } },
};

static double within(double v)
{
	return v < 0 ? 0 : v > 1 ? 1 : v;
}

static struct rgb seen_with(struct rgb c, int vision)
{
	const double(*m)[3] = visions[vision];
	return (struct rgb){ within(m[0][0] * c.r + m[0][1] * c.g + m[0][2] * c.b),
			     within(m[1][0] * c.r + m[1][1] * c.g + m[1][2] * c.b),
			     within(m[2][0] * c.r + m[2][1] * c.g + m[2][2] * c.b) };
}

static double lab_curve(double t)
{
	return t > 216.0 / 24389 ? cbrt(t) : (24389.0 / 27 * t + 16) / 116;
}

/* CIE 1976 L*a*b*, white D65 */
static struct lab lab_of(struct rgb c)
{
	double x = lab_curve((0.4124564 * c.r + 0.3575761 * c.g + 0.1804375 * c.b) / 0.95047);
	double y = lab_curve(0.2126729 * c.r + 0.7151522 * c.g + 0.0721750 * c.b);
	double z = lab_curve((0.0193339 * c.r + 0.1191920 * c.g + 0.9503041 * c.b) / 1.08883);
	return (struct lab){ 116 * y - 16, 500 * (x - y), 200 * (y - z) };
}

static double radians(double degrees)
{
	return degrees * M_PI / 180;
}

static double hue_of(double a, double b)
{
	double h = a == 0 && b == 0 ? 0 : atan2(b, a) * 180 / M_PI;
	return h < 0 ? h + 360 : h;
}

/* CIEDE2000 as Sharma, Wu, Dalal 2005 write it; about 1 is just seen side by side. */
static double distance(struct lab p, struct lab q)
{
	double mean = (hypot(p.a, p.b) + hypot(q.a, q.b)) / 2;
	double g = 0.5 * (1 - sqrt(pow(mean, 7) / (pow(mean, 7) + pow(25, 7))));
	double a1 = p.a * (1 + g), a2 = q.a * (1 + g);
	double c1 = hypot(a1, p.b), c2 = hypot(a2, q.b);
	double h1 = hue_of(a1, p.b), h2 = hue_of(a2, q.b);
	double turn = c1 * c2 == 0 ? 0 : h2 - h1;
	turn += turn > 180 ? -360 : turn < -180 ? 360 : 0;
	double dl = q.l - p.l, dc = c2 - c1, dh = 2 * sqrt(c1 * c2) * sin(radians(turn / 2));
	double l = (p.l + q.l) / 2, c = (c1 + c2) / 2, h = h1 + h2;
	if (c1 * c2 != 0)
		h = fabs(h1 - h2) <= 180 ? h / 2 : h < 360 ? h / 2 + 180 : h / 2 - 180;
	double t = 1 - 0.17 * cos(radians(h - 30)) + 0.24 * cos(radians(2 * h)) +
		   0.32 * cos(radians(3 * h + 6)) - 0.20 * cos(radians(4 * h - 63));
	double sl = 1 + 0.015 * (l - 50) * (l - 50) / sqrt(20 + (l - 50) * (l - 50));
	double sc = 1 + 0.045 * c, sh = 1 + 0.015 * c * t;
	double rt = -sin(radians(60 * exp(-pow((h - 275) / 25, 2)))) * 2 *
		    sqrt(pow(c, 7) / (pow(c, 7) + pow(25, 7)));
	return sqrt(pow(dl / sl, 2) + pow(dc / sc, 2) + pow(dh / sh, 2) +
		    rt * (dc / sc) * (dh / sh));
}

static struct lab seen(uint32_t colour, int vision)
{
	return lab_of(seen_with(rgb_of(colour), vision));
}

/* WCAG 2.1, 1.4.3 */
static double contrast(uint32_t p, uint32_t q)
{
	struct rgb a = rgb_of(p), b = rgb_of(q);
	double la = 0.2126 * a.r + 0.7152 * a.g + 0.0722 * a.b;
	double lb = 0.2126 * b.r + 0.7152 * b.g + 0.0722 * b.b;
	return (fmax(la, lb) + 0.05) / (fmin(la, lb) + 0.05);
}

/* Sharma, Wu, Dalal 2005, table 1: pairs 1, 7, 13, 19, 25 and 34 */
static void the_distance_is_the_published_one(void **state)
{
	(void)state;
	static const struct {
		struct lab p, q;
		double distance;
	} known[] = {
		{ { 50, 2.6772, -79.7751 }, { 50, 0, -82.7485 }, 2.0425 },
		{ { 50, 0, 0 }, { 50, -1, 2 }, 2.3669 },
		{ { 50, -0.0010, 2.4900 }, { 50, 0.0009, -2.4900 }, 4.8045 },
		{ { 50, 2.5, 0 }, { 58, 24, 15 }, 19.4535 },
		{ { 60.2574, -34.0099, 36.2677 }, { 60.4626, -34.1751, 39.4387 }, 1.2644 },
		{ { 2.0776, 0.0795, -1.1350 }, { 0.9033, -0.0636, -0.5514 }, 0.9082 },
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_float_equal(distance(known[i].p, known[i].q), known[i].distance, 0.0001);
}

/* --- the palette --- */

#define COLOURS (FLAME_CLASSES + 2) /* with the two greys */

/* The least distance of two classes that `step` lie apart, or of any two with step 0. */
static double least(enum flame_theme theme, int vision, int count, int step)
{
	double smallest = INFINITY;
	for (int i = 0; i < count; i++)
		for (int j = i + 1; j < count; j++) {
			if (step && j - i != step)
				continue;
			double apart = distance(seen(flame_class_rgb(i, theme), vision),
						seen(flame_class_rgb(j, theme), vision));
			smallest = fmin(smallest, apart);
		}
	return smallest;
}

/* What neighbours, any two classes and the ends must keep; a light ground leaves more room. */
static const struct {
	double neighbours, ends, mirrored;
} limits[] = { [FLAME_LIGHT] = { 6, 40, 20 }, [FLAME_DARK] = { 4.4, 40, 20 } };

static void neighbours_stay_apart_however_colours_are_seen(void **state)
{
	(void)state;
	for (int theme = FLAME_LIGHT; theme <= FLAME_DARK; theme++)
		for (int vision = 0; vision < VISIONS; vision++) {
			double next = least(theme, vision, FLAME_CLASSES, 1);
			print_message("%s, %s: neighbours %.1f apart, ends %.1f\n",
				      theme ? "dark" : "light", vision_names[vision], next,
				      least(theme, vision, FLAME_CLASSES, FLAME_CLASSES - 1));
			assert_true(next >= limits[theme].neighbours);
		}
}

static void no_two_classes_are_closer_than_neighbours(void **state)
{
	(void)state;
	for (int theme = FLAME_LIGHT; theme <= FLAME_DARK; theme++)
		for (int vision = 0; vision < VISIONS; vision++)
			assert_true(least(theme, vision, FLAME_CLASSES, 0) >=
				    limits[theme].neighbours);
}

static void both_sides_of_the_middle_stay_far_apart(void **state)
{
	(void)state;
	for (int theme = FLAME_LIGHT; theme <= FLAME_DARK; theme++)
		for (int vision = 0; vision < VISIONS; vision++)
			for (int i = 0; i < FLAME_CLASS_MIDDLE; i++) {
				double apart =
					distance(seen(flame_class_rgb(i, theme), vision),
						 seen(flame_class_rgb(FLAME_CLASSES - 1 - i, theme),
						      vision));
				assert_true(apart >=
					    (i ? limits[theme].mirrored : limits[theme].ends));
			}
}

static void the_greys_are_no_class(void **state)
{
	(void)state;
	for (int theme = FLAME_LIGHT; theme <= FLAME_DARK; theme++)
		for (int vision = 0; vision < VISIONS; vision++)
			for (int grey = FLAME_CLASSES; grey < COLOURS; grey++)
				for (int i = 0; i < FLAME_CLASSES; i++)
					assert_true(
						distance(seen(flame_class_rgb(i, theme), vision),
							 seen(flame_class_rgb(grey, theme),
							      vision)) >= limits[theme].neighbours);
}

static void names_can_be_read_on_every_colour(void **state)
{
	(void)state;
	double smallest = INFINITY;
	for (int theme = FLAME_LIGHT; theme <= FLAME_DARK; theme++) {
		uint32_t text = flame_text_rgb(theme);
		for (int i = 0; i < COLOURS; i++)
			smallest = fmin(smallest, contrast(text, flame_class_rgb(i, theme)));
		for (int i = 0; i < FLAME_PACKAGES; i++)
			smallest = fmin(smallest, contrast(text, flame_package_rgb(i, theme)));
		smallest = fmin(smallest, contrast(text, flame_hatch_rgb(theme)));
	}
	print_message("least contrast of a label %.2f\n", smallest);
	assert_true(smallest >= 4.5);
}

static void each_side_darkens_or_lightens_one_way(void **state)
{
	(void)state;
	for (int i = 0; i < FLAME_CLASS_MIDDLE; i++) {
		assert_true(seen(flame_class_rgb(i, FLAME_LIGHT), NORMAL).l <
			    seen(flame_class_rgb(i + 1, FLAME_LIGHT), NORMAL).l);
		int red = FLAME_CLASSES - 1 - i;
		assert_true(seen(flame_class_rgb(red, FLAME_LIGHT), NORMAL).l <
			    seen(flame_class_rgb(red - 1, FLAME_LIGHT), NORMAL).l);
		assert_true(seen(flame_class_rgb(red, FLAME_DARK), NORMAL).l >
			    seen(flame_class_rgb(red - 1, FLAME_DARK), NORMAL).l);
	}
}

/* --- the rest --- */

/* Colours and changes as ../shared/corpus's cycles-instructions-01.normalize.svg has them; its
 * largest change of a line is main's -23 of 111 samples. */
static void stretched_colours_are_those_of_the_2014_scripts(void **state)
{
	(void)state;
	assert_int_equal(flame_gregg_rgb(0, 23), 0xffffff);
	assert_int_equal(flame_gregg_rgb(1, 23), 0xffc8c8);   /* rgb(255,200,200): +0.90 % */
	assert_int_equal(flame_gregg_rgb(3, 23), 0xffb6b6);   /* rgb(255,182,182): +2.70 % */
	assert_int_equal(flame_gregg_rgb(9, 23), 0xff7f7f);   /* rgb(255,127,127): +8.11 % */
	assert_int_equal(flame_gregg_rgb(-23, 23), 0x0000ff); /* rgb(0,0,255): -20.72 % */
	assert_int_equal(flame_gregg_rgb(0.5, 0), 0xff6969);  /* the largest is at least 1 */
	assert_int_equal(flame_gregg_rgb(-40, 23), 0x0000ff);
}

static unsigned number_of(const char *image)
{
	return flame_package_number(span_of_text(image));
}

static void images_use_all_colours(void **state)
{
	(void)state;
	int used[FLAME_PACKAGES] = { 0 };
	for (int i = 0; i < 600; i++) {
		char name[16];
		snprintf(name, sizeof(name), "lib%d.so", i);
		used[number_of(name)]++;
	}
	for (int i = FLAME_PACKAGES_FIXED; i < FLAME_PACKAGES; i++)
		assert_true(used[i] > 0);
	for (int i = 0; i < FLAME_PACKAGES_FIXED; i++)
		assert_int_equal(used[i], 0);
	assert_string_equal(flame_package_css(FLAME_PACKAGES - 1), "p20");
}

static void kernel_c_library_and_unknown_code_have_colours_of_their_own(void **state)
{
	(void)state;
	assert_int_equal(number_of("[kernel]"), FLAME_PACKAGE_KERNEL);
	static const char *const libc[] = { "libc.so.6", "libc-2.31.so", "libc.so",
					    "ld-musl-x86_64.so.1", "libc.musl-aarch64.so.1" };
	for (size_t i = 0; i < sizeof(libc) / sizeof(libc[0]); i++)
		assert_int_equal(number_of(libc[i]), FLAME_PACKAGE_LIBC);
	assert_int_equal(number_of("[unknown: no mapping]"), FLAME_PACKAGE_UNKNOWN);
	assert_true(number_of("libcrypto.so.3") >= FLAME_PACKAGES_FIXED);
	assert_int_equal(number_of("[kernel.kallsyms]"), FLAME_PACKAGE_KERNEL);
	assert_true(number_of("libc.sort") >= FLAME_PACKAGES_FIXED);
	assert_true(number_of("[vdso]") >= FLAME_PACKAGES_FIXED);
}

static void a_new_version_of_an_image_keeps_its_colour(void **state)
{
	(void)state;
	assert_int_equal(number_of("libz.so.1.2.13"), number_of("libz.so.1"));
	assert_int_equal(number_of("libz.so"), number_of("libz.so.1"));
}

static void no_two_colours_of_images_look_alike(void **state)
{
	(void)state;
	for (enum flame_theme theme = FLAME_LIGHT; theme <= FLAME_DARK; theme++) {
		double smallest = INFINITY;
		for (int i = 0; i < FLAME_PACKAGES; i++)
			for (int k = 0; k < i; k++)
				smallest =
					fmin(smallest,
					     distance(seen(flame_package_rgb(i, theme), NORMAL),
						      seen(flame_package_rgb(k, theme), NORMAL)));
		print_message("least distance of images %.2f\n", smallest);
		assert_true(smallest >= 7.8);
	}
}

static void the_style_gives_every_class_both_themes(void **state)
{
	(void)state;
	struct buffer out = { 0 };
	flame_colour_css(&out);
	const char *css = buffer_text(&out);
	for (int i = 0; i < FLAME_CLASSES; i++) {
		char rule[80];
		snprintf(rule, sizeof(rule), "\n.%s{fill:#%06x}", flame_class_css(i),
			 flame_class_rgb(i, FLAME_LIGHT));
		assert_non_null(strstr(css, rule));
		snprintf(rule, sizeof(rule), "#culprit-flame[data-theme=dark] .%s{fill:#%06x}",
			 flame_class_css(i), flame_class_rgb(i, FLAME_DARK));
		assert_non_null(strstr(css, rule));
	}
	assert_non_null(strstr(css, "@media (prefers-color-scheme:dark)"));
	buffer_release(&out);
}

static void marks_tell_kinds_apart_and_stay_within_their_frame(void **state)
{
	(void)state;
	struct buffer path = { 0 };
	flame_mark_append(&path, FLAME_MARK_USER, 10, 20, 100, 16);
	flame_mark_append(&path, FLAME_MARK_KERNEL, 10, 20, 3.9, 16); /* too narrow */
	assert_int_equal(path.size, 0);
	flame_mark_append(&path, FLAME_MARK_KERNEL, 10, 20, 100, 16);
	flame_mark_append(&path, FLAME_MARK_JIT, 10, 20, 4, 16);
	flame_mark_append(&path, FLAME_MARK_INLINED, 10, 20, 100, 16);
	flame_mark_append(&path, FLAME_MARK_UNKNOWN, 10, 20, 100, 16);
	assert_string_equal(buffer_text(&path), "M105.00 20.00h5.00v5.00z"
						"M10.00 20.00h2.00l-2.00 2.00z"
						"M11.00 35.00h98.00"
						"M11.00 21.00h98.00");
	buffer_release(&path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_distance_is_the_published_one),
		cmocka_unit_test(neighbours_stay_apart_however_colours_are_seen),
		cmocka_unit_test(no_two_classes_are_closer_than_neighbours),
		cmocka_unit_test(both_sides_of_the_middle_stay_far_apart),
		cmocka_unit_test(the_greys_are_no_class),
		cmocka_unit_test(names_can_be_read_on_every_colour),
		cmocka_unit_test(each_side_darkens_or_lightens_one_way),
		cmocka_unit_test(stretched_colours_are_those_of_the_2014_scripts),
		cmocka_unit_test(images_use_all_colours),
		cmocka_unit_test(kernel_c_library_and_unknown_code_have_colours_of_their_own),
		cmocka_unit_test(a_new_version_of_an_image_keeps_its_colour),
		cmocka_unit_test(no_two_colours_of_images_look_alike),
		cmocka_unit_test(the_style_gives_every_class_both_themes),
		cmocka_unit_test(marks_tell_kinds_apart_and_stay_within_their_frame),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
