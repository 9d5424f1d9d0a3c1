/*
 * Where indirect jumps go. A jump's target is worked out from the code before it
 * (cfg_values.h); when that is an entry of a table, the table is read:
 *
 *	target = offset + scale * entry[i],  entry at table + i * stride
 *
 * which covers absolute tables (offset 0), tables of differences to a base, and those of AArch64,
 * bytes and halves in units of instructions. Without a limit for the index, a table ends at the
 * first entry that is no instruction of the function, and before another table starts.
 *
 * A jump whose table is not found may go to every place of the function that data
 * holds the address of (computed gotos), if there are such; else it is a tail call, when what
 * it reads is no array; else its targets are missing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/flow/cfg_values.h"
#include "base/array.h"

/* Most entries of a table, with a limit for the index and without. gcc's own largest switch has
 * some 4,600, its tables of instructions fewer. */
#define BOUNDED_LIMIT	16384
#define UNBOUNDED_LIMIT 4096
/* A table without a limit ends before so many entries in a row that are other code. */
#define FOREIGN_RUN 8
/* Most targets of one round: the edges that indirect jumps may add. */
#define TARGETS		       (UINT64_C(1) << 18)
#define TARGETS_AN_INSTRUCTION 4

struct jump_table {
	uint32_t jump;
	struct value value;
	uint64_t limit; /* of entries; 0: not known */
	uint64_t stop;	/* vaddr that entries do not pass: where another table starts */
};

struct resolver {
	struct cfg_builder *builder;
	struct value_search search;
	struct jump_table *tables;
	size_t table_count, table_capacity;
	struct cfg_targets pointers; /* all places that data holds the address of */
	struct cfg_targets *found;   /* of each jump, in this round */
	uint8_t *old_fates;
};

int cfg_targets_add(struct cfg_targets *targets, uint32_t instruction)
{
	if (array_reserve(&targets->list, &targets->capacity, targets->count,
			  sizeof(*targets->list)) < 0)
		return -ENOMEM;
	targets->list[targets->count++] = instruction;
	return 0;
}

