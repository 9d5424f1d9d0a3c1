/*
 * write_ahead_log - lays an SQLite log (NAME-wal) over the pages it belongs to, in
 * memory: the result is what SQLite itself would read, but without its lock files,
 * without a right to write, and without reading the files again. The bytes are a
 * stranger's; a frame counts when its checksums are right, up to the last frame that
 * ends a transaction (sqlite.org/fileformat2.html, 4).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct buffer;

/* Copies up to `size` bytes from `offset`: how many, less at the end, or a negative errno value. */
typedef long (*write_ahead_log_read)(void *context, void *out, size_t size, uint64_t offset);

/*
 * Changes `pages`, whose size is a multiple of the page size, to what they are
 * after the log. *log_bytes: the log's bytes that counted; 0 for an empty log, or
 * one of another database. Memory grows with these alone. Returns 0; -EAGAIN when
 * the log began anew meanwhile, and `pages` are of no use; -EBADMSG when a
 * transaction claims pages that nobody wrote; -EFBIG when pages and log pass
 * `limit_bytes`; -ENOMEM or what `read` said.
 */
int write_ahead_log_apply(write_ahead_log_read read, void *context, struct buffer *pages,
			  uint64_t limit_bytes, uint64_t *log_bytes);
