/*
 * database_stash - the stash of a database, DB/images (database.h).
 */
#pragma once

#include <stdint.h>

struct error;
struct profile;

/* Moves the stash of a profile that is about to be closed to DB/images. */
int database_store_stash(const char *database, struct profile *profile, struct error *err);

/* Adds the packs of the profile's images. What is wrong with one goes to `note`, or ends it when
 * that is NULL. */
int database_join_stash(const char *database, void (*note)(void *context, const char *sentence),
			void *context, struct profile *profile, struct error *err);

/* Every pack below DB/images, decoded and checked against its name; `fault` hears of each that is
 * wrong. */
int database_verify_stash(const char *database,
			  void (*fault)(void *context, const char *path, const char *sentence),
			  void *context, uint64_t *packs, struct error *err);
