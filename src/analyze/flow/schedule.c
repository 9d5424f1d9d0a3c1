#include "analyze/flow/schedule.h"

#include <assert.h>
#include <string.h>

#include "analyze/flow/schedule_private.h"

#define LONG_AGO INT16_MIN

static void issue_in_order(struct schedule *s, const struct instruction_effects *op, uint32_t by,
			   struct scheduled *out)
{
	const struct pipeline_work *work = pipeline_work_of(s->pipeline, op->class, op->width_bits);
	struct schedule_earliest earliest = { s->cycle, SCHEDULE_WAITS_NOT, 0, SCHEDULE_BEFORE };
	struct schedule_request wanted[SCHEDULE_REQUESTS_EACH];
	size_t count = schedule_requests_of(s->pipeline, op, by, wanted);
	int32_t ahead = s->cycle;

	if (s->group_ended || s->issued >= s->pipeline->issue_width) {
		/* the first instruction of all had none to issue with */
		bool alone = by == 0 && s->issued == 0;
		earliest =
			(struct schedule_earliest){ s->cycle + 1,
						    alone ? SCHEDULE_WAITS_NOT : SCHEDULE_SLOTTING,
						    0, by ? by - 1 : SCHEDULE_BEFORE };
	}
	schedule_wait_for_operands(s, op, &earliest);
	schedule_keep_store_gap(s, op, &earliest);
	schedule_take_units(s, op, wanted, count, &earliest, by);
	s->issued++;
	s->group_ended |= work->ends_group;
	if (op->writes_memory) {
		s->last_store_cycle = s->cycle;
		s->last_store = by;
	}
	schedule_write_results(s, op, by, s->cycle);
	*out = (struct scheduled){ .issue_cycle = s->cycle,
				   .head_cycles = s->cycle - ahead,
				   .wait = earliest.wait,
				   .wait_register = earliest.wait_register,
				   .wait_for = earliest.wait_for };
}

static void dispatch(struct schedule *s, const struct instruction_effects *op, uint32_t by,
		     struct scheduled *out)
{
	if (s->group_ended || s->issued >= s->pipeline->issue_width)
		schedule_next_cycle(s, s->cycle + 1);
	s->issued++;
	struct schedule_earliest earliest = { s->cycle, SCHEDULE_WAITS_NOT, 0, SCHEDULE_BEFORE };
	schedule_wait_for_operands(s, op, &earliest);
	schedule_write_results(s, op, by, earliest.cycle);
	*out = (struct scheduled){ .issue_cycle = earliest.cycle,
				   .head_cycles = 1.0 / s->pipeline->issue_width,
				   .wait = earliest.wait,
				   .wait_register = earliest.wait_register,
				   .wait_for = earliest.wait_for };
}

/* ---- what is under way where a block begins and ends */

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
	s->open = schedule_open_units(s, s->cycle);
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

/* Clamped: so far from the origin a cycle makes no difference. */
static int16_t relative(int32_t cycle, int32_t origin)
{
	int32_t value = cycle - origin;
	return (int16_t)(value < INT16_MIN ? INT16_MIN : value > INT16_MAX ? INT16_MAX : value);
}

/* Notes a register that is not ready yet. When all places are taken it replaces the one that is
 * ready first, unless it is ready still earlier itself. */
static void leave_pending(struct schedule_state *exit, unsigned number,
			  const struct schedule_result *written, int32_t origin)
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
	schedule_next_cycle(s, s->cycle); /* so that the units of the last cycle count */
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
	if (bounds)
		schedule_find_bounds(pipeline, ops, count, bounds);
	if (exit)
		leave(&s, exit);
}
