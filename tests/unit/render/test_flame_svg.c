/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/flame/flame.h"
#include "analyze/flame/flame_view.h"
#include "analyze/names/resolve.h"
#include "base/error.h"
#include "render/flame_svg.h"
#include "render/flame_text.h"
#include "support/random_profile.h"
#include "support/test_profile.h"

struct drawn {
	struct resolver *resolver;
	struct flame *flame;
	struct flame_view view;
	struct buffer page;
};

static struct drawn draw(const struct profile *profile, enum flame_metric metric,
			 enum flame_form form, double min_px)
{
	struct drawn drawn = { 0 };
	struct error err;
	const struct resolver_options naming = { .stash_only = true };
	const struct flame_options options = { 0 };
	struct flame_view_options view = { .min_share = flame_min_share(FLAME_WIDTH_PX, min_px) };
	assert_int_equal(resolver_new(profile, &naming, &drawn.resolver, &err), 0);
	const struct flame_input input = { profile, drawn.resolver, NULL };
	assert_int_equal(flame_new(&input, NULL, &options, &drawn.flame, &err), 0);
	const struct event_columns *columns = &drawn.flame->reports[FLAME_MAIN]->columns;
	if (metric == FLAME_CPI)
		assert_int_equal(flame_ratio_cpi(columns, 0, &view.ratio, &err), 0);
	assert_int_equal(flame_view_init(&drawn.view, drawn.flame, &view, &err), 0);
	const struct flame_scale scale = flame_scale_of(metric);
	const struct flame_picture picture = { .view = &drawn.view,
					       .scale = &scale,
					       .source = "<source> & \"co\"",
					       .width_px = FLAME_WIDTH_PX,
					       .form = form };
	flame_svg(&picture, &drawn.page);
	assert_false(buffer_failed(&drawn.page));
	return drawn;
}

static void done(struct drawn *drawn)
{
	buffer_release(&drawn->page);
	flame_view_release(&drawn->view);
	flame_free(drawn->flame);
	resolver_free(drawn->resolver);
}

/* Elements nest, attributes are quoted, text holds no < and only known entities. */
static void assert_well_formed(const char *text)
{
	char open[32][16];
	size_t depth = 0;
	for (const char *at = text; *at;) {
		assert_true(*at == '\n' || (uint8_t)*at >= 0x20);
		if (*at == '&')
			assert_true(strncmp(at, "&lt;", 4) == 0 || strncmp(at, "&gt;", 4) == 0 ||
				    strncmp(at, "&amp;", 5) == 0 || strncmp(at, "&quot;", 6) == 0 ||
				    strncmp(at, "&#39;", 5) == 0);
		if (*at != '<') {
			at++;
			continue;
		}
		if (strncmp(at, "<![CDATA[", 9) == 0) {
			at = strstr(at, "]]>");
			assert_non_null(at);
			at += 3;
			continue;
		}
		const char *end = at;
		for (bool quoted = false; quoted || *end != '>'; end++) {
			assert_true(*end && (end == at || *end != '<'));
			quoted ^= *end == '"';
		}
		size_t name = strcspn(at + 1, " />?");
		if (at[1] == '/') {
			name = strcspn(at + 2, ">");
			assert_true(depth > 0);
			depth--;
			assert_true(strlen(open[depth]) == name &&
				    memcmp(open[depth], at + 2, name) == 0);
		} else if (at[1] != '?' && end[-1] != '/') {
			assert_true(depth < 32 && name < 16);
			memcpy(open[depth], at + 1, name);
			open[depth++][name] = 0;
		}
		at = end + 1;
	}
	assert_int_equal(depth, 0);
}

static struct json_object *data_of(struct buffer *page)
{
	static const char start[] = "id=\"flame-data\">";
	const char *at = strstr(buffer_text(page), start);
	assert_non_null(at);
	at += strlen(start);
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *data =
		json_tokener_parse_ex(tokener, at, (int)(strstr(at, "</script>") - at));
	assert_int_equal(json_tokener_get_error(tokener), json_tokener_success);
	json_tokener_free(tokener);
	return data;
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;
	assert_true(json_object_object_get_ex(object, key, &value));
	return value;
}

static void hostile_names_stay_text(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	test_event(&test, "cyc<les>&", 1);
	test_context(&test, &(struct profile_context){ .comm = span_of_text("a\"><script>") });
	test_stack(&test,
		   "</title></svg><script>alert(1)</script>;]]>;\x01\x1b[0m\xff\xc3;\xef\xbf\xbf",
		   40, 1);
	struct drawn drawn = draw(test.profile, FLAME_PACKAGE, FLAME_SVG, 0.1);
	assert_well_formed(buffer_text(&drawn.page));
	assert_non_null(strstr(buffer_text(&drawn.page), "\\x01\\x1b[0m\\xff\\xc3"));
	/* U+FFFF is UTF-8 but no character of XML */
	assert_non_null(strstr(buffer_text(&drawn.page), "\\xef\\xbf\\xbf"));
	assert_null(strstr(buffer_text(&drawn.page), "\xef\xbf\xbf"));
	struct json_object *data = data_of(&drawn.page);
	struct json_object *strings = member(data, "strings");
	bool found = false;
	for (size_t i = 0; i < json_object_array_length(strings); i++)
		found |= strcmp(json_object_get_string(json_object_array_get_idx(strings, i)),
				"</title></svg><script>alert(1)</script>") == 0;
	assert_true(found);
	json_object_put(data);
	done(&drawn);
	profile_free(test.profile);
}

