#include "analyze/flow/cfg_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "isa/registers.h"

/* How deep expressions are followed; a place with several definitions counts as several levels. */
#define DEPTH_LIMIT	12
#define DEPTH_OF_CHOICE 4

static int walk_init(struct block_walk *walk, uint32_t blocks)
{
	walk->stamps = calloc(blocks + (size_t)1, sizeof(*walk->stamps));
	walk->queue = calloc(blocks + (size_t)1, sizeof(*walk->queue));
	return walk->stamps && walk->queue ? 0 : -ENOMEM;
}

int value_search_init(struct value_search *search, struct cfg_builder *builder)
{
	const struct cfg *cfg = builder->cfg;
	*search = (struct value_search){ .builder = builder };
	search->writes_of_block =
		calloc(cfg->graph.block_count + (size_t)1, sizeof(*search->writes_of_block));
	if (!search->writes_of_block ||
	    walk_init(&search->definitions, cfg->graph.block_count) < 0 ||
	    walk_init(&search->guards, cfg->graph.block_count) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < cfg->instruction_count; i++)
		search->writes_of_block[builder->block_of_instruction[i]] |= builder->writes[i];
	return 0;
}

void value_search_release(struct value_search *search)
{
	free(search->writes_of_block);
	free(search->definitions.stamps);
	free(search->definitions.queue);
	free(search->guards.stamps);
	free(search->guards.queue);
}

struct transfer value_transfer(const struct value_search *search, uint32_t instruction)
{
	const struct cfg_builder *builder = search->builder;
	const struct cfg_instruction *at = &builder->cfg->instructions[instruction];
	struct transfer transfer;
	transfer_read(builder->space->isa,
		      (struct span){ cfg_code(builder->cfg, at), at->length_bytes }, at->vaddr,
		      &transfer);
	return transfer;
}

uint8_t value_stack_pointer(const struct value_search *search)
{
	return search->builder->space->isa == ISA_AARCH64 ? (uint8_t)AARCH64_SP : (uint8_t)X86_RSP;
}

static struct location register_location(uint8_t reg)
{
	return (struct location){ .reg = reg };
}

bool value_memory_location(const struct transfer *transfer, struct location *out)
{
	const struct transfer_memory *memory = &transfer->memory;
	if (!transfer->has_memory || memory->base == TRANSFER_NO_REGISTER ||
	    memory->index != TRANSFER_NO_REGISTER)
		return false;
	*out = (struct location){ memory->base, true, memory->displacement };
	return true;
}

/* The bits of `writes` of instructions that may define the location. */
static uint64_t writes_that_define(const struct value_search *search,
				   const struct location *location)
{
	uint64_t own = UINT64_C(1) << location->reg;
	if (!location->in_memory)
		return own;
	uint64_t mask = TRANSFER_WRITES_MEMORY;
	if (location->reg != value_stack_pointer(search)) /* which pushes and pops move */
		mask |= own;
	if (!transfer_is_frame(search->builder->space->isa, location->reg))
		mask |= TRANSFER_CALLS;
	return mask;
}

bool value_same_location(const struct location *a, const struct location *b)
{
	return a->reg == b->reg && a->in_memory == b->in_memory &&
	       a->displacement == b->displacement;
}

static bool defines(const struct value_search *search, const struct location *location,
		    uint64_t mask, uint32_t instruction)
{
	uint64_t found = search->builder->writes[instruction] & mask;
	if (!found || found != TRANSFER_WRITES_MEMORY || !location->in_memory)
		return found != 0;
	struct transfer transfer = value_transfer(search, instruction);
	struct location stored;
	return value_memory_location(&transfer, &stored) && value_same_location(&stored, location);
}

bool value_take_steps(struct value_search *search, size_t count)
{
	uint64_t *left = &search->builder->steps_left;
	bool enough = *left >= count;
	*left = enough ? *left - count : 0;
	return enough;
}

/* The last definition in the block before `end`; CFG_NO_INSTRUCTION: none. */
static uint32_t last_definition(struct value_search *search, const struct location *location,
				uint64_t mask, uint32_t block, uint32_t end)
{
	if (!(search->writes_of_block[block] & mask))
		return CFG_NO_INSTRUCTION;
	uint32_t first = search->builder->cfg->blocks[block].first;
	for (uint32_t i = end; i-- > first;) {
		if (!value_take_steps(search, 1))
			return CFG_NO_INSTRUCTION;
		if (defines(search, location, mask, i))
			return i;
	}
	return CFG_NO_INSTRUCTION;
}

