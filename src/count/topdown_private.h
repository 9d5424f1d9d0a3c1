/*
 * topdown_private - what struct culprit_topdown consists of, for the files that implement
 * culprit/topdown.h.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "count/count_set.h"
#include "count/moment.h"
#include "culprit/topdown.h"
#include "machine/event.h"
#include "machine/pmu.h"
#include "machine/topdown_events.h"
#include "machine/topdown_method.h"
#include "machine/topdown_registers.h"

struct count_world;

/* A figure is to be known to one point: the registers are reset before they tell less. */
#define TOPDOWN_WANTED_RESOLUTION 0.01

/* The cores of one type. */
struct topdown_cores {
	struct topdown_method method;
	char core_type[CPU_TEXT_SIZE]; /* "": there is one type */
	struct event_list events;      /* those of the method that are needed */
	struct topdown_events where;   /* in `events` */
	struct count_set *set;
	struct count_moment begin[TOPDOWN_EVENTS], end[TOPDOWN_EVENTS];
	/* By registers, in user space: this measurement, and what is known of the last one. */
	bool by_registers; /* they can be read at all */
	bool registers_begun, registers_ended;
	struct topdown_reading first, last;
	uint32_t first_sequence, last_sequence;
	unsigned slots_bits;
	uint64_t section_slots; /* of the last measurement; 0: there was none */
};

struct culprit_topdown {
	unsigned levels;
	bool own_thread, started, stopped;
	bool counts_all_types; /* each core type of the machine has events that tell when they ran */
	pthread_t thread; /* that opened it */
	struct pmu_list pmus;
	struct topdown_cores *cores;
	size_t count;
	struct count_reading *readings, *scratch; /* room for those of a set */
};

/* culprit_topdown_open() in another world than the real one: for tests. */
int topdown_open(unsigned levels, const struct culprit_options *options,
		 const struct count_world *world, struct culprit_topdown **topdown,
		 struct culprit_error *error);

/*
 * Reads slots and metrics of this thread in user space. False when the group is not on the PMU now,
 * or may not be read. *sequence changes when the thread was switched out meanwhile.
 */
bool topdown_read_registers(const struct topdown_cores *cores, struct topdown_reading *reading,
			    uint32_t *sequence);
/* Whether both can be read so, and with which width of the slots counter. */
bool topdown_registers_readable(struct topdown_cores *cores);
/* The registers begin at 0 again. 0 or a negative errno value. */
int topdown_reset_registers(const struct topdown_cores *cores);
