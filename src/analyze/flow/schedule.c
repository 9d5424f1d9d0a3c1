#include "analyze/flow/schedule.h"

#include <assert.h>
#include <string.h>

/* The work of an instruction, its load, its store. */
#define REQUESTS_EACH 3
#define REQUESTS      (PIPELINE_MAX_WIDTH * REQUESTS_EACH)
#define NO_UNIT	      PIPELINE_UNITS
#define LONG_AGO      INT16_MIN

struct request {
	uint32_t units; /* one of these */
	uint32_t busy_cycles;
	uint32_t by;  /* position in the block */
	uint8_t unit; /* that it has */
};

struct under_way {
	int32_t ready_cycle[PIPELINE_USES];
	uint32_t by;
};

/* A schedule being made. Of `registers` only those in `touched` mean anything. */
struct schedule {
	const struct pipeline *pipeline;
	int32_t cycle; /* the one that instructions issue in now */
	uint32_t issued;
	bool group_ended;
	struct request requests[REQUESTS]; /* of this cycle */
	size_t request_count;
	uint32_t open, taken; /* units that no earlier cycle keeps busy; that this one's have */
	int32_t unit_free_cycle[PIPELINE_UNITS]; /* after the cycles before this one */
	uint32_t unit_by[PIPELINE_UNITS];
	int32_t last_store_cycle;
	uint32_t last_store;
	struct register_set touched;
	struct under_way registers[REGISTER_LIMIT];
};

/* When an instruction may issue, and why not before. */
struct earliest {
	int32_t cycle;
	enum schedule_wait wait;
	uint8_t wait_register;
	uint32_t wait_for;
};

static bool all_in(const struct register_set *part, const struct register_set *whole)
{
	for (size_t i = 0; i < REGISTER_LIMIT / 64; i++)
		if (part->bits[i] & ~whole->bits[i])
			return false;
	return true;
}

/* ---- operands */

static enum pipeline_use use_of(const struct instruction_effects *op, unsigned number)
{
	if (register_set_has(&op->address, number))
		return PIPELINE_ADDRESS;
	switch (op->class) {
	case LATENCY_STORE:
		return PIPELINE_STORE_DATA;
	case LATENCY_MULTIPLY:
	case LATENCY_DIVIDE:
		return PIPELINE_FACTOR;
	default:
		return PIPELINE_OPERAND;
	}
}

static void wait_for_operands(const struct schedule *s, const struct instruction_effects *op,
			      struct earliest *earliest)
{
	int32_t floor = earliest->cycle;
	for (unsigned r = register_set_next(&op->reads, 0); r < REGISTER_LIMIT;
	     r = register_set_next(&op->reads, r + 1)) {
		if (!register_set_has(&s->touched, r))
			continue;
		int32_t ready = s->registers[r].ready_cycle[use_of(op, r)];
		bool decides = ready > earliest->cycle || (ready == floor && floor > s->cycle &&
							   earliest->wait == SCHEDULE_SLOTTING);
		if (decides)
			*earliest = (struct earliest){ ready, SCHEDULE_OPERAND, (uint8_t)r,
						       s->registers[r].by };
	}
}

/* A register that an access moves on ([x1], #8; push) is there before what it loads. */
static bool is_update(const struct instruction_effects *op, unsigned number)
{
	if (!register_set_has(&op->address, number))
		return false;
	switch (op->class) {
	case LATENCY_STORE:
	case LATENCY_CALL:
	case LATENCY_RETURN:
		return true;
	case LATENCY_LOAD: /* not ldr x0, [x0] */
		return !all_in(&op->writes, &op->address);
	default:
		return false;
	}
}

static uint32_t result_cycles(const struct pipeline *pipeline, const struct instruction_effects *op,
			      enum pipeline_use use)
{
	const struct pipeline_work *work = pipeline_work_of(pipeline, op->class, op->width_bits);
	bool operand = op->reads_memory && op->class != LATENCY_LOAD && op->class != LATENCY_ATOMIC;
	return work->latency_cycles[use] + (operand ? pipeline->load_operand_cycles : 0);
}

