/*
 * culprits_private - shared by the files of culprits: the parts of an instruction's cycles, what
 * is under way where a block begins, events by instruction, and the rules that list the causes of
 * one stall.
 */
#pragma once

#include "analyze/culprits/culprits.h"
#include "analyze/figures/event_column.h"

/* culprit_best_case.c: sets all of culprits->stalls to their issue and static cycles, with the
 * reason for the static ones; all else is 0, or NaN for an interval. 0 or -ENOMEM. */
int culprit_find_best_cases(struct culprits *culprits);

/* culprit_stalls.c: adds their dynamic and noise cycles, and sets culprits->known. 0 or -ENOMEM. */
int culprit_find_stalls(struct culprits *culprits);

/* culprit_reach.c */

#define REACH_PRODUCERS 2

/* Who may still be working on a register's value; in order, until it is read for the first time. */
struct reach {
	uint32_t producers[REACH_PRODUCERS]; /* instructions of the cfg; the rest
						CULPRIT_NO_INSTRUCTION */
	bool more;			     /* others too */
	bool elsewhere; /* code of another procedure: its caller, or a callee */
};

/* Of all registers, where a block begins; steps through it afterwards. */
struct reaching {
	const struct procedure_cycles *procedure;
	unsigned registers;
	struct reach *at_entry; /* by block, then register */
	struct reach *now;	/* one register each */
};

/* Finds what reaches each block (a fixed point over the graph). 0 or -ENOMEM. */
int reaching_init(struct reaching *reaching, const struct procedure_cycles *procedure);
void reaching_release(struct reaching *reaching);
void reaching_enter(struct reaching *reaching, uint32_t block);
/* What an instruction that reads the register would wait for; nothing: all fields are empty. */
const struct reach *reaching_register(const struct reaching *reaching, unsigned number);
void reaching_step(struct reaching *reaching, uint32_t instruction);
bool reach_is_empty(const struct reach *reach);

/* culprit_events.c */

/* The most events that an instruction of the cfg caused, 97.5 % sure; NULL: not counted, or that
 * cannot be told. */
struct culprit_bounds {
	double *most[CULPRIT_EVENTS];
};
/* 0 or -ENOMEM. */
int culprit_bounds_init(struct culprit_bounds *bounds, const struct procedure_cycles *procedure,
			const struct event_columns *columns, const struct culprit_events *events);
void culprit_bounds_release(struct culprit_bounds *bounds);

/* culprit_costs.c: what a miss costs beyond a hit; of an unknown figure PIPELINE_MAX_CYCLES. */
struct culprit_costs {
	double load_near, load_far; /* missed in the first cache but not in all; in all */
	double store_near, store_far;
	double fetch_near, fetch_far;
	double walk;			/* no translation is near */
	double load_least, fetch_least; /* missed in the first cache, at least; 0: not known */
	double mispredict;
};
struct culprit_costs culprit_costs_of(const struct pipeline *pipeline);

/* culprit_loops.c: what is known of a loop of the procedure, with those inside of it. */
struct loop_facts {
	struct register_set writes; /* registers, of all its instructions */
	bool calls;		    /* or does what is not understood */
	bool inner;		    /* has no loop inside */
	bool scatters;		    /* stores to addresses that differ from round to round */
	double entries;		    /* how often it was entered, at most; INFINITY: not known */
};

/* culprit_rules.c */

struct culprit_rules {
	const struct procedure_cycles *procedure;
	struct culprit_costs costs;
	struct culprit_bounds bounds;
	struct reaching reaching;
	/* By block: how often the largest loop around it was entered that makes no calls and stays
	 * in the first cache, so that its lines are fetched no more often; INFINITY: none does. */
	double *quiet_entries;
	struct loop_facts *loops;
	bool stores; /* the procedure writes memory */
	bool frame;  /* its frame pointer points to its stack */
	bool late;   /* samples are charged to the instruction before the one they show */
};

