/*
 * recorder - one recording while it runs: from its collector into a profile or into the
 * epochs of a database, merged now and then, until its command ends, its time is over or
 * a signal or its attendant asks it to end. It prints nothing: messages for the user go to a
 * listener.
 *
 * An epoch that ends is written by a thread of its own (daemon/closing.h), while samples of the
 * next one are taken, which lasts at least until that is done. All functions are called by one
 * thread, and so is the listener.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/collector.h"
#include "collect/stepper.h"
#include "daemon/bill_totals.h"
#include "daemon/clock_watch.h"
#include "daemon/closing.h"
#include "daemon/command.h"
#include "daemon/unsampled.h"
#include "daemon/watched_time.h"

struct epoch;
struct error;

enum recorder_news { RECORDER_WARNING, RECORDER_ERROR };

/* What has been merged since sampling began. */
struct recorder_progress {
	double seconds;
	uint64_t samples;
	uint64_t places; /* cells of the epoch that is open */
};

struct recorder_listener {
	/* One sentence without a full stop. */
	void (*say)(void *context, enum recorder_news kind, const char *sentence);
	/* Called after each merge; may be NULL. */
	void (*progress)(void *context, const struct recorder_progress *progress);
	void *context;
};

/* Somebody who has work of his own while it is recorded, such as a daemon that answers clients. */
struct recorder_attendant {
	/* A descriptor that polls readable when there is something to do; -1: none. */
	int (*poll_fd)(void *context);
	/* When to be called at the latest (monotonic); UINT64_MAX: never. */
	uint64_t (*next_ns)(void *context);
	/* Does it without waiting, and may call the functions below that say so. */
	void (*attend)(void *context);
	void *context; /* NULL: nobody attends */
};

/* CPU time of the thread that drains, and what most of it was. */
struct recorder_work {
	uint64_t second_ns, in_second_ns; /* since when, and how much of late */
	uint64_t most_in_second_ns; /* emptying rings and tables, and merging, in any second */
	uint64_t most_at_end_ns;    /* at the end of an epoch, names and code included */
};

struct recorder {
	/* What the caller fills, and releases afterwards. */
	const char *output;   /* the profile; with epoch_ns the database */
	const char *const *labels; /* that each epoch gets; may change between two epochs */
	size_t label_count;
	bool claims; /* of a database: no other that does so records this host into it meanwhile
			(store/database_lock.h), as is right for daemons and for whole machines */
	uint64_t epoch_ns;    /* 0: one profile, no epochs */
	uint64_t merge_ns;    /* how much a crash may lose */
	uint64_t delay_ns;    /* until sampling starts */
	uint64_t duration_ns; /* of sampling, with has_duration */
	bool has_duration;
	bool persistent; /* an epoch that cannot be written at all does not end the recording */
	struct recorder_listener listener;
	struct recorder_attendant attendant;
	struct stepper stepper; /* with --bursts */
	struct collector *collector;
	struct epoch *epoch;	 /* recorder_open_epoch() opens the first */
	uint64_t epoch_begin_ns; /* when it was opened, monotonic */
	struct unsampled unsampled; /* before it; goes into the bill of the first epoch */
	struct command command;
	struct watched_time watched;
	int signals; /* signalfd: INT, TERM, HUP, CHLD; never blocks */

	/* What the recording has led to. */
	char host[65]; /* of its database, once an epoch was opened */
	struct bill_totals totals; /* of all epochs that have ended */
	uint64_t epochs;	   /* that have ended */
	struct recorder_work work;
	double seconds;		   /* sampled; once it has ended */
	bool finished;		   /* all that was sampled is stored, and totals are known */
	int exec_code; /* negative errno: why the command could not be run, which the listener does
			  not hear; else 0 */

	/* private */
	struct bill_totals unstored; /* of the last delta of the epoch before, until that is stored
				      and counts in `totals` */
	bool claimed;
	int claim;		   /* a descriptor, if `claimed` */
	struct clock_watch clock;
	int stop_signals;	   /* how many signals have asked to end */
	bool ending;		   /* the last samples, names and code of an epoch are gathered */
	int signals_before_ending; /* of stop_signals: those from before that */
	uint64_t begin_ns, end_ns; /* end 0: open */
	uint64_t epoch_end_ns;	   /* 0: one profile, no epochs */
	bool in_parts;		   /* there were epochs before this one */
	bool opening_failed;	   /* the next epoch could not be begun, and the listener knows */
	bool storing_failed;	   /* the last merge failed, and the listener knows */
	bool asked_to_end;	   /* by the attendant, or what it asked for has failed */
	bool failed;		   /* the latter */
	uint64_t next_merge_ns;	   /* unless the epoch ends before */
	struct closing closing;	   /* writes the epoch before */
};

/* Opens recorder->epoch: the profile, or an epoch of the database under this host's name. 0 or what
 * epoch_open() and database_open_epoch() return, with *err filled. */
int recorder_open_epoch(struct recorder *recorder, struct error *err);
/* The `wish` of struct collect_options, with the recorder as `context`: what the signals that came
 * ask for. The first one while an epoch ends cuts short the gathering of names, the second one all
 * the rest. */
enum collect_wish recorder_wish(void *context);
/* Starts, runs and ends the recording. 0, or -1: something failed, which the listener has heard or
 * exec_code says. */
int recorder_run(struct recorder *recorder);

/* These are for the attendant, while it attends. 0 or a negative errno value with *err; a failure
 * that ends the recording has been heard by the listener. */

/* Merges what was sampled so far into the open epoch, and its file. */
int recorder_flush(struct recorder *recorder, struct error *err);
/* As recorder_flush(), but its file is as old as before: for those who look at recorder->epoch. */
int recorder_gather(struct recorder *recorder, struct error *err);
/* Ends the epoch now and begins the next one. -EBUSY while the one before is still being written,
 * -EINVAL where a recording has no epochs. */
int recorder_end_epoch(struct recorder *recorder, struct error *err);
/* The recording ends, as if its time were over. */
void recorder_ask_to_end(struct recorder *recorder);
/* What the bill says so far: of the epochs that have ended, as far as that is stored, and of what
 * was merged into this one. */
struct bill_totals recorder_totals(const struct recorder *recorder);

/* Releases the fields that the caller filled, too: collector, epoch, command, stepper, signals. */
void recorder_release(struct recorder *recorder);
