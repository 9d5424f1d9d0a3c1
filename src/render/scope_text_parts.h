/*
 * scope_text_parts - pieces of text that scope_text.c, for above the rows of a report, and
 * bill_text.c, for below them, share.
 */
#pragma once

#include <stdint.h>

#include "base/span.h"
#include "render/report_text_options.h"

struct buffer;

/* Starts a line "label      "; an empty label goes on with the one above. */
void scope_put_label(struct buffer *out, const struct report_text_options *options,
		     const char *name);
/* `before` and the text, or nothing when the text is empty. */
void scope_put_span(struct buffer *out, const char *before, struct span text);
void scope_put_count(struct buffer *out, uint64_t count);   /* "-" of a sum that passed 64 bits */
void scope_put_samples(struct buffer *out, uint64_t count); /* "1 sample", "12 samples" */
void scope_put_percent(struct buffer *out, double part, double whole);
/* A part in percent of its whole; "-" where it is more than that, or the whole passed 64 bits. */
void scope_put_part(struct buffer *out, uint64_t part, uint64_t whole);
void scope_put_ns(struct buffer *out, double ns); /* in seconds or less */
