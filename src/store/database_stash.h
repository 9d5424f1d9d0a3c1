/*
 * database_stash - the stash of a database, DB/images (database.h).
 */
#pragma once

#include <stdint.h>

struct error;
struct profile;

/* STASH_STORE_NEW leaves out records that packs have already: the caller holds the lock
 * (database_lock.h) until the profile's file is there. */
enum stash_store { STASH_STORE_ALL, STASH_STORE_NEW };

/* Writes the stash of a profile that is about to be closed to DB/images, and empties its table. A
 * stash with columns of a later version stays in the profile. */
int database_store_stash(const char *database, enum stash_store how, struct profile *profile,
			 struct error *err);

/* Adds the records in the packs of the profile's images. A pack with a fault is reported to `note`
 * and passed over; with `note` NULL it is an error. */
int database_join_stash(const char *database, void (*note)(void *context, const char *sentence),
			void *context, struct profile *profile, struct error *err);

/* Decodes every pack below DB/images and compares it with its name; `fault` is called for each one
 * that is wrong. What a killed writer left half-written is none. *packs is how many there are. */
int database_verify_stash(const char *database,
			  void (*fault)(void *context, const char *path, const char *sentence),
			  void *context, uint64_t *packs, struct error *err);
