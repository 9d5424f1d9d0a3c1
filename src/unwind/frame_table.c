#include "unwind/frame_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cursor.h"
#include "unwind/frame_rules.h"

#define PLACES	   (1u << FRAME_PAGE_BITS)
#define BLOCKS	   (PLACES / 256)
#define ROWS_MOST  (PLACES - 1) /* of a page: its number has to fit half a word */
#define PAGES_MOST (1u << (32 - FRAME_PAGE_BITS))

struct writing {
	const struct frame_rules *rules;
	uint32_t *rank; /* of each rule, by falling use */
	uint32_t *page; /* that is filled */
	size_t page_words, page_capacity;
};

/* ---- writing */

struct use {
	uint32_t rule, count;
};

static int compare_uses(const void *a, const void *b)
{
	const struct use *left = a;
	const struct use *right = b;
	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	return left->rule < right->rule ? -1 : left->rule > right->rule;
}

/* Appends the rules, the most frequent first, and stores the rank of each. 0 or -ENOMEM. */
static int put_rules(struct writing *writing, struct buffer *out)
{
	const struct frame_rules *rules = writing->rules;
	struct use *uses = calloc(rules->rule_count, sizeof(*uses));
	writing->rank = calloc(rules->rule_count, sizeof(*writing->rank));
	if (!uses || !writing->rank) {
		free(uses);
		return -ENOMEM;
	}
	for (size_t i = 0; i < rules->rule_count; i++)
		uses[i].rule = (uint32_t)i;
	for (size_t i = 0; i < rules->count; i++)
		uses[rules->rows[i].rule].count++;
	qsort(uses, rules->rule_count, sizeof(*uses), compare_uses);
	for (size_t i = 0; i < rules->rule_count; i++) {
		writing->rank[uses[i].rule] = (uint32_t)i;
		buffer_append_u64(out, rules->rules[uses[i].rule]);
	}
	free(uses);
	return 0;
}

static bool says_nothing(const struct writing *writing, size_t row)
{
	const struct frame_rules *rules = writing->rules;
	return rules->rules[rules->rows[row].rule] == FRAME_CFA_NONE;
}

/* Makes the page about the rows from `from` up to `to`, and about the one before them, which holds
 * at its beginning (`carried`: whether there is such a one). */
static void fill_page(struct writing *writing, size_t from, size_t to, bool carried)
{
	const struct frame_rules *rules = writing->rules;
	uint32_t *page = writing->page;
	uint16_t *index = (uint16_t *)(page + FRAME_TABLE_INDEX);
	uint16_t *halves = (uint16_t *)(page + FRAME_TABLE_ROWS);
	size_t count = to - from + carried;
	uint32_t *exceptions = page + FRAME_TABLE_ROWS + (count + 1) / 2;
	uint32_t exception_count = 0;
	unsigned block = 0;
	memset(page, 0, FRAME_TABLE_ROWS * sizeof(*page));
	for (size_t i = 0; i < count; i++) {
		const struct frame_row *row = &rules->rows[from + i - carried];
		uint32_t low = carried && i == 0 ? 0 : row->offset % PLACES;
		uint32_t rank = writing->rank[row->rule];
		uint32_t number = rank < FRAME_TABLE_EXCEPTION ? rank : FRAME_TABLE_EXCEPTION;
		for (; block <= low / 256; block++)
			index[block] = (uint16_t)i;
		halves[i] = (uint16_t)(number << 8 | (low & 255));
		if (number == FRAME_TABLE_EXCEPTION)
			exceptions[exception_count++] = low << 16 | rank;
	}
	for (; block <= BLOCKS; block++)
		index[block] = (uint16_t)count;
	if (count % 2)
		halves[count] = 0;
	page[0] = (uint32_t)count | exception_count << 16;
	writing->page_words = FRAME_TABLE_ROWS + (count + 1) / 2 + exception_count;
}

/* The words of `writing->page` are those of page `number`, whose rows begin at *next; 0 words: it
 * says nothing. */
