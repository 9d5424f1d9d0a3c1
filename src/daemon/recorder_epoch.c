#include "daemon/recorder_private.h"

#include <stdio.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/span.h"
#include "store/database.h"
#include "store/database_folder.h"
#include "store/database_lock.h"
#include "store/epoch.h"

/* Whether the name has no spaces or control characters: it becomes that of a folder. */
static bool is_plain_host(const char *host)
{
	for (; *host; host++)
		if (*host <= ' ' || *host > '~')
			return false;
	return true;
}

/* Of what stays the first epoch tells. */
static void say_of_leftover(void *context, enum database_leftover leftover, const char *sentence)
{
	const struct recorder *recorder = context;
	if (leftover == DATABASE_LEFTOVER_MOVED || !recorder->epoch)
		recorder_say(recorder, RECORDER_WARNING, "%s", sentence);
}

static void name_host(struct recorder *recorder)
{
	struct utsname name;
	bool usable = uname(&name) == 0 && database_host_is_usable(name.nodename) &&
		      is_plain_host(name.nodename);
	snprintf(recorder->host, sizeof(recorder->host), "%s", usable ? name.nodename : "host");
}

/* Opens the profile, or an epoch of the database. */
static int make_epoch(struct recorder *recorder, struct epoch **epoch, struct error *err)
{
	if (recorder->epoch_ns == 0)
		return epoch_open(recorder->output, EPOCH_KEEP_OLD, epoch, err);
	name_host(recorder);
	if (recorder->claims && !recorder->claimed) {
		recorder->claim = database_claim(recorder->output, recorder->host, err);
		if (recorder->claim < 0)
			return recorder->claim;
		recorder->claimed = true;
	}
	const struct database_listener listener = { say_of_leftover, recorder };
	return database_open_epoch_with(recorder->output, recorder->host, clock_realtime_ns(),
					&listener, epoch, err);
}

int recorder_make_epoch(struct recorder *recorder, struct epoch **epoch, struct error *err)
{
	int ret = make_epoch(recorder, epoch, err);
	/* An epoch without memory for its labels says so when it is to be merged into. */
	for (size_t i = 0; ret == 0 && i < recorder->label_count; i++)
		epoch_label(*epoch, span_of_text(recorder->labels[i]), NULL);
	return ret;
}
