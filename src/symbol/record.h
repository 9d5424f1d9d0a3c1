/*
 * record - what the stash keeps of a piece of code, so that it can be read once
 * the binary is gone: where a function starts and ends and its linkage name, its
 * code bytes, its source lines with inlined frames, and what following its flow
 * takes: jump tables, entries from other code, callees. Contents start with a version
 * byte and hold nothing of the host: the same function of the same build gives
 * the same bytes everywhere (docs/profile-format.md).
 *
 * Decoders take records from strangers: everything is checked, nothing is
 * allocated by a number in them, and what they return borrows from the content.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/cursor.h"
#include "base/hash_index.h"
#include "base/span.h"

struct error;

/* The numbers are those of the file: only ever add. A reader skips kinds that it does not know. */
enum record_kind {
	RECORD_FUNCTION = 1,
	RECORD_CODE = 2,
	RECORD_LINES = 3,
	RECORD_DATA = 4,
	RECORD_ENTRIES = 5,
	RECORD_CALLEE = 6,
};

#define RECORD_MAX_BYTES                                                                           \
	(16u << 20)	    /* of one content: the largest known function's code is below 1 MB */
#define RECORD_MAX_DEPTH 64 /* of inlined frames; deeper ones are cut at the innermost end */

struct record {
	uint64_t kind;
	uint64_t first; /* vaddr in the image's space */
	uint64_t last;	/* inclusive */
	struct span content;
};

/* Records under one owner, kept in the order they came. */
struct record_set {
	struct record *list;
	size_t count;
	size_t capacity;
	struct arena bytes;
};
void record_set_release(
	struct record_set *set); /* also right for a zeroed one, and for CLEANUP() */
/* Copies `content`. Returns 0 or -ENOMEM. */
int record_set_add(struct record_set *set, uint64_t kind, uint64_t first, uint64_t last,
		   struct span content);
/* Likewise, with the bytes of a buffer, which is empty afterwards; -ENOMEM also when the buffer had
 * failed. */
int record_set_take(struct record_set *set, uint64_t kind, uint64_t first, uint64_t last,
		    struct buffer *content);
/* Sorts by first, last, kind, content, the canonical order, and drops duplicates. */
void record_set_sort(struct record_set *set);

/* NULL when the record can be decoded (unknown kinds can), else what is wrong with it, or
 * record_no_memory when there was none to decode it. */
const char *record_fault(const struct record *record);
extern const char record_no_memory[];

/* ---- RECORD_FUNCTION: [first, last] is its extent */
enum function_flags {
	FUNCTION_UNNAMED = 1, /* only its extent is known (.eh_frame) */
	FUNCTION_PLT = 2,     /* a stub; the name ends in @plt */
	FUNCTION_COLD = 4,    /* the split-off part of the function at `parent` */
	FUNCTION_EXPORTED =
		8, /* named by what a stripped file exports: its image has no symbol table */
	FUNCTION_NEAREST =
		16, /* its symbol has no size, and nothing says how far it reaches: a guess */
	FUNCTION_WINDOW = 32 /* no function: code around samples that none is known of, with the
			      * name of the nearest symbol or without */
};
struct function_record {
	uint64_t flags;
	uint64_t parent;  /* vaddr of the function that a cold part belongs to; else 0 */
	struct span name; /* linkage name; empty when unnamed */
};
/* Failure shows in buffer_failed(). */
void record_put_function(struct buffer *out, uint64_t first,
			 const struct function_record *function);
bool record_get_function(const struct record *record, struct function_record *function);
/* Adds a record of it. 0 or -ENOMEM. */
int record_set_add_function(struct record_set *set, uint64_t first, uint64_t last,
			    const struct function_record *function);

/* ---- RECORD_CODE: the bytes of [first, last] */
void record_put_code(struct buffer *out, struct span code);
bool record_get_code(const struct record *record, struct span *code);

/* ---- RECORD_DATA: the bytes of [first, last] of data that tables of jumps may stand in, with
 * relative relocations applied as at load address 0: pointers are vaddrs */
void record_put_data(struct buffer *out, struct span data);
bool record_get_data(const struct record *record, struct span *data);

/* ---- RECORD_ENTRIES: places inside [first, last], other than first, where control comes in from
 * elsewhere: from code that is neither the function nor a part of it that was split off */
