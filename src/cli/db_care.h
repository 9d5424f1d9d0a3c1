/*
 * db_care - what 'culprit db' does to a database: prune, compact, copy. Each prints what it did and
 * returns the exit status: 1 also where something had to be left.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct database_selection;

struct db_care {
	bool json, dry_run;
	bool has_older_than, has_grace;
	uint64_t older_than_ns, grace_ns;
	uint64_t most_bytes; /* 0: no limit */
};

int db_prune(const char *database, const struct db_care *care);
int db_compact(const char *database, const struct db_care *care);
int db_copy(const char *from, const char *to, const struct database_selection *selection,
	    const struct db_care *care);
