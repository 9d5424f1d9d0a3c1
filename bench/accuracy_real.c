/*
 * accuracy-real NAME CALLGRIND PROFILE... - how near executions estimated from samples of a real
 * processor come to exact counts, up to one factor a procedure: a row for samples alone and one
 * with the branches that the profiles saw; the same up to one factor for all of the program; and
 * how near the ways of those branches come, of each kind of evidence. Medium: how much of the
 * samples is; of it, what is within 10 %; low, of what is off by more than 15 %; of low, what is
 * within 10 %. Held: 95 % intervals, by samples and by blocks, and their mean width in parts of the
 * value. --head prints what the columns are.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/accuracy/accuracy.h"
#include "analyze/cycles/cycles.h"
#include "analyze/flow/seen_branches.h"
#include "analyze/accuracy/exact_counts.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "import/reading/import.h"
#include "store/profile_file.h"

#define NEAR_RATIO 0.05 /* of a branch's ratio: points */

/* One program: what was counted, and what was sampled of it. */
struct program {
	const char *name;
	struct profile *counted, *sampled;
	struct resolver *resolver;
	struct event_columns columns;
	struct annotate_index *index;
	struct exact_counts *truth;
};

/* Of conditional branches, weighted by true executions. */
struct branches {
	double executions; /* of all that were executed in procedures with samples */
	double seen;	   /* of those of which any outcome was seen */
	double near;	   /* of those: where the ratio is off by at most NEAR_RATIO */
	double off;	   /* sum of executions times points that the ratio is off */
	double chance;	   /* the same, as off as chance alone would make it */
	double outcomes, unmatched;
};

static void program_release(struct program *program)
{
	exact_counts_free(program->truth);
	annotate_index_free(program->index);
	event_columns_release(&program->columns);
	resolver_free(program->resolver);
	profile_free(program->counted);
	profile_free(program->sampled);
}

static int read_counts(const char *path, struct profile **out, struct error *err)
{
	const struct import_options options = { 0 };
	CLEANUP(buffer_release) struct buffer head = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
	char bytes[IMPORT_HEAD_BYTES];
	ssize_t size = read(fd, bytes, sizeof(bytes));
	buffer_append(&head, bytes, size > 0 ? (size_t)size : 0);
	int ret = size < 0 || buffer_failed(&head)
			  ? error_set(err, -EIO, "cannot read '%s'", path)
			  : import_read(fd, &head, NULL, &options, out, err);
	close(fd);
	return ret;
}

static int read_samples(char *const *paths, int count, struct profile **out, struct error *err)
{
	CLEANUP(profile_freep) struct profile *whole = profile_new();
	if (!whole)
		return error_set(err, -ENOMEM, "out of memory");
	for (int i = 0; i < count; i++) {
		CLEANUP(profile_freep) struct profile *one = NULL;
		int ret = profile_file_read(paths[i], &one, NULL, err);
		if (ret == 0)
			ret = profile_merge(whole, one, err);
		if (ret < 0)
			return ret;
	}
	*out = whole;
	whole = NULL;
	return 0;
}

static int program_init(struct program *program, const char *truth, char *const *paths, int count,
			struct error *err)
{
	static const struct resolver_options naming = { 0 };
	int ret = read_counts(truth, &program->counted, err);
	if (ret == 0)
		ret = read_samples(paths, count, &program->sampled, err);
	if (ret == 0)
		ret = resolver_new(program->sampled, &naming, &program->resolver, err);
	if (ret == 0)
		ret = event_columns_init(&program->columns, program->sampled, NULL, 0, err);
	if (ret == 0)
		ret = annotate_index_new(program->sampled, program->resolver, &program->columns,
					 &program->index, err);
	if (ret == 0)
		ret = exact_counts_new(program->counted, program->sampled, &program->truth, err);
	return ret;
}

