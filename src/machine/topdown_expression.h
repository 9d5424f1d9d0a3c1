/*
 * topdown_expression - the formulas of data/topdown: numbers, names, + - * /, parentheses, and
 *
 *	min(a, b)  max(a, b)  choose(a, b, x, y)	x when a is above b, else y
 *
 * A pool of nodes holds all formulas of a method. Operands stand before what uses them, so
 * that one pass over the pool computes everything and no formula can refer to itself.
 * Internal to src/machine.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct error;

#define TOPDOWN_NODES	 160 /* the largest table has 65 */
#define TOPDOWN_NO_NODE	 UINT16_MAX
#define TOPDOWN_OPERANDS 4

enum topdown_operation {
	TOPDOWN_NUMBER,
	TOPDOWN_EVENT, /* number: index of the event */
	TOPDOWN_ADD,
	TOPDOWN_SUBTRACT,
	TOPDOWN_MULTIPLY,
	TOPDOWN_DIVIDE,
	TOPDOWN_MIN,
	TOPDOWN_MAX,
	TOPDOWN_CHOOSE,
};

struct topdown_node {
	uint8_t operation, operands;
	uint16_t operand[TOPDOWN_OPERANDS];
	double number;
};

struct topdown_pool {
	struct topdown_node nodes[TOPDOWN_NODES];
	size_t count;
};

enum topdown_outcome { TOPDOWN_FINE, TOPDOWN_COUNT_MISSING, TOPDOWN_DIVIDED_BY_ZERO };

struct topdown_result {
	double value; /* of TOPDOWN_FINE */
	enum topdown_outcome outcome;
	uint16_t event; /* the first that is missing */
};

/* Which node a name stands for, TOPDOWN_NO_NODE for none. */
typedef uint16_t (*topdown_resolve)(void *context, struct span name);

/*
 * Appends the formula's nodes to the pool and stores the last of them in *root. Returns 0, or
 * -EBADMSG with one sentence that quotes the place.
 */
int topdown_expression_parse(struct topdown_pool *pool, struct span text, topdown_resolve resolve,
			     void *context, uint16_t *root, struct error *err);
/* Another node for an event, or TOPDOWN_NO_NODE when the pool is full. */
uint16_t topdown_pool_add_event(struct topdown_pool *pool, uint16_t event);

/* Computes all nodes into results[pool->count]. counts[i] is event i's; NaN: missing. */
void topdown_pool_compute(const struct topdown_pool *pool, const double *counts,
			  struct topdown_result *results);
/* Sets used[event] for all events that the formula under `root` reads, whatever it chooses. */
void topdown_expression_events(const struct topdown_pool *pool, uint16_t root, bool *used);
