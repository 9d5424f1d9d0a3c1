/*
 * service_private - for the files of the service alone.
 */
#pragma once

#include "base/buffer.h"
#include "daemon/bill_totals.h"
#include "daemon/control.h"
#include "daemon/service.h"
#include "daemon/upkeep.h"

enum service_state {
	SERVICE_SAMPLING,
	SERVICE_PAUSED,
	SERVICE_WAITING, /* to begin anew, since something failed */
	SERVICE_STOPPING,
};

struct service {
	const struct service_options *options;
	enum service_state state;
	char reason[256];	   /* why it waits */
	uint64_t start_ns;	   /* of the service, since 1970 */
	uint64_t begin_ns;	   /* the same, monotonic */
	uint64_t state_ns;	   /* when the state began, monotonic */
	uint64_t epochs;	   /* that have ended */
	uint64_t early;		   /* of them: for the limit of memory */
	uint64_t failures;	   /* recorders that have failed, or did not open */
	struct bill_totals totals; /* of the recorders that have ended */
	uint64_t most_in_second_ns, most_at_end_ns; /* as struct recorder_work, of these */
	struct recorder *recorder;		    /* NULL: none runs */
	bool continued;	     /* it was looked how the daemon before this one ended */
	uint64_t stalled_ns; /* since when nothing is sampled unasked (clock_boot_ns()); 0: it is */
	uint64_t stalled_before_ns; /* for how long before, until a pause */
	struct control control;
	struct upkeep upkeep;
	uint64_t upkeep_ns; /* when to look after the database next, monotonic */
	uint64_t epochs_removed, epochs_compacted; /* since the start */
	struct control_handler handler;
	uint64_t resident_bytes, most_resident_bytes; /* as last looked */
	uint64_t look_ns;    /* when to look after itself next, monotonic */
	uint64_t metrics_ns; /* when to write the metrics next, monotonic */
	bool metrics_failed; /* the listener knows that the file cannot be written */
};

/* service_report.c: what it tells of itself. */
struct bill_totals service_totals(const struct service *service);
/* A JSON document. */
void service_write_status(const struct service *service, struct buffer *out);
/* In the text format of Prometheus, version 0.0.4. */
void service_write_metrics(const struct service *service, struct buffer *out);
/* "sampling", "paused", ... */
const char *service_state_name(enum service_state state);
