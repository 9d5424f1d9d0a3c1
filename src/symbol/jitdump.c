#include "symbol/jitdump.h"

#include <byteswap.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/hash.h"

#define MAGIC		    0x4a695444u /* "JiTD" */
#define HEADER_BYTES	    40
#define RECORD_HEADER	    16
#define FLAG_ARCH_TIMESTAMP 1u
#define LINE_LEAST_SIZE	    17 /* address, line, discriminator, an empty name */

#define CODE_INDEX_BYTES 8 /* what the index of one code takes, about */

enum record_id {
	JIT_CODE_LOAD = 0,
	JIT_CODE_MOVE = 1,
	JIT_CODE_DEBUG_INFO = 2,
	JIT_CODE_CLOSE = 3,
};

static uint32_t read_u32(const struct jitdump *dump, struct cursor *cursor)
{
	uint32_t value = cursor_u32(cursor);
	return dump->swapped ? bswap_32(value) : value;
}

static uint64_t read_u64(const struct jitdump *dump, struct cursor *cursor)
{
	uint64_t value = cursor_u64(cursor);
	return dump->swapped ? bswap_64(value) : value;
}

void jitdump_release(struct jitdump *dump)
{
	free(dump->functions);
	free(dump->codes);
	hash_index_release(&dump->code_index);
	interval_map_release(&dump->map);
	buffer_release(&dump->pending);
	arena_release(&dump->arena);
	arena_release(&dump->pending_arena);
	*dump = (struct jitdump){ 0 };
}

uint64_t jitdump_bytes(const struct jitdump *dump)
{
	return dump->kept_bytes + dump->pending.capacity;
}

void jitdump_forget(struct jitdump *dump)
{
	dump->forgotten += dump->count;
	free(dump->functions);
	free(dump->codes);
	hash_index_release(&dump->code_index);
	interval_map_release(&dump->map);
	arena_release(&dump->arena);
	dump->functions = NULL;
	dump->codes = NULL;
	dump->count = dump->capacity = dump->code_count = dump->code_capacity = dump->mapped = 0;
	dump->kept_bytes = 0;
}

