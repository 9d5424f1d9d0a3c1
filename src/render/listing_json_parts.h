/*
 * listing_json_parts - pieces of a listing in JSON that listing_json.c and
 * listing_diff_json.c both write.
 */
#pragma once

#include <stdint.h>

struct annotate_index;
struct annotated_row;
struct annotation;
struct json_stream;

/* "image", "build_id", "first_vaddr" and "last_vaddr" of the procedure. */
void listing_json_add_code(struct json_stream *json, const struct annotation *annotation,
			   const struct annotate_index *index);
/* "vaddr"; null for a name without an address. */
void listing_json_add_vaddr(struct json_stream *json, const struct annotated_row *row);
/* "text" of an instruction. */
void listing_json_add_text(struct json_stream *json, const struct annotated_row *row);
/* "file" and "line"; what is NULL or 0 is null. */
void listing_json_add_line(struct json_stream *json, const char *file, uint64_t line);
