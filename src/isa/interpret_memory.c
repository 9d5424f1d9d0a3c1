#include <string.h>

#include "isa/interpret_private.h"

void memory_begin(struct memory *memory, uint64_t stack_address,
		  const struct interpret_start *start, const struct interpret_callbacks *callbacks)
{
	if (++memory->path == 0) { /* after 2^32 paths old cells would look new */
		memset(memory->cells, 0, sizeof(memory->cells));
		memory->path = 1;
	}
	memory->start = start;
	memory->callbacks = callbacks;
	memory->stack_address = stack_address;
	memory->cells_used = 0;
	memory->ranges_used = 0;
	memory->last_block = 0;
	memory->lost = false;
}

static size_t slot_of(uint64_t address)
{
	return (size_t)((address >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 32) % MEMORY_CELLS;
}

static struct memory_cell *find(struct memory *memory, uint64_t address)
{
	if (!memory->cells_used)
		return NULL;
	for (size_t slot = slot_of(address);; slot = (slot + 1) % MEMORY_CELLS) {
		struct memory_cell *cell = &memory->cells[slot];
		if (cell->path != memory->path)
			return NULL;
		if (cell->address == address)
			return cell;
	}
}

/* NULL: too many are in use; half of them stay free, so that find() ends. */
static struct memory_cell *find_or_add(struct memory *memory, uint64_t address)
{
	struct memory_cell *found = find(memory, address);
	if (found || memory->cells_used >= MEMORY_CELLS / 2)
		return found;
	size_t slot = slot_of(address);
	while (memory->cells[slot].path == memory->path)
		slot = (slot + 1) % MEMORY_CELLS;
	memory->cells_used++;
	memory->cells[slot] = (struct memory_cell){ .address = address, .path = memory->path };
	return &memory->cells[slot];
}

static bool is_forgotten(const struct memory *memory, uint64_t address)
{
	for (unsigned i = 0; i < memory->ranges_used; i++)
		if (address - memory->ranges[i].address < memory->ranges[i].bytes)
			return true;
	return memory->lost;
}

/* Loads read neighbours: the block of the last one is tried first. */
static bool find_in_blocks(struct memory *memory, uint64_t address, uint8_t *byte)
{
	const struct interpret_start *start = memory->start;
	unsigned at = memory->last_block;
	for (unsigned i = 0; i < start->block_count; i++) {
		const struct interpret_block *block = &start->blocks[at];
		uint64_t offset = address - block->address;
		if (offset < block->bytes.size) {
			memory->last_block = at;
			*byte = ((const uint8_t *)block->bytes.data)[offset];
			return true;
		}
		at = at + 1 < start->block_count ? at + 1 : 0;
	}
	return false;
}

/* A byte that the start of the path has, or that was stored since. False: read_only() may have it.
 */
static bool load_byte(struct memory *memory, uint64_t address, struct known_bits *out)
{
	const struct memory_cell *cell = memory->lost ? NULL : find(memory, address & ~UINT64_C(7));
	unsigned at = address & 7;
	if (cell && cell->present >> at & 1) {
		*out = (struct known_bits){ cell->bits.value >> (8 * at) & 0xff,
					    cell->bits.known >> (8 * at) & 0xff };
		return true;
	}
	*out = bits_unknown();
	if (is_forgotten(memory, address))
		return !memory->lost;
	uint64_t offset = address - memory->stack_address;
	const struct span *stack = &memory->start->stack;
	uint8_t byte;
	if (offset < stack->size)
		byte = ((const uint8_t *)stack->data)[offset];
	else if (!find_in_blocks(memory, address, &byte))
		return false;
	*out = (struct known_bits){ byte, 0xff };
	return true;
}

static bool load_read_only(const struct memory *memory, uint64_t address, unsigned bytes,
			   uint64_t *value)
{
	const struct interpret_callbacks *callbacks = memory->callbacks;
	return callbacks->read_only &&
	       callbacks->read_only(callbacks->context, address, bytes, value);
}

struct known_bits memory_load(struct memory *memory, uint64_t address, unsigned bytes)
{
	struct known_bits result = { 0, 0 };
	unsigned missing = 0;
	for (unsigned i = 0; i < bytes; i++) {
		struct known_bits byte;
		if (!load_byte(memory, address + i, &byte))
			missing |= 1u << i;
		result.value |= byte.value << (8 * i);
		result.known |= byte.known << (8 * i);
	}
	uint64_t value;
	bool whole = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
	if (whole && missing == (1u << bytes) - 1) {
		if (load_read_only(memory, address, bytes, &value))
			result = (struct known_bits){ value & bits_mask(8 * bytes),
						      bits_mask(8 * bytes) };
		return result;
	}
	for (unsigned i = 0; missing >> i; i++)
		if (missing >> i & 1 && load_read_only(memory, address + i, 1, &value)) {
			result.value |= (value & 0xff) << (8 * i);
			result.known |= UINT64_C(0xff) << (8 * i);
		}
	return result;
}

void memory_store(struct memory *memory, uint64_t address, unsigned bytes, struct known_bits bits)
{
	for (unsigned done = 0; done < bytes;) {
		unsigned at = (address + done) & 7;
		unsigned count = bytes - done < 8 - at ? bytes - done : 8 - at;
		struct memory_cell *cell = find_or_add(memory, (address + done) & ~UINT64_C(7));
		if (!cell) {
			memory->lost = true;
			return;
		}
		uint64_t mask = bits_mask(8 * count) << (8 * at);
		cell->bits.value =
			(cell->bits.value & ~mask) | (bits.value >> (8 * done) << (8 * at) & mask);
		cell->bits.known =
			(cell->bits.known & ~mask) | (bits.known >> (8 * done) << (8 * at) & mask);
		cell->present |= (uint8_t)(((1u << count) - 1) << at);
		done += count;
	}
}

void memory_forget(struct memory *memory, uint64_t address, uint64_t bytes)
{
	if (memory->ranges_used == MEMORY_RANGES) {
		memory->lost = true;
		return;
	}
	memory->ranges[memory->ranges_used].address = address;
	memory->ranges[memory->ranges_used++].bytes = bytes;
	for (size_t i = 0; i < MEMORY_CELLS && memory->cells_used; i++) {
		struct memory_cell *cell = &memory->cells[i];
		if (cell->path != memory->path)
			continue;
		for (unsigned at = 0; at < 8; at++)
			if (cell->address + at - address < bytes) {
				cell->present &= (uint8_t) ~(1u << at);
			}
	}
}
