#include "support/simulated_users.h"

#include <stdbool.h>
#include <stdlib.h>

/* Below that share only the edge that was taken most is followed. */
#define LEAST_SHARE (1.0 / 256)

static void add_user(struct late_users *users, struct late_user user)
{
	if (users->count == users->capacity) {
		users->capacity = 2 * users->capacity + 16;
		users->list = realloc(users->list, users->capacity * sizeof(*users->list));
		if (!users->list)
			abort();
	}
	users->list[users->count++] = user;
}

static bool jumps(const struct instruction_effects *effects)
{
	return effects->class == LATENCY_BRANCH || effects->class == LATENCY_CALL ||
	       effects->class == LATENCY_RETURN;
}

/* Registers that hold what was loaded: not an address that the access changes (pop). */
static struct register_set loaded_by(const struct instruction_effects *effects)
{
	struct register_set others = register_set_without(&effects->writes, &effects->address);
	return effects->class == LATENCY_LOAD && !register_set_empty(&others) ? others
									      : effects->writes;
}

/* Late values on one path from where they were made. */
struct late_values {
	struct register_set registers;
	double share;
	double passed;	     /* cycles, at the beginning of the present block */
	bool in_first_block; /* nothing has passed yet */
};

static void follow(const struct late_search *search, uint32_t block, uint32_t first,
		   struct late_values late, struct late_users *out);

static void follow_edge(const struct late_search *search, size_t number, struct late_values late,
			struct late_users *out)
{
	const struct flow_edge *edge = &search->exact->graph.edges[number];
	if (edge->to != FLOW_OUTSIDE)
		follow(search, edge->to, search->exact->blocks[edge->to].first, late, out);
	else
		add_user(out,
			 (struct late_user){ .place = edge->kind == FLOW_RETURN ? LATE_IN_CALLERS
										: LATE_IN_CALLEES,
					     .number = register_set_next(&late.registers, 0),
					     .share = late.share,
					     .passed = late.passed });
}

/* Follows late values over the edges out of a block. */
static void follow_out(const struct late_search *search, uint32_t block, struct late_values late,
		       struct late_users *out)
{
	const double *executions = search->exact->edge_executions;
	struct flow_ends edges = flow_graph_out_of(&search->exact->graph, block);
	double all = 0, share = late.share;
	size_t most = 0;
	for (size_t i = 0; i < edges.count; i++) {
		all += executions[edges.list[i]];
		if (executions[edges.list[i]] > executions[edges.list[most]])
			most = i;
	}
	if (all > 0 && share < LEAST_SHARE) {
		follow_edge(search, edges.list[most], late, out);
		return;
	}
	for (size_t i = 0; i < edges.count; i++) {
		late.share = share * executions[edges.list[i]] / all;
		if (late.share > 0)
			follow_edge(search, edges.list[i], late, out);
	}
}

static void follow(const struct late_search *search, uint32_t block, uint32_t first,
		   struct late_values late, struct late_users *out)
{
	uint32_t end = search->exact->blocks[block].end;
	for (uint32_t i = first; i < end; i++) {
		const struct instruction_effects *effects = &search->exact->effects[i];
		struct register_set used = register_set_intersect(&late.registers, &effects->reads);
		bool calls = effects->class == LATENCY_CALL;
		if (!register_set_empty(&used) || calls) {
			add_user(out, (struct late_user){
					      .place = register_set_empty(&used) ? LATE_IN_CALLEES
										 : LATE_HERE,
					      .instruction = i,
					      .number = register_set_next(&late.registers, 0),
					      .share = late.share,
					      .passed = late.in_first_block
								? 0
								: late.passed + search->at[i] });
			return;
		}
		late.registers = register_set_without(&late.registers, &effects->writes);
		if (register_set_empty(&late.registers))
			return;
	}
	late.passed += late.in_first_block ? 0 : search->at[end - 1] + 1;
	late.in_first_block = false;
	if (late.passed < search->longest)
		follow_out(search, block, late, out);
}

void late_users_of_result(const struct late_search *search, uint32_t block, uint32_t i,
			  struct late_users *out)
{
	const struct instruction_effects *effects = &search->exact->effects[i];
	struct late_values late = { .share = 1, .in_first_block = true };
	if (jumps(effects) || effects->writes_memory) {
		add_user(out,
			 (struct late_user){ .place = LATE_HERE, .instruction = i, .share = 1 });
		return;
	}
	late.registers = loaded_by(effects);
	if (!register_set_empty(&late.registers))
		follow(search, block, i + 1, late, out);
}

void late_users_of_register(const struct late_search *search, uint32_t block, uint32_t instruction,
			    unsigned number, struct late_users *out)
{
	struct late_values late = { .share = 1, .passed = -search->at[instruction] };
	register_set_add(&late.registers, number);
	follow(search, block, instruction, late, out);
}

void late_users_release(struct late_users *users)
{
	free(users->list);
	*users = (struct late_users){ 0 };
}
