#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "isa/interpret_private.h"

#define CODE_AT	    UINT64_C(0x10000)
#define STACK_BYTES 16
#define HEAD_BYTES  (8 + STACK_BYTES)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
	const uint8_t *code;
	size_t size, half; /* the code is given in two pieces */
	unsigned edges;
	uint64_t from, to; /* of the last edge */
};

static struct span code_of(void *context, uint64_t address)
{
	const struct world *world = context;
	uint64_t offset = address - CODE_AT;
	if (offset >= world->size)
		return (struct span){ NULL, 0 };
	size_t end = offset < world->half ? world->half : world->size;
	return (struct span){ world->code + offset, end - offset };
}

/* The code is all the read-only memory there is. */
static bool read_only(void *context, uint64_t address, unsigned bytes, uint64_t *value)
{
	const struct world *world = context;
	uint64_t offset = address - CODE_AT;
	assert(bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
	if (offset >= world->size || bytes > world->size - offset)
		return false;
	*value = 0;
	memcpy(value, world->code + offset, bytes);
	return true;
}

static void keep_edge(void *context, uint64_t from, uint64_t to, enum interpret_edge kind)
{
	struct world *world = context;
	assert(kind <= INTERPRET_RETURN);
	assert(from - CODE_AT < world->size);
	world->edges++;
	world->from = from;
	world->to = to;
}

static void check_bits(struct known_bits bits)
{
	assert(!(bits.value & ~bits.known));
}

static void check_state(const struct interpreter *interpreter)
{
	for (unsigned r = 0; r < INTERPRET_REGISTERS; r++) {
		check_bits(interpreter->general[r]);
		check_bits(interpreter->vectors[r][0]);
		check_bits(interpreter->vectors[r][1]);
	}
	for (unsigned i = 0; i < MEMORY_CELLS; i++)
		check_bits(interpreter->memory.cells[i].bits);
}

/*
 * Byte 0: the instruction set, and whether flags are known; 1: the limit; 2 to 5: which
 * registers are known; 6: what they are; 7: where the code is cut; then the stack; then
 * code. Paths end, within the limit, and in two parts the same way.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum isa isas[] = { ISA_X86_64, ISA_AARCH64 };
	static struct interpreter *interpreters[2];
	if (size <= HEAD_BYTES)
		return 0;
	unsigned which = data[0] & 1;
	if (!interpreters[which] && interpreter_new(isas[which], &interpreters[which], NULL) < 0)
		abort();
	struct world world = { .code = data + HEAD_BYTES, .size = size - HEAD_BYTES };
	world.half = world.size * data[7] / 256;
	struct interpret_start start = { .pc = CODE_AT,
					 .flags_known = data[0] & 2,
					 .flags = (uint64_t)data[0] << 24 | data[6],
					 .stack = { data + 8, STACK_BYTES } };
	memcpy(&start.registers_known, data + 2, sizeof(start.registers_known));
	for (unsigned r = 0; r < INTERPRET_REGISTERS; r++)
		start.registers[r] = data[6] >> r % 8 & 1 ? CODE_AT + r * 8 : (uint64_t)data[6] - r;
	const struct interpret_callbacks callbacks = { &world, code_of, read_only, keep_edge };
	struct interpret_result first, second;
	interpreter_run(interpreters[which], &start, &callbacks, data[1], &first);
	check_state(interpreters[which]);
	assert(first.instructions <= data[1] && first.outcomes <= first.instructions);
	assert(first.outcomes == world.edges && first.end < INTERPRET_ENDS);
	assert((first.end == INTERPRET_END_LIMIT) == (first.instructions == data[1]));
	interpreter_run(interpreters[which], &start, &callbacks, data[1] / 2, &second);
	if (second.end == INTERPRET_END_LIMIT)
		interpreter_go_on(interpreters[which], data[1]);
	assert(first.pc == second.pc && first.end == second.end);
	assert(first.instructions == second.instructions && first.outcomes == second.outcomes);
	return 0;
}
