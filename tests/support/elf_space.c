#include "support/elf_space.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "image/eh_frame.h"
#include "image/plt.h"

struct elf_space_name {
	uint64_t vaddr;
	struct span name;
};

static void *add(void *array, size_t *capacity, size_t *count, size_t size)
{
	void **list = array;
	if (array_reserve(array, capacity, *count, size) < 0)
		abort();
	return (char *)*list + (*count)++ * size;
}

static int compare_functions(const void *left, const void *right)
{
	const struct code_function *a = left, *b = right;
	return (a->first > b->first) - (a->first < b->first);
}

static int compare_names(const void *left, const void *right)
{
	const struct elf_space_name *a = left, *b = right;
	return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

static int compare_entries(const void *left, const void *right)
{
	const struct code_entry *a = left, *b = right;
	if (a->vaddr != b->vaddr)
		return a->vaddr < b->vaddr ? -1 : 1;
	return (a->kind > b->kind) - (a->kind < b->kind);
}

static const struct code_function *function_at(const struct elf_space *space, uint64_t vaddr)
{
	size_t behind = SORTED_BEHIND(space->functions, space->function_count, first, vaddr);
	return behind && space->functions[behind - 1].last >= vaddr ? &space->functions[behind - 1]
								    : NULL;
}

static struct span name_at(const struct elf_space *space, uint64_t vaddr)
{
	struct elf_space_name key = { .vaddr = vaddr };
	const struct elf_space_name *found =
		space->name_count
			? bsearch(&key, space->names, space->name_count, sizeof(key), compare_names)
			: NULL;
	return found ? found->name : (struct span){ NULL, 0 };
}

static bool get_function(void *context, uint64_t vaddr, struct code_function *out)
{
	const struct code_function *found = function_at(context, vaddr);
	if (found)
		*out = *found;
	return found != NULL;
}

static bool get_cold(void *context, uint64_t first, struct code_function *out)
{
	const struct elf_space *space = context;
	for (size_t i = 0; space->has_cold && i < space->function_count; i++) {
		if (space->functions[i].is_cold && space->functions[i].parent == first) {
			*out = space->functions[i];
			return true;
		}
	}
	return false;
}

static struct span get_bytes(void *context, uint64_t vaddr, size_t size)
{
	const struct elf_space *space = context;
	return elf_file_code(&space->file, vaddr, size);
}

static const struct code_entry *get_entries(void *context, uint64_t first, uint64_t last,
					    size_t *count)
{
	const struct elf_space *space = context;
	size_t at = SORTED_BEHIND(space->entries, space->entry_count, vaddr, first);
	*count = 0;
	while (at + *count < space->entry_count && space->entries[at + *count].vaddr <= last)
		++*count;
	return space->entries + at;
}

static struct span get_callee(void *context, uint64_t target)
{
	return name_at(context, target);
}

static void add_name(struct elf_space *space, uint64_t vaddr, struct span name)
{
	struct elf_space_name *row =
		add(&space->names, &space->name_capacity, &space->name_count, sizeof(*row));
	*row = (struct elf_space_name){ vaddr, name };
}

static void add_entry(struct elf_space *space, uint64_t vaddr, enum code_entry_kind kind)
{
	const struct code_function *function = function_at(space, vaddr);
	if (!function || function->first == vaddr)
		return;
	struct code_entry *row =
		add(&space->entries, &space->entry_capacity, &space->entry_count, sizeof(*row));
	*row = (struct code_entry){ vaddr, kind };
}

static struct span text_at(struct span table, uint32_t offset)
{
	if (offset >= table.size)
		return (struct span){ NULL, 0 };
	const char *text = (const char *)table.data + offset;
	return (struct span){ text, strnlen(text, table.size - offset) };
}

static void read_symbols(struct elf_space *space, const char *table, const char *texts)
{
	const struct elf_section *symbols = elf_file_section(&space->file, table);
	const struct elf_section *strings = elf_file_section(&space->file, texts);
	if (!symbols || !strings)
		return;
	struct span bytes = elf_file_section_bytes(&space->file, symbols);
	struct span names = elf_file_section_bytes(&space->file, strings);
	for (size_t at = 0; at + sizeof(Elf64_Sym) <= bytes.size; at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;
		memcpy(&symbol, (const char *)bytes.data + at, sizeof(symbol));
		if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_value)
			add_name(space, symbol.st_value, text_at(names, symbol.st_name));
	}
}

