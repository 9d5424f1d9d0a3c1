/* Which execution unit each instruction of a cycle has, and when units are free. */
#include <string.h>

#include "analyze/flow/schedule_private.h"

/*
 * An instruction needs a unit for its class, and others for memory that it reads or writes besides.
 * Where one unit does both, it needs that once.
 */
size_t schedule_requests_of(const struct pipeline *pipeline, const struct instruction_effects *op,
			    uint32_t by, struct schedule_request *out)
{
	const struct pipeline_work *work = pipeline_work_of(pipeline, op->class, op->width_bits);
	const struct pipeline_work *load = &pipeline->work[LATENCY_LOAD];
	const struct pipeline_work *store = &pipeline->work[LATENCY_STORE];
	uint32_t needed = work->units;
	size_t count = 0;
	if (work->units)
		out[count++] = (struct schedule_request){ work->units, work->busy_cycles, by,
							  SCHEDULE_NO_UNIT };
	if (op->reads_memory && load->units && !(needed & load->units)) {
		out[count++] = (struct schedule_request){ load->units, load->busy_cycles, by,
							  SCHEDULE_NO_UNIT };
		needed |= load->units;
	}
	if (op->writes_memory && store->units && !(needed & store->units))
		out[count++] = (struct schedule_request){ store->units, store->busy_cycles, by,
							  SCHEDULE_NO_UNIT };
	return count;
}

/*
 * Gives the request a unit of `open`, along an augmenting path (Kuhn's algorithm for bipartite
 * matching): a request that has it gets another. Each unit is tried once, so recursion is no deeper
 * than there are units.
 */
static bool give_unit(struct schedule_request *requests, size_t count,
		      struct schedule_request *request, uint32_t open, uint32_t *tried)
{
	for (uint32_t left = request->units & open & ~*tried; left;
	     left = request->units & open & ~*tried) {
		uint8_t unit = (uint8_t)__builtin_ctz(left);
		struct schedule_request *holder = NULL;
		*tried |= 1u << unit;
		for (size_t i = 0; i < count && !holder; i++)
			if (requests[i].unit == unit)
				holder = &requests[i];
		if (!holder || give_unit(requests, count, holder, open, tried)) {
			request->unit = unit;
			return true;
		}
	}
	return false;
}

uint32_t schedule_open_units(const struct schedule *s, int32_t cycle)
{
	uint32_t open = 0;
	for (uint32_t unit = 0; unit < s->pipeline->unit_count; unit++)
		if (s->unit_free_cycle[unit] <= cycle)
			open |= 1u << unit;
	return open;
}

/*
 * Gives units of `open` to requests[given..count-1]; those before `given` have theirs, and may get
 * others. False: not all of them find one.
 */
static bool fit(struct schedule_request *requests, size_t given, size_t count, uint32_t open)
{
	for (size_t i = given; i < count; i++) {
		uint32_t tried = 0;
		if (!give_unit(requests, i, &requests[i], open, &tried))
			return false;
	}
	return true;
}

void schedule_next_cycle(struct schedule *s, int32_t cycle)
{
	for (size_t i = 0; i < s->request_count; i++) {
		const struct schedule_request *request = &s->requests[i];
		if (request->unit == SCHEDULE_NO_UNIT)
			continue;
		s->unit_free_cycle[request->unit] = s->cycle + (int32_t)request->busy_cycles;
		s->unit_by[request->unit] = request->by;
	}
	s->cycle = cycle;
	s->open = schedule_open_units(s, cycle);
	s->taken = 0;
	s->request_count = 0;
	s->issued = 0;
	s->group_ended = false;
}

/* The unit of `units` that is free first after `cycle`, or SCHEDULE_NO_UNIT when all are free. */
static unsigned first_freed(const struct schedule *s, uint32_t units, int32_t cycle)
{
	unsigned first = SCHEDULE_NO_UNIT;
	for (; units; units &= units - 1) {
		unsigned unit = (unsigned)__builtin_ctz(units);
		if (s->unit_free_cycle[unit] > cycle &&
		    (first == SCHEDULE_NO_UNIT ||
		     s->unit_free_cycle[unit] < s->unit_free_cycle[first]))
			first = unit;
	}
	return first;
}

