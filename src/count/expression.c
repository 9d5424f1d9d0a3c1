#include "count/expression.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"

struct parser {
	const char *text, *at;
	expression_namer namer;
	const void *context;
	struct expression *out;
	/* Operators and parentheses that wait for their right operand (Dijkstra's shunting yard).
	 */
	char waiting[EXPRESSION_STEPS];
	size_t waiting_count;
	struct error *err;
};

static int mistake(struct parser *parser, int code, const char *what)
{
	return error_set(parser->err, code, "%s (character %zu of '%s')", what,
			 (size_t)(parser->at - parser->text) + 1, parser->text);
}

static int add_step(struct parser *parser, struct expression_step step)
{
	if (parser->out->count == EXPRESSION_STEPS)
		return mistake(parser, -EINVAL, "the expression is too long");
	parser->out->steps[parser->out->count++] = step;
	return 0;
}

static int rank(char operator)
{
	switch (operator) {
	case '+':
	case '-':
		return 1;
	case '*':
	case '/':
		return 2;
	case '~': /* negation */
		return 3;
	default: /* a parenthesis lets nothing pass */
		return 0;
	}
}

static enum expression_kind kind_of(char operator)
{
	switch (operator) {
	case '+':
		return EXPRESSION_ADD;
	case '-':
		return EXPRESSION_SUBTRACT;
	case '*':
		return EXPRESSION_MULTIPLY;
	case '/':
		return EXPRESSION_DIVIDE;
	default:
		return EXPRESSION_NEGATE;
	}
}

/* Moves operators to the output that bind at least as strongly as `least`. */
static int flush(struct parser *parser, int least)
{
	while (parser->waiting_count && rank(parser->waiting[parser->waiting_count - 1]) >= least) {
		char operator= parser->waiting[--parser->waiting_count];
		int status =
			add_step(parser, (struct expression_step){ .kind = kind_of(operator) });
		if (status)
			return status;
	}
	return 0;
}

static int wait_for_operand(struct parser *parser, char operator)
{
	if (parser->waiting_count == sizeof(parser->waiting))
		return mistake(parser, -EINVAL, "the expression is too long");
	parser->waiting[parser->waiting_count++] = operator;
	parser->at++;
	return 0;
}

static int read_number(struct parser *parser)
{
	char *end;
	double number = strtod_l(parser->at, &end, c_locale());
	if (!isfinite(number))
		return mistake(parser, -EINVAL, "the number is too large");
	int status = add_step(
		parser, (struct expression_step){ .kind = EXPRESSION_NUMBER, .number = number });
	parser->at = end;
	return status;
}

static int read_name(struct parser *parser)
{
	bool quoted = *parser->at == '\'';
	const char *begin = parser->at + quoted;
	size_t name, size = parser->namer(parser->context, begin, &name);
	if (size == 0)
		return mistake(parser, -ENOENT, "no event of that name is counted");
	if (quoted && begin[size] != '\'')
		return mistake(parser, -ENOENT, "no event of the name between quotes is counted");
	parser->at = begin + size + quoted;
	return add_step(parser, (struct expression_step){ .kind = EXPRESSION_NAME, .name = name });
}

/* A number, a name, or what stands before one. *operand: it was one. */
static int read_operand(struct parser *parser, bool *operand)
{
	*operand = false;
	if (*parser->at == '(')
		return wait_for_operand(parser, '(');
	if (*parser->at == '-')
		return wait_for_operand(parser, '~');
	*operand = true;
	/* a name may begin with a digit of no number, but none of ours does */
	if (isdigit((unsigned char)*parser->at) || *parser->at == '.')
		return read_number(parser);
	if (!*parser->at)
		return mistake(parser, -EINVAL, "the expression ends where a value is expected");
	return read_name(parser);
}

/* What may follow an operand. *operand: one was closed, and another operator may follow. */
static int read_operator(struct parser *parser, bool *operand)
{
	*operand = true;
	if (*parser->at == ')') {
		int status = flush(parser, 1);
		if (status)
			return status;
		if (!parser->waiting_count)
			return mistake(parser, -EINVAL, "')' closes nothing");
		parser->waiting_count--;
		parser->at++;
		return 0;
	}
	*operand = false;
	if (!strchr("+-*/", *parser->at))
		return mistake(parser, -EINVAL, "an operator is expected");
	int status = flush(parser, rank(*parser->at));
	return status ? status : wait_for_operand(parser, *parser->at);
}

int expression_parse(const char *text, expression_namer namer, const void *context,
		     struct expression *expression, struct error *err)
{
	struct parser parser = {
		.text = text,
		.at = text,
		.namer = namer,
		.context = context,
		.out = expression,
		.err = err,
	};
	expression->count = 0;
	bool operand = false; /* the last thing was one */
	for (;;) {
		parser.at += strspn(parser.at, " \t");
		if (operand && !*parser.at)
			break;
		int status = operand ? read_operator(&parser, &operand)
				     : read_operand(&parser, &operand);
		if (status)
			return status;
	}
	int status = flush(&parser, 1);
	if (status == 0 && parser.waiting_count)
		return mistake(&parser, -EINVAL, "a '(' is not closed");
	return status;
}

double expression_value(const struct expression *expression, const double *values)
{
	double stack[EXPRESSION_STEPS];
	size_t depth = 0;
	for (size_t i = 0; i < expression->count; i++) {
		const struct expression_step *step = &expression->steps[i];
		if (step->kind == EXPRESSION_NUMBER) {
			stack[depth++] = step->number;
			continue;
		}
		if (step->kind == EXPRESSION_NAME) {
			stack[depth++] = values[step->name];
			continue;
		}
		double right = stack[depth - 1];
		if (step->kind == EXPRESSION_NEGATE) {
			stack[depth - 1] = -right;
			continue;
		}
		double *left = &stack[--depth - 1];
		if (step->kind == EXPRESSION_ADD)
			*left += right;
		else if (step->kind == EXPRESSION_SUBTRACT)
			*left -= right;
		else if (step->kind == EXPRESSION_MULTIPLY)
			*left *= right;
		else
			*left = right == 0 ? (double)NAN : *left / right;
	}
	return depth ? stack[0] : (double)NAN;
}
