/*
 * database_folder - what the parts of a database (database.h) do with its folders.
 */
#pragma once

#include <stddef.h>

struct error;

#define DATABASE_FILE_MODE 0640
#define DATABASE_IMAGES	   "images"

/* Fills *err for a database or a folder of it, and returns `code`. */
int database_failed(struct error *err, int code, const char *path);
/* PATH/NAME, or NULL when out of memory. */
char *database_below(const char *path, const char *name);

/* Names in a folder, sorted, so that everything is done in one order. */
struct names {
	char **list;
	size_t count;
	size_t capacity;
};
void names_release(struct names *names); /* for CLEANUP() */
/* Names that begin with a dot are nobody's business. 0 or negative errno; -ENOTDIR also for a link.
 */
int names_read(struct names *names, const char *path);
/* The same of the database's own folder, which may be a link. */
int names_read_top(struct names *names, const char *path);

/* Makes a folder, or finds that it is ours to write into. */
int database_make_folder(const char *path, struct error *err);