static void write_results(struct schedule *s, const struct instruction_effects *op, uint32_t by,
			  int32_t cycle)
{
	for (unsigned r = register_set_next(&op->writes, 0); r < REGISTER_LIMIT;
	     r = register_set_next(&op->writes, r + 1)) {
		struct under_way *written = &s->registers[r];
		bool update = is_update(op, r);
		for (unsigned use = 0; use < PIPELINE_USES; use++)
			written->ready_cycle[use] =
				cycle + (int32_t)(update ? s->pipeline->address_update_cycles
							 : result_cycles(s->pipeline, op, use));
		written->by = by;
		s->touched.bits[r / 64] |= UINT64_C(1) << r % 64;
	}
}

/* ---- units */

/*
 * What an instruction asks for: a unit for its class, and for memory that it reads or
 * writes beside that. Where one unit does both, an access in place asks once.
 */
static size_t requests_of(const struct pipeline *pipeline, const struct instruction_effects *op,
			  uint32_t by, struct request *out)
{
	const struct pipeline_work *work = pipeline_work_of(pipeline, op->class, op->width_bits);
	const struct pipeline_work *load = &pipeline->work[LATENCY_LOAD];
	const struct pipeline_work *store = &pipeline->work[LATENCY_STORE];
	uint32_t asked = work->units;
	size_t count = 0;
	if (work->units)
		out[count++] = (struct request){ work->units, work->busy_cycles, by, NO_UNIT };
	if (op->reads_memory && load->units && !(asked & load->units)) {
		out[count++] = (struct request){ load->units, load->busy_cycles, by, NO_UNIT };
		asked |= load->units;
	}
	if (op->writes_memory && store->units && !(asked & store->units))
		out[count++] = (struct request){ store->units, store->busy_cycles, by, NO_UNIT };
	return count;
}

/*
 * Kuhn's augmenting path: gives the request a unit of `open`, moving others of this
 * cycle when need be. Depth is at most the units that were tried.
 */
