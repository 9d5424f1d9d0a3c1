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
	bool caught_up;	    /* its end was reached once: what comes is news */
	size_t taken;	    /* functions that the timeline has */
	bool copied;	    /* as in jit_map */
	uint64_t opened_ns; /* last */
};

enum jit_haste { JIT_IN_STEPS, JIT_TO_THE_END };

/* jit.c */
int jit_read_files(struct jit_table *table, struct jit *jit, uint64_t now_ns, enum jit_haste haste);

/* jit_room.c */
bool jit_is_strange(const struct jit *jit);
uint64_t jit_step_bytes(const struct jit *jit); /* of a file at once */
/* 0: the reader's own limit. */
uint32_t jit_most_record_bytes(const struct jit *jit);
/* To be asked every 10 ms or so: nobody wants us to end, and its user has time left. */
bool jit_may_go_on(const struct jit_table *table, const struct jit *jit);
/* Counts what is kept by now for all processes together. */
void jit_count_kept(struct jit_table *table, struct jit *jit);
/* Why what was opened is not read: that stands. */
struct error *jit_refusal_of_content(struct jit *jit);
/* Whether more may be read for the process. */
bool jit_has_room(struct jit_table *table, struct jit *jit);
/* Counts it for the process's user, too. False: the share has no room for it. */
bool jit_count_bytes(struct jit_table *table, struct jit *jit);
/* Makes room within the share, after some names were read. 0 or -ENOMEM. */
int jit_keep_within_share(struct jit_table *table, struct jit *jit);
/* To the timeline; what it has no room for is refused. 0 or -ENOMEM. */
int jit_add_loaded(struct jit *jit, const struct jit_loaded *loaded);

/* jit_process.c */
/* Who runs it; while it runs, for its files are looked for afterwards, too. */
void jit_look_at_process(const struct jit_table *table, struct jit *jit);
bool jit_has_ended(const struct jit *jit);
/* Written since the process began, or the number was somebody else's before. */
bool jit_is_recent(const struct jit *jit, const struct safe_file *file);
/* What somebody's time was too short for, or ours as we are to end: says nothing of the file. */
bool jit_is_passing(int code);
/* How opening a file ended (0: the map): a reason that holds no more is forgotten, for another file
 * may lie there by now. */
void jit_note_opening(struct jit *jit, uint32_t file, int code, const struct error *err);
/* What fstat() would tell of the file, of which fd may be a copy. */
bool jit_examine(const struct safe_file *file, struct stat *info);
/* Since when what was just read of a file is in force, when nothing better is known. */
uint64_t jit_time_of_news(const struct jit *jit, const struct stat *info, uint64_t now_ns,
			  bool first);

/* jit_map.c */
/* Opens the map where it must be opened, and reads what is new in it. 0 or -ENOMEM. */
int jit_look_at_map(struct jit_table *table, struct jit *jit, uint64_t now_ns,
		    enum jit_haste haste);
void jit_close_map(struct jit_table *table, struct jit *jit);

/* jit_dumps.c */
/* Among the files that the process mapped. 0 or -ENOMEM. */
int jit_find_dumps(const struct jit_table *table, struct jit *jit);
/* What is new in the one with that number. 0 or -ENOMEM. */
int jit_read_dump(struct jit_table *table, struct jit *jit, uint32_t source, uint64_t now_ns,
		  enum jit_haste haste);
void jit_release_dumps(struct jit *jit);
/* The file that the process mapped, when it is its user's own. */
int jit_open_dump(const struct jit_table *table, struct jit *jit, uint32_t number,
		  struct stat *info, bool *copied);
/* The next bytes of the file. Returns 1 when there are more, 0, or -ENOMEM. */
int jit_feed_piece(const struct jit_table *table, struct jit *jit, const struct file *file, int fd,
		   uint64_t *read_bytes, struct jitdump *dump);
