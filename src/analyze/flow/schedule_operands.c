/* When the operands of an instruction are there, and its results. */
#include "analyze/flow/schedule_private.h"

static bool all_in(const struct register_set *part, const struct register_set *whole)
{
	for (size_t i = 0; i < REGISTER_LIMIT / 64; i++)
		if (part->bits[i] & ~whole->bits[i])
			return false;
	return true;
}

/* What the instruction uses that register for. */
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

void schedule_wait_for_operands(const struct schedule *s, const struct instruction_effects *op,
				struct schedule_earliest *earliest)
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
			*earliest = (struct schedule_earliest){ ready, SCHEDULE_OPERAND, (uint8_t)r,
								s->registers[r].by };
	}
}

/* Whether an access moves that register on ([x1], #8; push), which is ready before a loaded value.
 */
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

uint32_t schedule_result_cycles(const struct pipeline *pipeline,
				const struct instruction_effects *op, enum pipeline_use use)
{
	const struct pipeline_work *work = pipeline_work_of(pipeline, op->class, op->width_bits);
	bool operand = op->reads_memory && op->class != LATENCY_LOAD && op->class != LATENCY_ATOMIC;
	return work->latency_cycles[use] + (operand ? pipeline->load_operand_cycles : 0);
}

void schedule_write_results(struct schedule *s, const struct instruction_effects *op, uint32_t by,
			    int32_t cycle)
{
	for (unsigned r = register_set_next(&op->writes, 0); r < REGISTER_LIMIT;
	     r = register_set_next(&op->writes, r + 1)) {
		struct schedule_result *written = &s->registers[r];
		bool update = is_update(op, r);
		for (unsigned use = 0; use < PIPELINE_USES; use++)
			written->ready_cycle[use] =
				cycle +
				(int32_t)(update ? s->pipeline->address_update_cycles
						 : schedule_result_cycles(s->pipeline, op, use));
		written->by = by;
		s->touched.bits[r / 64] |= UINT64_C(1) << r % 64;
	}
}