enum entry_kind {
	ENTRY_JUMP = 0,	   /* other code jumps there */
	ENTRY_LANDING = 1, /* an exception lands there */
	ENTRY_POINTER = 2, /* data holds its address */
};
struct entry_place {
	uint64_t vaddr;
	uint64_t kind; /* enum entry_kind; of a later version: others */
};
/* `places` are by vaddr, then kind, no two equal, and lie above `first`. */
void record_put_entries(struct buffer *out, uint64_t first, const struct entry_place *places,
			size_t count);
/*
 * The next place; begin with a zeroed cursor. False at the end, or where the content makes no
 * sense: record_fault() tells them apart.
 */
struct entries_cursor {
	size_t at;
	struct entry_place last;
};
bool record_next_entry(const struct record *record, struct entries_cursor *cursor,
		       struct entry_place *place);

/* ---- RECORD_CALLEE: linkage name of what a call or jump to `first`, or through the slot of the
 * GOT there, reaches; last is first. A stub of the PLT reads "name@plt" */
void record_put_callee(struct buffer *out, struct span name);
bool record_get_callee(const struct record *record, struct span *name);

/* ---- RECORD_LINES: which source lines [first, last] comes from */
struct line_frame {
	struct span function; /* linkage name of an inlined function; empty: the function itself */
	struct span file;     /* empty: unknown */
	uint32_t line;	      /* 0: unknown */
};

struct lines_row {
	uint64_t vaddr; /* where the row starts; it ends with the next one or the record */
	uint32_t node;	/* 0: the function itself; else nodes[node - 1] */
	uint32_t file;	/* 0: unknown; else texts[file - 1] */
	uint32_t line;	/* 0: unknown */
};

/* Builds one content; texts are copied. All fields are private. */
struct lines_writer {
	struct buffer texts, nodes, rows;
	struct hash_index text_index;
	struct span *text_list;
	size_t text_count, text_capacity;
	uint32_t node_count, row_count;
	uint64_t vaddr; /* of the row before */
	struct lines_row row;
	struct arena arena;
	bool failed;
};
void lines_writer_init(struct lines_writer *writer, uint64_t first);
void lines_writer_release(struct lines_writer *writer);
/* A function inlined into node `parent` (0: into the function itself), called at file:line. Returns
 * the new node, from 1. */
uint32_t lines_writer_inline(struct lines_writer *writer, uint32_t parent, struct span function,
			     struct span call_file, uint32_t call_line);
/* From `vaddr` on (rising from call to call) code comes from file:line of `node`. */
void lines_writer_row(struct lines_writer *writer, uint64_t vaddr, uint32_t node, struct span file,
		      uint32_t line);
/* Appends the content. Returns 0 or -ENOMEM. */
int lines_writer_finish(struct lines_writer *writer, struct buffer *out);

/* The texts of a content, of functions and files alike, without decoding the rest of it. False: no
 * more, or it makes no sense. */
struct lines_texts {
	struct cursor cursor;
	uint64_t left;
};
void lines_texts_begin(struct lines_texts *texts, const struct record *record);
bool lines_texts_next(struct lines_texts *texts, struct span *text);

/* One content, decoded: texts borrow from it, which must outlive the table. */
struct lines_node {
	uint32_t parent;   /* as in a row; always before this one */
	uint32_t function; /* as `file` */
	uint32_t call_file;
	uint32_t call_line;
};
struct lines_table {
	struct span *texts;
	size_t text_count;
	struct lines_node *nodes;
	size_t node_count;
	struct lines_row *rows; /* by vaddr, within the record's extent */
	size_t row_count;
	uint64_t last;
};
/* Returns 0 and a table that the caller releases, -EBADMSG or -ENOMEM. */
int lines_table_decode(const struct record *record, struct lines_table *table);
void lines_table_release(
	struct lines_table *table); /* also right for a zeroed one, and for CLEANUP() */
/* The row that holds `vaddr`, or NULL. */
const struct lines_row *lines_table_find(const struct lines_table *table, uint64_t vaddr);
/* A row's frames, innermost first; the last is the function itself. Returns how many, at most
 * `capacity`. */
size_t lines_table_frames(const struct lines_table *table, const struct lines_row *row,
			  struct line_frame *frames, size_t capacity);
