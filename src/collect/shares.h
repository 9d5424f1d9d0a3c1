/*
 * shares - what the programs of each user may make the collector wait for and keep. A recorder
 * that runs as root reads what every user's programs wrote; one user's may cost it no more than
 * that user's share, so the others' names are complete whatever somebody does. Files are their
 * owner's; processes, and what they map, are called and do, are their user's.
 *
 * Root and the user who records are trusted: they have no limits here (a file's time and memory
 * are the reader's) but for names of commands, of which a stranger may find a way to make theirs.
 * All others are strangers: each has a share, and together they have no more than half as much
 * again: many a user may be one person (subordinate ids). So that some cannot take all of that from
 * the others, each has a little that is not counted there, a floor: of time what comes after that
 * of all together, of the rest what comes first. A person with many ids must not have many floors:
 * there are few, and fewer for high ids. What is refused is counted, and goes to a named rest.
 *
 * One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/number_map.h"
#include "confine/confinement.h"
#include "symbol/reader.h"

#define SHARE_TIME_NS	   UINT64_C(300000000)	 /* to gather in, by default: a user and epoch */
#define SHARE_HELPER_BYTES ((uint64_t)480 << 20) /* of the helper that reads strangers' files */
#define SHARE_READ_NS	   UINT64_C(400000000)	 /* to read in while recording, at once */
#define SHARE_READ_PART	   20u			 /* of the time comes back, one part in so many */
#define SHARE_LEAST_NS	   UINT64_C(20000000)	 /* with less left nothing is begun */
#define SHARE_STASH_BYTES  ((uint64_t)16 << 20)	 /* of names, code and lines: a user and epoch */
#define SHARE_KEPT_BYTES   ((uint64_t)32 << 20)	 /* of memory for all that is kept, of any kind */
#define SHARE_USER_UNKNOWN UINT32_MAX		 /* a stranger, too */

enum share_of {
	SHARE_FILES,	/* that are mapped */
	SHARE_MAPPINGS, /* of code, of processes that run */
	SHARE_CONTEXTS, /* names of commands, control groups and the like; the trusted have a limit,
			   too */
	SHARE_STACKS,	/* frames of the tree of stacks */
	SHARE_PLACES,	/* addresses with samples */
	SHARE_EDGES,	/* branches whose outcome became known */
	SHARE_JIT_BYTES, /* names of code that was made at run time */
	SHARE_KINDS,
};

enum share_purpose {
	SHARE_READING,	 /* identities and maps, while recording goes on */
	SHARE_GATHERING, /* names, code and lines, when an epoch ends */
	SHARE_RUNNING, /* the same of files that are trusted, where its programs alone have samples
			*/
	SHARE_PURPOSES,
};

struct share {
	uint32_t user;
	bool strange;
	bool apart; /* does not count for all strangers together */
	bool floor;
	uint64_t left_ns[SHARE_PURPOSES];
	uint64_t floor_ns[SHARE_PURPOSES]; /* left, of what nobody else can take */
	uint64_t refilled_ns;		   /* SHARE_READING, last */
	uint64_t debt_ns;		   /* SHARE_READING: what was begun took that much longer */
	uint64_t stash_bytes;		   /* that are left to gather in this epoch */
	uint64_t floor_bytes;		   /* of these, what nobody else can take */
	uint64_t held[SHARE_KINDS];
	uint64_t held_bytes; /* about what these take */
	uint64_t names;	     /* of held[SHARE_CONTEXTS], what is given back with an epoch */
	uint64_t refused[SHARE_KINDS]; /* since the last bill */
};

struct share_limits {
	bool unlimited;	  /* strangers' files are read like one's own */
	uint64_t time_ns; /* 0: SHARE_TIME_NS */
	bool stacks;	  /* places have stacks, which take memory */
};

struct shares {
	struct share_limits limits;
	struct number_map by_user;
	size_t count, floors;
	struct share own;
	struct share together; /* of all strangers, beyond their floors */
	struct share rest;     /* of users beyond those who have a share of their own */
	/* Of processes that ended before we could ask whose they were, though who forked them is
	 * trusted: a daemon may have changed them into a stranger. Apart from `together`, so that
	 * no other stranger can use it up. */
	struct share ended;
	/* Whom the reader charges. */
	struct reader_account account;
	struct share *payer;
	enum share_purpose purpose;
	uint64_t since_ns, had_ns, had_bytes;
};

