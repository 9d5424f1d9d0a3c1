/*
 * urgency - raises the scheduling priority of the collector and its reading helpers
 * (machine/haste.h) while recording is prepared or an epoch ends, which somebody waits for; but
 * only when they had to wait for a CPU, and for two seconds at most. On a machine that has CPUs to
 * spare nothing is changed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine/haste.h"

struct reader;

struct urgency_mark {
	uint64_t at_ns;	    /* 0: never */
	uint64_t waited_ns; /* how long this process had waited for a CPU by then */
};

struct urgency {
	struct urgency_mark watched, before; /* the last two marks of urgency_watch() */
	bool urgent;
	uint64_t since_ns, waited_ns; /* when that began; as in a mark, with the helpers */
	uint64_t looked_ns;
	uint64_t raised_ns;	  /* since when the priority is raised; 0: it is not */
	bool spent;		  /* it was raised as long as it may, or may not be */
	struct haste_usual usual; /* the priority to restore */
};

/* To be called often while nothing is urgent, and takes a mark twice a second: when the process had
 * to wait for a CPU lately, urgency_begin() raises the priority at once. */
void urgency_watch(struct urgency *urgency);
/* Something urgent begins. `reader`, here and below, may be NULL. */
void urgency_begin(struct urgency *urgency, struct reader *reader);
/* To be called now and then while it lasts: raises the priority when it has become necessary, and
 * lowers it after two seconds. The process's own is lowered then without a call, too; the helpers'
 * only by one. */
void urgency_look(struct urgency *urgency, struct reader *reader);
/* It is over: lowers the priority where it is raised. */
void urgency_end(struct urgency *urgency, struct reader *reader);