/* Of one conditional branch: how often it was taken in truth and as it was seen. */
static void add_branch(struct branches *branches, double executed, double taken, double seen,
		       double seen_taken)
{
	branches->executions += executed;
	if (seen <= 0)
		return;
	double ratio = taken / executed, off = fabs(seen_taken / seen - ratio);
	branches->seen += executed;
	branches->near += off <= NEAR_RATIO ? executed : 0;
	branches->off += executed * off;
	/* the mean of |x| of a normal distribution of that variance */
	branches->chance += executed * sqrt(ratio * (1 - ratio) / seen * 2 / M_PI);
}

static void compare_branches(const struct program *program, const struct procedure_cycles *found,
			     const struct seen_counts *seen, struct branches *branches)
{
	const struct cfg *cfg = &found->cfg;
	uint32_t image = exact_counts_image(program->truth, found->procedure->procedure->image);
	size_t column = exact_counts_executions_column(program->truth);
	for (uint32_t b = 0; image && b < cfg->graph.block_count; b++) {
		const struct cfg_block *block = &cfg->blocks[b];
		const struct cfg_instruction *last =
			&cfg->instructions[block->first + block->count - 1];
		struct flow_ends out = flow_graph_out_of(&cfg->graph, b);
		double executed = exact_counts_count(program->truth, column, image, last->vaddr);
		if (last->kind != INSTRUCTION_CONDITIONAL || out.count != 2 || executed <= 0)
			continue;
		double outcomes = 0, taken = 0;
		for (size_t i = 0; seen->edges && i < out.count; i++) {
			outcomes += seen->edges[out.list[i]];
			if (cfg->graph.edges[out.list[i]].kind != FLOW_NEXT)
				taken += seen->edges[out.list[i]];
		}
		add_branch(branches, executed,
			   exact_counts_jumps_elsewhere(program->truth, image, last->vaddr, 0),
			   outcomes, taken);
		branches->outcomes += outcomes;
	}
	branches->unmatched += (double)seen->unmatched;
}

/* Fills `kinds`, by enum seen_branches_kind. */
static int see_branches(const struct program *program, struct cycles *cycles,
			struct branches *kinds, struct error *err)
{
	CLEANUP(seen_branches_freep) struct seen_branches *evidence = NULL;
	if (seen_branches_new(program->sampled, program->resolver, &evidence) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < program->index->count; i++) {
		CLEANUP(procedure_cycles_freep) struct procedure_cycles *found = NULL;
		if (cycles_is_counted_elsewhere(cycles, i))
			continue;
		int ret = cycles_of_procedure(cycles, i, &found, err);
		if (ret == -ENODATA)
			continue;
		if (ret < 0)
			return ret;
		for (int kind = 0; kind < SEEN_BRANCHES_KINDS; kind++) {
			CLEANUP(seen_counts_release) struct seen_counts seen = { 0 };
			if (seen_branches_count(evidence, found->procedure->procedure->image,
						&found->cfg, (enum seen_branches_kind)kind,
						&seen) < 0)
				return error_set(err, -ENOMEM, "out of memory");
			compare_branches(program, found, &seen, &kinds[kind]);
		}
	}
	return 0;
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : NAN;
}

static void print_sum(const struct accuracy_sum *sum, int limits_from, int limits_end)
{
	for (int i = limits_from; i < limits_end; i++)
		printf(" %5.1f", percent(sum->within[i], sum->weight));
}

struct row {
	const char *by;
	bool with_branches;
	bool joins; /* executions of procedures, over the calls between them */
	enum accuracy_scale scale;
};