static bool give_unit(struct request *requests, size_t count, struct request *request,
		      uint32_t open, uint32_t *tried)
{
	for (uint32_t left = request->units & open & ~*tried; left;
	     left = request->units & open & ~*tried) {
		uint8_t unit = (uint8_t)__builtin_ctz(left);
		struct request *holder = NULL;
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

static uint32_t open_units(const struct schedule *s, int32_t cycle)
{
	uint32_t open = 0;
	for (uint32_t unit = 0; unit < s->pipeline->unit_count; unit++)
		if (s->unit_free_cycle[unit] <= cycle)
			open |= 1u << unit;
	return open;
}

/* Whether all of wanted[] find units beside `taken[]`, which move as need be; both are then set. */
static bool fit(struct request *all, size_t taken, size_t count, uint32_t open)
{
	for (size_t i = taken; i < count; i++) {
		uint32_t tried = 0;
		if (!give_unit(all, i, &all[i], open, &tried))
			return false;
	}
	return true;
}

static void next_cycle(struct schedule *s, int32_t cycle)
{
	for (size_t i = 0; i < s->request_count; i++) {
		const struct request *request = &s->requests[i];
		if (request->unit == NO_UNIT)
			continue;
		s->unit_free_cycle[request->unit] = s->cycle + (int32_t)request->busy_cycles;
		s->unit_by[request->unit] = request->by;
	}
	s->cycle = cycle;
	s->open = open_units(s, cycle);
	s->taken = 0;
	s->request_count = 0;
	s->issued = 0;
	s->group_ended = false;
}

/* The unit of `units` that is free first after `cycle`, or NO_UNIT when all are free. */
static unsigned first_freed(const struct schedule *s, uint32_t units, int32_t cycle)
{
	unsigned first = NO_UNIT;
	for (; units; units &= units - 1) {
		unsigned unit = (unsigned)__builtin_ctz(units);
		if (s->unit_free_cycle[unit] > cycle &&
		    (first == NO_UNIT || s->unit_free_cycle[unit] < s->unit_free_cycle[first]))
			first = unit;
	}
	return first;
}

static uint32_t taken_units(const struct schedule *s)
{
	uint32_t taken = 0;
	for (size_t i = 0; i < s->request_count; i++)
		if (s->requests[i].unit != NO_UNIT)
			taken |= 1u << s->requests[i].unit;
	return taken;
}

/* Whether it found its units in the cycle that others issue in. */
static bool joins(struct schedule *s, const struct request *wanted, size_t count)
{
	struct request trial[REQUESTS + REQUESTS_EACH];
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

/* Which instruction of this cycle has the unit that the first request would need. */
static uint32_t holder_of(const struct schedule *s, uint32_t units, uint32_t otherwise)
{
	for (size_t i = s->request_count; i-- > 0;)
		if (s->requests[i].unit != NO_UNIT && units >> s->requests[i].unit & 1)
			return s->requests[i].by;
	return otherwise;
}

static void keep_store_gap(const struct schedule *s, const struct instruction_effects *op,
			   struct earliest *earliest)
{
	int32_t gap = (int32_t)s->pipeline->store_load_gap_cycles;
	if (gap && op->reads_memory && s->last_store_cycle + gap == earliest->cycle)
		*earliest =
			(struct earliest){ earliest->cycle + 1, SCHEDULE_UNIT, 0, s->last_store };
}

/*
 * Moves *earliest on until the units are free, and takes them. What can never be had
 * together even on an idle machine is not waited for.
 */
static void take_units(struct schedule *s, const struct instruction_effects *op,
		       struct request *wanted, size_t count, struct earliest *earliest, uint32_t by)
{
	uint32_t units = 0;
	for (size_t i = 0; i < count; i++)
		units |= wanted[i].units;
	if (earliest->cycle == s->cycle) {
		if (joins(s, wanted, count))
			return;
		uint32_t holder = holder_of(s, units, SCHEDULE_BEFORE);
		unsigned freed = first_freed(s, units, s->cycle);
		bool by_this_cycle = holder != SCHEDULE_BEFORE || freed == NO_UNIT;
		*earliest = (struct earliest){ s->cycle + 1,
					       by_this_cycle ? SCHEDULE_SLOTTING : SCHEDULE_UNIT, 0,
					       by_this_cycle ? holder : s->unit_by[freed] };
		if (by_this_cycle && holder == SCHEDULE_BEFORE && by > 0)
			earliest->wait_for = by - 1;
		keep_store_gap(s, op, earliest);
	}
	next_cycle(s, earliest->cycle);
	while (!fit(wanted, 0, count, s->open)) {
		unsigned freed = first_freed(s, units, earliest->cycle);
		for (size_t i = 0; i < count; i++)
			wanted[i].unit = NO_UNIT;
		if (freed == NO_UNIT) {
			fit(wanted, 0, count, s->open);
			break;
		}
		*earliest = (struct earliest){ s->unit_free_cycle[freed], SCHEDULE_UNIT, 0,
					       s->unit_by[freed] };
		keep_store_gap(s, op, earliest);
		next_cycle(s, earliest->cycle);
	}
	memcpy(s->requests, wanted, count * sizeof(*wanted));
	s->request_count = count;
	s->taken = taken_units(s);
}

/* ---- in order */

static void issue_in_order(struct schedule *s, const struct instruction_effects *op, uint32_t by,
			   struct scheduled *out)
{
	const struct pipeline_work *work = pipeline_work_of(s->pipeline, op->class, op->width_bits);
	struct earliest earliest = { s->cycle, SCHEDULE_WAITS_NOT, 0, SCHEDULE_BEFORE };
	struct request wanted[REQUESTS_EACH];
	size_t count = requests_of(s->pipeline, op, by, wanted);
	int32_t ahead = s->cycle;

	if (s->group_ended || s->issued >= s->pipeline->issue_width) {
		/* after nothing there is nobody to issue with */
		bool alone = by == 0 && s->issued == 0;
		earliest = (struct earliest){ s->cycle + 1,
					      alone ? SCHEDULE_WAITS_NOT : SCHEDULE_SLOTTING, 0,
					      by ? by - 1 : SCHEDULE_BEFORE };
	}
	wait_for_operands(s, op, &earliest);
	keep_store_gap(s, op, &earliest);
	take_units(s, op, wanted, count, &earliest, by);
	s->issued++;
	s->group_ended |= work->ends_group;
	if (op->writes_memory) {
		s->last_store_cycle = s->cycle;
		s->last_store = by;
	}
	write_results(s, op, by, s->cycle);
	*out = (struct scheduled){ .issue_cycle = s->cycle,
				   .head_cycles = s->cycle - ahead,
				   .wait = earliest.wait,
				   .wait_register = earliest.wait_register,
				   .wait_for = earliest.wait_for };
}

/* ---- out of order */

static void dispatch(struct schedule *s, const struct instruction_effects *op, uint32_t by,
		     struct scheduled *out)
{
	if (s->group_ended || s->issued >= s->pipeline->issue_width)
		next_cycle(s, s->cycle + 1);
	s->issued++;
	struct earliest earliest = { s->cycle, SCHEDULE_WAITS_NOT, 0, SCHEDULE_BEFORE };
	wait_for_operands(s, op, &earliest);
	write_results(s, op, by, earliest.cycle);
	*out = (struct scheduled){ .issue_cycle = earliest.cycle,
				   .head_cycles = 1.0 / s->pipeline->issue_width,
				   .wait = earliest.wait,
				   .wait_register = earliest.wait_register,
				   .wait_for = earliest.wait_for };
}

/* ---- bounds */

/* Without width, units or anything under way: when the last result is there. */
static double longest_chain(const struct pipeline *pipeline, const struct instruction_effects *ops,
			    size_t count)
{
	struct schedule s;
	int32_t longest = 0;
	s.pipeline = pipeline;
	s.cycle = 0;
	s.touched = (struct register_set){ { 0 } };
	for (size_t i = 0; i < count; i++) {
		struct earliest earliest = { 0, SCHEDULE_WAITS_NOT, 0, SCHEDULE_BEFORE };
		wait_for_operands(&s, &ops[i], &earliest);
		write_results(&s, &ops[i], (uint32_t)i, earliest.cycle);
		int32_t end = earliest.cycle +
			      (int32_t)result_cycles(pipeline, &ops[i], PIPELINE_OPERAND);
		if (end > longest)
			longest = end;
	}
	return longest;
}

/*
 * For each set of units that some class may choose from: the cycles of all work that
 * can only be done there, over the units of the set. The most of these cannot be beaten.
 */
static double unit_bound(const struct pipeline *pipeline, const struct instruction_effects *ops,
			 size_t count)
{
	struct {
		uint32_t units;
		uint64_t busy_cycles;
	} sets[PIPELINE_ROWS + 2];
	size_t set_count = 0;
	double most = 0;
	for (size_t i = 0; i < count; i++) {
		struct request wanted[REQUESTS_EACH];
		size_t requests = requests_of(pipeline, &ops[i], (uint32_t)i, wanted);
		for (size_t k = 0; k < requests; k++) {
			size_t at = 0;
			while (at < set_count && sets[at].units != wanted[k].units)
				at++;
			if (at == set_count) {
				sets[at].units = wanted[k].units;
				sets[at].busy_cycles = 0;
				set_count++;
			}
			sets[at].busy_cycles += wanted[k].busy_cycles;
		}
	}
	for (size_t i = 0; i < set_count; i++) {
		uint64_t busy = 0;
		for (size_t k = 0; k < set_count; k++)
			if (!(sets[k].units & ~sets[i].units))
				busy += sets[k].busy_cycles;
		double cycles = (double)busy / __builtin_popcount(sets[i].units);
		if (cycles > most)
			most = cycles;
	}
	return most;
}

/* ---- what is under way */

static void enter(struct schedule *s, const struct schedule_state *entry)
{
	s->cycle = -1;
	s->group_ended = true;
	s->last_store_cycle = LONG_AGO;
	s->last_store = SCHEDULE_BEFORE;
	for (uint32_t unit = 0; unit < PIPELINE_UNITS; unit++) {
		s->unit_free_cycle[unit] = entry ? entry->unit_free_cycle[unit] : -1;
		s->unit_by[unit] = SCHEDULE_BEFORE;
	}
	s->open = open_units(s, s->cycle);
	s->taken = 0;
	if (!entry)
		return;
	s->group_ended = entry->group_ended;
	s->issued = entry->issued;
	s->last_store_cycle = entry->last_store_cycle;
	for (uint32_t i = 0; i < entry->pending_count; i++) {
		unsigned r = entry->pending[i].number;
		for (unsigned use = 0; use < PIPELINE_USES; use++)
			s->registers[r].ready_cycle[use] = entry->pending[i].ready_cycle[use];
		s->registers[r].by = SCHEDULE_BEFORE;
		s->touched.bits[r / 64] |= UINT64_C(1) << r % 64;
	}
}

static int16_t relative(int32_t cycle, int32_t origin)
{
	int32_t value = cycle - origin;
	return (int16_t)(value < INT16_MIN ? INT16_MIN : value > INT16_MAX ? INT16_MAX : value);
}

/* Keeps a register that is not there yet; when all places are taken, the later one of two. */
static void leave_pending(struct schedule_state *exit, unsigned number,
			  const struct under_way *written, int32_t origin)
{
	int16_t ready[PIPELINE_USES], latest = INT16_MIN;
	for (unsigned use = 0; use < PIPELINE_USES; use++) {
		ready[use] = relative(written->ready_cycle[use], origin);
		if (ready[use] > latest)
			latest = ready[use];
	}
	if (latest < 0)
		return;
	uint32_t place = exit->pending_count;
	if (place == SCHEDULE_PENDING) {
		place = 0;
		for (uint32_t i = 1; i < SCHEDULE_PENDING; i++)
			if (exit->pending[i].ready_cycle[PIPELINE_OPERAND] <
			    exit->pending[place].ready_cycle[PIPELINE_OPERAND])
				place = i;
		exit->left_out++;
		if (exit->pending[place].ready_cycle[PIPELINE_OPERAND] >= ready[PIPELINE_OPERAND])
			return;
	} else {
		exit->pending_count++;
	}
	exit->pending[place].number = (uint8_t)number;
	memcpy(exit->pending[place].ready_cycle, ready, sizeof(ready));
}

static void leave(struct schedule *s, struct schedule_state *exit)
{
	uint32_t issued = s->issued;
	bool group_ended = s->group_ended;
	int32_t origin = s->cycle + 1;
	next_cycle(s, s->cycle); /* so that the units of the last cycle count */
	memset(exit, 0, sizeof(*exit));
	exit->issued = issued;
	exit->group_ended = group_ended;
	exit->last_store_cycle = relative(s->last_store_cycle, origin);
	for (uint32_t unit = 0; unit < PIPELINE_UNITS; unit++)
		exit->unit_free_cycle[unit] = relative(s->unit_free_cycle[unit], origin);
	for (unsigned r = register_set_next(&s->touched, 0); r < REGISTER_LIMIT;
	     r = register_set_next(&s->touched, r + 1))
		leave_pending(exit, r, &s->registers[r], origin);
}

void schedule_block(const struct pipeline *pipeline, const struct instruction_effects *ops,
		    size_t count, const struct schedule_state *entry, struct scheduled *out,
		    struct schedule_bounds *bounds, struct schedule_state *exit)
{
	struct schedule s;
	s.pipeline = pipeline;
	s.issued = 0;
	s.request_count = 0;
	s.touched = (struct register_set){ { 0 } };
	enter(&s, entry);
	for (size_t i = 0; i < count; i++) {
		assert(ops[i].class < LATENCY_CLASSES);
		if (pipeline->in_order)
			issue_in_order(&s, &ops[i], (uint32_t)i, &out[i]);
		else
			dispatch(&s, &ops[i], (uint32_t)i, &out[i]);
	}
	if (bounds) {
		bounds->width_cycles = (double)count / pipeline->issue_width;
		bounds->unit_cycles = unit_bound(pipeline, ops, count);
		bounds->latency_cycles = longest_chain(pipeline, ops, count);
	}
	if (exit)
		leave(&s, exit);
}
