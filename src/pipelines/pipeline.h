/*
 * pipeline - figures of a processor's pipeline, from the tables of data/pipelines
 * (README.md there: the syntax, and what each figure means): how many instructions
 * issue together, which units execute them and for how long, what a miss costs. The
 * tables are part of the program; each number names its source there.
 *
 * A struct pipeline owns nothing. A struct pipelines holds the tables of the program,
 * read by pipelines_new(); after that nothing changes it, and threads may share it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/latency_class.h"
#include "base/span.h"

struct error;

#define PIPELINE_NAME_BYTES	 32
#define PIPELINE_UNIT_NAME_BYTES 12
#define PIPELINE_UNITS		 24 /* of one processor; Zen 5 has 20 */
#define PIPELINE_MATCHES	 32
#define PIPELINE_MAX_WIDTH	 16
#define PIPELINE_MAX_CYCLES	 10000 /* no figure in cycles is above it */
#define PIPELINE_UNKNOWN	 UINT32_MAX

/* What a result is used for: processors forward results to some uses earlier than to others. */
enum pipeline_use {
	PIPELINE_OPERAND,
	PIPELINE_ADDRESS,    /* of a load, a store or a jump */
	PIPELINE_STORE_DATA, /* what a store writes */
	PIPELINE_FACTOR,     /* of a product, a dividend or a divisor of whole numbers */
	PIPELINE_USES
};

/*
 * Rows of the tables: the classes of base/latency_class.h. Some classes have further rows
 * for narrower operands; their own row is then that of 64 bits.
 */
enum pipeline_row {
	PIPELINE_DIVIDE_32 = LATENCY_CLASSES,
	PIPELINE_DIVIDE_16,    /* and 8 */
	PIPELINE_FP_DIVIDE_32, /* and 16 */
	PIPELINE_FP_ROOT_32,
	PIPELINE_ROWS
};

struct pipeline_work {
	uint32_t latency_cycles[PIPELINE_USES]; /* from its issue to that of an instruction which
						   uses the result */
	uint32_t busy_cycles; /* for which its unit accepts no other instruction; at least 1 */
	uint32_t units;	 /* bit i: unit_names[i] can execute it, one is needed; 0: it needs none */
	bool ends_group; /* no later instruction issues in its cycle */
};

struct pipeline_cache {
	uint32_t size_bytes, ways, line_bytes; /* PIPELINE_UNKNOWN: not known, or none */
};

struct pipeline_match {
	bool arm;
	char vendor[16];			  /* of x86 */
	uint32_t family, first_model, last_model; /* of x86; of arm: implementer, part */
};

struct pipeline {
	char name[PIPELINE_NAME_BYTES]; /* "cortex-a53" */
	bool generic;			/* used for processors without a table of their own */
	bool in_order;
	uint32_t issue_width, retire_width; /* instructions a cycle; the second is not used */

	uint32_t unit_count;
	char unit_names[PIPELINE_UNITS][PIPELINE_UNIT_NAME_BYTES];
	struct pipeline_work work[PIPELINE_ROWS]; /* pipeline_work_of() */
	/* Added to the latency of another class when an operand is read from memory. */
	uint32_t load_operand_cycles;
	/* From issue until the register that an address increments can be used. */
	uint32_t address_update_cycles;
	/* A load does not issue just this many cycles after a store; 0: no such rule. */
	uint32_t store_load_gap_cycles;

	struct pipeline_cache l1i, l1d, l2, llc;
	/*
	 * Cycles that a miss of each cache adds; misses of several add up. A store or an
	 * instruction fetch that misses the last cache counts store_miss_cycles or
	 * fetch_miss_cycles in place of llc_miss_cycles.
	 */
	uint32_t l1i_miss_cycles, l1d_miss_cycles, l2_miss_cycles, llc_miss_cycles,
		store_miss_cycles, fetch_miss_cycles;
	uint32_t itlb_entries, dtlb_entries, l2_tlb_entries; /* not used */
	uint32_t l2_tlb_cycles, page_walk_cycles; /* of a miss of the first TLB; of all of them */
	uint32_t mispredict_cycles;
	uint32_t store_buffer_entries; /* not used */

	struct pipeline_match matches[PIPELINE_MATCHES];
	size_t match_count;
};

/* The name of a row in the tables: "divide-32", "alu". */
const char *pipeline_row_name(unsigned row);
/* The row of a class. `width_bits` is that of a division's or root's operands; 0 is 64. */
const struct pipeline_work *pipeline_work_of(const struct pipeline *pipeline,
					     enum latency_class class, unsigned width_bits);

/*
 * Reads one table; `name` appears in messages only. Strict: every key once, every
 * class present, every line with a unit and a source. Returns 0, or -EBADMSG with
 * *err filled; *out is then undefined.
 */
int pipeline_parse(struct span text, const char *name, struct pipeline *out, struct error *err);

struct pipelines;

/* Reads all tables. Returns 0 and stores what the caller frees; or, with *err, -ENOMEM or -EBADMSG
 * (a table is wrong: our own mistake, which unit tests find). */
int pipelines_new(struct pipelines **out, struct error *err);
void pipelines_free(struct pipelines *pipelines);   /* NULL does nothing */
void pipelines_freep(struct pipelines **pipelines); /* for CLEANUP() */

size_t pipelines_count(const struct pipelines *pipelines);
const struct pipeline *pipelines_at(const struct pipelines *pipelines, size_t index);
/* The table of that name, or NULL. */
const struct pipeline *pipelines_by_name(const struct pipelines *pipelines, const char *name);

enum pipeline_fit {
	PIPELINE_FITS,	     /* the table of this processor */
	PIPELINE_KIND_KNOWN, /* a generic one that is right about in-order or out-of-order issue */
	PIPELINE_GUESSED,    /* a generic one: nothing is known of this processor */
};

struct pipeline_choice {
	const struct pipeline *pipeline; /* never NULL; borrowed */
	enum pipeline_fit fit;
	bool mixed; /* another core type of the machine has another table: this is the first's */
	char note[256]; /* one sentence about the choice unless it fits plainly; else "" */
};

/*
 * Chooses the table for the processor of a profile's source: `cpu_vendor` and `cpu_model` as
 * in struct profile_source, empty when absent; models as machine/cpu_model.h spells them,
 * those of several core types joined by ", ".
 */
struct pipeline_choice pipelines_for(const struct pipelines *pipelines, struct span cpu_vendor,
				     struct span cpu_model);
