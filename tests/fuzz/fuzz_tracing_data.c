#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "import/perf_data/tracing_data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct visited {
	const uint8_t *start, *end;
	size_t count;
};

static void check_inside(const struct visited *visited, struct span text)
{
	const uint8_t *bytes = text.data;
	assert(bytes >= visited->start && bytes <= visited->end);
	assert(text.size <= (size_t)(visited->end - bytes));
}

static int visit(void *context, uint64_t id, struct span system, struct span name)
{
	struct visited *visited = context;
	(void)id;
	assert(name.size > 0 && name.size <= 255 && system.size <= 255);
	check_inside(visited, system);
	check_inside(visited, name);
	visited->count++;
	return 0;
}

/* Any bytes: what is visited lies in them, and each has its size and its name there. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct visited visited = { data, data + size, 0 };
	tracing_data_read((struct span){ data, size }, visit, &visited);
	assert(visited.count <= size / 16);
	return 0;
}
