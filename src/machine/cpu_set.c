#include "machine/cpu_set.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* A decimal number below CPU_SET_LIMIT at text[*at]; false without one. */
static bool take_number(const char *text, size_t *at, size_t *number)
{
	size_t value = 0;
	size_t start = *at;
	while (text[*at] >= '0' && text[*at] <= '9') {
		value = value * 10 + (size_t)(text[*at] - '0');
		if (value >= CPU_SET_LIMIT)
			return false;
		(*at)++;
	}
	*number = value;
	return *at > start;
}

/* "FIRST", "FIRST-LAST" or "FIRST-LAST:USED/STEP". */
static bool take_range(const char *text, size_t *at, struct cpu_set *set)
{
	size_t first, last, used = 1, step = 1;
	if (!take_number(text, at, &first))
		return false;
	last = first;
	if (text[*at] == '-') {
		(*at)++;
		if (!take_number(text, at, &last) || last < first)
			return false;
		if (text[*at] == ':') {
			(*at)++;
			if (!take_number(text, at, &used) || text[*at] != '/')
				return false;
			(*at)++;
			if (!take_number(text, at, &step) || step == 0 || used > step)
				return false;
		}
	}
	for (size_t cpu = first; cpu <= last; cpu++)
		if ((cpu - first) % step < used)
			cpu_set_add(set, cpu);
	return true;
}

int cpu_set_parse(const char *text, struct cpu_set *set, struct error *err)
{
	size_t at = 0;
	memset(set, 0, sizeof(*set));
	if (text[strspn(text, " \n")] == 0)
		return 0;
	for (;;) {
		if (!take_range(text, &at, set))
			break;
		if (text[at] == ',') {
			at++;
			continue;
		}
		if (text[at + strspn(text + at, " \n")] == 0)
			return 0;
		break;
	}
	memset(set, 0, sizeof(*set));
	return error_set(
		err, -EINVAL,
		"CPU list '%.*s' does not read at character %zu: it is written as '0-3,8', "
		"with numbers below %d",
		(int)strcspn(text, "\n"), text, at + 1, CPU_SET_LIMIT);
}

size_t cpu_set_format(const struct cpu_set *set, char *text, size_t size)
{
	size_t length = 0;
	if (size)
		text[0] = 0;
	for (size_t first = cpu_set_next(set, 0); first < CPU_SET_LIMIT;) {
		size_t last = first;
		while (cpu_set_has(set, last + 1))
			last++;
		size_t room = length < size ? size - length : 0;
		const char *comma = length ? "," : "";
		int put = last == first ? snprintf(room ? text + length : NULL, room, "%s%zu",
						   comma, first)
					: snprintf(room ? text + length : NULL, room, "%s%zu-%zu",
						   comma, first, last);
		length += (size_t)put;
		first = cpu_set_next(set, last + 1);
	}
	return length;
}

size_t cpu_set_count(const struct cpu_set *set)
{
	size_t count = 0;
	for (size_t i = 0; i < CPU_SET_LIMIT / 64; i++)
		count += (size_t)__builtin_popcountll(set->words[i]);
	return count;
}

bool cpu_set_empty(const struct cpu_set *set)
{
	return cpu_set_count(set) == 0;
}

bool cpu_set_equal(const struct cpu_set *a, const struct cpu_set *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

size_t cpu_set_next(const struct cpu_set *set, size_t from)
{
	while (from < CPU_SET_LIMIT) {
		uint64_t word = set->words[from / 64] >> (from % 64);
		if (word)
			return from + (size_t)__builtin_ctzll(word);
		from = (from / 64 + 1) * 64;
	}
	return CPU_SET_LIMIT;
}
