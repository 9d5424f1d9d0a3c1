#include "symbol/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "base/sorted.h"
#include "symbol/record_parts.h"

void record_set_release(struct record_set *set)
{
	free(set->list);
	arena_release(&set->bytes);
	*set = (struct record_set){ 0 };
}

int record_set_add(struct record_set *set, uint64_t kind, uint64_t first, uint64_t last,
		   struct span content)
{
	if (array_reserve(&set->list, &set->capacity, set->count, sizeof(*set->list)) < 0)
		return -ENOMEM;
	char *copy = arena_copy_text(&set->bytes, content.data, content.size);
	if (!copy)
		return -ENOMEM;
	set->list[set->count++] = (struct record){ kind, first, last, { copy, content.size } };
	return 0;
}

int record_set_take(struct record_set *set, uint64_t kind, uint64_t first, uint64_t last,
		    struct buffer *content)
{
	if (buffer_failed(content))
		return -ENOMEM;
	int ret = record_set_add(set, kind, first, last,
				 (struct span){ content->data, content->size });
	buffer_empty(content);
	return ret;
}

int record_set_add_function(struct record_set *set, uint64_t first, uint64_t last,
			    const struct function_record *function)
{
	CLEANUP(buffer_release) struct buffer content = { 0 };
	record_put_function(&content, first, function);
	return record_set_take(set, RECORD_FUNCTION, first, last, &content);
}

static int compare_records(const void *a, const void *b)
{
	const struct record *left = a;
	const struct record *right = b;
	if (left->first != right->first)
		return left->first < right->first ? -1 : 1;
	if (left->last != right->last)
		return left->last < right->last ? -1 : 1;
	if (left->kind != right->kind)
		return left->kind < right->kind ? -1 : 1;
	return span_compare(left->content, right->content);
}

void record_set_sort(struct record_set *set)
{
	if (set->count == 0)
		return;
	qsort(set->list, set->count, sizeof(*set->list), compare_records);
	size_t kept = 1;
	for (size_t i = 1; i < set->count; i++)
		if (compare_records(&set->list[i], &set->list[kept - 1]) != 0)
			set->list[kept++] = set->list[i];
	set->count = kept;
}

const char record_no_memory[] = "out of memory";

const char *record_fault(const struct record *record)
{
	if (record->last < record->first)
		return "its range ends before it starts";
	if (record->content.size > RECORD_MAX_BYTES)
		return "its content is too large";
	struct function_record function;
	struct span bytes;
	struct lines_table lines;
	switch (record->kind) {
	case RECORD_FUNCTION:
		return record_get_function(record, &function) ? NULL : "it is no function record";
	case RECORD_CODE:
		return record_get_code(record, &bytes) ? NULL : "it is no code record";
	case RECORD_DATA:
		return record_get_data(record, &bytes) ? NULL : "it is no record of data";
	case RECORD_ENTRIES:
		return record_entries_right(record) ? NULL : "it is no record of entries";
	case RECORD_CALLEE:
		return record_get_callee(record, &bytes) ? NULL : "it is no record of a callee";
	case RECORD_LINES:
		switch (lines_table_decode(record, &lines)) {
		case 0:
			lines_table_release(&lines);
			return NULL;
		case -ENOMEM:
			return record_no_memory;
		default:
			return "it is no record of lines";
		}
	default:
		return NULL;
	}
}

void record_put_function(struct buffer *out, uint64_t first, const struct function_record *function)
{
	buffer_append_u8(out, RECORD_VERSION);
	buffer_append_varint(out, function->flags);
	if (function->flags & FUNCTION_COLD)
		buffer_append_varint(out, zigzag_put((int64_t)(function->parent - first)));
	buffer_append(out, function->name.data, function->name.size);
}

bool record_get_function(const struct record *record, struct function_record *function)
{
	struct cursor cursor = cursor_of(record->content.data, record->content.size);
	*function = (struct function_record){ 0 };
	uint8_t version = cursor_u8(&cursor);
	function->flags = cursor_varint(&cursor);
	if (function->flags & FUNCTION_COLD)
		function->parent = record->first + (uint64_t)zigzag_get(cursor_varint(&cursor));
	size_t left = cursor_left(&cursor);
	function->name = (struct span){ cursor_take(&cursor, left), left };
	if (cursor.failed || version != RECORD_VERSION || record->last < record->first)
		return false;
	if (left && memchr(function->name.data, 0, left))
		return false;
	return (left == 0) == ((function->flags & FUNCTION_UNNAMED) != 0);
}

