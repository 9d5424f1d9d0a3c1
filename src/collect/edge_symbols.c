#include "collect/edge_symbols.h"

#include <elf.h>
#include <string.h>

#include "image/elf_file.h"

#define CHAIN_MOST 4096u /* symbols of one bucket that are compared: usual chains have a few */

static bool number_at(struct span table, uint64_t offset, void *number, size_t bytes)
{
	if (offset > table.size || bytes > table.size - offset)
		return false;
	memcpy(number, (const uint8_t *)table.data + offset, bytes);
	return true;
}

void edge_symbols_of(const struct elf_file *file, struct edge_symbols *symbols)
{
	const struct elf_section *hashes = elf_file_section(file, ".gnu.hash");
	const struct elf_section *table = hashes ? elf_file_section_at(file, hashes->link) : NULL;
	const struct elf_section *names = table ? elf_file_section_at(file, table->link) : NULL;
	*symbols = (struct edge_symbols){ { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
	if (!names || !file->wide || table->type != SHT_DYNSYM)
		return;
	symbols->hashes = elf_file_section_bytes(file, hashes);
	symbols->symbols = elf_file_section_bytes(file, table);
	symbols->names = elf_file_section_bytes(file, names);
}

uint32_t edge_symbols_hash(struct span name)
{
	uint32_t hash = 5381;
	for (size_t i = 0; i < name.size; i++)
		hash = hash * 33 + ((const uint8_t *)name.data)[i];
	return hash;
}

static bool is_named(const struct edge_symbols *symbols, const Elf64_Sym *symbol, struct span name)
{
	if (symbol->st_name >= symbols->names.size ||
	    name.size >= symbols->names.size - symbol->st_name)
		return false;
	const char *text = (const char *)symbols->names.data + symbol->st_name;
	return memcmp(text, name.data, name.size) == 0 && !text[name.size];
}

/* The result with one more definition. */
static enum edge_symbol add_definition(const Elf64_Sym *symbol, enum edge_symbol known,
				       uint64_t *vaddr)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	if (symbol->st_shndx == SHN_UNDEF)
		return known;
	if (type == STT_GNU_IFUNC || type == STT_TLS || symbol->st_shndx == SHN_ABS ||
	    known == EDGE_SYMBOL_UNKNOWN ||
	    (known == EDGE_SYMBOL_FOUND && *vaddr != symbol->st_value))
		return EDGE_SYMBOL_UNKNOWN;
	*vaddr = symbol->st_value;
	return EDGE_SYMBOL_FOUND;
}

enum edge_symbol edge_symbols_find(const struct edge_symbols *symbols, struct span name,
				   uint32_t hash, uint64_t *vaddr)
{
	uint32_t header[4]; /* buckets, first symbol, words of the filter, its shift */
	uint64_t filter;
	uint32_t index;
	if (!number_at(symbols->hashes, 0, header, sizeof(header)) || !header[0] || !header[2] ||
	    header[3] > 31)
		return EDGE_SYMBOL_NONE;
	uint64_t filters = sizeof(header);
	uint64_t buckets = filters + UINT64_C(8) * header[2];
	uint64_t chains = buckets + UINT64_C(4) * header[0];
	if (!number_at(symbols->hashes, filters + 8 * (uint64_t)(hash / 64 % header[2]), &filter,
		       sizeof(filter)) ||
	    !(filter >> hash % 64 & filter >> (hash >> header[3]) % 64 & 1) ||
	    !number_at(symbols->hashes, buckets + 4 * (uint64_t)(hash % header[0]), &index,
		       sizeof(index)) ||
	    index < header[1])
		return EDGE_SYMBOL_NONE;
	enum edge_symbol known = EDGE_SYMBOL_NONE;
	for (unsigned i = 0; i < CHAIN_MOST; i++, index++) {
		uint32_t link;
		Elf64_Sym symbol;
		if (!number_at(symbols->hashes, chains + 4 * (uint64_t)(index - header[1]), &link,
			       sizeof(link)))
			return known;
		if ((link | 1) == (hash | 1) &&
		    number_at(symbols->symbols, sizeof(symbol) * (uint64_t)index, &symbol,
			      sizeof(symbol)) &&
		    is_named(symbols, &symbol, name))
			known = add_definition(&symbol, known, vaddr);
		if (link & 1)
			return known;
	}
	return EDGE_SYMBOL_UNKNOWN;
}
