#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "import/text/known_text.h"
#include "import/code/path_nodes.h"
#include "import/text/text_lines.h"

/* "NUMBER:text" of each line, '!' for one that is too long, '$' behind one that nothing ends. */
struct heard {
	struct text_lines lines;
	struct buffer text;
};

static int hear(void *context, struct span line, struct error *err)
{
	struct heard *heard = context;
	(void)err;
	buffer_printf(&heard->text, "%llu:", (unsigned long long)heard->lines.number);
	buffer_append(&heard->text, line.data ? line.data : "!", line.data ? line.size : 1);
	buffer_append_text(&heard->text, heard->lines.unended ? "$\n" : "\n");
	return 0;
}

static int hear_pieces(struct heard *heard, struct span text, size_t piece, bool tolerant,
		       struct error *err)
{
	heard->lines = (struct text_lines){ .take = hear, .context = heard, .tolerant = tolerant };
	int ret = 0;
	for (size_t at = 0; at < text.size && ret == 0; at += piece) {
		piece = text.size - at < piece ? text.size - at : piece;
		ret = text_lines_feed(&heard->lines, (const char *)text.data + at, piece, err);
	}
	if (ret == 0)
		ret = text_lines_finish(&heard->lines, err);
	text_lines_release(&heard->lines);
	return ret;
}

static void lines_come_one_by_one_whatever_the_pieces(void **state)
{
	(void)state;
	static const char text[] = "\xef\xbb\xbf"
				   "a\r\n\n b \r\r\nend";
	for (size_t piece = 1; piece < sizeof(text); piece++) {
		struct heard heard = { 0 };
		struct error err = { 0 };
		assert_int_equal(hear_pieces(&heard, span_of_text(text), piece, false, &err), 0);
		assert_string_equal(buffer_text(&heard.text), "1:a\n2:\n3: b \r\n4:end$\n");
		buffer_release(&heard.text);
	}
}

static void a_long_line_is_refused_or_handed_on_as_none(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer text = { 0 };
	buffer_append_text(&text, "a\n");
	memset(buffer_extend(&text, TEXT_LINES_MAX_BYTES + 1), 'x', TEXT_LINES_MAX_BYTES + 1);
	buffer_append_text(&text, "\nb\n");
	struct span whole = { text.data, text.size };
	const size_t pieces[] = { text.size, 1 << 20 };
	for (size_t i = 0; i < 2; i++) {
		struct heard heard = { 0 };
		struct error err = { 0 };
		assert_int_equal(hear_pieces(&heard, whole, pieces[i], false, &err), -EPROTO);
		assert_string_equal(err.text, "line 2 is longer than 16 MiB");
		heard.text.size = 0;
		assert_int_equal(hear_pieces(&heard, whole, pieces[i], true, &err), 0);
		assert_string_equal(buffer_text(&heard.text), "1:a\n2:!\n3:b\n");
		buffer_release(&heard.text);
	}
}

static void texts_are_numbered_as_they_come(void **state)
{
	(void)state;
	CLEANUP(known_text_release) struct known_text known = { 0 };
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 5000; i++) {
			char text[16];
			uint32_t number;
			bool added;
			int size = snprintf(text, sizeof(text), "text %u", i);
			assert_int_equal(
				known_text_number(&known, text, (size_t)size, &number, &added), 0);
			assert_int_equal(number, i);
			assert_int_equal(added, round == 0);
		}
}

static struct hash128 path_of(uint32_t i, uint32_t depth)
{
	struct hash128 path = { 0 };
	for (uint32_t step = 0; step < depth; step++) {
		uint32_t text = i >> (4 * step) & 15;
		path = path_hash(path, hash128_bytes(&text, sizeof(text)));
	}
	return path;
}

static void paths_lead_to_their_nodes(void **state)
{
	(void)state;
	CLEANUP(path_nodes_release) struct path_nodes nodes = { 0 };
	assert_int_equal(path_nodes_find(&nodes, path_of(1, 3)), 0);
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 4096; i++)
			assert_int_equal(path_nodes_add(&nodes, path_of(i, 3), i + 1), 0);
	assert_int_equal(nodes.count, 4096);
	for (uint32_t i = 0; i < 4096; i++)
		assert_int_equal(path_nodes_find(&nodes, path_of(i, 3)), i + 1);
	/* neither their beginnings nor the same texts in another order */
	assert_int_equal(path_nodes_find(&nodes, path_of(1, 2)), 0);
	assert_int_equal(path_nodes_find(&nodes, path_of(0, 0)), 0);
	assert_int_equal(path_nodes_find(&nodes, path_of(0x4321, 4)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_one_by_one_whatever_the_pieces),
		cmocka_unit_test(a_long_line_is_refused_or_handed_on_as_none),
		cmocka_unit_test(texts_are_numbered_as_they_come),
		cmocka_unit_test(paths_lead_to_their_nodes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
