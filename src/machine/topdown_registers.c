#include "machine/topdown_registers.h"

#include <stddef.h>

/* Half a step of a field, as a share of the slots since the reset. */
#define HALF_STEP (0.5 / TOPDOWN_FIELD_STEPS)
/* Whether fields are rounded or cut off is not documented: four that are cut off lack up to four
 * steps. */
#define FIELD_SUM_SLACK 4

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

static uint64_t mask_of(unsigned slots_bits)
{
	unsigned bits = slots_bits > TOPDOWN_MOST_SLOTS_BITS ? TOPDOWN_MOST_SLOTS_BITS : slots_bits;
	return (UINT64_C(1) << bits) - 1;
}

/* False, and nothing added, when a sum does not fit. */
static bool add_sums(struct topdown_total *total, const int64_t *scaled, uint64_t slots)
{
	struct topdown_total sum = *total;
	bool full = __builtin_add_overflow(sum.slots, slots, &sum.slots);
	for (unsigned i = 0; i < 2 * TOPDOWN_LEVEL_1; i++)
		full |= __builtin_add_overflow(sum.scaled[i], scaled[i], &sum.scaled[i]);
	if (!full)
		*total = sum;
	return !full;
}

enum topdown_pair topdown_total_add(struct topdown_total *total, struct topdown_reading a,
				    struct topdown_reading b, unsigned slots_bits)
{
	uint64_t mask = mask_of(slots_bits);
	int64_t scaled[2 * TOPDOWN_LEVEL_1];
	a.slots &= mask;
	b.slots &= mask;
	enum topdown_pair pair = judge_pair(a, b, mask);
	if (pair == TOPDOWN_PAIR_GOOD) {
		for (unsigned i = 0; i < 2 * TOPDOWN_LEVEL_1; i++)
			scaled[i] = topdown_pair_scaled(a, b, (enum topdown_category)i);
		if (!add_sums(total, scaled, b.slots - a.slots))
			pair = TOPDOWN_PAIR_WRAPPED;
	}
	if (pair == TOPDOWN_PAIR_GOOD) {
		total->uncertain += HALF_STEP * ((double)a.slots + (double)b.slots);
		total->pairs++;
	} else {
		total->left_out[pair]++;
	}
	return pair;
}

void topdown_total_merge(struct topdown_total *total, const struct topdown_total *other)
{
	if (add_sums(total, other->scaled, other->slots)) {
		total->uncertain += other->uncertain;
		total->pairs += other->pairs;
	} else {
		total->left_out[TOPDOWN_PAIR_WRAPPED] += other->pairs;
	}
	for (unsigned i = 0; i <= TOPDOWN_PAIR_TORN; i++)
		total->left_out[i] += other->left_out[i];
}

static const char *why_empty(const struct topdown_total *total)
{
	enum topdown_pair most = TOPDOWN_PAIR_EMPTY;
	for (unsigned i = TOPDOWN_PAIR_EMPTY; i <= TOPDOWN_PAIR_TORN; i++)
		if (total->left_out[i] > total->left_out[most])
			most = (enum topdown_pair)i;
	return topdown_pair_text(most);
}

/* topdown.txt, "Extension on Sapphire Rapids Server": the other halves by subtraction. */
static void fill_rests(unsigned levels, struct topdown *out)
{
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
}

void topdown_of_total(const struct topdown_total *total, unsigned levels, struct topdown *out)
{
	*out = (struct topdown){ .method = "registers", .running_share = 1 };
	out->slots =
		(struct topdown_figure){ .known = total->pairs > 0, .value = (double)total->slots };
	if (!total->pairs) {
		out->slots.why = why_empty(total);
		topdown_clear(out, out->slots.why);
		return;
	}
	double resolution = total->uncertain / (double)total->slots, sum = 0;
	unsigned fields = levels >= 2 ? 2 * TOPDOWN_LEVEL_1 : TOPDOWN_LEVEL_1;
	for (unsigned i = 0; i < fields; i++) {
		out->figures[i] = (struct topdown_figure){
			.known = true,
			.value = (double)total->scaled[i] / TOPDOWN_FIELD_STEPS /
				 (double)total->slots,
			.resolution = resolution,
		};
		if (i < TOPDOWN_LEVEL_1)
			sum += out->figures[i].value;
	}
	fill_rests(levels, out);
	topdown_judge(out);
	topdown_judge_sum(out, sum, TOPDOWN_LEVEL_1 * resolution);
}

enum topdown_pair topdown_of_registers(struct topdown_reading a, struct topdown_reading b,
				       unsigned levels, unsigned slots_bits, struct topdown *out)
{
	struct topdown_total total = { .pairs = 0 };
	enum topdown_pair pair = topdown_total_add(&total, a, b, slots_bits);
	topdown_of_total(&total, levels, out);
	if (pair == TOPDOWN_PAIR_EMPTY || pair == TOPDOWN_PAIR_WRAPPED)
		out->slots = (struct topdown_figure){
			.known = true, .value = (double)((b.slots - a.slots) & mask_of(slots_bits))
		};
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
