#include "machine/topdown_registers.h"

#include <stddef.h>

/* Half a step of a field, as a share of the slots since the reset. */
#define HALF_STEP (0.5 / TOPDOWN_FIELD_STEPS)
/* Each of four rounded fields is off by half a step at most, so is their sum by two steps. */
#define FIELD_SUM_SLACK 2

const char *topdown_pair_text(enum topdown_pair pair)
{
	switch (pair) {
	case TOPDOWN_PAIR_GOOD:
		return NULL;
	case TOPDOWN_PAIR_EMPTY:
		return "no slots were counted";
	case TOPDOWN_PAIR_RESET:
		return "the counters were reset in between";
	case TOPDOWN_PAIR_WRAPPED:
		return "the slots counter overflowed in between";
	case TOPDOWN_PAIR_TORN:
		return "the fields of the metrics register do not add up to all slots";
	}
	return "unknown";
}

int64_t topdown_pair_scaled(struct topdown_reading a, struct topdown_reading b,
			    enum topdown_category field)
{
	return (int64_t)(topdown_reading_field(b.metrics, field) * b.slots) -
	       (int64_t)(topdown_reading_field(a.metrics, field) * a.slots);
}

double topdown_pair_resolution(uint64_t slots_a, uint64_t slots_b)
{
	return HALF_STEP * ((double)slots_a + (double)slots_b) / (double)(slots_b - slots_a);
}

/* Fields of level 1 are shares of one whole; without a slot since the reset they are all 0. */
static bool whole(struct topdown_reading reading)
{
	unsigned sum = 0;
	for (unsigned i = 0; i < TOPDOWN_LEVEL_1; i++)
		sum += topdown_reading_field(reading.metrics, (enum topdown_category)i);
	if (reading.slots == 0 && sum == 0)
		return true;
	return sum + FIELD_SUM_SLACK >= TOPDOWN_FIELD_STEPS &&
	       sum <= TOPDOWN_FIELD_STEPS + FIELD_SUM_SLACK;
}

static enum topdown_pair judge_pair(struct topdown_reading a, struct topdown_reading b,
				    uint64_t mask)
{
	if (!whole(a) || !whole(b))
		return TOPDOWN_PAIR_TORN;
	if (a.slots == b.slots)
		return TOPDOWN_PAIR_EMPTY;
	if (a.slots < b.slots)
		return TOPDOWN_PAIR_GOOD;
	/* A counter that went back wrapped when this explains it with fewer slots than half its
	 * range. */
	uint64_t half = mask / 2 + 1;
	return a.slots >= half && ((b.slots - a.slots) & mask) < half ? TOPDOWN_PAIR_WRAPPED
								      : TOPDOWN_PAIR_RESET;
}

static struct topdown_figure difference(const struct topdown_figure *whole_figure,
					const struct topdown_figure *part)
{
	return (struct topdown_figure){ .known = true,
					.value = whole_figure->value - part->value,
					.resolution = whole_figure->resolution + part->resolution };
}

enum topdown_pair topdown_of_registers(struct topdown_reading a, struct topdown_reading b,
				       unsigned levels, unsigned slots_bits, struct topdown *out)
{
	unsigned bits = slots_bits > TOPDOWN_MOST_SLOTS_BITS ? TOPDOWN_MOST_SLOTS_BITS : slots_bits;
	uint64_t mask = (UINT64_C(1) << bits) - 1;
	a.slots &= mask;
	b.slots &= mask;
	enum topdown_pair pair = judge_pair(a, b, mask);
	*out = (struct topdown){ .method = "registers", .running_share = 1 };
	topdown_clear(out, topdown_pair_text(pair));
	out->slots.why = topdown_pair_text(pair);
	if (pair == TOPDOWN_PAIR_RESET || pair == TOPDOWN_PAIR_TORN)
		return pair;
	uint64_t slots = (b.slots - a.slots) & mask;
	out->slots = (struct topdown_figure){ .known = true, .value = (double)slots };
	if (pair != TOPDOWN_PAIR_GOOD)
		return pair;

	double resolution = topdown_pair_resolution(a.slots, b.slots), sum = 0;
	unsigned fields = levels >= 2 ? 2 * TOPDOWN_LEVEL_1 : TOPDOWN_LEVEL_1;
	for (unsigned i = 0; i < fields; i++) {
		double scaled = (double)topdown_pair_scaled(a, b, (enum topdown_category)i);
		out->figures[i] = (struct topdown_figure){
			.known = true,
			.value = scaled / TOPDOWN_FIELD_STEPS / (double)slots,
			.resolution = resolution,
		};
		if (i < TOPDOWN_LEVEL_1)
			sum += out->figures[i].value;
	}
	/* topdown.txt, "Extension on Sapphire Rapids Server": the other halves by subtraction. */
	for (unsigned i = 0; i < TOPDOWN_LEVEL_1; i++)
		if (levels >= 2)
			out->figures[TOPDOWN_LIGHT_OPERATIONS + i] = difference(
				&out->figures[i], &out->figures[TOPDOWN_HEAVY_OPERATIONS + i]);
		else
			out->figures[TOPDOWN_HEAVY_OPERATIONS + i].why =
				out->figures[TOPDOWN_LIGHT_OPERATIONS + i].why =
					"the metrics register of this CPU has level 1 alone";
	out->figures[TOPDOWN_SMT_CONTENTION].why =
		"the metrics register does not count slots of the other thread";
	topdown_judge(out);
	topdown_judge_sum(out, sum, FIELD_SUM_SLACK * 2 * resolution);
	return pair;
}

uint64_t topdown_slots_before_reset(uint64_t section_slots, double resolution)
{
	double factor = (resolution / HALF_STEP - 1) / 2;
	if (!(factor > 0))
		return 0;
	double slots = factor * (double)section_slots;
	return slots < 0x1p63 ? (uint64_t)slots : INT64_MAX;
}

bool topdown_reset_due(uint64_t slots, uint64_t section_slots, double resolution)
{
	return slots > topdown_slots_before_reset(section_slots, resolution);
}