/* Applies the relocations whose value is known; names the slots of the others. */
static void relocate(struct elf_space *space, const char *name)
{
	const struct elf_section *section = elf_file_section(&space->file, name);
	const struct elf_section *symbols = elf_file_section(&space->file, ".dynsym");
	const struct elf_section *strings = elf_file_section(&space->file, ".dynstr");
	struct span bytes =
		section ? elf_file_section_bytes(&space->file, section) : (struct span){ NULL, 0 };
	for (size_t at = 0; at + sizeof(Elf64_Rela) <= bytes.size; at += sizeof(Elf64_Rela)) {
		Elf64_Rela rela;
		memcpy(&rela, (const char *)bytes.data + at, sizeof(rela));
		uint64_t value = (uint64_t)rela.r_addend;
		uint32_t type = ELF64_R_TYPE(rela.r_info), number = ELF64_R_SYM(rela.r_info);
		bool relative = type == R_X86_64_RELATIVE || type == R_AARCH64_RELATIVE;
		if (!relative && symbols && strings) {
			struct span all = elf_file_section_bytes(&space->file, symbols);
			Elf64_Sym symbol;
			if ((number + 1) * sizeof(symbol) > all.size)
				continue;
			memcpy(&symbol, (const char *)all.data + number * sizeof(symbol),
			       sizeof(symbol));
			add_name(space, rela.r_offset,
				 text_at(elf_file_section_bytes(&space->file, strings),
					 symbol.st_name));
			if (!symbol.st_value)
				continue;
			value += symbol.st_value;
		}
		uint64_t offset;
		if (elf_file_offset_of_vaddr(&space->file, rela.r_offset, &offset) &&
		    offset <= space->file.size_bytes - 8)
			memcpy(space->bytes + offset, &value, sizeof(value));
		if (relative)
			add_entry(space, value, CODE_ENTRY_POINTER);
	}
}

/* A file of fixed addresses has no relocations left: words of its data that may be addresses of
 * code count as such. */
static void scan_data(struct elf_space *space)
{
	static const char *const names[] = { ".rodata", ".data", ".data.rel.ro" };
	for (size_t i = 0; space->file.type == ET_EXEC && i < 3; i++) {
		const struct elf_section *section = elf_file_section(&space->file, names[i]);
		struct span bytes = section ? elf_file_section_bytes(&space->file, section)
					    : (struct span){ NULL, 0 };
		for (size_t at = 0; at + 8 <= bytes.size; at += 8) {
			uint64_t value;
			memcpy(&value, (const char *)bytes.data + at, sizeof(value));
			add_entry(space, value, CODE_ENTRY_POINTER);
		}
	}
}

static void add_function(struct elf_space *space, uint64_t first, uint64_t size, bool is_stub)
{
	struct code_function *row = add(&space->functions, &space->function_capacity,
					&space->function_count, sizeof(*row));
	*row = (struct code_function){ .first = first,
				       .last = first + size - 1,
				       .is_stub = is_stub };
}

static void read_functions(struct elf_space *space)
{
	struct extents extents = { 0 };
	struct plt plt = { 0 };
	if (extents_read(&space->file, &extents) < 0 || plt_read(&space->file, &plt) < 0)
		abort();
	for (size_t i = 0; i < plt.count; i++) {
		char **row =
			add(&space->texts, &space->text_capacity, &space->text_count, sizeof(*row));
		char *name = *row = malloc(plt.stubs[i].symbol.size + 5);
		if (!name)
			abort();
		if (plt.stubs[i].symbol.size) /* a stub may have no symbol */
			memcpy(name, plt.stubs[i].symbol.data, plt.stubs[i].symbol.size);
		memcpy(name + plt.stubs[i].symbol.size, "@plt", 5);
		add_name(space, plt.stubs[i].start,
			 (struct span){ name, plt.stubs[i].symbol.size + 4 });
		add_function(space, plt.stubs[i].start, plt.stubs[i].size_bytes, true);
	}
	for (size_t i = 0; i < extents.count; i++) {
		bool is_plt = false;
		for (size_t j = 0; j < plt.count && !is_plt; j++)
			is_plt = plt.stubs[j].start - extents.list[i].start <
				 extents.list[i].size_bytes;
		bool again = i && extents.list[i].start == extents.list[i - 1].start;
		if (!is_plt && !again)
			add_function(space, extents.list[i].start, extents.list[i].size_bytes,
				     false);
	}
	extents_release(&extents);
	plt_release(&plt);
	if (space->function_count)
		qsort(space->functions, space->function_count, sizeof(*space->functions),
		      compare_functions);
}

