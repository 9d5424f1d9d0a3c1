/*
 * database_uses - all files of a database, and which epochs need which packs. For what removes
 * files (database_prune.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/database_epochs.h"

struct error;

struct used_epoch {
	const char *host; /* a name in `hosts` */
	struct epoch_file file;
	uint64_t end_ns;  /* by its sources, else by the file's time; 0: unknown */
	uint64_t bytes;	  /* on disk */
	bool has_writer;  /* it is open, and being written */
	bool is_ours;	  /* a regular file, or an open folder, of a name of ours */
	uint32_t *images; /* positions in `images`, each once */
	size_t image_count;
};

/* A folder of DB/images. */
struct used_image {
	char *name;
	size_t users;
	uint64_t bytes;	    /* of its packs on disk */
	uint64_t old_bytes; /* of those that have been there since `old_before_ns` */
	size_t packs, old_packs;
};

struct database_uses {
	char **hosts;
	size_t host_count, host_capacity;
	struct used_epoch *epochs; /* by end, then host and name */
	size_t count, capacity;
	struct used_image *images; /* by name */
	size_t image_count;
	bool complete;	       /* else some epoch could not be read, and may need any pack */
	char incomplete[1024]; /* why not */
};
void database_uses_release(struct database_uses *uses); /* for CLEANUP(); right for a zeroed one */

/*
 * Fills *uses, which is zeroed. Packs whose inode changed before `old_before_ns` are old: nobody
 * can set that time, so a copy is as old as its copying. 0 or a negative errno value with *err.
 */
int database_uses_read(const char *database, uint64_t old_before_ns, struct database_uses *uses,
		       struct error *err);

/* The size of a file, rounded up to whole blocks of 4 KiB. */
uint64_t database_disk_bytes(uint64_t file_bytes);

/* Whether a name can be that of a folder of an image, or of a pack in it. */
bool database_is_image_name(const char *name);
bool database_is_pack_name(const char *name);

/*
 * Opens DB/NAME or DB/NAME/BELOW (NULL: the former), which is to be a folder of ours or root's, and
 * no link; the database itself may be one. A descriptor, or a negative errno value: -EPERM when it
 * is another user's.
 */
int database_open_below(const char *database, const char *name, const char *below);