static int compare_numbers(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

void cfg_targets_settle(struct cfg_targets *targets)
{
	size_t kept = 0;
	if (targets->count > 1)
		qsort(targets->list, targets->count, sizeof(*targets->list), compare_numbers);
	for (size_t i = 0; i < targets->count; i++)
		if (kept == 0 || targets->list[kept - 1] != targets->list[i])
			targets->list[kept++] = targets->list[i];
	targets->count = kept;
}

static int collect_pointers(struct resolver *resolver)
{
	const struct cfg_builder *builder = resolver->builder;
	for (uint32_t part = 0; part < builder->cfg->part_count; part++) {
		for (size_t i = 0; i < builder->entries[part].count; i++) {
			const struct code_entry *entry = &builder->entries[part].list[i];
			uint32_t at =
				entry->kind == CODE_ENTRY_POINTER
					? cfg_instruction_starting_at(builder->cfg, entry->vaddr)
					: CFG_NO_INSTRUCTION;
			if (at != CFG_NO_INSTRUCTION &&
			    cfg_targets_add(&resolver->pointers, at) < 0)
				return -ENOMEM;
		}
	}
	cfg_targets_settle(&resolver->pointers);
	return 0;
}

/* Counts targets that a round adds; false: too many. */
static bool take_targets(struct cfg_builder *builder, size_t count)
{
	if (count > builder->targets_left)
		return false;
	builder->targets_left -= count;
	return true;
}

static void give_up(struct cfg_jump *jump, enum cfg_missing missing)
{
	jump->fate = CFG_JUMP_UNKNOWN;
	if (jump->missing < missing)
		jump->missing = missing;
}

/* Notes one value of a jump's target. *understood: it is a constant or a table's entry. 0 or
 * -ENOMEM.
 */
static int note_value(struct resolver *resolver, uint32_t number, const struct value *value,
		      uint32_t block, bool *understood)
{
	struct cfg_builder *builder = resolver->builder;
	struct cfg_jump *jump = &builder->cfg->jumps[number];
	*understood = true;
	if (value->kind == VALUE_CONSTANT && !value->is_guessed) {
		uint32_t target = cfg_instruction_starting_at(builder->cfg, value->offset);
		if (target == CFG_NO_INSTRUCTION) {
			resolver->found[number].leaves = true;
			return 0;
		}
		return take_targets(builder, 1) ? cfg_targets_add(&resolver->found[number], target)
						: (give_up(jump, CFG_MISSING_EFFORT), 0);
	}
	if (value->kind != VALUE_TABLE) {
		*understood = false;
		return 0;
	}
	if (array_reserve(&resolver->tables, &resolver->table_capacity, resolver->table_count,
			  sizeof(*resolver->tables)) < 0)
		return -ENOMEM;
	struct jump_table *table = &resolver->tables[resolver->table_count++];
	*table = (struct jump_table){ number, *value,
				      value_limit(&resolver->search, &value->variable, block), 0 };
	if (value->is_single)
		table->limit = 1;
	if (table->limit > BOUNDED_LIMIT) /* of a type's range, not of a switch */
		table->limit = 0;
	jump->fate = CFG_JUMP_TABLE;
	jump->table = value->table;
	jump->is_bounded &= table->limit != 0;
	return 0;
}

/* The stack pointer is moved in the block before its jump, so the jump is likely to leave the
 * function. */
static bool follows_epilogue(const struct resolver *resolver, uint32_t instruction)
{
	const struct cfg_builder *builder = resolver->builder;
	uint8_t sp = value_stack_pointer(&resolver->search);
	uint32_t block = builder->block_of_instruction[instruction];
	for (uint32_t i = instruction; i-- > builder->cfg->blocks[block].first;)
		if ((builder->writes[i] & UINT64_C(1) << sp) &&
		    !(builder->writes[i] & TRANSFER_WRITES_MEMORY))
			return true;
	return false;
}

/* Decides what becomes of a jump whose table was not found. 0 or -ENOMEM. */
static int settle_unknown(struct resolver *resolver, uint32_t number, enum cfg_missing missing)
{
	struct cfg_builder *builder = resolver->builder;
	struct cfg_jump *jump = &builder->cfg->jumps[number];
	bool through_slot = builder->cfg->instructions[jump->instruction].through_slot;
	bool spent = builder->steps_left == 0;
	bool leaves = through_slot || follows_epilogue(resolver, jump->instruction) ||
		      (!resolver->search.saw_index && !spent && resolver->pointers.count == 0);
	if (leaves) {
		jump->fate = CFG_JUMP_TAIL;
		return 0;
	}
	if (resolver->pointers.count == 0) {
		give_up(jump, spent ? CFG_MISSING_EFFORT : missing);
		return 0;
	}
	if (!take_targets(builder, resolver->pointers.count)) {
		give_up(jump, CFG_MISSING_EFFORT);
		return 0;
	}
	jump->fate = CFG_JUMP_POINTERS;
	for (size_t i = 0; i < resolver->pointers.count; i++)
		if (cfg_targets_add(&resolver->found[number], resolver->pointers.list[i]) < 0)
			return -ENOMEM;
	return 0;
}

static int note_definitions(struct resolver *resolver, uint32_t number,
			    const struct transfer *transfer, bool *understood)
{
	struct cfg_builder *builder = resolver->builder;
	uint32_t at = builder->cfg->jumps[number].instruction;
	uint32_t block = builder->block_of_instruction[at];
	struct location target = { .reg = transfer->from };
	struct place place = { target, block, at };
	struct definitions definitions;
	value_definitions(&resolver->search, &place, &definitions);
	*understood = definitions.count && !definitions.incomplete;
	for (size_t i = 0; i < definitions.count && *understood; i++) {
		uint32_t by = definitions.list[i];
		struct value value = value_defined(&resolver->search, target, by);
		uint32_t from = definitions.count == 1 ? block : builder->block_of_instruction[by];
		int ret = note_value(resolver, number, &value, from, understood);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* Works out the target of a jump as constants and table entries, or decides without. 0 or -ENOMEM.
 */
static int follow_jump(struct resolver *resolver, uint32_t number)
{
	struct cfg_builder *builder = resolver->builder;
	struct cfg_jump *jump = &builder->cfg->jumps[number];
	size_t tables = resolver->table_count;
	struct transfer transfer = value_transfer(&resolver->search, jump->instruction);
	bool understood = false;
	int ret = 0;
	resolver->old_fates[number] = (uint8_t)jump->fate;
	*jump = (struct cfg_jump){ .instruction = jump->instruction, .is_bounded = true };
	resolver->search.saw_index = false;
	jump->fate = CFG_JUMP_TAIL;
	if (builder->cfg->instructions[jump->instruction].cpus_differ) {
		give_up(jump, CFG_MISSING_CPU);
		return 0;
	}
	if (transfer.kind == TRANSFER_JUMP && transfer.has_memory) {
		struct value value = value_loaded(&resolver->search, &transfer, jump->instruction);
		uint32_t block = builder->block_of_instruction[jump->instruction];
		ret = note_value(resolver, number, &value, block, &understood);
	} else if (transfer.kind == TRANSFER_JUMP) {
		ret = note_definitions(resolver, number, &transfer, &understood);
	}
	if (ret < 0 || understood)
		return ret;
	resolver->table_count = tables; /* one definition of several tells nothing */
	resolver->found[number].count = 0;
	return settle_unknown(resolver, number, CFG_MISSING_BASE);
}

static int compare_tables(const void *left, const void *right)
{
	const struct jump_table *a = left, *b = right;
	if (a->value.table != b->value.table)
		return a->value.table < b->value.table ? -1 : 1;
	return (a->jump > b->jump) - (a->jump < b->jump);
}

/* Orders tables by address; each ends where the next one starts, at the latest. */
static void order_tables(struct resolver *resolver)
{
	uint64_t next = UINT64_MAX, start = UINT64_MAX;
	if (resolver->table_count > 1)
		qsort(resolver->tables, resolver->table_count, sizeof(*resolver->tables),
		      compare_tables);
	for (size_t i = resolver->table_count; i-- > 0;) {
		struct jump_table *table = &resolver->tables[i];
		if (table->value.table != start) {
			next = start;
			start = table->value.table;
		}
		table->stop = next;
	}
}

static uint64_t entry_at(const uint8_t *bytes, const struct value *value)
{
	uint64_t entry = 0;
	unsigned bits = value->size_bytes * 8u;
	memcpy(&entry, bytes, value->size_bytes);
	if (value->is_signed && bits < 64 && entry >> (bits - 1))
		entry |= UINT64_MAX << bits;
	return value->offset + value->scale * entry;
}

/* How many entries to look at, by all that is known; `bytes` are those of the image. */
static uint64_t entries_of(const struct cfg_builder *builder, const struct jump_table *table,
			   struct span *bytes)
{
	const struct value *value = &table->value;
	uint64_t count = table->limit ? table->limit : UNBOUNDED_LIMIT;
	if (!table->limit && (table->stop - value->table) / value->stride_bytes < count)
		count = (table->stop - value->table) / value->stride_bytes;
	*bytes = builder->space->bytes(builder->space->context, value->table,
				       (size_t)(count * value->stride_bytes));
	uint64_t whole = bytes->size < value->size_bytes
				 ? 0
				 : (bytes->size - value->size_bytes) / value->stride_bytes + 1;
	return whole < count ? whole : count;
}

/* Whether other known code is there: it may be a part that was split off this function, as nothing
 * says of which function it is one. */
static bool is_other_code(const struct cfg_builder *builder, uint64_t vaddr)
{
	struct code_function function;
	return builder->space->function(builder->space->context, vaddr, &function);
}

/*
 * Adds the table's targets. Without a limit it ends at an entry that is no code, and
 * before a run of FOREIGN_RUN that are other code. *sound becomes false at an entry
 * that is no code: then a base that was guessed is wrong.
 */
static int read_entries(struct resolver *resolver, const struct jump_table *table,
			struct span bytes, uint64_t count, bool *sound)
{
	const struct cfg_builder *builder = resolver->builder;
	struct cfg_targets *found = &resolver->found[table->jump];
	uint64_t mask = builder->space->isa == ISA_I386 ? UINT32_MAX : UINT64_MAX;
	unsigned foreign = 0;
	for (uint64_t i = 0; i < count; i++) {
		const uint8_t *at = (const uint8_t *)bytes.data + i * table->value.stride_bytes;
		uint64_t vaddr = entry_at(at, &table->value) & mask;
		uint32_t target = cfg_instruction_starting_at(builder->cfg, vaddr);
		bool other = target == CFG_NO_INSTRUCTION && is_other_code(builder, vaddr);
		if (target != CFG_NO_INSTRUCTION) {
			foreign = 0;
			if (cfg_targets_add(found, target) < 0)
				return -ENOMEM;
			continue;
		}
		/* an entry below the limit that is never used (__builtin_unreachable()) is sound */
		*sound &= other || !table->limit;
		if (!table->limit && (!other || ++foreign == FOREIGN_RUN))
			break;
		found->leaves |= other && (table->limit || i == 0);
	}
	return 0;
}

/* Adds the targets of a table; if it has none the jump is decided without it. 0 or -ENOMEM. */
static int read_table(struct resolver *resolver, const struct jump_table *table)
{
	struct cfg_builder *builder = resolver->builder;
	const struct value *value = &table->value;
	struct cfg_targets *found = &resolver->found[table->jump];
	struct span bytes;
	uint64_t count = entries_of(builder, table, &bytes);
	size_t before = found->count;
	bool left = found->leaves, sound = true;
	int ret = read_entries(resolver, table, bytes, count, &sound);
	if (ret < 0)
		return ret;
	size_t enough = value->is_guessed && !table->limit ? 2 : 1;
	if (found->count - before >= enough && (sound || !value->is_guessed))
		return 0;
	found->count = before;
	found->leaves = left;
	/* absolute addresses may be an array of functions */
	bool of_functions = bytes.size && value->offset == 0 && value->scale == 1;
	resolver->search.saw_index = !of_functions;
	return settle_unknown(resolver, table->jump, CFG_MISSING_TABLE);
}

/* Makes the targets of this round those of the jump; sets *changed if they differ from before. */
static void take_over(struct resolver *resolver, uint32_t number, bool *changed)
{
	struct cfg_builder *builder = resolver->builder;
	struct cfg_targets *found = &resolver->found[number], *old = &builder->targets[number];
	struct cfg_jump *jump = &builder->cfg->jumps[number];
	cfg_targets_settle(found);
	if (jump->fate == CFG_JUMP_TABLE && !take_targets(builder, found->count)) {
		give_up(jump, CFG_MISSING_EFFORT);
		found->count = 0;
	}
	if (jump->missing != CFG_MISSING_NOTHING) /* of any of its tables */
		jump->fate = CFG_JUMP_UNKNOWN;
	jump->target_count = (uint32_t)found->count;
	jump->is_bounded &= jump->fate == CFG_JUMP_TABLE && jump->table != 0;
	if (found->count && jump->fate == CFG_JUMP_TAIL)
		jump->fate = CFG_JUMP_TABLE; /* its constants are inside */
	if (jump->fate != resolver->old_fates[number] || found->leaves != old->leaves ||
	    found->count != old->count ||
	    (found->count &&
	     memcmp(found->list, old->list, found->count * sizeof(*found->list)) != 0))
		*changed = true;
	for (size_t i = 0; i < found->count; i++)
		builder->cfg->instructions[found->list[i]].leads = true;
	struct cfg_targets swapped = *old;
	*old = *found;
	*found = swapped;
}

static int resolve(struct resolver *resolver, bool *changed)
{
	struct cfg_builder *builder = resolver->builder;
	size_t jumps = builder->cfg->jump_count;
	int ret = collect_pointers(resolver);
	for (uint32_t i = 0; ret == 0 && i < jumps; i++)
		ret = follow_jump(resolver, i);
	if (ret == 0)
		order_tables(resolver);
	for (size_t i = 0; ret == 0 && i < resolver->table_count; i++)
		ret = read_table(resolver, &resolver->tables[i]);
	for (uint32_t i = 0; ret == 0 && i < jumps; i++)
		take_over(resolver, i, changed);
	return ret;
}

static void note_writes(struct cfg_builder *builder)
{
	const struct cfg *cfg = builder->cfg;
	for (uint32_t i = 0; i < cfg->instruction_count; i++) {
		const struct cfg_instruction *at = &cfg->instructions[i];
		struct transfer transfer;
		transfer_read(builder->space->isa,
			      (struct span){ cfg_code(cfg, at), at->length_bytes }, at->vaddr,
			      &transfer);
		builder->writes[i] = transfer.writes;
	}
}

int cfg_resolve_jumps(struct cfg_builder *builder, bool *changed)
{
	struct resolver resolver = { .builder = builder };
	size_t jumps = builder->cfg->jump_count;
	*changed = false;
	builder->targets_left =
		TARGETS + (size_t)TARGETS_AN_INSTRUCTION * builder->cfg->instruction_count;
	if (!builder->writes_noted)
		note_writes(builder);
	builder->writes_noted = true;
	resolver.found = calloc(jumps + 1, sizeof(*resolver.found));
	resolver.old_fates = calloc(jumps + 1, sizeof(*resolver.old_fates));
	int ret = resolver.found && resolver.old_fates
			  ? value_search_init(&resolver.search, builder)
			  : -ENOMEM;
	if (ret == 0)
		ret = resolve(&resolver, changed);
	for (size_t i = 0; resolver.found && i < jumps; i++)
		free(resolver.found[i].list);
	free(resolver.found);
	free(resolver.old_fates);
	free(resolver.tables);
	free(resolver.pointers.list);
	value_search_release(&resolver.search);
	return ret;
}
