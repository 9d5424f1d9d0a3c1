/*
 * summary - where the cycles of some procedures went, all of them together: executing,
 * static and dynamic stalls by cause, as in Figure 4 of Anderson et al., SOSP 1997; and
 * the worst stalls one by one. The parts add up to the whole; docs/methods.md, "Culprits".
 *
 * It takes the time of annotating each procedure once; one procedure is in memory at a time.
 * Names are borrowed from the index.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/culprits/culprits.h"

struct summary_range {
	double low, high;
};

#define SUMMARY_CODE_BYTES 80

/* A dynamic stall of one instruction. */
struct summary_stall {
	uint32_t position; /* of its procedure in the index */
	uint64_t vaddr;
	double cycles, low, high; /* 95 % */
	double executed;	  /* of the instruction */
	double unexplained_cycles;
	struct summary_culprit {
		enum dynamic_cause cause;
		uint64_t vaddr; /* of the instruction to blame; 0: none here */
		double low, high;
	} culprits[DYNAMIC_CAUSES]; /* the one of the highest bound first */
	uint32_t culprit_count;
	enum isa isa;
	char code[SUMMARY_CODE_BYTES]; /* the instruction as text, cut to that; "": not known */
	const char *file;	       /* of the source; NULL: not known */
	uint32_t line;
};

/* All in the unit of the time event. */
struct summary {
	double total;	      /* of these procedures, but for the idle loop */
	double whole_profile; /* of all procedures but the idle loop */
	double samples;
	double issue_cycles;
	double statics[STATIC_CAUSES]; /* [STATIC_NONE] unused */
	struct summary_range dynamics[DYNAMIC_CAUSES];
	double dynamic_cycles;	   /* of stalls, as far as their causes can explain them */
	double unexplained_stall;  /* the rest of dynamic stalls */
	double unexplained_gain;   /* negative: what ran faster than it should */
	double noise_cycles;	   /* what chance explains, net */
	double late_cycles;	   /* of samples that waited until interrupts were enabled */
	double unknown_cycles;	   /* no code, no executions, or between instructions */
	double idle_cycles;	   /* in the kernel's idle loop; not in `total` */
	double stalls;		   /* dynamic stalls, with what is unexplained */
	double causes;		   /* sum over stalls of cycles times causes listed */
	size_t procedures;	   /* whose code is known */
	size_t unknown_procedures; /* without code, or whose executions are not known */
	size_t relative_procedures;

	struct summary_stall *worst; /* the worst first; NULL: none */
	size_t worst_count;
};

struct summary_options {
	size_t worst; /* how many stalls to list at most; any number */
};

/*
 * Of procedures by their position in the index of `cycles`, each once. Returns 0 and the caller
 * frees *out; -ENODATA (no event says where time went) or -ENOMEM, with *err filled.
 */
int summary_new(struct cycles *cycles, const uint32_t *positions, size_t count,
		const struct summary_options *options, struct summary **out, struct error *err);
void summary_free(struct summary *summary);
void summary_freep(struct summary **summary); /* for CLEANUP() */

/* Sums of the rows above. */
double summary_static_cycles(const struct summary *summary);
double summary_dynamic_cycles(const struct summary *summary); /* with what is unexplained */
double summary_tallied(const struct summary *summary);	      /* all rows */
