/*
 * service - a recording that is never over: one recorder after the other, as long as nobody asks it
 * to stop, with a socket to ask for what it does (daemon/control.h), and figures for who watches
 * it.
 *
 * A recorder lasts from a start or `resume` to a `pause` or `stop`, or until something fails that
 * the kernel may allow again later (a right is taken away, memory runs out): then it is begun anew
 * after a while, and every attempt that fails for another reason is said. What cannot be written is
 * kept (struct recorder, persistent).
 *
 * Once an hour it looks after its database (daemon/upkeep.h).
 *
 * Requests: `status`, `metrics`, `flush`, `epoch`, `epoch LABEL`, `snapshot`, `pause`, `resume`,
 * `stop` (docs/man/culprit-ctl.1.scd). `status`, `metrics` and `snapshot` change nothing, and are
 * for CONTROL_LOOK.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/options.h"
#include "daemon/recorder.h"

struct error;

struct service_options {
	const char *database;
	const char *socket;  /* NULL: nobody can ask */
	const char *metrics; /* a file that is replaced now and then, or NULL */
	const struct collect_options *collect; /* borrowed; its wish is the service's */
	uint64_t epoch_ns, merge_ns;
	const char *const *labels; /* of all epochs; borrowed */
	size_t label_count;
	uint64_t older_than_ns, most_bytes; /* as struct upkeep has them */
	uint64_t memory_bytes; /* resident, above which an epoch ends early; 0: no limit */
	struct recorder_listener listener;
	/* Receives what a manager of services wants to know, as "READY=1" (sd_notify(3)); or NULL.
	 */
	void (*tell)(void *context, const char *state);
	int signals; /* of recording_process_signals(); the caller's */
};

/* Runs until it is asked to stop. 0; or a negative errno value with *err where it could not even
 * begin: the first recorder does not open, or the socket cannot be made. -EIO without a sentence of
 * its own where the listener has heard what failed. */
int service_run(const struct service_options *options, struct error *err);
