/*
 * shares - how much time and memory the programs of each user may cost the collector. A recorder
 * that runs as root reads what every user's programs wrote; one user's may cost it no more than
 * that user's share, so the others' names are complete whatever somebody does. A file counts for
 * who can write it; a process, with what it maps, does and is called, for who runs it.
 *
 * Root and the user who records are trusted: they have no limits here (the reader limits the time
 * and memory of a file) but for names of commands, since a stranger may be able to start trusted
 * programs under any name. All others are strangers: each has a share, and all together have one
 * and a half, since many users may be one person (subordinate ids). So that some cannot take all of
 * that from the others, a share may have a floor, which is not counted there: its last part of
 * time, and its first part of anything else. Few shares have one, and fewer of users with high ids,
 * or a person with many ids would have many. What is refused is counted, and goes to a named rest.
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
#define SHARE_READ_PART	   20u		      /* of that, 1/20 of the time that passes comes back */
#define SHARE_LEAST_NS	   UINT64_C(20000000) /* with less left nothing is begun */
#define SHARE_STASH_BYTES  ((uint64_t)16 << 20) /* of names, code and lines: a user and epoch */
#define SHARE_KEPT_BYTES   ((uint64_t)32 << 20) /* of memory for all that is kept, of any kind */
#define SHARE_USER_UNKNOWN UINT32_MAX		/* a stranger, too */

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
	bool strange; /* it has limits */
	bool apart;   /* does not count for all strangers together */
	bool floor;
	uint64_t left_ns[SHARE_PURPOSES];
	uint64_t floor_ns[SHARE_PURPOSES]; /* what is left of its floor */
	uint64_t refilled_ns;		   /* when left_ns[SHARE_READING] was raised last */
	uint64_t debt_ns;		   /* SHARE_READING: what was begun took that much longer */
	uint64_t stash_bytes;		   /* that are left to gather in this epoch */
	uint64_t floor_bytes;		   /* of these, what its floor has */
	uint64_t held[SHARE_KINDS];	   /* what is kept because of it now, by kind */
	uint64_t held_bytes;		   /* the memory that this takes, about */
	uint64_t names; /* of held[SHARE_CONTEXTS], what is given back with an epoch */
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
	/* Who pays now, between shares_charge() and shares_settle(). */
	struct reader_account account; /* by which the reader limits it */
	struct share *payer;
	enum share_purpose purpose;
	uint64_t since_ns, had_ns, had_bytes; /* when that began; what was left then */
};

void shares_init(struct shares *shares, const struct share_limits *limits);
void shares_release(struct shares *shares);

/* A user's; never NULL: without memory that of the rest. */
struct share *shares_of_user(struct shares *shares, uint32_t user);
/* The share that a file counts for, by who can write it (image/writer.h). */
struct share *shares_of_file(struct shares *shares, uint64_t writer);
/*
 * The share that a process counts for, by /proc; NULL when it is gone. Where it runs with another
 * user's rights (a set-user-ID program) and the user who started it is a stranger, that user's;
 * else that of the user whose rights it has.
 */
struct share *shares_of_process(struct shares *shares, uint32_t pid);

/* The share's user where it is a stranger, else 0. All helpers of culprit, each of which has a user
 * of its own, are one: SHARE_USER_UNKNOWN. */
static inline uint32_t share_asker(const struct share *share)
{
	bool helper = confinement_is_own_user(share->user);
	return !share->strange ? 0 : helper ? SHARE_USER_UNKNOWN : share->user;
}

/* Counts `amount` more as held; false where there is no room, and then as refused. */
bool share_take(struct shares *shares, struct share *share, enum share_of what, uint64_t amount);
/* Whether there is room for `amount` more. */
bool share_fits(const struct shares *shares, const struct share *share, enum share_of what,
		uint64_t amount);
/* Whether there is room for 1 more. */
bool share_has_room(const struct shares *shares, const struct share *share, enum share_of what);
/* Counts `amount` more as held, though there may be no room for it. */
void share_hold(struct shares *shares, struct share *share, enum share_of what, uint64_t amount);
/* Counts `amount` less as held, at most all. */
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
 * Between the two calls the mounts of the user of `visited` are looked through, which he can make
 * slow: if he is a stranger he pays for it, unless a stranger pays already, for another purpose
 * than SHARE_RUNNING. `shares` and `visited` may be NULL: nothing changes.
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
/* What the share that pays now has left; UINT64_MAX without limit. */
uint64_t shares_time_left_ns(const struct shares *shares);
/* Takes time that the caller measured from the share, which need not pay now. */
void share_spend(struct shares *shares, struct share *share, enum share_purpose purpose,
		 uint64_t spent_ns);
/* What the share has left for SHARE_READING; UINT64_MAX without limit. */
uint64_t share_reading_left_ns(struct shares *shares, struct share *share);
/* The same for gathering of either kind, of a share that does not pay now. */
uint64_t share_gathering_left_ns(const struct shares *shares, const struct share *share,
				 enum share_purpose purpose);
/* What gathering from one file of a stranger may take at most. */
uint64_t share_file_ns(const struct shares *shares);
/* An epoch begins: each share has all its time and bytes for gathering again. */
void shares_begin_epoch(struct shares *shares);
/* Stores how much was refused to all shares since the last call, by kind. */
void shares_take_refused(struct shares *shares, uint64_t refused[SHARE_KINDS]);
