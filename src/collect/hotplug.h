/*
 * hotplug - CPUs that are taken offline and come back while they are watched. The
 * kernel takes their events away for good, so what counts on one is opened anew
 * within a tenth of a second of its return. In between nothing is known of it,
 * which the bill says (BILL_OFFLINE_NS) and hotplug_describe(). Events that tasks inherit need none
 * of this: they go with their tasks.
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
	int fd; /* of the kernel's list of online CPUs; -1: none */
	char text[HOTPLUG_TEXT_BYTES];
	size_t text_bytes;
	struct cpu_set online;
	bool all;	   /* all that were online at the start are watched */
	bool away;	   /* a watched one is, or has not been opened again */
	uint64_t start_ns; /* of the recording */
	/* what was told of so far */
	struct cpu_set absent; /* CPUs that were away */
	uint64_t absences, absent_ns;
	int first_cpu;
	uint64_t first_from_ns, first_to_ns;
	struct cpu_set late; /* not watched: they came online after the recording began */
	int refusal;	     /* negative errno of the last return that failed */
};

#define HOTPLUG_NONE ((struct hotplug){ .fd = -1 })

/* When sampling starts. Without the list no CPU is known to leave. */
void hotplug_start(struct hotplug *hotplug, const struct counters *counters, uint64_t now_ns);
void hotplug_release(struct hotplug *hotplug); /* also right for HOTPLUG_NONE */
/* Looks which CPUs are online, ten times a second. 0 or -ENOMEM. */
int hotplug_follow(struct hotplug *hotplug, struct counters *counters, struct ledger *ledger,
		   uint64_t now_ns);
/* After all counters were read: those of a CPU that left and came back between two looks stand
 * still. 0 or -ENOMEM. */
int hotplug_check(struct hotplug *hotplug, struct counters *counters, struct ledger *ledger,
		  uint64_t now_ns);
/* Bills how long CPUs were away that have not come back until now. */
void hotplug_settle(struct hotplug *hotplug, struct counters *counters, struct ledger *ledger,
		    uint64_t now_ns);
/* Two sentences for people, or "". */
void hotplug_describe(const struct hotplug *hotplug, char *text, size_t size);
