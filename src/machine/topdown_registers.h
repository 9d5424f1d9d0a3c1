/*
 * topdown_registers - what two readings of Intel's pair of registers say: fixed counter 3 (slots)
 * and the metrics register (Ice Lake and later), read by rdpmc from inside a program.
 *
 * Formulas: Linux, tools/perf/Documentation/topdown.txt, "Decoding metrics values" and "Example
 * code". Registers: Intel SDM volume 3B, "Performance Metrics" (IA32_FIXED_CTR3, MSR_PERF_METRICS).
 * A field of 8 bits is the share of all slots since both registers were reset, in steps of 1/255;
 * so it loses precision the more slots came before the section that is measured.
 *
 * Pure functions of their arguments.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine/topdown.h"

/* Arguments of rdpmc (topdown.txt, "Example code"; fixed counter 3). */
#define TOPDOWN_RDPMC_SLOTS	(UINT32_C(1) << 30 | 3)
#define TOPDOWN_RDPMC_METRICS	(UINT32_C(1) << 29)
#define TOPDOWN_FIELD_STEPS	255 /* a field of this value is all slots */
#define TOPDOWN_SLOTS_BITS	48  /* width of the slots counter on all that have it */
#define TOPDOWN_MOST_SLOTS_BITS 55  /* slots times a field fit a signed number of 64 bits */

/* Read slots first, metrics directly after it, as topdown.txt does. */
struct topdown_reading {
	uint64_t slots;	  /* raw, not sign-extended: bits above the counter's width are left out */
	uint64_t metrics; /* fields: enum topdown_category, 8 bits each */
};

static inline unsigned topdown_reading_field(uint64_t metrics, enum topdown_category field)
{
	return metrics >> (8 * (unsigned)field) & 0xff;
}

enum topdown_pair {
	TOPDOWN_PAIR_GOOD,
	TOPDOWN_PAIR_EMPTY,   /* no slot between the two */
	TOPDOWN_PAIR_RESET,   /* the registers were reset in between: the first reading counts for
				 nothing */
	TOPDOWN_PAIR_WRAPPED, /* the slots counter began anew; the fields' base is lost with it */
	TOPDOWN_PAIR_TORN,    /* the fields of a reading are not shares of one whole */
};
/* A sentence without its full stop; NULL for TOPDOWN_PAIR_GOOD. */
const char *topdown_pair_text(enum topdown_pair pair);

/* Slots of one field between two readings, in steps of 1/255 slot: field_b * slots_b - field_a *
 * slots_a. Slots are below 2^TOPDOWN_MOST_SLOTS_BITS. */
int64_t topdown_pair_scaled(struct topdown_reading a, struct topdown_reading b,
			    enum topdown_category field);

/*
 * How far a figure of the section may be off for the fields' steps alone, each field being off by
 * half a step at either end: 0.5/255 * (slots_a + slots_b) / (slots_b - slots_a). That fields are
 * rounded to the nearest step is assumed; if they are cut off, figures are up to half a step too
 * low besides. Below 1 where the section is long enough to say anything; slots_b is above slots_a.
 */
double topdown_pair_resolution(uint64_t slots_a, uint64_t slots_b);

/*
 * The figures of the section from `a` to `b`; after a reset `a` may be all zero, for all since
 * then. `levels` is 1, or 2 where the register has 8 fields (Sapphire Rapids, Golden Cove and
 * later); `slots_bits` the width of the counter (perf_event_mmap_page.pmc_width). Level 2's other
 * halves are differences, so they have both resolutions. Unless the pair is good all figures are
 * absent, with the reason; out->slots is known but for a reset and torn readings. out->method is
 * "registers".
 *
 * A reset is found by a slots counter that went back. One after which more slots were counted than
 * stood there before looks like a good pair, so that whoever resets or lets the kernel reset (any
 * read() of the group does) has to start anew with a reading.
 */
enum topdown_pair topdown_of_registers(struct topdown_reading a, struct topdown_reading b,
				       unsigned levels, unsigned slots_bits, struct topdown *out);

/*
 * A section that ran many times: the sums of its pairs. Begins zeroed; belongs to one thread, and
 * those of several threads may be added. Fields are kept in steps of 1/255 slot.
 */
struct topdown_total {
	int64_t scaled[2 * TOPDOWN_LEVEL_1];
	uint64_t slots;				  /* of good pairs */
	double uncertain;			  /* half steps of all their readings, in slots */
	uint64_t pairs;				  /* that were good */
	uint64_t left_out[TOPDOWN_PAIR_TORN + 1]; /* the others, by what was found; slots are not
						     known or not divided */
};

/* Adds a pair when it is good, and counts it as left out otherwise. A sum that would be too large
 * for its number takes no more: the pair is left out as one that wrapped. */
enum topdown_pair topdown_total_add(struct topdown_total *total, struct topdown_reading a,
				    struct topdown_reading b, unsigned slots_bits);
void topdown_total_merge(struct topdown_total *total, const struct topdown_total *other);
/*
 * The figures of all good pairs together, by slots. The resolution is the worst case: all readings
 * off in one direction. Without a good pair all is absent, for the reason that most pairs were left
 * out.
 */
void topdown_of_total(const struct topdown_total *total, unsigned levels, struct topdown *out);

/*
 * How many slots may have been counted since the last reset before a section of `section_slots` is
 * no longer resolved to `resolution` (0.01: one point): section * (510 * resolution - 1) / 2, by
 * solving topdown_pair_resolution() for slots_a. 0 when not even the first section after a reset
 * is.
 */
uint64_t topdown_slots_before_reset(uint64_t section_slots, double resolution);
/* Whether to reset before a section: PERF_EVENT_IOC_RESET on the group, then a new first reading.
 */
bool topdown_reset_due(uint64_t slots, uint64_t section_slots, double resolution);
