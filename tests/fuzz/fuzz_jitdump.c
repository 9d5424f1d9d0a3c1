#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/jit_timeline.h"
#include "symbol/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was loaded is found at its time, and again by the vaddr that it got. */
static void check_timeline(const struct jitdump *dump)
{
	struct jit_timeline timeline = { 0 };
	for (size_t i = 0; i < dump->count; i++) {
		const struct jit_function *function = &dump->functions[i];
		struct jit_loaded loaded = { .address = function->address,
					     .size_bytes = function->size_bytes,
					     .time_ns = function->loaded,
					     .name = function->name,
					     .ordinal = (uint32_t)i };
		size_t before = timeline.count;
		if (jit_timeline_add(&timeline, &loaded) < 0)
			break;
		if (timeline.count > before)
			assert(timeline.list[before].vaddr <= UINT64_MAX - (loaded.size_bytes - 1));
		const struct jit_loaded *found =
			jit_timeline_find(&timeline, function->address, function->loaded);
		if (!found) { /* passes the end of 48 bits */
			assert(loaded.size_bytes >
			       0xffffffffffff - (loaded.address & 0xffffffffffff));
			continue;
		}
		assert(function->address - found->address < found->size_bytes);
		assert(jit_timeline_at(&timeline,
				       found->vaddr + (function->address - found->address)));
	}
	jit_timeline_release(&timeline);
}

/* Any bytes: fed whole or in pieces, the same functions come out. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jitdump whole = { 0 };
	struct jitdump pieces = { 0 };
	size_t step = size ? data[size - 1] % 64 + 1 : 1;
	jitdump_feed(&whole, data, size, NULL);
	for (size_t at = 0; at < size; at += step)
		jitdump_feed(&pieces, data + at, size - at < step ? size - at : step, NULL);
	assert(whole.count == pieces.count && whole.bad == pieces.bad);
	for (size_t i = 0; i < whole.count; i++) {
		const struct jit_function *function = &whole.functions[i];
		assert(function->size_bytes > 0);
		assert(span_equal(function->name, pieces.functions[i].name));
		assert(span_equal(function->code, pieces.functions[i].code));
		assert(jitdump_find(&whole, function->address));
	}
	check_timeline(&whole);
	struct jitdump names = { .names_alone = true };
	jitdump_feed(&names, data, size, NULL);
	assert(names.count >= whole.count || names.failed);
	jitdump_release(&names);
	jitdump_release(&whole);
	jitdump_release(&pieces);
	return 0;
}