static void name_functions(struct elf_space *space)
{
	for (size_t i = 0; i < space->function_count; i++) {
		struct code_function *function = &space->functions[i];
		function->name = name_at(space, function->first);
	}
	for (size_t i = 0; i < space->function_count; i++) {
		struct code_function *function = &space->functions[i];
		if (!span_ends_with(function->name, ".cold"))
			continue;
		char parent[256];
		snprintf(parent, sizeof(parent), "%.*s", (int)function->name.size - 5,
			 (const char *)function->name.data);
		const struct code_function *whole = elf_space_find(space, parent);
		if (whole) {
			function->is_cold = true;
			space->has_cold = true;
			function->parent = whole->first;
		}
	}
}

static void scan_jumps(struct elf_space *space)
{
	struct decoder *decoder;
	if (decoder_new(space->space.isa, ISA_SYNTAX_ATT, &decoder, NULL) < 0)
		abort();
	for (size_t i = 0; i < space->function_count; i++) {
		const struct code_function *function = &space->functions[i];
		size_t size = (size_t)(function->last - function->first) + 1;
		struct span code = get_bytes(space, function->first, size);
		for (size_t at = 0; at < code.size;) {
			struct instruction out;
			decoder_decode(
				decoder,
				(struct span){ (const char *)code.data + at, code.size - at },
				function->first + at, &out);
			bool jumps =
				out.kind == INSTRUCTION_JUMP || out.kind == INSTRUCTION_CONDITIONAL;
			if (jumps && out.has_target && out.target - function->first >= size)
				add_entry(space, out.target, CODE_ENTRY_JUMP);
			at += out.length_bytes;
		}
	}
	decoder_free(decoder);
}

void elf_space_init(struct elf_space *space, const void *bytes, size_t size_bytes)
{
	*space = (struct elf_space){ .bytes = malloc(size_bytes) };
	if (!space->bytes)
		abort();
	memcpy(space->bytes, bytes, size_bytes);
	if (elf_file_parse(space->bytes, size_bytes, &space->file, NULL) < 0)
		abort();
	space->space = (struct code_space){
		.isa = isa_of_elf_machine(space->file.machine),
		.context = space,
		.function = get_function,
		.cold_part = get_cold,
		.bytes = get_bytes,
		.entries = get_entries,
		.callee = get_callee,
	};
	read_functions(space);
	read_symbols(space, ".symtab", ".strtab");
	read_symbols(space, ".dynsym", ".dynstr");
	relocate(space, ".rela.dyn");
	relocate(space, ".rela.plt");
	scan_data(space);
	if (space->name_count)
		qsort(space->names, space->name_count, sizeof(*space->names), compare_names);
	name_functions(space);
	scan_jumps(space);
	if (space->entry_count)
		qsort(space->entries, space->entry_count, sizeof(*space->entries), compare_entries);
	size_t kept = 0;
	for (size_t i = 0; i < space->entry_count; i++)
		if (!kept || compare_entries(&space->entries[kept - 1], &space->entries[i]))
			space->entries[kept++] = space->entries[i];
	space->entry_count = kept;
}

void elf_space_release(struct elf_space *space)
{
	elf_file_release(&space->file);
	free(space->bytes);
	free(space->functions);
	free(space->entries);
	free(space->names);
	for (size_t i = 0; i < space->text_count; i++)
		free(space->texts[i]);
	free(space->texts);
}

const struct code_function *elf_space_find(const struct elf_space *space, const char *name)
{
	for (size_t i = 0; i < space->function_count; i++)
		if (span_equal(space->functions[i].name, span_of_text(name)))
			return &space->functions[i];
	return NULL;
}