void block_walk_start(struct block_walk *walk)
{
	walk->stamp++;
	walk->head = walk->tail = 0;
}

void block_walk_add(struct block_walk *walk, uint32_t block)
{
	if (walk->stamps[block] == walk->stamp)
		return;
	walk->stamps[block] = walk->stamp;
	walk->queue[walk->tail++] = block;
}

/* Adds the blocks that lead to this one; returns whether the function starts here. */
static bool walk_against_flow(struct value_search *search, struct block_walk *walk, uint32_t block)
{
	const struct flow_graph *graph = &search->builder->cfg->graph;
	struct flow_ends into = flow_graph_into(graph, block);
	bool starts = false;
	value_take_steps(search, into.count);
	for (size_t i = 0; i < into.count; i++) {
		const struct flow_edge *edge = &graph->edges[into.list[i]];
		if (edge->from != FLOW_OUTSIDE)
			block_walk_add(walk, edge->from);
		else
			starts |= edge->kind == FLOW_ENTRY;
	}
	return starts;
}

static int compare_numbers(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

void value_definitions(struct value_search *search, const struct place *place,
		       struct definitions *out)
{
	const struct cfg *cfg = search->builder->cfg;
	uint64_t mask = writes_that_define(search, &place->location);
	out->count = 0;
	out->incomplete = out->outside = false;
	uint32_t found = last_definition(search, &place->location, mask, place->block, place->end);
	if (found != CFG_NO_INSTRUCTION) {
		out->list[out->count++] = found;
		return;
	}
	block_walk_start(&search->definitions);
	out->outside = walk_against_flow(search, &search->definitions, place->block);
	while (search->definitions.head < search->definitions.tail) {
		uint32_t block = search->definitions.queue[search->definitions.head++];
		const struct cfg_block *all = &cfg->blocks[block];
		if (!value_take_steps(search, 1)) {
			out->incomplete = true;
			return;
		}
		found = last_definition(search, &place->location, mask, block,
					all->first + all->count);
		if (found == CFG_NO_INSTRUCTION) {
			out->outside |= walk_against_flow(search, &search->definitions, block);
		} else if (out->count < DEFINITIONS_LIMIT) {
			out->list[out->count++] = found;
		} else {
			out->incomplete = true;
			return;
		}
	}
	out->incomplete |= search->builder->steps_left == 0;
	if (out->count > 1)
		qsort(out->list, out->count, sizeof(*out->list), compare_numbers);
}

static struct value variable_at(struct location location, uint32_t block, uint32_t end)
{
	return (struct value){ .kind = VALUE_VARIABLE,
			       .scale = 1,
			       .variable = { location, block, end } };
}

/* The location as the instruction leaves it. */
static struct value variable_behind(const struct value_search *search, struct location location,
				    uint32_t instruction)
{
	return variable_at(location, search->builder->block_of_instruction[instruction],
			   instruction + 1);
}

static struct value constant(uint64_t number)
{
	return (struct value){ .kind = VALUE_CONSTANT, .offset = number };
}

static struct value add_values(struct value a, struct value b)
{
	if (a.kind == VALUE_CONSTANT) {
		struct value swapped = a;
		a = b;
		b = swapped;
	}
	if (b.kind != VALUE_CONSTANT || a.kind == VALUE_UNKNOWN)
		return (struct value){ .kind = VALUE_UNKNOWN };
	a.offset += b.offset;
	a.is_guessed |= b.is_guessed;
	return a;
}

static struct value scale_value(struct value value, uint64_t by)
{
	value.offset *= by;
	value.scale *= by;
	return value;
}

static struct value value_of(struct value_search *search, const struct place *place,
			     unsigned depth);

static struct value register_before(struct value_search *search, uint8_t reg, uint32_t instruction,
				    unsigned depth)
{
	struct place place = { register_location(reg),
			       search->builder->block_of_instruction[instruction], instruction };
	return value_of(search, &place, depth);
}

static struct value address_of(struct value_search *search, const struct transfer_memory *memory,
			       uint32_t instruction, unsigned depth)
{
	uint32_t block = search->builder->block_of_instruction[instruction];
	struct value total = constant(memory->displacement);
	search->address_nesting++;
	if (memory->base != TRANSFER_NO_REGISTER) {
		struct value base = register_before(search, memory->base, instruction, depth);
		if (base.kind == VALUE_TABLE) /* a pointer out of a table is a variable */
			base = variable_at(register_location(memory->base), block, instruction);
		total = add_values(total, base);
	}
	if (memory->index != TRANSFER_NO_REGISTER) {
		struct value index = register_before(search, memory->index, instruction, depth);
		/* followed: constants, and variables that are at most scaled; a sum of two is
		 * unknown */
		bool plain = (index.kind == VALUE_CONSTANT && !index.is_guessed) ||
			     (index.kind == VALUE_VARIABLE && index.offset == 0);
		if (!plain && !(total.kind == VALUE_VARIABLE && index.kind == VALUE_VARIABLE))
			index = variable_at(register_location(memory->index), block, instruction);
		total = add_values(total, scale_value(index, memory->scale));
	}
	search->address_nesting--;
	return total;
}

/* A pointer in data, as of the GOT, as the loader leaves it. False: not known, or NULL. */
static bool read_pointer(const struct code_space *space, uint64_t vaddr, uint64_t *out)
{
	size_t size = space->isa == ISA_I386 ? 4 : 8;
	struct span bytes = space->bytes(space->context, vaddr, size);
	*out = 0;
	if (bytes.size < size)
		return false;
	memcpy(out, bytes.data, size);
	return *out != 0;
}

/* What a load from that address gives: at a constant address the pointer that data holds there; at
 * a variable times its size (or up to 64) plus a constant an entry of the table at that constant.
 */
static struct value loaded_from(struct value_search *search, const struct transfer *transfer,
				struct value address)
{
	const struct code_space *space = search->builder->space;
	size_t pointer_bytes = space->isa == ISA_I386 ? 4 : 8;
	uint64_t pointer;
	if (address.kind == VALUE_CONSTANT && address.is_guessed) /* an index that starts from 0 */
		return (struct value){ .kind = VALUE_UNKNOWN };
	if (address.kind == VALUE_CONSTANT && transfer->size_bytes == pointer_bytes &&
	    read_pointer(space, address.offset, &pointer))
		return constant(pointer);
	bool strides = address.scale == transfer->size_bytes ||
		       (address.scale > transfer->size_bytes && address.scale <= 64);
	bool single = address.kind == VALUE_CONSTANT && transfer->size_bytes < pointer_bytes;
	if ((address.kind != VALUE_VARIABLE || address.offset == 0 || !strides) && !single)
		return (struct value){ .kind = VALUE_UNKNOWN };
	return (struct value){ .kind = VALUE_TABLE,
			       .scale = 1,
			       .variable = address.variable,
			       .table = address.offset,
			       .stride_bytes = single ? transfer->size_bytes : address.scale,
			       .size_bytes = transfer->size_bytes,
			       .is_single = single,
			       .is_guessed = address.is_guessed,
			       .is_signed = transfer->is_signed };
}

static struct value load(struct value_search *search, const struct transfer *transfer,
			 uint32_t instruction, unsigned depth)
{
	if (search->address_nesting == 0 && transfer->memory.index != TRANSFER_NO_REGISTER)
		search->saw_index = true;
	return loaded_from(search, transfer,
			   address_of(search, &transfer->memory, instruction, depth));
}

/* to = from + constant. The sum of a variable and a constant stays a variable of its own, which
 * comparisons may be with. */
static struct value add_constant(struct value_search *search, const struct transfer *transfer,
				 uint32_t instruction, unsigned depth)
{
	struct value from = register_before(search, transfer->from, instruction, depth);
	return from.kind == VALUE_CONSTANT ? add_values(from, constant(transfer->constant))
					   : (struct value){ .kind = VALUE_UNKNOWN };
}

static struct value add_registers(struct value_search *search, const struct transfer *transfer,
				  uint32_t instruction, unsigned depth)
{
	if (search->address_nesting == 0)
		search->saw_index = true;
	struct value from = register_before(search, transfer->from, instruction, depth);
	struct value other = register_before(search, transfer->other, instruction, depth);
	if (other.kind == VALUE_TABLE && transfer->is_signed &&
	    transfer->size_bytes == other.size_bytes)
		other.is_signed = true;
	return add_values(from, scale_value(other, UINT64_C(1) << transfer->shift));
}

static struct value extended(struct value_search *search, const struct transfer *transfer,
			     uint32_t instruction, unsigned depth)
{
	struct value from = register_before(search, transfer->from, instruction, depth);
	if (from.kind == VALUE_TABLE && from.offset == 0 && from.scale == 1 &&
	    transfer->size_bytes >= from.size_bytes) {
		from.is_signed |= transfer->is_signed && transfer->size_bytes == from.size_bytes;
		return from;
	}
	return from.kind == VALUE_CONSTANT && from.offset <= INT8_MAX
		       ? from
		       : (struct value){ .kind = VALUE_UNKNOWN };
}

static struct value address_value(struct value_search *search, const struct transfer *transfer,
				  uint32_t instruction, unsigned depth)
{
	struct value address = address_of(search, &transfer->memory, instruction, depth);
	if (transfer->memory.index == TRANSFER_NO_REGISTER && address.kind != VALUE_CONSTANT)
		return (struct value){ .kind = VALUE_UNKNOWN }; /* as in add_constant() */
	return address;
}

static struct value stored(struct value_search *search, const struct transfer *transfer,
			   struct location location, uint32_t instruction, unsigned depth)
{
	struct location written;
	if (!location.in_memory || !value_memory_location(transfer, &written) ||
	    !value_same_location(&written, &location))
		return (struct value){ .kind = VALUE_UNKNOWN };
	return register_before(search, transfer->from, instruction, depth);
}

static struct value loaded_or_kept(struct value_search *search, const struct transfer *transfer,
				   uint32_t instruction, unsigned depth)
{
	struct value value = load(search, transfer, instruction, depth);
	struct location slot;
	if (value.kind != VALUE_UNKNOWN || !value_memory_location(transfer, &slot) ||
	    transfer->size_bytes < 4)
		return value;
	struct place place = { slot, search->builder->block_of_instruction[instruction],
			       instruction };
	return value_of(search, &place, depth);
}

/* What the instruction makes of the location. Where that is not understood it is a variable of its
 * own, from there on. */
static struct value defined(struct value_search *search, struct location location,
			    uint32_t instruction, unsigned depth)
{
	struct transfer transfer = value_transfer(search, instruction);
	struct value value = { .kind = VALUE_UNKNOWN };
	if (transfer.kind == TRANSFER_STORE)
		value = stored(search, &transfer, location, instruction, depth);
	else if (location.in_memory || transfer.to != location.reg)
		return variable_behind(search, location, instruction);
	switch (transfer.kind) {
	case TRANSFER_CONSTANT:
		return constant(transfer.constant);
	case TRANSFER_COPY:
		value = register_before(search, transfer.from, instruction, depth);
		break;
	case TRANSFER_EXTEND:
		value = extended(search, &transfer, instruction, depth);
		break;
	case TRANSFER_ADDRESS:
		value = address_value(search, &transfer, instruction, depth);
		break;
	case TRANSFER_LOAD:
		value = loaded_or_kept(search, &transfer, instruction, depth);
		break;
	case TRANSFER_ADD:
		value = transfer.other == TRANSFER_NO_REGISTER
				? add_constant(search, &transfer, instruction, depth)
				: add_registers(search, &transfer, instruction, depth);
		break;
	case TRANSFER_SHIFT:
		value = scale_value(register_before(search, transfer.from, instruction, depth),
				    UINT64_C(1) << transfer.shift);
		break;
	default:
		break;
	}
	return value.kind == VALUE_UNKNOWN ? variable_behind(search, location, instruction) : value;
}

static struct value value_of(struct value_search *search, const struct place *place, unsigned depth)
{
	struct value unknown = variable_at(place->location, place->block, place->end);
	if (depth >= DEPTH_LIMIT)
		return unknown;
	struct definitions definitions;
	value_definitions(search, place, &definitions);
	if (definitions.outside || definitions.incomplete || definitions.count == 0)
		return unknown;
	if (definitions.count == 1)
		return defined(search, place->location, definitions.list[0], depth + 1);
	/*
	 * A table's base often has other definitions only because a call is not known never to
	 * come back. Constants that agree are the value, guessed: the table's entries must confirm
	 * it.
	 */
	struct value all = unknown;
	bool guessed = false;
	for (size_t i = 0; i < definitions.count; i++) {
		struct value one = defined(search, place->location, definitions.list[i],
					   depth + DEPTH_OF_CHOICE);
		guessed |= one.kind != VALUE_CONSTANT || one.is_guessed;
		if (one.kind != VALUE_CONSTANT)
			continue;
		if (all.kind == VALUE_CONSTANT && one.offset != all.offset)
			return unknown;
		all = one;
	}
	all.is_guessed = guessed;
	return all;
}

struct value value_defined(struct value_search *search, struct location location,
			   uint32_t instruction)
{
	return defined(search, location, instruction, 0);
}

struct value value_loaded(struct value_search *search, const struct transfer *transfer,
			  uint32_t instruction)
{
	return load(search, transfer, instruction, 0);
}
