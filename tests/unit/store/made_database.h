/*
 * made_database - databases of made-up epochs for tests of the store. Whatever fails ends the test.
 */
#pragma once

#include <stdint.h>

struct database_selection;
struct error;
struct profile;

#define MADE_SECOND_NS UINT64_C(1000000000)
#define MADE_START_NS  (UINT64_C(1767225600) * MADE_SECOND_NS) /* 2026-01-01 */

/* Fails the test with the sentence when ret < 0. */
void made_must(int ret, const struct error *err);

/*
 * What an epoch of `host` holds: known tables with contents by `seed`, one source that starts at
 * `start_ns` and lasts a second, with `label` unless NULL, and two records of a stash, of which
 * there are four kinds. The caller frees it.
 */
struct profile *made_profile(const char *host, uint64_t seed, uint64_t start_ns, const char *label);

/* Records that as a closed epoch, named by its start. */
void made_epoch(const char *database, const char *host, uint64_t seed, uint64_t start_ns,
		const char *label);

/* Reads the selected epochs, which the caller frees. */
struct profile *made_read(const char *database, const struct database_selection *selection);

/* How many files there are below `path` whose names end with `ending`. */
unsigned made_count_files(const char *path, const char *ending);

/* Bytes that this process has read so far, of files and pipes. */
uint64_t made_bytes_read(void);
