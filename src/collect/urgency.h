/*
 * urgency - while recording is prepared or an epoch ends, which somebody waits for, the collector
 * and those that read for it go before others, but only when others made them wait for a CPU, and
 * not for long: on a machine that has CPUs to spare nothing is changed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine/haste.h"

struct reader;

struct urgency_mark {
	uint64_t at_ns;	    /* 0: never */
	uint64_t waited_ns; /* what was waited by then */
};

struct urgency {
	struct urgency_mark watched, before; /* twice a second, whether urgent or not */
	bool urgent;
	uint64_t since_ns, waited_ns; /* when it began, and what was waited by then */
	uint64_t looked_ns;
	uint64_t raised_ns; /* since when we go before others; 0: we don't, or not any more */
	bool spent;	    /* it was raised as long as it may */
	struct haste_usual usual;
};

/* To be called as often as one likes while nothing is urgent: who was kept waiting then goes before
 * others from the beginning. */
void urgency_watch(struct urgency *urgency);
/* `reader` may be NULL. */
void urgency_begin(struct urgency *urgency, struct reader *reader);
/* To be called now and then, while it lasts; else it does nothing. Who goes before others ends
 * that after two seconds without it, too; those that read go on until it is called. */
void urgency_look(struct urgency *urgency, struct reader *reader);
void urgency_end(struct urgency *urgency, struct reader *reader);
