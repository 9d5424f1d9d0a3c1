/*
 * gather_flow_parts - what the files behind gather_flow.h know of each other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "image/relocations.h"
#include "isa/decode.h"
#include "symbol/chosen.h"
#include "symbol/record.h"

struct elf_file;
struct elf_section;
struct symbol_table;

struct vaddr_list {
	uint64_t *list;
	size_t count;
	size_t capacity;
};
int vaddr_list_add(struct vaddr_list *list, uint64_t vaddr);
void vaddr_list_sort(struct vaddr_list *list); /* and each once */
void vaddr_list_release(struct vaddr_list *list);

/* An entry of one chosen function. */
struct found_entry {
	const struct chosen_function *function;
	struct entry_place place;
};

struct flow_gathering {
	const struct elf_file *file;
	const struct symbol_table *table;
	struct chosen chosen;
	struct relocations relocations;
	struct decoder *decoder;
	enum isa isa;
	struct found_entry *entries;
	size_t entry_count, entry_capacity;
	struct vaddr_list callees; /* targets outside, and slots of the GOT */
	struct record_set *out;
	struct buffer content;
};

/* `vaddr` as an entry of the chosen functions that hold it inside, other than those of `whole`;
 * UINT64_MAX: of all. 0 or -ENOMEM. */
int flow_add_entry(struct flow_gathering *gathering, uint64_t vaddr, enum entry_kind kind,
		   uint64_t whole);

/* Branches from other code into the middle of chosen functions (flow_branches.c). */
int flow_find_branches(struct flow_gathering *gathering);
/* Decodes the chosen functions: what they call, and the tables of those that jump by registers
 * (flow_code.c). */
int flow_read_code(struct flow_gathering *gathering);

/* What one function, its cold parts with it, says of its tables (flow_tables.c). */
struct flow_references {
	uint64_t whole;
	bool jumps_by_register;
	struct vaddr_list data;	   /* addresses of data */
	struct vaddr_list anchors; /* addresses of its own code, from which offsets may count */
};
/* Is it of data that the program does not change once it runs? */
bool flow_is_constant(const struct elf_file *file, const struct elf_section *section);
const struct elf_section *flow_section_of(const struct elf_file *file, uint64_t vaddr);
int flow_add_tables(struct flow_gathering *gathering, struct flow_references *references);