static uint32_t taken_units(const struct schedule *s)
{
	uint32_t taken = 0;
	for (size_t i = 0; i < s->request_count; i++)
		if (s->requests[i].unit != SCHEDULE_NO_UNIT)
			taken |= 1u << s->requests[i].unit;
	return taken;
}

/* Adds the requests to those of this cycle; false, and nothing changed, if units do not suffice. */
static bool joins(struct schedule *s, const struct schedule_request *wanted, size_t count)
{
	struct schedule_request trial[SCHEDULE_REQUESTS + SCHEDULE_REQUESTS_EACH];
	size_t before = s->request_count;
	uint32_t left = count ? wanted[0].units & s->open & ~s->taken : 0;
	if (count == 0)
		return true;
	if (count == 1 && left) { /* nearly always */
		s->requests[before] = wanted[0];
		s->requests[before].unit = (uint8_t)__builtin_ctz(left);
		s->taken |= left & -left;
		s->request_count++;
		return true;
	}
	memcpy(trial, s->requests, before * sizeof(*trial));
	memcpy(trial + before, wanted, count * sizeof(*trial));
	if (!fit(trial, before, before + count, s->open))
		return false;
	memcpy(s->requests, trial, (before + count) * sizeof(*trial));
	s->request_count = before + count;
	s->taken = taken_units(s);
	return true;
}

/* The last instruction of this cycle that has one of `units`, or SCHEDULE_BEFORE. */
static uint32_t holder_of(const struct schedule *s, uint32_t units)
{
	for (size_t i = s->request_count; i-- > 0;)
		if (s->requests[i].unit != SCHEDULE_NO_UNIT && units >> s->requests[i].unit & 1)
			return s->requests[i].by;
	return SCHEDULE_BEFORE;
}

void schedule_keep_store_gap(const struct schedule *s, const struct instruction_effects *op,
			     struct schedule_earliest *earliest)
{
	int32_t gap = (int32_t)s->pipeline->store_load_gap_cycles;
	if (gap && op->reads_memory && s->last_store_cycle + gap == earliest->cycle)
		*earliest = (struct schedule_earliest){ earliest->cycle + 1, SCHEDULE_UNIT, 0,
							s->last_store };
}

void schedule_take_units(struct schedule *s, const struct instruction_effects *op,
			 struct schedule_request *wanted, size_t count,
			 struct schedule_earliest *earliest, uint32_t by)
{
	uint32_t units = 0;
	for (size_t i = 0; i < count; i++)
		units |= wanted[i].units;
	if (earliest->cycle == s->cycle) {
		if (joins(s, wanted, count))
			return;
		uint32_t holder = holder_of(s, units);
		unsigned freed = first_freed(s, units, s->cycle);
		bool by_this_cycle = holder != SCHEDULE_BEFORE || freed == SCHEDULE_NO_UNIT;
		*earliest = (struct schedule_earliest){
			s->cycle + 1, by_this_cycle ? SCHEDULE_SLOTTING : SCHEDULE_UNIT, 0,
			by_this_cycle ? holder : s->unit_by[freed]
		};
		if (by_this_cycle && holder == SCHEDULE_BEFORE && by > 0)
			earliest->wait_for = by - 1;
		schedule_keep_store_gap(s, op, earliest);
	}
	schedule_next_cycle(s, earliest->cycle);
	while (!fit(wanted, 0, count, s->open)) {
		unsigned freed = first_freed(s, units, earliest->cycle);
		for (size_t i = 0; i < count; i++)
			wanted[i].unit = SCHEDULE_NO_UNIT;
		if (freed == SCHEDULE_NO_UNIT) {
			fit(wanted, 0, count, s->open);
			break;
		}
		*earliest = (struct schedule_earliest){ s->unit_free_cycle[freed], SCHEDULE_UNIT, 0,
							s->unit_by[freed] };
		schedule_keep_store_gap(s, op, earliest);
		schedule_next_cycle(s, earliest->cycle);
	}
	memcpy(s->requests, wanted, count * sizeof(*wanted));
	s->request_count = count;
	s->taken = taken_units(s);
}
