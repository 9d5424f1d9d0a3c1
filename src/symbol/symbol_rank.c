#include "symbol/symbol_rank.h"

static size_t leading_underscores(struct span name)
{
	const char *text = name.data;
	size_t count = 0;
	while (count < name.size && text[count] == '_')
		count++;
	return count;
}

int symbol_rank_names(struct span a, struct span b)
{
	size_t under_a = leading_underscores(a);
	size_t under_b = leading_underscores(b);
	if (under_a != under_b)
		return under_a < under_b ? -1 : 1;
	if (a.size != b.size)
		return a.size > b.size ? -1 : 1;
	return span_compare(a, b);
}