void shares_init(struct shares *shares, const struct share_limits *limits);
void shares_release(struct shares *shares);

/* A user's; never NULL: without memory that of the rest. */
struct share *shares_of_user(struct shares *shares, uint32_t user);
/* Of a file by who can write it (image/writer.h): a user, or nobody knows who. */
struct share *shares_of_file(struct shares *shares, uint64_t writer);
/*
 * Of a process by /proc; NULL when it is gone. Its user is the one who started it where it runs
 * with the rights of another (a set-user-ID program), and is a stranger; else the one whose rights
 * it has.
 */
struct share *shares_of_process(struct shares *shares, uint32_t pid);

/* Its user where it is a stranger's, else 0. All helpers of culprit, each of which has a user of
 * its own, are one unknown one. */
static inline uint32_t share_asker(const struct share *share)
{
	bool helper = confinement_is_own_user(share->user);
	return !share->strange ? 0 : helper ? SHARE_USER_UNKNOWN : share->user;
}

/* Takes `amount`, or counts it as refused. */
bool share_take(struct shares *shares, struct share *share, enum share_of what, uint64_t amount);
/* Whether so much is left to take. */
bool share_fits(const struct shares *shares, const struct share *share, enum share_of what,
		uint64_t amount);
/* Whether anything is. */
bool share_has_room(const struct shares *shares, const struct share *share, enum share_of what);
/* Counts what is kept already, even where that is more than there was room for. */
void share_hold(struct shares *shares, struct share *share, enum share_of what, uint64_t amount);
void share_give_back(struct shares *shares, struct share *share, enum share_of what,
		     uint64_t amount);

/*
 * From here to shares_settle() the share pays for the time that passes and for what the reader
 * does; a request lasts `request_ns` at most (0: what is left). `reader` may be NULL.
 */
void shares_charge(struct shares *shares, struct share *share, enum share_purpose purpose,
		   uint64_t request_ns, struct reader *reader);
void shares_settle(struct shares *shares, struct reader *reader);
/*
 * Between the two calls the share goes on paying for what was begun, while somebody else pays for
 * what is done meanwhile; for `unnoticed_ns` of it the share does not pay. `reader` may be NULL.
 */
struct share_payment {
	struct share *payer;
	enum share_purpose purpose;
	uint64_t since_ns, had_ns, had_bytes;
	struct reader_account account;
};
void shares_leave(struct shares *shares, struct share_payment *payment, struct reader *reader);
void shares_return(struct shares *shares, const struct share_payment *payment,
		   uint64_t unnoticed_ns, struct reader *reader);
/*
 * Between the two calls somebody's mounts are looked through, which he can make slow: a stranger
 * pays for that himself, unless one pays anyhow. `shares` and `visited` may be NULL: nothing
 * changes.
 */
struct share_visit {
	struct share *payer; /* of before */
	enum share_purpose purpose;
	bool pays;
	struct share_payment left; /* of a stranger's SHARE_RUNNING */
};
struct share_visit shares_begin_visit(struct shares *shares, struct share *visited,
				      struct reader *reader);
void shares_end_visit(struct shares *shares, const struct share_visit *visit,
		      struct reader *reader);
/* Of the one that pays now, still; UINT64_MAX without limit. */
uint64_t shares_time_left_ns(const struct shares *shares);
/* Time that somebody measured; the share need not pay now. */
void share_spend(struct shares *shares, struct share *share, enum share_purpose purpose,
		 uint64_t spent_ns);
uint64_t share_reading_left_ns(struct shares *shares, struct share *share);
/* Of a share that does not pay now, for gathering of either kind. */
uint64_t share_gathering_left_ns(const struct shares *shares, const struct share *share,
				 enum share_purpose purpose);
/* What gathering from one file of a stranger may take at most. */
uint64_t share_file_ns(const struct shares *shares);
/* An epoch begins: there is time to gather again. */
void shares_begin_epoch(struct shares *shares);
/* All that was refused since the last call, by kind. */
void shares_take_refused(struct shares *shares, uint64_t refused[SHARE_KINDS]);
