/*
 * elf_mutator - ELF files changed by their headers: sections and segments over
 * each other, doubled, past 2^64, without end, counted in section 0, compressed,
 * of another type; and single entries of what lies in them.
 */
#include <elf.h>
#include <string.h>
#include <zlib.h>

#include "mutator.h"

#define CHANGES_MOST 4
#define ROWS_MOST    256
#define FILE_MOST    (256u << 10)

/* A file of either width in our byte order; headers are changed where they lie. */
static uint8_t file[FILE_MOST];
static size_t file_size;

struct table {
	size_t at, count, row_bytes;
	size_t count_at, place_at; /* in the file's header, of the count (16 bits) and the place */
};

static bool is_wide(void)
{
	return file[EI_CLASS] == ELFCLASS64;
}

static uint64_t get(size_t at, size_t width)
{
	uint64_t value = 0;
	if (at <= file_size && width <= file_size - at)
		memcpy(&value, file + at, width);
	return value;
}

static void put(size_t at, uint64_t value, size_t width)
{
	if (at <= file_size && width <= file_size - at)
		memcpy(file + at, &value, width);
}

static size_t word_bytes(void)
{
	return is_wide() ? 8 : 4;
}

static struct table sections(void)
{
	struct table table = { .count_at = is_wide() ? 60 : 48,
			       .place_at = is_wide() ? 40 : 32,
			       .row_bytes = is_wide() ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr) };
	table.at = get(table.place_at, word_bytes());
	table.count = get(table.count_at, 2);
	return table;
}

static struct table segments(void)
{
	struct table table = { .count_at = is_wide() ? 56 : 44,
			       .place_at = is_wide() ? 32 : 28,
			       .row_bytes = is_wide() ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr) };
	table.at = get(table.place_at, word_bytes());
	table.count = get(table.count_at, 2);
	return table;
}

static bool is_there(const struct table *table)
{
	return table->count && table->count <= ROWS_MOST && table->at < file_size &&
	       table->count * table->row_bytes <= file_size - table->at;
}

static size_t row_at(const struct table *table, size_t row)
{
	return table->at + row * table->row_bytes;
}

/* Where in its header a section's place and size are. */
static size_t section_place_at(void)
{
	return is_wide() ? 24 : 16;
}

static void change_field(const struct table *table, struct random_state *random)
{
	size_t width = random_one_in(random, 3) ? 4 : word_bytes();
	size_t at = row_at(table, random_below(random, table->count)) +
		    random_below(random, table->row_bytes / width) * width;
	uint64_t value = get(at, width);
	if (random_one_in(random, 3)) { /* another row's: they lie over each other then */
		size_t field = (at - table->at) % table->row_bytes;
		value = get(row_at(table, random_below(random, table->count)) + field, width);
	} else {
		value = mutator_number(random, value, file_size);
	}
	put(at, value, width);
}

/* The table anew at the file's end, some of its rows recombined. */
static void change_rows(const struct table *table, struct random_state *random)
{
	static struct pieces rows;
	static uint8_t made[ROWS_MOST * sizeof(Elf64_Shdr)];
	size_t used = 0;
	rows.count = 0;
	for (size_t i = 0; i < table->count; i++)
		pieces_add(&rows, (struct span){ file + row_at(table, i), table->row_bytes });
	pieces_change(&rows, random);
	for (size_t i = 0; i < rows.count && used + table->row_bytes <= sizeof(made); i++) {
		memcpy(made + used, rows.list[i].data, table->row_bytes);
		used += table->row_bytes;
	}
	if (used > FILE_MOST - file_size)
		return;
	memcpy(file + file_size, made, used);
	put(table->place_at, file_size, word_bytes());
	put(table->count_at, used / table->row_bytes, 2);
	file_size += used;
}

