/*
 * topdown_method - how a core's slots are counted: which events in which groups, and the
 * formulas that make figures of the counts. One table of data/topdown a kind of core
 * (README.md there: the syntax, and where each formula comes from); the tables are part of
 * the program.
 *
 *	struct topdown_method method;		// 12 KiB: not on a small stack
 *	topdown_method_choose(&cpu, &cpu.types[i], pmu, &method, &err);
 *	... open method.events[i], group by group; count; read ...
 *	topdown_of_counts(&method, counts, &topdown);
 *
 * A machine with several core types has a method for each. A method holds all it points to;
 * it is not to be copied. Once chosen nothing changes it, and threads may share it. Nothing
 * here allocates.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "machine/cpu.h"
#include "machine/topdown.h"
#include "machine/topdown_expression.h"

struct error;
struct pmu;

#define TOPDOWN_METHOD_NAME_BYTES 32
#define TOPDOWN_EVENTS		  24   /* of one method; Ice Lake's has 21 */
#define TOPDOWN_METHOD_TEXT_BYTES 6144 /* the largest has 3109 */
#define TOPDOWN_EVENT_TEXT_BYTES  128
#define TOPDOWN_NO_FIELD	  (-1)

struct topdown_event {
	const char *name;      /* "uops_issued.any" */
	const char *terms;     /* of the core's PMU: "event=0x0e,umask=0x01" */
	const char *source;    /* where the code is from */
	const char *uncounted; /* "uops_issued.any was not counted": why a figure is not known */
	uint64_t config; /* of perf_event_attr, type PERF_TYPE_RAW or the core PMU's; what the terms
			    say where the PMU has the usual fields */
	/* 0, 1, ...: events of a group are best counted together; the first leads. Where the kernel
	   refuses a group (too few counters), halves do, but for events with a field. */
	unsigned group;
	int field; /* of the metrics register that the kernel counts it from, or TOPDOWN_NO_FIELD */
	/* The lowest level whose figures need it, 0 for none; the same of corrected figures. */
	unsigned level, corrected_level;
};

struct topdown_formula {
	uint16_t plain, corrected; /* nodes of the pool, TOPDOWN_NO_NODE without one */
	const char *source, *corrected_source, *absent;
};

struct topdown_method {
	char name[TOPDOWN_METHOD_NAME_BYTES]; /* "skylake" */
	const char *title;  /* "Skylake to Comet Lake, Cascade Lake and Cooper Lake" */
	const char *source; /* of the method as a whole */
	enum topdown_unit unit;
	bool fallback; /* the CPU's better method needs what the PMU does not offer here */
	unsigned register_levels; /* levels that topdown_of_registers() has here: 0, 1 or 2 */
	struct topdown_event events[TOPDOWN_EVENTS]; /* groups in order, members together */
	size_t event_count, group_count;
	/* The rest is for topdown_of_counts(). */
	struct topdown_formula formulas[TOPDOWN_CATEGORIES];
	uint16_t slots,
		sum; /* nodes; the second TOPDOWN_NO_NODE when the sum is 1 by construction */
	struct topdown_pool pool;
	char text[TOPDOWN_METHOD_TEXT_BYTES]; /* what the pointers above point to */
	size_t text_size;
};

/*
 * The method for the cores of `type`, one of info->types. `pmu` is the PMU that counts on them
 * (pmu_find()), or NULL when it is not known: then it is taken to offer what the CPU has. Returns
 * 0, or with *err -ENOENT (no method for this CPU), -ENODATA (not enough is known of this machine),
 * or -EBADMSG (a table is wrong: our own mistake, which unit tests find); *out is then undefined.
 */
int topdown_method_choose(const struct cpu_info *info, const struct cpu_type *type,
			  const struct pmu *pmu, struct topdown_method *out, struct error *err);

/* The tables of the program, for those who list them; NULL past the last. */
const char *topdown_table_name(size_t index);
struct span topdown_table_text(size_t index);

/*
 * Reads one table; `name` appears in messages only. `smt`: whether two threads share a core, which
 * some tables ask. Returns 0; -EBADMSG with the place in *err; -ENODATA when the table asks and the
 * answer is unknown.
 */
int topdown_method_parse(struct span text, const char *name, enum fact smt,
			 struct topdown_method *out, struct error *err);

enum topdown_accuracy { TOPDOWN_PLAIN, TOPDOWN_CORRECTED };
/* Whether figures up to `level` (1 or 2), plain or as the CPU's maker corrects them, need the
 * event. */
bool topdown_event_wanted(const struct topdown_event *event, unsigned level,
			  enum topdown_accuracy accuracy);

/*
 * "cpu/event=0x0e,umask=0x01/", as machine/event.h reads it. `pmu` is the core PMU's name. The
 * caller adds modifiers ("u"): alike for all events of a method, or ratios make no sense. Events
 * with a field, and the slots that lead them, are read with PERF_FORMAT_GROUP.
 */
void topdown_event_format(const struct topdown_event *event, const char *pmu,
			  char text[TOPDOWN_EVENT_TEXT_BYTES]);

/* What was counted of an event, as read() returns it. */
struct topdown_count {
	bool known; /* false: it could not be opened, or was left out */
	uint64_t value;
	uint64_t enabled_ns, running_ns; /* alike when it was counted all the time */
};

/*
 * Figures from counts, counts[i] that of method->events[i]. A count with running_ns below
 * enabled_ns is scaled up, as perf does, and figures made of it are TOPDOWN_EXTRAPOLATED; one that
 * never ran is not known. A figure whose counts are not all known is absent, and says which count
 * it lacks.
 *
 * Where the maker of the CPU advises corrections, they are made when all events they need were
 * counted, and else not at all: then the figures are what perf stat --topdown prints.
 */
void topdown_of_counts(const struct topdown_method *method, const struct topdown_count *counts,
		       struct topdown *out);
