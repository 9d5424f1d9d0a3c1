/*
 * recording - one recording while it runs: from its collector into a profile or into the
 * epochs of a database, merged now and then, until its command ends, its time is over or
 * somebody asks it to end. What goes wrong is said. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/command.h"
#include "cli/watched_time.h"
#include "collect/collector.h"
#include "collect/stepper.h"

struct epoch;
struct error;

struct recording {
	/* What the caller fills, and releases afterwards. */
	const char *output;   /* the profile; with epoch_ns the database */
	uint64_t epoch_ns;    /* 0: one profile, no epochs */
	uint64_t merge_ns;    /* how much a crash may lose */
	uint64_t delay_ns;    /* until sampling starts */
	uint64_t duration_ns; /* of sampling, with has_duration */
	bool has_duration;
	struct stepper stepper; /* with --bursts */
	struct collector *collector;
	struct epoch *epoch; /* recording_open_epoch() opens the first */
	struct command command;
	struct watched_time watched;
	int signals; /* signalfd: INT, TERM, HUP, CHLD; never blocks */

	/* private */
	int stop_signals;		   /* how often we were asked to end */
	bool closing;			   /* the end of an epoch is being gathered */
	int signals_before_closing;	   /* of stop_signals: these only began it */
	uint64_t begin_ns, end_ns;	   /* end 0: open */
	uint64_t stopped_ns;		   /* when sampling ended */
	uint64_t epoch_end_ns;		   /* 0: one profile, no epochs */
	uint64_t samples, lost, throttled; /* of the epochs that are closed */
	bool in_parts;			   /* there were epochs before this one */
	bool storing_failed;
};

/* A profile, or an epoch in a database named after this host. 0 or what epoch_open() and
 * database_open_epoch() return, with *err filled. */
int recording_open_epoch(struct recording *recording, struct error *err);
/* A collector's: what the signals that came ask for. The first one while an epoch is closed cuts
 * short the gathering of names, the second one all the rest. `context` is the recording. */
enum collect_wish recording_wish(void *context);
/* Starts, runs and ends it; `argv` is the command, where there is one. Returns the exit status. */
int recording_run(struct recording *recording, char *const argv[]);
