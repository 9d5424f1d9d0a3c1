#include "machine/topdown_expression.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/count_of.h"
#include "base/digits.h"
#include "base/error.h"

#define NESTING 16 /* parentheses in one another; formulas of data/topdown have 5 */

struct reader {
	struct topdown_pool *pool;
	const char *at, *end;
	struct span text;
	topdown_resolve resolve;
	void *context;
	struct error *err;
	unsigned nesting;
};

static const struct {
	const char *name;
	enum topdown_operation operation;
	unsigned operands;
} functions[] = {
	{ "min", TOPDOWN_MIN, 2 },
	{ "max", TOPDOWN_MAX, 2 },
	{ "choose", TOPDOWN_CHOOSE, 4 },
};

static int read_sum(struct reader *reader, uint16_t *out);

static int wrong(const struct reader *reader, const char *what)
{
	return error_set(reader->err, -EBADMSG, "%s at '%.*s' of '%.*s'", what,
			 (int)(reader->end - reader->at), reader->at, (int)reader->text.size,
			 (const char *)reader->text.data);
}

static uint16_t add_node(struct topdown_pool *pool, struct topdown_node node)
{
	if (pool->count == TOPDOWN_NODES)
		return TOPDOWN_NO_NODE;
	pool->nodes[pool->count] = node;
	return (uint16_t)pool->count++;
}

uint16_t topdown_pool_add_event(struct topdown_pool *pool, uint16_t event)
{
	return add_node(pool, (struct topdown_node){ .operation = TOPDOWN_EVENT, .number = event });
}

static int add(struct reader *reader, struct topdown_node node, uint16_t *out)
{
	*out = add_node(reader->pool, node);
	return *out == TOPDOWN_NO_NODE ? wrong(reader, "too many formulas") : 0;
}

static void skip_blanks(struct reader *reader)
{
	while (reader->at < reader->end && *reader->at == ' ')
		reader->at++;
}

static bool take(struct reader *reader, char wanted)
{
	skip_blanks(reader);
	if (reader->at == reader->end || *reader->at != wanted)
		return false;
	reader->at++;
	return true;
}

/* Digits with or without a fraction. Not strtod(): the program around us may write a decimal comma.
 */
static int read_number(struct reader *reader, uint16_t *out)
{
	const char *from = reader->at;
	uint64_t whole, fraction = 0;
	double scale = 1;
	bool good = digits_take(&reader->at, reader->end, 10, &whole);
	if (good && reader->at < reader->end && *reader->at == '.') {
		const char *start = ++reader->at;
		good = digits_take(&reader->at, reader->end, 10, &fraction);
		scale = pow(10, (double)(reader->at - start));
	}
	if (!good) {
		reader->at = from;
		return wrong(reader, "no number");
	}
	return add(reader,
		   (struct topdown_node){ .operation = TOPDOWN_NUMBER,
					  .number = (double)whole + (double)fraction / scale },
		   out);
}

static struct span read_word(struct reader *reader)
{
	const char *start = reader->at;
	while (reader->at < reader->end &&
	       (isalnum((unsigned char)*reader->at) || *reader->at == '_' || *reader->at == '.'))
		reader->at++;
	return (struct span){ start, (size_t)(reader->at - start) };
}

/* Behind the name of a function: its operands in parentheses. */
static int read_call(struct reader *reader, size_t function, uint16_t *out)
{
	struct topdown_node node = { .operation = (uint8_t)functions[function].operation,
				     .operands = (uint8_t)functions[function].operands };
	for (unsigned i = 0; i < node.operands; i++) {
		if (!take(reader, i ? ',' : '('))
			return wrong(reader, i ? "a comma is missing" : "'(' is missing");
		int ret = read_sum(reader, &node.operand[i]);
		if (ret < 0)
			return ret;
	}
	if (!take(reader, ')'))
		return wrong(reader, "')' is missing");
	return add(reader, node, out);
}

static int read_name(struct reader *reader, uint16_t *out)
{
	const char *from = reader->at;
	struct span name = read_word(reader);
	for (size_t i = 0; i < COUNT_OF(functions); i++)
		if (span_equal(name, span_of_text(functions[i].name)))
			return read_call(reader, i, out);
	*out = reader->resolve(reader->context, name);
	if (*out != TOPDOWN_NO_NODE)
		return 0;
	reader->at = from;
	return wrong(reader, "unknown name");
}

static int read_factor(struct reader *reader, uint16_t *out)
{
	if (reader->nesting == NESTING)
		return wrong(reader, "nested too deeply");
	reader->nesting++;
	int ret;
	if (take(reader, '(')) {
		ret = read_sum(reader, out);
		if (!ret && !take(reader, ')'))
			ret = wrong(reader, "')' is missing");
	} else if (reader->at < reader->end && isdigit((unsigned char)*reader->at)) {
		ret = read_number(reader, out);
	} else if (reader->at < reader->end && islower((unsigned char)*reader->at)) {
		ret = read_name(reader, out);
	} else {
		ret = wrong(reader, "no operand");
	}
	reader->nesting--;
	return ret;
}