/* Whether code, lines and name of the next function are wanted, not only its place. */
static bool is_wanted(const struct jitdump *dump)
{
	uint64_t number = dump->forgotten + dump->count;
	size_t low = 0, high = dump->wanted_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (dump->wanted[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return !dump->wanted || (low < dump->wanted_count && dump->wanted[low] == number);
}

/* Counts memory that is kept; -EFBIG when that is more than most_bytes. */
static int count_kept(struct jitdump *dump, uint64_t size_bytes)
{
	uint64_t most = dump->most_bytes ? dump->most_bytes : JITDUMP_MAX_KEPT;
	if (dump->kept_bytes > most || size_bytes > most - dump->kept_bytes)
		return -EFBIG;
	dump->kept_bytes += size_bytes;
	return 0;
}

/* A copy that lives with the dump. */
static int keep(struct jitdump *dump, struct span bytes, struct span *kept)
{
	int ret = count_kept(dump, bytes.size);
	if (ret < 0)
		return ret;
	char *copy = arena_copy_text(&dump->arena, bytes.data, bytes.size);
	if (!copy)
		return -ENOMEM;
	*kept = (struct span){ copy, bytes.size };
	return 0;
}

static bool code_equal(const void *rows, uint32_t position, const void *wanted)
{
	return ((const struct jit_code *)rows)[position].index == *(const uint64_t *)wanted;
}

static struct jit_code *find_code(const struct jitdump *dump, uint64_t index)
{
	uint32_t position = hash_index_find(&dump->code_index, hash_u64(index), code_equal,
					    dump->codes, &index);
	return position == HASH_INDEX_NONE ? NULL : &dump->codes[position];
}

static int place_code(struct jitdump *dump, uint64_t index, size_t position)
{
	struct jit_code *code = find_code(dump, index);
	if (code) {
		code->position = position;
		return 0;
	}
	int ret = count_kept(dump, sizeof(*dump->codes) + CODE_INDEX_BYTES);
	if (ret < 0)
		return ret;
	if (array_reserve(&dump->codes, &dump->code_capacity, dump->code_count,
			  sizeof(*dump->codes)) < 0)
		return -ENOMEM;
	dump->codes[dump->code_count] = (struct jit_code){ index, position };
	return hash_index_add(&dump->code_index, hash_u64(index), (uint32_t)dump->code_count++);
}

static int add_function(struct jitdump *dump, const struct jit_function *function)
{
	int ret = count_kept(dump, sizeof(*function));
	if (ret < 0)
		return ret;
	if (array_reserve(&dump->functions, &dump->capacity, dump->count,
			  sizeof(*dump->functions)) < 0)
		return -ENOMEM;
	dump->functions[dump->count] = *function;
	return place_code(dump, function->index, dump->count++);
}

/* Gives the function the lines that the file has before it. */
static int keep_lines(struct jitdump *dump, struct jit_function *function)
{
	size_t count = dump->pending_line_count;
	int ret = count_kept(dump, count * sizeof(struct jit_line));
	if (ret < 0)
		return ret;
	struct jit_line *lines = arena_allocate(&dump->arena, count * sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	struct span source = { NULL, 0 }, file = { NULL, 0 };
	for (size_t i = 0; i < count; i++) {
		lines[i] = dump->pending_lines[i];
		if (!source.data || !span_equal(lines[i].file, source)) {
			source = lines[i].file;
			ret = keep(dump, source, &file);
			if (ret < 0)
				return ret;
		}
		lines[i].file = file;
	}
	function->lines = lines;
	function->lines_address = function->address;
	function->line_count = count;
	return 0;
}

static int read_load(struct jitdump *dump, struct cursor cursor, uint64_t time)
{
	struct jit_function function = { .loaded = time, .origin = dump->forgotten + dump->count };
	function.pid = read_u32(dump, &cursor);
	read_u32(dump, &cursor); /* thread */
	read_u64(dump, &cursor); /* vma: where the code runs, the same as its address */
	function.address = read_u64(dump, &cursor);
	function.size_bytes = read_u64(dump, &cursor);
	function.index = read_u64(dump, &cursor);
	struct span name = cursor_text(&cursor);
	size_t left = cursor_left(&cursor);
	if (cursor.failed || function.size_bytes == 0 ||
	    function.size_bytes - 1 > UINT64_MAX - function.address ||
	    (left != 0 && left < function.size_bytes)) {
		dump->bad++;
		return 0;
	}
	bool wanted = is_wanted(dump);
	int ret = wanted ? keep(dump, name, &function.name) : 0;
	if (ret == 0 && left && wanted && !dump->names_alone)
		ret = keep(dump,
			   (struct span){ cursor_take(&cursor, function.size_bytes),
					  function.size_bytes },
			   &function.code);
	if (ret < 0)
		return ret;
	/* Debug information comes before the code that it is about. */
	if (wanted && dump->pending_lines && dump->pending_lines_address == function.address)
		ret = keep_lines(dump, &function);
	dump->pending_lines = NULL;
	if (ret < 0)
		return ret;
	return add_function(dump, &function);
}

static int read_move(struct jitdump *dump, struct cursor cursor, uint64_t time)
{
	read_u32(dump, &cursor); /* process */
	read_u32(dump, &cursor); /* thread */
	read_u64(dump, &cursor); /* vma */
	read_u64(dump, &cursor); /* old address */
	uint64_t address = read_u64(dump, &cursor);
	uint64_t size = read_u64(dump, &cursor);
	uint64_t index = read_u64(dump, &cursor);
	const struct jit_code *code = cursor.failed ? NULL : find_code(dump, index);
	if (!code || size == 0 || size - 1 > UINT64_MAX - address) {
		dump->bad++;
		return 0;
	}
	struct jit_function moved = dump->functions[code->position];
	moved.address = address;
	moved.size_bytes = size;
	moved.loaded = time;
	return add_function(dump, &moved);
}

static int compare_lines(const void *a, const void *b)
{
	const struct jit_line *left = a;
	const struct jit_line *right = b;
	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return (left->line > right->line) - (left->line < right->line);
}

static int read_debug_info(struct jitdump *dump, struct cursor cursor)
{
	uint64_t address = read_u64(dump, &cursor);
	uint64_t count = read_u64(dump, &cursor);
	if (cursor.failed || count > cursor_left(&cursor) / LINE_LEAST_SIZE) {
		dump->bad++;
		return 0;
	}
	if (dump->names_alone)
		return 0;
	/* Bounded by the record, and forgotten with the next one. */
	dump->pending_lines = NULL;
	arena_release(&dump->pending_arena);
	struct jit_line *lines =
		arena_allocate(&dump->pending_arena, count * sizeof(struct jit_line));
	if (!lines)
		return -ENOMEM;
	struct span file = { NULL, 0 };
	for (uint64_t i = 0; i < count; i++) {
		lines[i].address = read_u64(dump, &cursor);
		lines[i].line = read_u32(dump, &cursor);
		read_u32(dump, &cursor); /* discriminator */
		struct span name = cursor_text(&cursor);
		/* "\xff" stands for the name of the entry before. */
		bool same = name.size == 1 && *(const uint8_t *)name.data == 0xff;
		if (!same && !span_equal(name, file)) {
			file.data = arena_copy_text(&dump->pending_arena, name.data, name.size);
			file.size = name.size;
			if (!file.data)
				return -ENOMEM;
		}
		lines[i].file = file;
	}
	if (cursor.failed) {
		dump->bad++;
		return 0;
	}
	if (count)
		qsort(lines, count, sizeof(*lines), compare_lines);
	dump->pending_lines = lines;
	dump->pending_line_count = count;
	dump->pending_lines_address = address;
	return 0;
}

static int read_record(struct jitdump *dump, const uint8_t *bytes, size_t size)
{
	struct cursor cursor = cursor_of(bytes, size);
	uint32_t id = read_u32(dump, &cursor);
	read_u32(dump, &cursor); /* size */
	uint64_t time = read_u64(dump, &cursor);
	switch (id) {
	case JIT_CODE_LOAD:
		return read_load(dump, cursor, time);
	case JIT_CODE_MOVE:
		return read_move(dump, cursor, time);
	case JIT_CODE_DEBUG_INFO:
		return read_debug_info(dump, cursor);
	case JIT_CODE_CLOSE:
		dump->closed = true;
		return 0;
	default:
		return 0; /* unwinding information, and kinds of later versions */
	}
}

static int damaged(struct jitdump *dump, struct error *err, const char *how)
{
	dump->failed = true;
	return error_set(err, -EBADMSG, "not a jitdump file: %s", how);
}

/* Sets how many of `pending`'s bytes the file header took. */
static int read_header(struct jitdump *dump, size_t *used, struct error *err)
{
	struct cursor cursor = cursor_of(dump->pending.data, dump->pending.size);
	uint32_t magic = cursor_u32(&cursor);
	if (magic != MAGIC && magic != bswap_32(MAGIC))
		return damaged(dump, err, "it does not begin with the magic number");
	dump->swapped = magic != MAGIC;
	uint32_t version = read_u32(dump, &cursor);
	uint32_t size = read_u32(dump, &cursor);
	dump->machine = read_u32(dump, &cursor);
	read_u32(dump, &cursor); /* padding */
	dump->pid = read_u32(dump, &cursor);
	read_u64(dump, &cursor); /* when it was made */
	dump->own_clock = read_u64(dump, &cursor) & FLAG_ARCH_TIMESTAMP;
	if (version != 1)
		return damaged(dump, err, "its version is unknown");
	if (size < HEADER_BYTES)
		return damaged(dump, err, "its header is too short");
	/* A longer header's rest is skipped like a record. */
	*used = HEADER_BYTES;
	dump->skip_bytes = size - HEADER_BYTES;
	dump->opened = true;
	return 0;
}

static size_t skip(struct jitdump *dump, size_t size)
{
	size_t skipped = dump->skip_bytes < size ? (size_t)dump->skip_bytes : size;
	dump->skip_bytes -= skipped;
	return skipped;
}

/* Reads the whole records among the pending bytes. */
static int take_records(struct jitdump *dump, size_t *at, struct error *err)
{
	for (;;) {
		*at += skip(dump, dump->pending.size - *at);
		size_t left = dump->pending.size - *at;
		if (left < RECORD_HEADER)
			return 0;
		struct cursor cursor = cursor_of(dump->pending.data + *at, left);
		read_u32(dump, &cursor);
		uint32_t size = read_u32(dump, &cursor);
		if (size < RECORD_HEADER)
			return damaged(dump, err, "a record is shorter than its header");
		if (size >
		    (dump->most_record_bytes ? dump->most_record_bytes : JITDUMP_MAX_RECORD)) {
			dump->bad++;
			dump->skip_bytes = size;
			continue;
		}
		if (left < size)
			return 0;
		int ret = read_record(dump, dump->pending.data + *at, size);
		if (ret < 0) {
			dump->failed = true;
			return error_set(err, ret, "%s",
					 ret == -EFBIG ? "the jitdump file has too much code"
						       : "out of memory");
		}
		*at += size;
	}
}

int jitdump_feed(struct jitdump *dump, const void *bytes, size_t size_bytes, struct error *err)
{
	if (dump->failed)
		return error_set(err, -EBADMSG, "the jitdump file was given up");
	buffer_append(&dump->pending, bytes, size_bytes);
	if (buffer_failed(&dump->pending))
		return error_set(err, -ENOMEM, "out of memory");
	size_t at = 0;
	int ret = 0;
	if (!dump->opened) {
		if (dump->pending.size < HEADER_BYTES)
			return 0;
		ret = read_header(dump, &at, err);
	}
	if (ret == 0)
		ret = take_records(dump, &at, err);
	dump->pending.size -= at;
	if (at)
		memmove(dump->pending.data, dump->pending.data + at, dump->pending.size);
	return ret;
}

/* Again for all functions, when new ones came since the last look-up. */
static int map_functions(struct jitdump *dump)
{
	if (dump->mapped == dump->count)
		return 0;
	struct interval *intervals = calloc(dump->count, sizeof(*intervals));
	if (!intervals)
		return -ENOMEM;
	for (size_t i = 0; i < dump->count; i++) {
		const struct jit_function *function = &dump->functions[i];
		intervals[i] = (struct interval){
			.first = function->address,
			.last = function->address + (function->size_bytes - 1),
			.priority = i, /* the file is written in the order of time */
			.owner = (uint32_t)i,
		};
	}
	interval_map_release(&dump->map);
	int ret = interval_map_build(&dump->map, intervals, dump->count);
	free(intervals);
	dump->mapped = ret == 0 ? dump->count : 0;
	return ret;
}

const struct jit_function *jitdump_find(struct jitdump *dump, uint64_t address)
{
	if (map_functions(dump) < 0)
		return NULL;
	uint32_t position = interval_map_owner(&dump->map, address);
	return position == INTERVAL_NONE ? NULL : &dump->functions[position];
}
