#include "collect/proc_stat.h"

#include <stddef.h>
#include <string.h>

/* Numbers after the name and the state, in the order of proc(5). */
enum {
	PARENT,
	FLAGS = 5,
	USER_TICKS = 10,
	SYSTEM_TICKS,
	CHILDREN_USER_TICKS,
	CHILDREN_SYSTEM_TICKS,
	THREADS = 16,
	START_TICKS = 18,
	NUMBERS
};

static const char *last_parenthesis(struct span text)
{
	for (size_t i = text.size; i-- > 0;)
		if (((const char *)text.data)[i] == ')')
			return (const char *)text.data + i;
	return NULL;
}

/* A number in decimal, one blank before it; the ones we look at are not negative. */
static bool take_number(const char **at, const char *end, uint64_t *number)
{
	const char *text = *at;
	bool negative;
	if (text == end || *text++ != ' ')
		return false;
	negative = text < end && *text == '-';
	text += negative;
	const char *digits = text;
	uint64_t value = 0;
	for (; text < end && *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
			return false;
	*at = text;
	*number = negative ? 0 : value;
	return text > digits;
}

bool proc_stat_parse(struct span text, struct proc_stat *stat)
{
	const char *open = text.size ? memchr(text.data, '(', text.size) : NULL;
	const char *close = text.size ? last_parenthesis(text) : NULL;
	uint64_t numbers[NUMBERS];
	uint64_t pid = 0;
	if (!open || !close || close < open)
		return false;
	const char *end = (const char *)text.data + text.size;
	for (const char *at = text.data; at < open && *at >= '0' && *at <= '9'; at++)
		pid = pid < UINT32_MAX / 10 ? pid * 10 + (uint64_t)(*at - '0') : UINT32_MAX;
	if (end - close < 3 || close[1] != ' ')
		return false;
	const char *at = close + 3;
	for (size_t i = 0; i < NUMBERS; i++)
		if (!take_number(&at, end, &numbers[i]))
			return false;
	*stat = (struct proc_stat){
		.pid = (uint32_t)pid,
		.parent = (uint32_t)numbers[PARENT],
		.name = { open + 1, (size_t)(close - open - 1) },
		.state = close[2],
		.flags = (uint32_t)numbers[FLAGS],
		.threads = (uint32_t)numbers[THREADS],
		.user_ticks = numbers[USER_TICKS],
		.system_ticks = numbers[SYSTEM_TICKS],
		.children_user_ticks = numbers[CHILDREN_USER_TICKS],
		.children_system_ticks = numbers[CHILDREN_SYSTEM_TICKS],
		.start_ticks = numbers[START_TICKS],
	};
	return true;
}