/* The causes of one stall that are not cleared, in no order; `high` may be infinite. */
struct culprit_list {
	struct culprit list[DYNAMIC_CAUSES];
	size_t count;
	/* DYNAMIC_OTHER is the stalled instruction's own, which is known to take no fixed time. */
	bool long_by_nature;
	/* What else is listed can have made the stall, so that another processor's stores, of which
	 * nothing tells, are the last to think of. */
	bool sharing_is_last;
};

int culprit_rules_init(struct culprit_rules *rules, const struct procedure_cycles *procedure,
		       const struct event_columns *columns, const struct culprit_events *events);
void culprit_rules_release(struct culprit_rules *rules);
/* Of a stall of so many cycles. `rules->reaching` stands before the instruction, of that block. */
void culprit_rules_apply(const struct culprit_rules *rules, uint32_t block, uint32_t instruction,
			 double stall_cycles, struct culprit_list *out);

/* What the rules share: culprit_rules.c. */

/* Of an instruction's executions: what came from elsewhere less often than that is left out (DCPI:
 * "much less frequently than the stalled instruction itself"). */
#define CULPRIT_RARE 0.01

/* Puts a cause on the list unless its bound is nothing. */
void culprit_accuse(struct culprit_list *out, enum dynamic_cause cause, uint32_t instruction,
		    double high, bool by_events);
/* How often it ran, at most; infinitely often where that is not known. */
double culprit_times_of_block(const struct culprit_rules *rules, uint32_t block);
double culprit_times_of_edge(const struct culprit_rules *rules, uint32_t edge);
/* Whether its executions have an interval, and one that is not relative. */
bool culprit_is_edge_sure(const struct culprit_rules *rules, uint32_t edge);
const struct cfg_instruction *culprit_at(const struct culprit_rules *rules, uint32_t instruction);
uint64_t culprit_last_byte(const struct cfg_instruction *instruction);
/* The last instruction of a block. */
uint32_t culprit_last_of(const struct culprit_rules *rules, uint32_t block);
/*
 * Cycles of `times` misses, near and far, or of as many as were counted at the instruction (NULL:
 * not counted).
 */
double culprit_miss_cycles(double times, double near, double far, const double *near_events,
			   const double *far_events, uint32_t instruction, bool *by_events);

/* culprit_loops.c */
int culprit_find_loops(struct culprit_rules *rules); /* 0 or -ENOMEM */
/*
 * How often an access can have missed, at most: in a loop that comes by the same address in each
 * round, which it makes often enough to keep the line, no more often than the loop was entered. Of
 * a store also what waits behind others: where no store of the loop goes elsewhere. INFINITY:
 * nothing says so.
 */
double culprit_misses_of_place(const struct culprit_rules *rules, uint32_t block,
			       uint32_t instruction);
double culprit_waits_of_store(const struct culprit_rules *rules, uint32_t block);
/* How often a branch of a loop can have been predicted wrong that goes on with it or leaves it, at
 * most; INFINITY: it is no such branch. */
double culprit_leaves_of_loop(const struct culprit_rules *rules, uint32_t branch_block);

/* culprit_fetch.c, culprit_prediction.c, culprit_waits.c */
int culprit_find_quiet_loops(struct culprit_rules *rules); /* 0 or -ENOMEM */
void culprit_judge_fetch(const struct culprit_rules *rules, uint32_t block, uint32_t instruction,
			 struct culprit_list *out);
/*
 * Whether a branch that seldom goes another way is taken to be predicted well. Where nothing else
 * explains a stall it is not: a branch that shares its entry of a predictor with others is
 * predicted as these go.
 */
enum culprit_trust { TRUST_SHARES, TRUST_NO_SHARES };
void culprit_judge_prediction(const struct culprit_rules *rules, uint32_t block,
			      uint32_t instruction, enum culprit_trust trust,
			      struct culprit_list *out);
void culprit_judge_waits(const struct culprit_rules *rules, uint32_t block, uint32_t instruction,
			 struct culprit_list *out);