void lines_writer_init(struct lines_writer *writer, uint64_t first)
{
	*writer = (struct lines_writer){ .vaddr = first };
}

void lines_writer_release(struct lines_writer *writer)
{
	buffer_release(&writer->texts);
	buffer_release(&writer->nodes);
	buffer_release(&writer->rows);
	hash_index_release(&writer->text_index);
	free(writer->text_list);
	arena_release(&writer->arena);
	*writer = (struct lines_writer){ 0 };
}

static bool text_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct lines_writer *writer = rows;
	return span_equal(writer->text_list[position], *(const struct span *)wanted);
}

/* Number of a text, from 1; 0 for the empty one. */
static uint32_t writer_text(struct lines_writer *writer, struct span text)
{
	if (text.size == 0 || writer->failed)
		return 0;
	uint64_t hash = hash_bytes(text.data, text.size);
	uint32_t position = hash_index_find(&writer->text_index, hash, text_equal, writer, &text);
	if (position != HASH_INDEX_NONE)
		return position + 1;
	char *copy = arena_copy_text(&writer->arena, text.data, text.size);
	if (!copy || array_reserve(&writer->text_list, &writer->text_capacity, writer->text_count,
				   sizeof(*writer->text_list)) < 0) {
		writer->failed = true;
		return 0;
	}
	writer->text_list[writer->text_count] = (struct span){ copy, text.size };
	if (hash_index_add(&writer->text_index, hash, (uint32_t)writer->text_count) < 0) {
		writer->failed = true;
		return 0;
	}
	buffer_append(&writer->texts, text.data, text.size);
	buffer_append_u8(&writer->texts, 0);
	return (uint32_t)++writer->text_count;
}

uint32_t lines_writer_inline(struct lines_writer *writer, uint32_t parent, struct span function,
			     struct span call_file, uint32_t call_line)
{
	uint32_t name = writer_text(writer, function);
	uint32_t file = writer_text(writer, call_file);
	buffer_append_varint(&writer->nodes, parent);
	buffer_append_varint(&writer->nodes, name);
	buffer_append_varint(&writer->nodes, file);
	buffer_append_varint(&writer->nodes, call_line);
	return ++writer->node_count;
}

void lines_writer_row(struct lines_writer *writer, uint64_t vaddr, uint32_t node, struct span file,
		      uint32_t line)
{
	struct lines_row row = { vaddr, node, writer_text(writer, file), line };
	struct lines_row *before = &writer->row;
	if (writer->row_count && before->node == row.node && before->file == row.file &&
	    before->line == row.line)
		return;
	buffer_append_varint(&writer->rows, vaddr - writer->vaddr);
	buffer_append_varint(&writer->rows, node);
	buffer_append_varint(&writer->rows, row.file);
	buffer_append_varint(&writer->rows, zigzag_put((int64_t)line - (int64_t)before->line));
	writer->vaddr = vaddr;
	writer->row = row;
	writer->row_count++;
}

int lines_writer_finish(struct lines_writer *writer, struct buffer *out)
{
	buffer_append_u8(out, RECORD_VERSION);
	buffer_append_varint(out, writer->text_count);
	buffer_append(out, writer->texts.data, writer->texts.size);
	buffer_append_varint(out, writer->node_count);
	buffer_append(out, writer->nodes.data, writer->nodes.size);
	buffer_append_varint(out, writer->row_count);
	buffer_append(out, writer->rows.data, writer->rows.size);
	bool failed = writer->failed || buffer_failed(&writer->texts) ||
		      buffer_failed(&writer->nodes) || buffer_failed(&writer->rows) ||
		      buffer_failed(out);
	return failed ? -ENOMEM : 0;
}

void lines_table_release(struct lines_table *table)
{
	free(table->texts);
	free(table->nodes);
	free(table->rows);
	*table = (struct lines_table){ 0 };
}

/* `count` as an array size, checked against the bytes left, of which each element takes
 * `least_bytes`. */
static int allocate(struct cursor *cursor, uint64_t count, size_t least_bytes, size_t element_size,
		    void *out)
{
	if (cursor->failed || count > cursor_left(cursor) / least_bytes)
		return -EBADMSG;
	void *elements = calloc(count ? count : 1, element_size);
	if (!elements)
		return -ENOMEM;
	memcpy(out, &elements, sizeof(elements));
	return 0;
}

