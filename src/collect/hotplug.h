/*
 * hotplug - CPUs that are taken offline and come back while they are watched. The
 * kernel takes their events away for good, so the events of a CPU are opened anew
 * within a tenth of a second of its return. In between nothing is known of it, which
 * the bill (BILL_OFFLINE_NS) and hotplug_describe() say. Events that tasks inherit
 * need none of this: they go with their tasks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/cpu_set.h"

#define HOTPLUG_TEXT_BYTES 4096

struct counters;
struct ledger;

struct hotplug {
	int fd;			       /* of the kernel's list of online CPUs; -1: none */
	char text[HOTPLUG_TEXT_BYTES]; /* of the list, as last read */
	size_t text_bytes;
	struct cpu_set online; /* that text, parsed */
	bool all;	       /* all CPUs that were online at the start are watched */
	bool away;	       /* a watched CPU is offline, or could not be opened again yet */
	uint64_t start_ns;     /* of the recording */
	/* For hotplug_describe(): */
	struct cpu_set absent;	      /* CPUs that were away */
	uint64_t absences, absent_ns; /* of all CPUs together */
	int first_cpu;		      /* of the first absence */
	uint64_t first_from_ns, first_to_ns;
	struct cpu_set late; /* not watched: they came online after the recording began */
	int refusal;	     /* negative errno of the last return that failed */
};

#define HOTPLUG_NONE ((struct hotplug){ .fd = -1 })

/* To be called when sampling starts. Without the kernel's list no CPU is known to leave. */
void hotplug_start(struct hotplug *hotplug, const struct counters *counters, uint64_t now_ns);
void hotplug_release(struct hotplug *hotplug); /* also right for HOTPLUG_NONE */
/* Reads which CPUs are online, gives up the events of those that left and opens those of CPUs that
 * came back: call it ten times a second. 0 or -ENOMEM. */
int hotplug_follow(struct hotplug *hotplug, struct counters *counters, struct ledger *ledger,
		   uint64_t now_ns);
/* To be called after all counters were read. Those of a CPU that left and came back between two
 * calls of hotplug_follow() stand still, and are opened anew. 0 or -ENOMEM. */
int hotplug_check(struct hotplug *hotplug, struct counters *counters, struct ledger *ledger,
		  uint64_t now_ns);
/* Adds to the ledger how long CPUs have been away that are not back yet. */
void hotplug_settle(struct hotplug *hotplug, struct counters *counters, struct ledger *ledger,
		    uint64_t now_ns);
/* Writes a sentence about CPUs that were away or came late; "" when there were none. */
void hotplug_describe(const struct hotplug *hotplug, char *text, size_t size);
