/*
 * recorder - one recording while it runs: from its collector into a profile or into the
 * epochs of a database, merged now and then, until its command ends, its time is over or
 * a signal asks it to end. It prints nothing: messages for the user go to a listener.
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
#include "daemon/closing.h"
#include "daemon/command.h"
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

/* Of all epochs that are closed. */
struct recorder_totals {
	double seconds; /* sampled */
	uint64_t samples, lost, throttled;
	uint64_t skipped; /* by the kernel, which did not hand them on */
};

struct recorder {
	/* What the caller fills, and releases afterwards. */
	const char *output;   /* the profile; with epoch_ns the database */
	uint64_t epoch_ns;    /* 0: one profile, no epochs */
	uint64_t merge_ns;    /* how much a crash may lose */
	uint64_t delay_ns;    /* until sampling starts */
	uint64_t duration_ns; /* of sampling, with has_duration */
	bool has_duration;
	struct recorder_listener listener;
	struct stepper stepper; /* with --bursts */
	struct collector *collector;
	struct epoch *epoch; /* recorder_open_epoch() opens the first */
	struct command command;
	struct watched_time watched;
	int signals; /* signalfd: INT, TERM, HUP, CHLD; never blocks */

	/* What the recording has led to. */
	struct recorder_totals totals;
	bool finished; /* all that was sampled is stored, and totals are known */
	int exec_code; /* negative errno: why the command could not be run, which the listener does
			  not hear; else 0 */

	/* private */
	int stop_signals;	   /* how many signals have asked to end */
	bool ending;		   /* the last samples, names and code of an epoch are gathered */
	int signals_before_ending; /* of stop_signals: those from before that */
	uint64_t begin_ns, end_ns; /* end 0: open */
	uint64_t epoch_end_ns;	   /* 0: one profile, no epochs */
	bool in_parts;		   /* there were epochs before this one */
	bool storing_failed;	   /* the last merge failed, and the listener knows */
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
/* Releases the fields that the caller filled, too: collector, epoch, command, stepper, signals. */
void recorder_release(struct recorder *recorder);