static int print_row(const struct program *program, const struct row *row, struct error *err)
{
	CLEANUP(cycles_freep) struct cycles *cycles = NULL;
	CLEANUP(accuracy_freep) struct accuracy *accuracy = NULL;
	const struct cycles_options options = { .no_evidence = !row->with_branches };
	const struct accuracy_request scale = { .scale = row->scale, .runs = 1 };
	int ret = cycles_new(program->index, &options, &cycles, err);
	if (ret == 0 && row->joins)
		ret = cycles_join_calls(cycles, err);
	if (ret == 0)
		ret = accuracy_new(cycles, program->truth, NULL, 0, &scale, &accuracy, err);
	if (ret < 0)
		return ret;
	printf("%-8s %-8s %7.0f", program->name, row->by, accuracy->instructions.weight);
	print_sum(&accuracy->instructions, 0, ACCURACY_LIMITS);
	print_sum(&accuracy->edges, 1, 2);
	const struct accuracy_sum *medium = &accuracy->instruction_classes[FREQUENCY_MEDIUM];
	printf(" %6.1f %6.1f %6.1f", percent(medium->weight, accuracy->instructions.weight),
	       percent(medium->within[1], medium->weight),
	       percent(accuracy->off_low, accuracy->off_weight));
	const struct accuracy_sum *low = &accuracy->instruction_classes[FREQUENCY_LOW];
	const struct accuracy_intervals *intervals = &accuracy->intervals;
	printf(" %6.1f %6.1f %6.1f %6.2f", percent(low->within[1], low->weight),
	       percent(intervals->held_weight, intervals->weight),
	       percent((double)intervals->held, (double)intervals->count), intervals->width);
	printf("\n");
	return 0;
}

/* "-1": up to one factor for all of the program; "costs-1" says what branch-1 owes to calls and
 * steps, without which an instruction costs the same in all procedures. */
static int print_rows(const struct program *program, struct error *err)
{
	static const struct row rows[] = { { "alone", false, false, ACCURACY_PROCEDURE },
					   { "branches", true, false, ACCURACY_PROCEDURE },
					   { "alone-1", false, false, ACCURACY_PROGRAM },
					   { "costs-1", true, false, ACCURACY_PROGRAM },
					   { "branch-1", true, true, ACCURACY_PROGRAM } };
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < COUNT_OF(rows); i++)
		ret = print_row(program, &rows[i], err);
	return ret;
}

static int print_branches(const struct program *program, struct error *err)
{
	static const char *const names[] = { [SEEN_BRANCHES_INTERPRETED] = "interpreted",
					     [SEEN_BRANCHES_STEPPED] = "stepped",
					     [SEEN_BRANCHES_COUNTED] = "counted" };
	CLEANUP(cycles_freep) struct cycles *cycles = NULL;
	const struct cycles_options options = { .no_evidence = true };
	struct branches kinds[SEEN_BRANCHES_KINDS] = { 0 };
	int ret = cycles_new(program->index, &options, &cycles, err);
	if (ret == 0)
		ret = see_branches(program, cycles, kinds, err);
	for (int kind = 0; ret == 0 && kind < SEEN_BRANCHES_KINDS; kind++) {
		const struct branches *branches = &kinds[kind];
		if (branches->outcomes > 0)
			printf("%-8s %s: %.0f outcomes, %.0f of no edge; of executions %.1f %% "
			       "seen; of these off by %.1f points (%.1f by chance), %.1f %% by at "
			       "most 5\n",
			       program->name, names[kind], branches->outcomes, branches->unmatched,
			       percent(branches->seen, branches->executions),
			       percent(branches->off, branches->seen),
			       percent(branches->chance, branches->seen),
			       percent(branches->near, branches->seen));
	}
	return ret;
}

int main(int count, char **arguments)
{
	CLEANUP(program_release) struct program program = { 0 };
	struct error err;
	if (count == 2 && strcmp(arguments[1], "--head") == 0) {
		printf("%-8s %-8s %7s %5s %5s %5s %5s %6s %6s %6s %6s %6s %6s %6s\n", "program",
		       "by", "samples", "5 %", "10 %", "15 %", "edges", "medium", "of it", "low",
		       "of low", "held", "blocks", "width");
		return 0;
	}
	if (count < 4) {
		fprintf(stderr, "usage: accuracy-real NAME CALLGRIND PROFILE...\n");
		return 2;
	}
	program.name = arguments[1];
	if (program_init(&program, arguments[2], arguments + 3, count - 3, &err) < 0 ||
	    print_rows(&program, &err) < 0 || print_branches(&program, &err) < 0) {
		fprintf(stderr, "accuracy-real: %s: %s\n", program.name, err.text);
		return 1;
	}
	return 0;
}
