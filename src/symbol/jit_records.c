#include "symbol/jit_records.h"

#include <errno.h>
#include <stdbool.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "symbol/jit_timeline.h"
#include "symbol/jitdump.h"
#include "symbol/perf_map.h"
#include "symbol/record.h"

#define RECORD_BYTES 64u
#define LINE_BYTES   8u

static int add_function(struct record_set *out, uint64_t first, uint64_t size_bytes,
			struct span name)
{
	return record_set_add_function(out, first, first + size_bytes - 1,
				       &(struct function_record){ .name = name });
}

int jit_records_of_map(const struct perf_map *map, const uint64_t *addresses, size_t count,
		       struct record_set *out)
{
	int ret = 0;
	const struct jit_symbol *last = NULL;
	for (size_t i = 0; i < count && ret == 0; i++) {
		const struct jit_symbol *symbol = perf_map_find(map, addresses[i]);
		if (symbol && symbol != last)
			ret = add_function(out, symbol->start, symbol->size_bytes, symbol->name);
		last = symbol ? symbol : last;
	}
	return ret;
}

/* At `vaddr`, which is its address unless something else had that before. */
static int add_jit_function(struct record_set *out, const struct jit_function *function,
			    uint64_t vaddr)
{
	int ret = add_function(out, vaddr, function->size_bytes, function->name);
	uint64_t last = vaddr + (function->size_bytes - 1);
	CLEANUP(buffer_release) struct buffer content = { 0 };
	if (ret == 0 && function->code.size == function->size_bytes) {
		record_put_code(&content, function->code);
		ret = buffer_failed(&content)
			      ? -ENOMEM
			      : record_set_add(out, RECORD_CODE, vaddr, last,
					       (struct span){ content.data, content.size });
	}
	if (ret < 0 || !function->line_count)
		return ret;
	struct lines_writer writer;
	lines_writer_init(&writer, vaddr);
	for (size_t i = 0; i < function->line_count; i++) {
		uint64_t offset = function->lines[i].address - function->lines_address;
		if (offset < function->size_bytes)
			lines_writer_row(&writer, vaddr + offset, 0, function->lines[i].file,
					 function->lines[i].line);
	}
	buffer_empty(&content);
	ret = lines_writer_finish(&writer, &content);
	lines_writer_release(&writer);
	return ret < 0 ? ret
		       : record_set_add(out, RECORD_LINES, vaddr, last,
					(struct span){ content.data, content.size });
}

/* The function in the dump that it was read from, or NULL. */
static const struct jit_function *find_source(const struct jit_loaded *loaded,
					      const struct jit_sources *sources)
{
	if (loaded->ordinal == JIT_NO_ORDINAL || loaded->source >= sources->count)
		return NULL;
	const struct jitdump *dump = sources->dumps[loaded->source];
	const struct jit_function *function =
		dump && loaded->ordinal < dump->count ? &dump->functions[loaded->ordinal] : NULL;
	bool same = function && function->address == loaded->address &&
		    function->size_bytes == loaded->size_bytes;
	return same ? function : NULL;
}

int jit_record_add(const struct jit_loaded *loaded, const struct jit_sources *sources,
		   struct record_set *out)
{
	const struct jit_function *function = find_source(loaded, sources);
	return function ? add_jit_function(out, function, loaded->vaddr)
			: add_function(out, loaded->vaddr, loaded->size_bytes, loaded->name);
}

uint64_t jit_record_bytes(const struct jit_loaded *loaded, const struct jit_sources *sources)
{
	const struct jit_function *function = find_source(loaded, sources);
	return loaded->name.size + RECORD_BYTES +
	       (function ? function->code.size + function->line_count * LINE_BYTES : 0);
}

int jit_records_of_timeline(const struct jit_timeline *timeline, const struct jit_sources *sources,
			    const uint64_t *vaddrs, size_t count, struct record_set *out)
{
	uint64_t last = 0; /* of the function before */
	bool any = false;
	int ret = 0;
	for (size_t i = 0; i < count && ret == 0; i++) {
		const struct jit_loaded *loaded =
			any && vaddrs[i] <= last ? NULL : jit_timeline_at(timeline, vaddrs[i]);
		if (!loaded)
			continue;
		ret = jit_record_add(loaded, sources, out);
		last = loaded->vaddr + (loaded->size_bytes - 1);
		any = true;
	}
	return ret;
}

int jit_records_of_dump(struct jitdump *dump, const uint64_t *addresses, size_t count,
			struct record_set *out)
{
	int ret = 0;
	const struct jit_function *last = NULL;
	for (size_t i = 0; i < count && ret == 0; i++) {
		const struct jit_function *function = jitdump_find(dump, addresses[i]);
		if (function && function != last && function->size_bytes)
			ret = add_jit_function(out, function, function->address);
		last = function ? function : last;
	}
	return ret;
}
