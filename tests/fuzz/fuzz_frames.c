#include <assert.h>
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "image/elf_file.h"
#include "unwind/frame_pool.h"
#include "unwind/frame_rules.h"
#include "unwind/stack_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LOADED 0x400000u
#define STACK  0x7ffe0000u
#define FRAMES 64

struct walked {
	struct frame_pool *pool;
	const struct frame_pool_entry *entry;
};

static void look_up(void *context, uint64_t address, struct walk_place *place)
{
	const struct walked *walked = context;
	place->may_guess = place->has_rules = true;
	if (address - LOADED < (1u << 20))
		place->rule =
			frame_pool_find(walked->pool, &walked->entry->place, address - LOADED);
	else
		place->end = WALK_NO_MAPPING;
}

/* Any stack and any registers: the first frame is the place itself, and the walk ends. Small words
 * are addresses of code and stack, which would not be guessed. */
static void walk(struct frame_pool *pool, const struct frame_pool_entry *entry, uint16_t machine,
		 const uint8_t *data, size_t size)
{
	struct walked walked = { pool, entry };
	uint64_t registers[33], words[256];
	struct walk_frame frames[FRAMES];
	size_t count, used = 0;
	for (size_t i = 0; i < 256; i++) {
		uint16_t small = 0;
		if (size >= 2)
			memcpy(&small, data + (used += 2) % (size - 1), 2);
		words[i] = small & 1 ? LOADED + small : STACK + (small & 0xff8);
	}
	for (size_t i = 0; i < 33; i++)
		registers[i] = words[i];
	registers[machine == EM_X86_64 ? 7 : 31] = STACK;
	const struct stack_walk wanted = { .machine = machine,
					   .narrow = machine == EM_X86_64 && size % 7 == 0,
					   .registers = registers,
					   .mask = UINT64_MAX,
					   .stack = { words, sizeof(words) },
					   .look_up = look_up,
					   .context = &walked };
	enum walk_end end = stack_walk_run(&wanted, frames, FRAMES, &count);
	assert(end > WALK_GOES_ON && end < WALK_ENDS && count <= FRAMES);
	assert(count == 0 || !frames[0].returns);
}

/* An ELF file: what the pool finds at any place is what the rules say there. */
static void try_file(struct frame_pool *pool, const uint8_t *data, size_t size)
{
	struct elf_file file;
	struct frame_rules rules;
	struct buffer bytes = { 0 };
	struct frame_table table;
	struct frame_pool_entry entry;
	if (elf_file_parse(data, size, &file, NULL) < 0)
		return;
	if (frame_rules_read(&file, &rules) < 0) {
		elf_file_release(&file);
		return;
	}
	if (frame_table_put(&rules, file.machine, &bytes) == 0) {
		assert(frame_table_read((struct span){ bytes.data, bytes.size }, &table));
		if (frame_pool_add(pool, &table, &entry) == 0) {
			for (size_t i = 0; i < rules.count; i++) {
				uint64_t at = rules.rows[i].offset;
				frame_rule rule = frame_pool_find(pool, &entry.place, at);
				assert(i == 0 || at > rules.rows[i - 1].offset);
				/* pages with too many rows are left out */
				assert(rule == frame_rules_find(&rules, at) ||
				       (rule == FRAME_CFA_NONE && rules.count > 60000));
			}
			walk(pool, &entry, file.machine == EM_AARCH64 ? EM_AARCH64 : EM_X86_64,
			     data, size);
		}
	}
	buffer_release(&bytes);
	frame_rules_release(&rules);
	elf_file_release(&file);
}

/* A table: whatever it says, lookups stay in the pool. */
static void try_table(struct frame_pool *pool, const uint8_t *data, size_t size)
{
	struct frame_table table;
	struct frame_pool_entry entry;
	if (!frame_table_read((struct span){ data, size }, &table) ||
	    frame_pool_add(pool, &table, &entry) < 0)
		return;
	uint64_t first = (uint64_t)table.head.first_page << FRAME_PAGE_BITS;
	for (uint64_t at = 0; at < 4096; at++)
		frame_pool_find(pool, &entry.place, first + at * 61);
	walk(pool, &entry, table.head.machine == EM_AARCH64 ? EM_AARCH64 : EM_X86_64, data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct frame_pool pool; /* one for all inputs: what earlier ones left is as hostile */
	if (!pool.options.slabs)
		frame_pool_init(&pool, &(struct frame_pool_options){ .slabs = 2 });
	try_file(&pool, data, size);
	try_table(&pool, data, size);
	return 0;
}
