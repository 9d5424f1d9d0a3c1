/*
 * database_stash - the stash of a database, DB/images (database.h).
 */
#pragma once

struct database_selection;
struct error;
struct profile;

/* Moves the stash of a profile that is about to be closed to DB/images. */
int database_store_stash(const char *database, struct profile *profile, struct error *err);

/* Adds the packs of the profile's images. What is wrong with one goes to `selection->note`, or ends
 * it. */
int database_join_stash(const char *database, const struct database_selection *selection,
			struct profile *profile, struct error *err);
