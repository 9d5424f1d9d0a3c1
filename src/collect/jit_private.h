/*
 * jit_private - what the parts of jit.h share: the table and the addresses of samples (jit.c),
 * whose files are believed and since when (jit_process.c), perf maps (jit_map.c), jitdump files
 * (jit_dumps.c), how much is kept of both (jit_room.c), and gathering from them when names are read
 * (jit_gather.c).
 */
#pragma once

#include "collect/jit.h"
#include "symbol/jitdump.h"

struct file;
struct jit_loaded;
struct safe_file;
struct stat;

#define JIT_WORK_AT_ONCE (UINT64_C(1) << 22) /* a timeline's: some 10 ms */

struct jit_dump {
	uint32_t file; /* in the file table */
	struct jitdump dump;
	uint64_t read_bytes;
	bool caught_up;	    /* as in struct jit_map */
	size_t taken;	    /* so many of its functions are in the timeline */
	bool copied;	    /* as in struct jit_map */
	uint64_t opened_ns; /* last */
};

/* How much of a file is read at once: a piece, while samples come, or all, for names. */
enum jit_haste { JIT_IN_STEPS, JIT_TO_THE_END };

/* jit.c */
/* Reads what is new in the process's jitdumps, or else in its map. 0 or -ENOMEM. */
int jit_read_files(struct jit_table *table, struct jit *jit, uint64_t now_ns, enum jit_haste haste);

/* jit_room.c */
bool jit_is_strange(const struct jit *jit);
uint64_t jit_step_bytes(const struct jit *jit); /* that are read of a file at once */
/* How large a record of a jitdump may be; 0: as large as struct jitdump allows. */
uint32_t jit_most_record_bytes(const struct jit *jit);
/* Whether its user has time left, and nobody wants us to end. Call it every 10 ms or so. */
bool jit_may_go_on(const struct jit_table *table, const struct jit *jit);
/* Brings table->kept_bytes up to date with what is known of this process. */
void jit_count_kept(struct jit_table *table, struct jit *jit);
/* Where to put why a file that was opened is not read; unlike that of a failed opening the reason
 * stays. */
struct error *jit_refusal_of_content(struct jit *jit);
/* Whether the limit of all processes has room for more; else that is its refusal. */
bool jit_has_room(struct jit_table *table, struct jit *jit);
/* As jit_count_kept(), and takes the same of its share. False: the share has no room for it. */
bool jit_count_bytes(struct jit_table *table, struct jit *jit);
/* After names were read: forgets some where the share has no room for them. 0 or -ENOMEM. */
int jit_keep_within_share(struct jit_table *table, struct jit *jit);
/* Adds it to the timeline; that there is no room there is its refusal. 0 or -ENOMEM. */
int jit_add_loaded(struct jit *jit, const struct jit_loaded *loaded);

/* jit_process.c */
/* Finds out who runs it, while it runs: its files are looked for afterwards, too. */
void jit_look_at_process(const struct jit_table *table, struct jit *jit);
bool jit_has_ended(const struct jit *jit);
/* Whether the file was written since the process began: an older one may be of another process with
 * its number. */
bool jit_is_recent(const struct jit *jit, const struct safe_file *file);
/* Whether a code means that there was no time, which says nothing of the file. */
bool jit_is_passing(int code);
/* Notes how opening the file (of the table; 0: the map) ended, with `err` where code < 0: a new
 * refusal, or the end of an old one, for another file may lie there by now. */
void jit_note_opening(struct jit *jit, uint32_t file, int code, const struct error *err);
/* What fstat() would tell of the file, of which fd may be a copy. */
bool jit_examine(const struct safe_file *file, struct stat *info);
/* Since when (CLOCK_MONOTONIC) code is in force that was just read of a file which does not say so
 * itself: since the file was written, but not before it was read last. What is read first (`first`)
 * of a program that began before we watched was there always: 0. */
uint64_t jit_time_of_news(const struct jit *jit, const struct stat *info, uint64_t now_ns,
			  bool first);

/* jit_map.c */
/* Opens the map where it must be opened, and reads what is new in it. 0 or -ENOMEM. */
int jit_look_at_map(struct jit_table *table, struct jit *jit, uint64_t now_ns,
		    enum jit_haste haste);
void jit_close_map(struct jit_table *table, struct jit *jit);

/* jit_dumps.c */
/* Adds the jitdumps that became known since, among the files that the process mapped. 0 or -ENOMEM.
 */
int jit_find_dumps(const struct jit_table *table, struct jit *jit);
/* Reads what is new in jit->dumps[source]. 0 or -ENOMEM. */
int jit_read_dump(struct jit_table *table, struct jit *jit, uint32_t source, uint64_t now_ns,
		  enum jit_haste haste);
void jit_release_dumps(struct jit *jit);
/* A descriptor, which the caller closes, of that file of the table, when it is of the process's
 * user; else -1. */
int jit_open_dump(const struct jit_table *table, struct jit *jit, uint32_t number,
		  struct stat *info, bool *copied);
/* Feeds the next bytes of the file to `dump`, and counts them in *read_bytes. 1 when there are
 * more, 0, or -ENOMEM. */
int jit_feed_piece(const struct jit_table *table, struct jit *jit, const struct file *file, int fd,
		   uint64_t *read_bytes, struct jitdump *dump);
