/*
 * gather_flow_parts - what the files behind gather_flow.h share: lists of addresses, the state of
 * one run, and its three steps.
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

/* Adds `vaddr` as an entry of each chosen function that holds it behind its start, except of parts
 * of the function that starts at `whole` (UINT64_MAX: no exception). 0 or -ENOMEM. */
int flow_add_entry(struct flow_gathering *gathering, uint64_t vaddr, enum entry_kind kind,
		   uint64_t whole);

/* Branches from other code into the middle of chosen functions (flow_branches.c). */
int flow_find_branches(struct flow_gathering *gathering);
/* Decodes the chosen functions: what they call, and the tables of those that jump by registers
 * (flow_code.c). */
int flow_read_code(struct flow_gathering *gathering);

/* Addresses in the code of one function and its cold parts, by which its jump tables are found
 * (flow_tables.c). */
struct flow_references {
	uint64_t whole;
	bool jumps_by_register;
	struct vaddr_list data;	   /* addresses of data */
	struct vaddr_list anchors; /* addresses of its own code, from which offsets may count */
};
/* Whether the section is data that the running program does not change. */
bool flow_is_constant(const struct elf_file *file, const struct elf_section *section);
const struct elf_section *flow_section_of(const struct elf_file *file, uint64_t vaddr);
int flow_add_tables(struct flow_gathering *gathering, struct flow_references *references);
