#include "interpret_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static struct span code_of(void *context, uint64_t address)
{
	struct world *world = context;
	uint64_t offset = address - CODE_AT;
	if (offset >= world->code_size)
		return (struct span){ NULL, 0 };
	return (struct span){ world->code + offset, world->code_size - offset };
}

static bool read_only(void *context, uint64_t address, unsigned bytes, uint64_t *value)
{
	struct world *world = context;
	uint64_t offset = address - TABLE_AT;
	if (offset >= sizeof(world->table) || bytes > sizeof(world->table) - offset)
		return false;
	*value = 0;
	memcpy(value, world->table + offset, bytes);
	return true;
}

static void keep_edge(void *context, uint64_t from, uint64_t to, enum interpret_edge kind)
{
	struct world *world = context;
	assert_true(world->edge_count < EDGES);
	world->edges[world->edge_count].from = from - CODE_AT;
	world->edges[world->edge_count].to = to - CODE_AT;
	world->edges[world->edge_count++].kind = kind;
}

void world_know(struct world *world, unsigned reg, uint64_t value)
{
	world->start.registers[reg] = value;
	world->start.registers_known |= 1u << reg;
}

struct world world_of(enum isa isa, const void *code, size_t size)
{
	struct world world = { .code_size = size };
	assert_int_equal(interpreter_new(isa, &world.interpreter, NULL), 0);
	memcpy(world.code, code, size);
	world.start.pc = CODE_AT;
	world_know(&world, isa == ISA_AARCH64 ? AARCH64_SP : X86_RSP, STACK_AT);
	return world;
}

void world_run(struct world *world, unsigned limit)
{
	world->callbacks = (struct interpret_callbacks){ world, code_of, read_only, keep_edge };
	world->edge_count = 0;
	interpreter_run(world->interpreter, &world->start, &world->callbacks, limit,
			&world->result);
	assert_int_equal(world->result.outcomes, world->edge_count);
}

void world_go_on(struct world *world, unsigned limit)
{
	interpreter_go_on(world->interpreter, limit);
	assert_int_equal(world->result.outcomes, world->edge_count);
}

void expect_edge(const struct world *world, size_t i, uint64_t from, uint64_t to,
		 enum interpret_edge kind)
{
	assert_true(i < world->edge_count);
	assert_int_equal(world->edges[i].from, from);
	assert_int_equal(world->edges[i].to, to);
	assert_int_equal(world->edges[i].kind, kind);
}

void expect_end(const struct world *world, uint64_t at, enum interpret_end end)
{
	assert_string_equal(interpret_end_name(world->result.end), interpret_end_name(end));
	assert_int_equal(world->result.pc - CODE_AT, at);
}