static int decode_texts(struct cursor *cursor, struct lines_table *table)
{
	uint64_t count = cursor_varint(cursor);
	int ret = allocate(cursor, count, 2, sizeof(*table->texts), &table->texts);
	if (ret < 0)
		return ret;
	for (; table->text_count < count; table->text_count++)
		table->texts[table->text_count] = cursor_text(cursor);
	return cursor->failed ? -EBADMSG : 0;
}

void lines_texts_begin(struct lines_texts *texts, const struct record *record)
{
	texts->cursor = cursor_of(record->content.data, record->content.size);
	bool known = cursor_u8(&texts->cursor) == RECORD_VERSION;
	texts->left = known ? cursor_varint(&texts->cursor) : 0;
}

bool lines_texts_next(struct lines_texts *texts, struct span *text)
{
	if (texts->left == 0)
		return false;
	texts->left--;
	*text = cursor_text(&texts->cursor);
	return !texts->cursor.failed;
}

static int decode_nodes(struct cursor *cursor, struct lines_table *table)
{
	uint64_t count = cursor_varint(cursor);
	int ret = allocate(cursor, count, 4, sizeof(*table->nodes), &table->nodes);
	if (ret < 0)
		return ret;
	for (; table->node_count < count; table->node_count++) {
		uint64_t parent = cursor_varint(cursor);
		uint64_t function = cursor_varint(cursor);
		uint64_t file = cursor_varint(cursor);
		uint64_t line = cursor_varint(cursor);
		if (cursor->failed || parent > table->node_count || function > table->text_count ||
		    file > table->text_count || line > UINT32_MAX)
			return -EBADMSG;
		table->nodes[table->node_count] =
			(struct lines_node){ (uint32_t)parent, (uint32_t)function, (uint32_t)file,
					     (uint32_t)line };
	}
	return 0;
}

static int decode_rows(struct cursor *cursor, const struct record *record,
		       struct lines_table *table)
{
	uint64_t count = cursor_varint(cursor);
	int ret = allocate(cursor, count, 4, sizeof(*table->rows), &table->rows);
	if (ret < 0)
		return ret;
	uint64_t vaddr = record->first;
	uint64_t line = 0;
	for (; table->row_count < count; table->row_count++) {
		uint64_t advance = cursor_varint(cursor);
		uint64_t node = cursor_varint(cursor);
		uint64_t file = cursor_varint(cursor);
		line += (uint64_t)zigzag_get(cursor_varint(cursor));
		if (cursor->failed || advance > record->last - vaddr ||
		    (advance == 0 && table->row_count > 0) || node > table->node_count ||
		    file > table->text_count || line > UINT32_MAX)
			return -EBADMSG;
		vaddr += advance;
		table->rows[table->row_count] =
			(struct lines_row){ vaddr, (uint32_t)node, (uint32_t)file, (uint32_t)line };
	}
	return cursor_left(cursor) == 0 ? 0 : -EBADMSG;
}

int lines_table_decode(const struct record *record, struct lines_table *table)
{
	*table = (struct lines_table){ .last = record->last };
	struct cursor cursor = cursor_of(record->content.data, record->content.size);
	if (cursor_u8(&cursor) != RECORD_VERSION || record->last < record->first)
		return -EBADMSG;
	int ret = decode_texts(&cursor, table);
	if (ret == 0)
		ret = decode_nodes(&cursor, table);
	if (ret == 0)
		ret = decode_rows(&cursor, record, table);
	if (ret < 0)
		lines_table_release(table);
	return ret;
}

const struct lines_row *lines_table_find(const struct lines_table *table, uint64_t vaddr)
{
	size_t behind = SORTED_BEHIND(table->rows, table->row_count, vaddr, vaddr);
	return behind > 0 && vaddr <= table->last ? &table->rows[behind - 1] : NULL;
}

static struct span text_of(const struct lines_table *table, uint32_t number)
{
	return number ? table->texts[number - 1] : (struct span){ NULL, 0 };
}

size_t lines_table_frames(const struct lines_table *table, const struct lines_row *row,
			  struct line_frame *frames, size_t capacity)
{
	struct span file = text_of(table, row->file);
	uint32_t line = row->line;
	size_t count = 0;
	uint32_t number = row->node;
	/* A node's parent comes before it, so this ends. */
	while (count < capacity) {
		const struct lines_node *node = number ? &table->nodes[number - 1] : NULL;
		frames[count++] = (struct line_frame){ node ? text_of(table, node->function)
							    : (struct span){ NULL, 0 },
						       file, line };
		if (!node)
			break;
		file = text_of(table, node->call_file);
		line = node->call_line;
		number = node->parent;
	}
	return count;
}
