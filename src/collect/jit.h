/*
 * jit - the names of code that processes made at run time, from their perf maps
 * (/tmp/perf-PID.map) and jitdump files, which are read while the process runs, each
 * time that a sample is newer than what was read: code takes the place of other
 * code, and a sample belongs to what was there at its time (symbol/jit_timeline.h).
 *
 * A jitdump tells when code was loaded, by CLOCK_MONOTONIC; what another
 * clock says, and the lines of a map, count from when the file was last written. A map is
 * opened through the process's own root. A process that has ended is looked for under our
 * own, where its map may have been left. Either way only files of the process's own user are
 * believed (OWNER_PROCESS in symbol/safe_open.h): of the user whom we saw run it or, when it ended
 * before we looked, of our own.
 *
 * When the share of a stranger's process has no room for more names, newer ones take the place of
 * older ones, of those without samples first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/number_map.h"
#include "symbol/jit_timeline.h"

struct file_table;
struct helper_watch;
struct share;
struct shares;
struct jit_dump;
struct process;
struct reader;
struct record_set;

#define JIT_CONTEXTS  2u  /* that a process's image takes of its share's SHARE_CONTEXTS */
#define JIT_MAPS_HELD 64u /* descriptors of maps on the mount of our own root (held_files.h) */
#define JIT_TAIL      64u
/* At most so much memory, about, takes what is known of the code of all processes. */
#define JIT_KEPT_BYTES (UINT64_C(1) << 30)

/* How far a perf map was read. */
struct jit_map {
	int fd; /* -1: not held */
	bool found;
	bool copied; /* the reader handed out a copy when it was opened last, which costs its size:
			it is opened more rarely */
	bool caught_up;	   /* its end was reached once: what comes later is new code */
	unsigned restarts; /* from its beginning, in this look at it */
	uint64_t device, inode, size_bytes;
	int64_t modified_ns;
	uint64_t read_bytes;
	uint64_t skipped_bytes; /* of them: holes */
	uint8_t tail[JIT_TAIL]; /* the last bytes before: a file that was written anew has others */
	size_t tail_bytes;
};

/* What is known of the code of one process. */
struct jit {
	uint32_t image; /* in the session's profile */
	uint32_t pid;
	uint32_t own_pid;    /* as the process sees itself */
	struct share *share; /* whose memory and time its names take; NULL: nobody counts */
	uint64_t held_bytes; /* counted for the share */
	uint64_t dropped;    /* names for which there was no room */
	uint64_t start_ns;   /* of the process, since boot; 0: not known */
	/* Whose files are believed: who ran it when we last saw it run. */
	uint32_t user;
	bool user_known;
	uint64_t start_ticks; /* of /proc/PID/stat: another process may have its number by now */
	bool began;	      /* its program began while we watched */
	struct jit_map map;
	struct jit_dump *dumps;
	size_t dump_count, dump_capacity;
	uint64_t jitdumps_seen; /* of the file table: by struct file_jitdump, up to this order */
	struct jit_timeline timeline;
	uint64_t counted_bytes;	     /* in the table's kept_bytes */
	uint64_t read_ns;	     /* when the files were read last */
	uint64_t pause_ns;	     /* until they may be read again */
	uint64_t tried_ns, retry_ns; /* when a map was looked for last; how long until again */
	bool slow; /* the last address took many steps to find, which its user pays for */
	bool cut;  /* its user's time was used up before all was read, or we are to end */
	bool full; /* its share had no room for all code and lines that were gathered last */
	struct error refused;  /* why a map or a jitdump that is there was not read */
	bool refused_open;     /* opening it failed, which may go well the next time */
	uint32_t refused_file; /* which one that was: number in the file table; 0: the map */
	bool refused_told;     /* `refused` was reported */
};

struct jit_table {
	struct reader *reader; /* NULL: nothing is read */
	struct file_table *files;
	struct shares *shares;		  /* NULL: nobody pays */
	const struct helper_watch *watch; /* set by the owner: whether to go on; or NULL */
	struct number_map by_image;	  /* struct jit */
	size_t maps_held;
	uint64_t kept_bytes, most_bytes; /* what is known of code takes now, and may take */
};

void jit_table_init(struct jit_table *table, struct reader *reader, struct file_table *files,
		    struct shares *shares);
void jit_table_release(struct jit_table *table);
/* The vaddr, in the process's image of run-time code, of what lay at an address at a time (by
 * CLOCK_MONOTONIC). `share` pays for its names. 0 or -ENOMEM. */
int jit_table_locate(struct jit_table *table, const struct process *process, struct share *share,
		     uint32_t image, uint64_t address, uint64_t time_ns, uint64_t *vaddr);

/* Appends the functions that hold `vaddrs` (rising), with code and lines where a jitdump has
 * them. 0 or -ENOMEM. */
int jit_gather(struct jit_table *table, struct jit *jit, const uint64_t *vaddrs, size_t count,
	       struct record_set *out);
/* Names were read, as at the end of an epoch: forgets those of processes that have ended. */
void jit_table_names_read(struct jit_table *table);
/* Sets files[number] for the jitdumps of the process of each image with images[image] set. 0 or
 * -ENOMEM. */
int jit_table_mark_jitdumps(const struct jit_table *table, const bool *images, bool *files);
/*
 * Images are called by other numbers: images[old], 0 for one that is no more, with which all goes
 * that is known of its code. The first call finds by_image anew, into an empty map, and changes
 * nothing: 0 or -ENOMEM. The second one does it, cannot fail, and takes over that map.
 */
int jit_table_plan_images(const struct jit_table *table, const uint32_t *images,
			  struct number_map *by_image);
void jit_table_renumber_images(struct jit_table *table, const uint32_t *images,
			       struct number_map *by_image);
