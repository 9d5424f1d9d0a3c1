/*
 * json_value - a report as a JSON document: numbers that may be absent, estimates
 * with their interval, texts from strangers. Objects are filled in any order and
 * written at the end. They belong to their writer, whose json_finish() ends them
 * all; a NULL object stands for running out of memory, which the writer remembers.
 *
 * Keys are kept as they are, so they are the program's own words; texts are copied.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/figures/interval.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/span.h"

struct json_object; /* or an array */

/* A document while it is built; once something could not be allocated it is failed for good. */
struct json_writer {
	bool failed;
	struct arena arena;
};

struct json_object *json_new_object(struct json_writer *writer);
struct json_object *json_new_array(struct json_writer *writer);
/* `value` belongs in one place; NULL writes null. */
void json_add(struct json_writer *writer, struct json_object *object, const char *key,
	      struct json_object *value);
void json_append(struct json_writer *writer, struct json_object *array, struct json_object *value);

void json_add_null(struct json_writer *writer, struct json_object *object, const char *key);
void json_add_bool(struct json_writer *writer, struct json_object *object, const char *key,
		   bool value);
void json_add_u64(struct json_writer *writer, struct json_object *object, const char *key,
		  uint64_t value);
/* Nine digits: more would be noise of the conversion. */
void json_add_double(struct json_writer *writer, struct json_object *object, const char *key,
		     double value);
/* Bytes that are no UTF-8 become U+FFFD; absent ones (data NULL) null. */
void json_add_span(struct json_writer *writer, struct json_object *object, const char *key,
		   struct span text);
void json_add_text(struct json_writer *writer, struct json_object *object, const char *key,
		   const char *text);
void json_append_text(struct json_writer *writer, struct json_object *array, const char *text);
/* "writable_by": who else than root and the recorder can write an image's file (image/writer.h);
 * null: nobody, or not known. */
void json_add_writer(struct json_writer *writer, struct json_object *object, uint64_t file_writer);
/* An array of texts. */
void json_add_texts(struct json_writer *writer, struct json_object *object, const char *key,
		    const char *const *texts, size_t count);
/* "0x1f" */
void json_add_hex(struct json_writer *writer, struct json_object *object, const char *key,
		  uint64_t value);
/* Two digits a byte; null without bytes. */
void json_add_bytes(struct json_writer *writer, struct json_object *object, const char *key,
		    struct span bytes);
/* KEY, KEY_low and KEY_high, times `factor`. */
void json_add_estimate(struct json_writer *writer, struct json_object *object, const char *key,
		       struct estimate estimate, double factor);
/* Appends the document's text and a newline. Nothing of the writer is there any more, whatever
 * happens. */
void json_finish(struct json_writer *writer, struct json_object *document, struct buffer *out);