/* Numbers that do not fit 16 bits stand in the first section. */
static void count_in_section_0(const struct table *table, struct random_state *random)
{
	struct table first = sections();
	if (!is_there(&first))
		return;
	size_t size_at = first.at + (is_wide() ? 32 : 20);
	size_t link_at = first.at + (is_wide() ? 40 : 24);
	uint64_t count = random_one_in(random, 2) ? table->count
						  : mutator_number(random, table->count, file_size);
	if (table->count_at == first.count_at) {
		put(table->count_at, 0, 2);
		put(size_at, count, word_bytes());
	} else {
		put(table->count_at, PN_XNUM, 2);
		put(link_at + 4, count, 4);
	}
	if (random_one_in(random, 2)) { /* the number of the section of names, too */
		put(is_wide() ? 62 : 50, SHN_XINDEX, 2);
		put(link_at,
		    random_one_in(random, 2) ? random_below(random, first.count)
					     : mutator_number(random, 0, first.count),
		    4);
	}
}

/* What is in one section, behind a header of compression, at the file's end. */
static void compress_section(struct random_state *random)
{
	struct table table = sections();
	static uint8_t packed[FILE_MOST];
	if (!is_there(&table))
		return;
	size_t row = row_at(&table, random_below(random, table.count));
	size_t place_at = row + section_place_at(), size_at = place_at + word_bytes();
	uint64_t at = get(place_at, word_bytes()), size = get(size_at, word_bytes());
	size_t head = is_wide() ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
	uLongf used = sizeof(packed) - head;
	if (at > file_size || size > file_size - at ||
	    compress2(packed + head, &used, file + at, size, 1) != Z_OK ||
	    used + head > FILE_MOST - file_size)
		return;
	uint64_t told = random_one_in(random, 2) ? size : mutator_number(random, size, file_size);
	if (is_wide())
		memcpy(packed, &(Elf64_Chdr){ (uint32_t)(1 + random_below(random, 3)), 0, told, 8 },
		       head);
	else
		memcpy(packed,
		       &(Elf32_Chdr){ (uint32_t)(1 + random_below(random, 3)), (uint32_t)told, 4 },
		       head);
	memcpy(file + file_size, packed, used + head);
	put(row + 8, get(row + 8, word_bytes()) | SHF_COMPRESSED, word_bytes());
	put(place_at, file_size, word_bytes());
	put(size_at, used + head, word_bytes());
	file_size += used + head;
}

/* A number in some section: of a symbol, a relocation, a table of unwinding. */
static void change_content(struct random_state *random)
{
	struct table table = sections();
	if (!is_there(&table))
		return;
	size_t row = row_at(&table, random_below(random, table.count));
	uint64_t at = get(row + section_place_at(), word_bytes());
	uint64_t size = get(row + section_place_at() + word_bytes(), word_bytes());
	if (at >= file_size || size > file_size - at || size < 8)
		return;
	if (random_one_in(random, 2)) {
		size_t width = random_one_in(random, 2) ? 4 : 8;
		at += random_below(random, size / width) * width;
		put(at, mutator_number(random, get(at, width), size), width);
	} else { /* one part of it over another */
		size_t part = 1 + random_below(random, size / 2);
		memmove(file + at + random_below(random, size - part + 1),
			file + at + random_below(random, size - part + 1), part);
	}
}

static void change(struct random_state *random)
{
	struct table table = random_one_in(random, 3) ? segments() : sections();
	if (!is_there(&table))
		return;
	switch (random_below(random, 8)) {
	case 0:
	case 1:
	case 2:
		change_field(&table, random);
		break;
	case 3:
		change_rows(&table, random);
		break;
	case 4:
		count_in_section_0(&table, random);
		break;
	case 5:
		compress_section(random);
		break;
	default:
		change_content(random);
		break;
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	struct random_state random = random_seed(seed);
	if (random_one_in(&random, 8) || size < sizeof(Elf64_Ehdr) || size > sizeof(file) / 2 ||
	    memcmp(data, ELFMAG, SELFMAG) != 0)
		return LLVMFuzzerMutate(data, size, max_size);
	memcpy(file, data, size);
	file_size = size;
	for (uint64_t times = 1 + random_below(&random, CHANGES_MOST); times--;)
		change(&random);
	size = file_size < max_size ? file_size : max_size;
	memcpy(data, file, size);
	return size;
}
