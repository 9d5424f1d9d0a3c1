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

/* The instructions that may still be working on a register's value in order: until it is read for
 * the first time, as the reader waits for it. */
struct reach {
	uint32_t producers[REACH_PRODUCERS]; /* instructions of the cfg, then
						CULPRIT_NO_INSTRUCTION */
	bool more;			     /* others too, which had no place */
	bool elsewhere; /* code of another procedure: its caller, or a callee */
};

/* The same of all registers: where each block begins, and at one instruction. */
struct reaching {
	const struct procedure_cycles *procedure;
	unsigned registers;
	struct reach *at_entry; /* by block, then register */
	struct reach *now;	/* by register, before the present instruction */
};

/* Finds what reaches each block (a fixed point over the graph). 0 or -ENOMEM. */
int reaching_init(struct reaching *reaching, const struct procedure_cycles *procedure);
void reaching_release(struct reaching *reaching);
/* Goes to the first instruction of a block. */
void reaching_enter(struct reaching *reaching, uint32_t block);
/* What the present instruction would wait for if it reads the register; see reach_is_empty(). */
const struct reach *reaching_register(const struct reaching *reaching, unsigned number);
/* Goes from that instruction, the present one, to the next. */
void reaching_step(struct reaching *reaching, uint32_t instruction);
bool reach_is_empty(const struct reach *reach);

/* culprit_events.c */

struct culprit_bounds {
	/* By event, then instruction of the cfg: the most events that it caused, 97.5 % sure. NULL:
	 * not counted, or no bound is known. */
	double *most[CULPRIT_EVENTS];
};
/* 0 or -ENOMEM. */
int culprit_bounds_init(struct culprit_bounds *bounds, const struct procedure_cycles *procedure,
			const struct event_columns *columns, const struct culprit_events *events);
void culprit_bounds_release(struct culprit_bounds *bounds);

/* culprit_costs.c: cycles that a miss takes beyond a hit; PIPELINE_MAX_CYCLES: not known. */
struct culprit_costs {
	double load_near, load_far; /* missed in the first cache but not in all; in all */
	double store_near, store_far;
	double fetch_near, fetch_far;
	double walk;			/* of the page table */
	double load_least, fetch_least; /* of a miss in the first cache, at least; 0: not known */
	double mispredict;
};
struct culprit_costs culprit_costs_of(const struct pipeline *pipeline);

/* culprit_loops.c: a loop of the procedure, with those inside of it. */
struct loop_facts {
	struct register_set writes; /* registers that its instructions write */
	bool calls;		    /* or has instructions that are not understood */
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
	/* By block: how often the largest loop around it was entered whose code makes no calls and
	 * fits the first cache, so that its lines are fetched no more often; INFINITY: none. */
	double *quiet_entries;
	struct loop_facts *loops;
	bool stores; /* the procedure writes memory */
	bool frame;  /* its frame pointer is one: it points to the stack */
	bool late; /* out of order: samples are charged to the instruction before the one they show
		    */
};

/* The causes of one stall that are not cleared, in no order; `high` may be infinite. */
struct culprit_list {
	struct culprit list[DYNAMIC_CAUSES];
	size_t count;
	/* DYNAMIC_OTHER is the stalled instruction's own, which is known to take no fixed time. */
	bool long_by_nature;
	/* The other causes can explain the stall, so synchronisation is listed last: nothing counts
	 * the stores of other processors. */
	bool sharing_is_last;
};

/* 0 or -ENOMEM; release in any case. `columns` and `events` as culprits_new(). */
int culprit_rules_init(struct culprit_rules *rules, const struct procedure_cycles *procedure,
		       const struct event_columns *columns, const struct culprit_events *events);
void culprit_rules_release(struct culprit_rules *rules);
/* Lists the causes of a stall of that many cycles. In order `rules->reaching` must be at the
 * instruction, which is in that block. */
void culprit_rules_apply(const struct culprit_rules *rules, uint32_t block, uint32_t instruction,
			 double stall_cycles, struct culprit_list *out);

/* What the rules share: culprit_rules.c. */

/* What happened less often than in this part of an instruction's executions is left out (DCPI:
 * "much less frequently than the stalled instruction itself"). */
#define CULPRIT_RARE 0.01
/* `times`, or 0 if that is rare beside the executions of the block. */
double culprit_unless_rare(const struct culprit_rules *rules, uint32_t block, double times);

/* Lists a cause if its bound is above 0. */
void culprit_accuse(struct culprit_list *out, enum dynamic_cause cause, uint32_t instruction,
		    double high, bool by_events);
/* How often it ran, at most; INFINITY: not known. */
double culprit_times_of_block(const struct culprit_rules *rules, uint32_t block);
double culprit_times_of_edge(const struct culprit_rules *rules, uint32_t edge);
/* Whether its executions have an interval, and one that is not relative. */
bool culprit_is_edge_sure(const struct culprit_rules *rules, uint32_t edge);
const struct cfg_instruction *culprit_at(const struct culprit_rules *rules, uint32_t instruction);
/* The vaddr of its last byte. */
uint64_t culprit_last_byte(const struct cfg_instruction *instruction);
/* Its register, in the numbers of isa/registers.h. */
unsigned culprit_stack_pointer(const struct culprit_rules *rules);
/* The last instruction of a block. */
uint32_t culprit_last_of(const struct culprit_rules *rules, uint32_t block);
/*
 * Cycles of `times` misses, all of them far, or of as many near and far ones as were counted at the
 * instruction (NULL: not counted) if these are fewer. *by_events: whether any count was used.
 */
double culprit_miss_cycles(double times, double near, double far, const double *near_events,
			   const double *far_events, uint32_t instruction, bool *by_events);

/* culprit_loops.c */
int culprit_find_loops(struct culprit_rules *rules); /* 0 or -ENOMEM */
/*
 * How often an access can have missed, at most: in a loop where its address is the same in each
 * round, and that runs it in a tenth of the rounds or more, so that the line stays near, no more
 * often than the loop was entered. INFINITY: there is no such loop. The second: how often any store
 * of the block can have waited in the write buffer, by the same rule if no store of the loop has
 * other addresses.
 */
double culprit_misses_of_place(const struct culprit_rules *rules, uint32_t block,
			       uint32_t instruction);
double culprit_waits_of_store(const struct culprit_rules *rules, uint32_t block);
/* How often the branch that ends a block can have been predicted wrong, at most, if one of its ways
 * stays in a loop and the other leaves it; INFINITY: it is no such branch. */
double culprit_leaves_of_loop(const struct culprit_rules *rules, uint32_t branch_block);

/* culprit_fetch.c, culprit_prediction.c, culprit_waits.c */
int culprit_find_quiet_loops(struct culprit_rules *rules); /* 0 or -ENOMEM */
void culprit_judge_fetch(const struct culprit_rules *rules, uint32_t block, uint32_t instruction,
			 struct culprit_list *out);
/*
 * Whether a branch that seldom goes another way is assumed to be predicted well. Where nothing else
 * explains a stall it is not (TRUST_NO_SHARES): a branch that shares its entry of a predictor with
 * others is predicted as these go.
 */
enum culprit_trust { TRUST_SHARES, TRUST_NO_SHARES };
void culprit_judge_prediction(const struct culprit_rules *rules, uint32_t block,
			      uint32_t instruction, enum culprit_trust trust,
			      struct culprit_list *out);
void culprit_judge_waits(const struct culprit_rules *rules, uint32_t block, uint32_t instruction,
			 struct culprit_list *out);
