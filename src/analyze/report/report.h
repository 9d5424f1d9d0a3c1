/*
 * report - a profile as the rows that a reader asked for: per procedure, image,
 * process, thread, CPU, cgroup, service, container or line, or along the call stacks. Estimates
 * come with their variance; what the profile did not keep is absent and said.
 *
 * Time grows with the profile's distinct addresses, stacks and contexts, not
 * with its samples. A report borrows from its profile and resolver, which must
 * outlive it, unchanged. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/figures/event_column.h"
#include "analyze/figures/interval.h"
#include "analyze/figures/slot_columns.h"
#include "analyze/names/code_places.h"
#include "analyze/report/report_scope.h"
#include "base/arena.h"
#include "profile/profile.h"

struct error;
struct resolver;

enum report_part {
	REPORT_PROCEDURE,
	REPORT_IMAGE,
	REPORT_PROCESS,
	REPORT_THREAD,
	REPORT_CPU,
	REPORT_CGROUP,
	REPORT_SERVICE, /* of systemd, by the cgroup */
	REPORT_CONTAINER,
	REPORT_LINE,
	REPORT_ADDRESS, /* of instructions, where samples stand */
	REPORT_PARTS
};
extern const char *const report_part_names[REPORT_PARTS];

enum report_view {
	REPORT_FLAT,
	REPORT_INCLUSIVE, /* with what a procedure called, each procedure once a stack */
	REPORT_TREE,	  /* from the outermost frame down */
	REPORT_CALLERS,	  /* from a procedure up */
	REPORT_CALLEES,	  /* from a procedure down */
};

enum report_inlined { REPORT_INLINED_APART, REPORT_INLINED_FOLDED };
enum report_idle { REPORT_IDLE_APART, REPORT_IDLE_KEPT }; /* in no row; or as any other samples */

struct report_patterns {
	const char *const *items;
	size_t count;
};

struct report_options {
	enum report_view view;
	const char *procedure;		      /* of REPORT_CALLERS and REPORT_CALLEES */
	enum report_part parts[REPORT_PARTS]; /* of REPORT_FLAT; the row's key */
	size_t part_count;
	enum report_inlined inlined; /* in views of stacks */
	enum report_idle idle;
	struct report_patterns events;
	struct report_patterns processes; /* comm as a glob, or a pid */
	struct report_patterns images;	  /* short name as a glob, or a build-id's beginning */
	struct report_patterns cgroups;	  /* path as a glob; what lies below it too */
	struct report_patterns services;  /* name as a glob, with or without ".service" */
	struct report_patterns containers; /* name as a glob, or its first digits */
	const char *cpus;		  /* "0-3,8", or NULL */
	const char *focus, *ignore;	  /* extended regular expressions on procedure names */
	const char *sort; /* an event, "samples", "cpi", "name", "self"; NULL: by the first event */
	double min_percent; /* rows below are summed up in `rest` */
	size_t limit;	    /* of rows; 0: all */
	uint64_t runs;	    /* EVENT_RUNS_TOGETHER, or as event_columns_init_runs() takes them */
};

/* Whether that part is in the key of a flat report's rows. */
static inline bool report_options_have(const struct report_options *options, enum report_part part)
{
	for (size_t i = 0; i < options->part_count; i++)
		if (options->parts[i] == part)
			return true;
	return false;
}

struct report_row {
	/* by options.parts; procedure has its image beside it. NULL: not kept or not known */
	const char *texts[REPORT_PARTS];
	uint32_t procedure; /* of places; PLACE_NONE when the row is not about one */
	uint32_t image;	    /* id in the profile; 0: none */
	const char *image_name;
	uint64_t pid, tid, cpu, line; /* optional numbers (optional_of) */
	uint64_t address;	      /* of REPORT_ADDRESS, as that of a file; likewise */
	unsigned marks;		      /* set of enum place_mark */
	uint32_t number;    /* in the order they were found: the same row has the same one in every
			       report of that profile, events and view */
	uint32_t depth;	    /* in trees; else 0 */
	uint32_t indent;    /* in trees: how many rows from its root to itself are branches */
	bool branch;	    /* in trees: one of several ways on from the row above it */
	struct cell *self;  /* by column */
	struct cell *total; /* with what was called; NULL in REPORT_FLAT */
};

/* What became of a column's samples in a report by line. */
struct report_charge {
	unsigned skid;	     /* in instructions; 0: samples are counted at the line they stand at */
	struct cell charged; /* counted at the lines of instructions that ran `skid` before */
	struct cell stays;   /* late too, but of code that is not known: counted where they stand */
};

struct report {
	const struct profile *profile;
	struct report_options options;
	struct event_columns columns;
	struct slot_columns *slots; /* of TopDown; malloc'ed */
	size_t slots_count;
	struct places *places;
	struct arena arena;
	size_t sort_column;

	struct report_row *rows;
	size_t row_count;
	size_t rest_count; /* rows left out by min_percent and limit */
	struct cell *rest; /* their sum by column (self) */

	struct cell *whole;	    /* by column: all samples but idle ones; what a percent is of */
	struct cell *shown;	    /* of them, those that pass the filters */
	struct cell *idle;	    /* in the idle loop: in no row */
	struct cell *without_stack; /* of `shown`, those that no stack is known of */
	struct report_charge *charge; /* by column; NULL: not by line */
	bool filtered;
	bool has_stacks;

	/* what the rows live in */
	struct cell *row_cells, *row_totals;

	struct scope scope;
	const char **notes; /* one sentence each */
	size_t note_count;
};

/* By all parts of the name, then image and line; what is not known comes last. */
int report_compare_names(const struct report_row *a, const struct report_row *b);
/* For the parts that make a report. Adds a sentence to its notes; 0 or -ENOMEM. */
int report_add_note(struct report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Sets what a row has of a procedure: names, image, marks. */
void report_describe_procedure(struct report *report, struct report_row *row, uint32_t procedure);
/* By the sort column (or what else options.sort says), then by everything that a reader sees. */
int report_compare_rows(const void *left, const void *right, void *report);
/* Is the row below options.min_percent? */
bool report_row_is_small(const struct report *report, const struct report_row *row);

/*
 * A report without rows and sums, for those who walk the samples themselves
 * (chosen_samples.h), as report_new() does (report_make.h); errors likewise.
 */
int report_prepare(const struct profile *profile, struct resolver *resolver,
		   const struct report_options *options, struct report **out, struct error *err);
void report_free(struct report *report);
void report_freep(struct report **report); /* for CLEANUP() */

/* Cycles per instruction of a row, by pair of report->columns. */
struct estimate report_cpi(const struct report *report, const struct cell *cells, size_t pair);
