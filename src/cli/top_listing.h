/*
 * top_listing - one procedure of top's table, instruction by instruction, as 'culprit annotate'
 * shows it.
 */
#pragma once

struct buffer;
struct error;
struct profile;
struct top_row;

/*
 * Appends the listing of a row of the profile's page, in the colours of text_append_style(). Code
 * and lines come from this machine's files, which takes a while. 0, or a negative errno value with
 * *err: -ENOENT where the row is about no code, or has no samples any more.
 */
int top_listing_make(const struct profile *profile, const struct top_row *row, struct buffer *out,
		     struct error *err);