static void the_data_is_what_is_drawn(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 10);
	test_stack(&test, "main;a", 300, 10);
	test_stack(&test, "main;b", 100, 10);
	test_event(&test, "instructions", 10);
	test_stack(&test, "main;a", 100, 10);
	test_stack(&test, "main;b", 200, 10);
	struct drawn drawn = draw(test.profile, FLAME_CPI, FLAME_HTML, 0.1);
	struct json_object *data = data_of(&drawn.page), *frames = member(data, "frames");
	static const int x[] = { 0, 0, 0, 3000 }, w[] = { 4000, 4000, 3000, 1000 };
	static const double ratios[] = { 4. / 3, 4. / 3, 3, 0.5 };
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(
			json_object_get_int(json_object_array_get_idx(member(frames, "x"), i)),
			x[i]);
		assert_int_equal(
			json_object_get_int(json_object_array_get_idx(member(frames, "w"), i)),
			w[i]);
		double ratio = json_object_get_double(
			json_object_array_get_idx(member(frames, "ratio"), i));
		assert_true(ratio > ratios[i] - 1e-3 && ratio < ratios[i] + 1e-3);
	}
	/* the same CPI is the same class, waiting at the upper end */
	assert_non_null(strstr(buffer_text(&drawn.page), "class=\"c9 t\" data-i=\"2\""));
	assert_non_null(strstr(buffer_text(&drawn.page), "class=\"c2 t\" data-i=\"3\""));
	assert_non_null(
		strstr(buffer_text(&drawn.page), "a: 75 %, 3 000 events, 300 samples, CPI 3"));
	json_object_put(data);
	done(&drawn);
	profile_free(test.profile);
}

static void random_profiles_are_well_formed(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct profile *profile = random_profile_new(seed, RANDOM_KNOWN);
		struct drawn drawn = draw(profile, FLAME_PACKAGE, FLAME_SVG, 0);
		assert_well_formed(buffer_text(&drawn.page));
		json_object_put(data_of(&drawn.page));
		for (size_t i = 1; i < drawn.view.count; i++) {
			const struct flame_shown *frame = &drawn.view.shown[i];
			const struct flame_shown *parent = &drawn.view.shown[frame->parent];
			assert_true(frame->parent < i);
			assert_true(frame->x >= parent->x &&
				    frame->x + frame->width <= parent->x + parent->width);
		}
		done(&drawn);
		profile_free(profile);
	}
}

/* A row of 1180 px has room for 11 800 frames of a tenth of a pixel, however many there are. */
static void the_file_is_bounded_by_what_is_seen(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 1);
	char stack[32];
	for (int i = 0; i < 30000; i++) {
		snprintf(stack, sizeof(stack), "main;f%d", i);
		test_stack(&test, stack, 1 + (i < 100 ? 1000 : 0), 1);
	}
	struct drawn drawn = draw(test.profile, FLAME_NONE, FLAME_SVG, FLAME_MIN_WIDTH_PX);
	assert_int_equal(drawn.view.count, 102);
	assert_int_equal(drawn.view.left_out, 29900);
	assert_true(drawn.page.size < 120000);
	done(&drawn);
	profile_free(test.profile);
}

static const char *number(double value, char text[64])
{
	struct buffer out = { 0 };
	flame_put_number(&out, value);
	snprintf(text, 64, "%s", buffer_text(&out));
	buffer_release(&out);
	return text;
}

static void numbers_are_short(void **state)
{
	(void)state;
	char text[64];
	assert_string_equal(number(0, text), "0");
	assert_string_equal(number(1.5, text), "1.5");
	assert_string_equal(number(-0.25, text), "-0.25");
	assert_string_equal(number(0.0123456, text), "0.012346");
	assert_string_equal(number(1234.5, text), "1235");
	assert_string_equal(number(1e9, text), "1e+09");
	assert_string_equal(number(INFINITY, text), "null");
	struct buffer out = { 0 };
	flame_put_count(&out, 1234567);
	flame_put_estimate(&out, 12340500, 3);
	flame_put_percent(&out, 1, 100000);
	flame_put_percent(&out, 999999, 1000000);
	flame_put_px(&out, -1.25);
	assert_string_equal(buffer_text(&out), "1 234 56712 340.5<0.01 %99.99 %-1.25");
	buffer_release(&out);
}

static void text_is_cut_between_characters(void **state)
{
	(void)state;
	static const char text[] = "\xc3\xb6\xe2\x82\xac\xf0\x9f\x94\xa5w"; /* ö, €, a flame, w */
	size_t last = 0;
	for (double px = 0; px < 60; px += 0.5) {
		size_t fits = flame_text_fit(text, strlen(text), px);
		assert_true(fits == 0 || fits == 2 || fits == 5 || fits == 9 || fits == 10);
		assert_true(fits >= last);
		last = fits;
	}
	assert_int_equal(last, 10);
	assert_int_equal(flame_text_length(text, strlen(text)), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile_names_stay_text),
		cmocka_unit_test(the_data_is_what_is_drawn),
		cmocka_unit_test(random_profiles_are_well_formed),
		cmocka_unit_test(the_file_is_bounded_by_what_is_seen),
		cmocka_unit_test(numbers_are_short),
		cmocka_unit_test(text_is_cut_between_characters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
