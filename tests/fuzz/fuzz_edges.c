/*
 * A stranger's file as a process has mapped it, and a sample in it that is interpreted
 * forward. The last 16 bytes: where in the file the sample is (2), what its registers hold (8),
 * where the first mapping begins and ends, in pages (1 each); the rest is the file, whose end is
 * memory that came with the sample as well, and a record of such memory.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/edge_memory.h"
#include "collect/edges.h"
#include "isa/interpret.h"
#include "machine/perf_record.h"

#define BASE   UINT64_C(0x7f0000000000)
#define PAGE   4096u
#define CHOICE 16u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct span code(void *space, uint64_t address)
{
	return edge_space_code(space, address);
}

static bool read_only(void *space, uint64_t address, unsigned bytes, uint64_t *value)
{
	return edge_space_read(space, address, bytes, value);
}

static void edge(void *space, uint64_t from, uint64_t to, enum interpret_edge kind)
{
	(void)kind;
	uint32_t file;
	uint64_t vaddr;
	assert(edge_space_place(space, from, &file, &vaddr) && file == 1);
	edge_space_place(space, to, &file, &vaddr);
}

static void interpret(struct edge_space *space, enum isa isa, const uint8_t *choice, size_t size)
{
	struct interpreter *interpreter;
	struct interpret_start start = { .registers_known = UINT32_MAX, .flags_known = true };
	struct interpret_result result;
	uint64_t held;
	if (interpreter_new(isa, &interpreter, NULL) < 0)
		return;
	memcpy(&held, choice + 2, sizeof(held));
	for (unsigned i = 0; i < INTERPRET_REGISTERS; i++)
		start.registers[i] = i % 2 ? BASE + (held >> i) % (size + 1) : held;
	start.pc = BASE + ((unsigned)choice[0] << 8 | choice[1]) % (size + 1);
	start.stack = (struct span){ choice, 8 };
	size_t tail = size < SAMPLE_MEMORY_BYTES ? size : SAMPLE_MEMORY_BYTES;
	const struct interpret_block blocks[] = {
		{ held & ~UINT64_C(63), { choice - tail, tail } },
		{ UINT64_MAX - 63, { choice - tail, tail < 64 ? tail : 64 } },
	};
	start.blocks = blocks;
	start.block_count = 2;
	const struct interpret_callbacks callbacks = { space, code, read_only, edge };
	interpreter_run(interpreter, &start, &callbacks, INTERPRET_LIMIT_USUAL, &result);
	assert(result.instructions <= INTERPRET_LIMIT_USUAL && result.end < INTERPRET_ENDS);
	interpreter_free(interpreter);
}

static void try_as(enum isa isa, struct span file, const uint8_t *choice)
{
	struct edge_memory memory = { .isa = isa };
	if (edge_memory_set_bytes(&memory, 1, file, NULL) < 0) {
		edge_memory_release(&memory);
		return;
	}
	uint64_t split = BASE + (uint64_t)choice[11] * PAGE;
	const struct mapping mappings[] = {
		{ BASE + (uint64_t)choice[10] * PAGE, split, (uint64_t)choice[10] * PAGE, 1 },
		{ split, BASE + file.size, split - BASE, 1 },
	};
	struct edge_space space;
	if (edge_space_init(&space, &memory, mappings, 2) < 0)
		abort();
	for (uint64_t at = 0; at < file.size + 64; at += 24) {
		uint64_t value;
		edge_space_read(&space, BASE + at, 8, &value);
		edge_space_read(&space, BASE + at + 3, 4, &value);
		assert(edge_space_code(&space, BASE + at).size <= file.size);
	}
	interpret(&space, isa, choice, file.size);
	edge_space_release(&space);
	edge_memory_release(&memory);
}

static void read_memory_record(struct span bytes)
{
	const struct perf_layout layout = { .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
							   PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
							   PERF_SAMPLE_RAW };
	struct perf_record sample = { .type = PERF_RECORD_SAMPLE };
	struct perf_record record;
	if (perf_record_decode(bytes.data, bytes.size, &layout, &record) >= 0 &&
	    record.type == PERF_RECORD_SAMPLE)
		sample = record;
	struct span blocks = edges_blocks(bytes, &layout, &sample);
	assert(blocks.size <= bytes.size && blocks.size % sizeof(struct sample_memory_block) == 0);
	for (size_t i = 0; i < blocks.size; i++) {
		const volatile uint8_t *byte = (const uint8_t *)blocks.data + i;
		(void)*byte;
	}
}

/* Any bytes: nothing is read outside of them, and a path ends. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < CHOICE)
		return 0;
	struct span file = { data, size - CHOICE };
	try_as(ISA_X86_64, file, data + file.size);
	try_as(ISA_AARCH64, file, data + file.size);
	read_memory_record(file);
	return 0;
}