static void make_page(struct writing *writing, uint32_t number, size_t *next)
{
	const struct frame_rules *rules = writing->rules;
	uint64_t end = (uint64_t)(number + 1) * PLACES;
	size_t from = *next;
	while (*next < rules->count && rules->rows[*next].offset < end)
		++*next;
	bool carried = from > 0 && (from == *next || rules->rows[from].offset % PLACES != 0);
	writing->page_words = 0;
	/* Of code with a row at every byte there would be too many. */
	if ((from == *next && (!carried || says_nothing(writing, from - 1))) ||
	    *next - from + carried > ROWS_MOST)
		return;
	fill_page(writing, from, *next, carried);
}

static int put_pages(struct writing *writing, const struct frame_table_head *head,
		     struct buffer *out)
{
	struct buffer pages = { 0 };
	size_t next = 0;
	/* A page with the most rows, all of them exceptions. */
	writing->page = malloc((FRAME_TABLE_ROWS + PLACES / 2 + PLACES) * sizeof(*writing->page));
	if (!writing->page)
		return -ENOMEM;
	for (uint32_t i = 0; i < head->page_count; i++) {
		make_page(writing, head->first_page + i, &next);
		buffer_append_u32(out, (uint32_t)writing->page_words);
		buffer_append(&pages, writing->page, writing->page_words * sizeof(*writing->page));
		if (pages.size / sizeof(*writing->page) > FRAME_TABLE_WORDS_MOST) {
			buffer_release(&pages);
			return -E2BIG;
		}
	}
	buffer_append(out, pages.data, pages.size);
	int ret = pages.failed || out->failed ? -ENOMEM : 0;
	buffer_release(&pages);
	return ret;
}

int frame_table_put(const struct frame_rules *rules, uint16_t machine, struct buffer *out)
{
	struct writing writing = { .rules = rules };
	struct frame_table_head head = { .magic = FRAME_TABLE_MAGIC, .machine = machine };
	if (rules->count) {
		uint32_t last = rules->rows[rules->count - 1].offset >> FRAME_PAGE_BITS;
		head.first_page = rules->rows[0].offset >> FRAME_PAGE_BITS;
		head.page_count = last - head.first_page + 1;
		head.rule_count = (uint32_t)rules->rule_count;
		head.rows = (uint32_t)rules->count;
	}
	buffer_append(out, &head, sizeof(head));
	int ret = out->failed ? -ENOMEM : 0;
	if (ret == 0 && rules->count)
		ret = put_rules(&writing, out);
	if (ret == 0 && rules->count)
		ret = put_pages(&writing, &head, out);
	free(writing.rank);
	free(writing.page);
	return ret;
}

/* ---- reading */

bool frame_table_read(struct span bytes, struct frame_table *out)
{
	struct cursor cursor = cursor_of(bytes.data, bytes.size);
	const void *head = cursor_take(&cursor, sizeof(out->head));
	*out = (struct frame_table){ 0 };
	if (!head)
		return false;
	memcpy(&out->head, head, sizeof(out->head));
	if (out->head.magic != FRAME_TABLE_MAGIC || out->head.page_count > PAGES_MOST ||
	    out->head.first_page >= PAGES_MOST || out->head.rule_count > FRAME_RULES_MOST)
		return false;
	out->rules = cursor_take(&cursor, (size_t)out->head.rule_count * sizeof(frame_rule));
	out->sizes = cursor_take(&cursor, (size_t)out->head.page_count * sizeof(uint32_t));
	if (cursor.failed)
		return false;
	struct cursor sizes = cursor_of(out->sizes, (size_t)out->head.page_count * 4);
	for (uint32_t i = 0; i < out->head.page_count; i++) {
		uint32_t words = cursor_u32(&sizes);
		if (words > FRAME_SLAB_WORDS)
			return false;
		out->words += words;
	}
	out->pages = cursor_take(&cursor, out->words * sizeof(uint32_t));
	return !cursor.failed && cursor_left(&cursor) == 0;
}
