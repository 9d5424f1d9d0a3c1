/*
 * database_folder - the folders of a database (database.h): naming, listing and making them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;

#define DATABASE_FILE_MODE 0640
#define DATABASE_IMAGES	   "images"

/* Whether a name can be a host's: a plain name of a folder, without '/', not beginning with '.', not
 * "images". */
bool database_host_is_usable(const char *host);

/* Fills *err for a database or a folder of it, and returns `code`. */
int database_failed(struct error *err, int code, const char *path);
/* PATH/NAME, or NULL when out of memory. */
char *database_below(const char *path, const char *name);

/* Names in a folder, sorted, so that the order of work depends on them alone. */
struct names {
	char **list;
	size_t count;
	size_t capacity;
};
void names_release(struct names *names); /* for CLEANUP() */
/* All names but those that begin with a dot. `names` is zeroed before. 0 or negative errno;
 * -ENOTDIR also for a link. */
int names_read(struct names *names, const char *path);
/* The same for the database's own folder, which may be a link. */
int names_read_top(struct names *names, const char *path);

/* Adds a copy of a name at the end. 0 or -ENOMEM. */
int names_add(struct names *names, const char *name);
void names_sort(struct names *names);
/* Whether the name is one of `names`, which are sorted. */
bool names_have(const struct names *names, const char *name);

/* Makes a folder, unless there is one that belongs to us or root. Else an error: -EPERM for another
 * user's, -ENOTDIR. */
int database_make_folder(const char *path, struct error *err);