/* operand { sign operand }, for the two signs of one rank, from the left. */
static int read_chain(struct reader *reader, const char *signs,
		      const enum topdown_operation *operations,
		      int (*operand)(struct reader *, uint16_t *), uint16_t *out)
{
	int ret = operand(reader, out);
	while (!ret) {
		unsigned which = take(reader, signs[0]) ? 0 : take(reader, signs[1]) ? 1 : 2;
		if (which == 2)
			return 0;
		struct topdown_node node = { .operation = (uint8_t)operations[which],
					     .operands = 2,
					     .operand = { *out } };
		ret = operand(reader, &node.operand[1]);
		if (!ret)
			ret = add(reader, node, out);
	}
	return ret;
}

static int read_product(struct reader *reader, uint16_t *out)
{
	static const enum topdown_operation operations[] = { TOPDOWN_MULTIPLY, TOPDOWN_DIVIDE };
	return read_chain(reader, "*/", operations, read_factor, out);
}

static int read_sum(struct reader *reader, uint16_t *out)
{
	static const enum topdown_operation operations[] = { TOPDOWN_ADD, TOPDOWN_SUBTRACT };
	return read_chain(reader, "+-", operations, read_product, out);
}

int topdown_expression_parse(struct topdown_pool *pool, struct span text, topdown_resolve resolve,
			     void *context, uint16_t *root, struct error *err)
{
	struct reader reader = { .pool = pool,
				 .at = text.data,
				 .end = (const char *)text.data + text.size,
				 .text = text,
				 .resolve = resolve,
				 .context = context,
				 .err = err };
	int ret = read_sum(&reader, root);
	skip_blanks(&reader);
	if (!ret && reader.at != reader.end)
		ret = wrong(&reader, "cannot read on");
	return ret;
}

/* ---- values */

static struct topdown_result compute(const struct topdown_node *node, const double *counts,
				     const struct topdown_result *results)
{
	struct topdown_result result = { .outcome = TOPDOWN_FINE };
	double operand[TOPDOWN_OPERANDS] = { 0 };
	/* Of what is chosen from, one does not count. */
	unsigned strict = node->operation == TOPDOWN_CHOOSE ? 2 : node->operands;
	for (unsigned i = 0; i < node->operands; i++) {
		if (i < strict && results[node->operand[i]].outcome != TOPDOWN_FINE)
			return results[node->operand[i]];
		operand[i] = results[node->operand[i]].value;
	}
	switch ((enum topdown_operation)node->operation) {
	case TOPDOWN_NUMBER:
		result.value = node->number;
		break;
	case TOPDOWN_EVENT:
		result.event = (uint16_t)node->number;
		result.value = counts[result.event];
		if (isnan(result.value))
			result.outcome = TOPDOWN_COUNT_MISSING;
		break;
	case TOPDOWN_ADD:
		result.value = operand[0] + operand[1];
		break;
	case TOPDOWN_SUBTRACT:
		result.value = operand[0] - operand[1];
		break;
	case TOPDOWN_MULTIPLY:
		result.value = operand[0] * operand[1];
		break;
	case TOPDOWN_DIVIDE:
		if (operand[1] == 0)
			result.outcome = TOPDOWN_DIVIDED_BY_ZERO;
		else
			result.value = operand[0] / operand[1];
		break;
	case TOPDOWN_MIN:
		result.value = operand[0] < operand[1] ? operand[0] : operand[1];
		break;
	case TOPDOWN_MAX:
		result.value = operand[0] > operand[1] ? operand[0] : operand[1];
		break;
	case TOPDOWN_CHOOSE:
		return results[node->operand[operand[0] > operand[1] ? 2 : 3]];
	}
	return result;
}

void topdown_pool_compute(const struct topdown_pool *pool, const double *counts,
			  struct topdown_result *results)
{
	for (size_t i = 0; i < pool->count; i++)
		results[i] = compute(&pool->nodes[i], counts, results);
}

void topdown_expression_events(const struct topdown_pool *pool, uint16_t root, bool *used)
{
	bool reached[TOPDOWN_NODES] = { false };
	if (root == TOPDOWN_NO_NODE)
		return;
	reached[root] = true;
	for (size_t i = (size_t)root + 1; i-- > 0;) {
		const struct topdown_node *node = &pool->nodes[i];
		if (!reached[i])
			continue;
		if (node->operation == TOPDOWN_EVENT)
			used[(size_t)node->number] = true;
		for (unsigned k = 0; k < node->operands; k++)
			reached[node->operand[k]] = true;
	}
}
