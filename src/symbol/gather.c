#include "symbol/gather.h"

#include <elf.h>
#include <errno.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/sorted.h"
#include "image/identity.h"
#include "image/mapped_elf.h"
#include "symbol/gather_flow.h"
#include "symbol/gather_request.h"
#include "symbol/line_index.h"
#include "symbol/record.h"
#include "symbol/symbol_table.h"

int gather_identity(int fd, enum content_kind content, struct span unique,
		    struct identity *identity, struct error *err)
{
	CLEANUP(mapped_elf_release) struct mapped_elf elf;
	int ret = mapped_elf_open(fd, &elf, err);
	if (ret < 0)
		return ret;
	identity_of_file(&elf.file, identity);
	if (content != CONTENT_NONE)
		identity_add_content(&elf.file, content, unique, identity);
	return 0;
}

/* Whether the debug file is the one that was split off this executable. */
static bool debug_matches(const struct elf_file *file, const struct elf_file *debug)
{
	struct identity mine, other;
	identity_of_file(file, &mine);
	identity_of_file(debug, &other);
	if (mine.machine != other.machine || mine.wide != other.wide)
		return false;
	if (mine.build_id_bytes)
		return mine.build_id_bytes == other.build_id_bytes &&
		       memcmp(mine.build_id, other.build_id, mine.build_id_bytes) == 0;
	/* .gnu_debuglink's sum is the usual CRC-32 over the whole debug file. */
	return mine.debug_link[0] &&
	       mine.link_crc == lzma_crc32(debug->bytes, debug->size_bytes, 0);
}

#define WINDOW_BYTES 4096
#define HAND_OVER_NS UINT64_C(20000000)
#define FUNCTIONS_HELD 128 /* the pages of no more are in memory at once */

struct gathering {
	const struct elf_file *file;
	const struct symbol_table *table;
	bool *chosen; /* by position in the table */
	struct record_set *out;
	struct gather_counts *counts;
	const struct gather_parts *parts; /* NULL: all records stay in `out` */
	uint64_t handed_ns;		  /* when a compilation unit was handed over */
	struct buffer content;
	struct error *err;
};

static void choose(const struct gathering *gathering, const struct symbol *symbol)
{
	const struct symbol_table *table = gathering->table;
	gathering->chosen[symbol - table->list] = true;
	/* A function and its cold parts are read together: branches go from one into the other. */
	uint64_t parent = symbol->flags & FUNCTION_COLD ? symbol->parent : symbol->start;
	const struct symbol *whole = symbol_table_find(table, parent);
	if (whole && whole->start == parent)
		gathering->chosen[whole - table->list] = true;
	for (size_t i = symbol_table_cold(table, parent);
	     i < table->cold_count && table->list[table->cold[i]].parent == parent; i++)
		gathering->chosen[table->cold[i]] = true;
}

static int add_function(struct gathering *gathering, const struct symbol *symbol, unsigned int what)
{
	uint64_t last = symbol->start + (symbol->size_bytes - 1);
	int ret = 0;
	if (what & GATHER_FUNCTIONS) {
		struct function_record function = { symbol->flags, symbol->parent, symbol->name };
		ret = record_set_add_function(gathering->out, symbol->start, last, &function);
	}
	if (ret == 0 && (what & GATHER_CODE)) {
		struct span code =
			elf_file_code(gathering->file, symbol->start, symbol->size_bytes);
		if (code.size == 0 || code.size >= RECORD_MAX_BYTES)
			return 0; /* no bytes in the file, or an extent that no compiler made */
		record_put_code(&gathering->content, code);
		ret = record_set_take(gathering->out, RECORD_CODE, symbol->start,
				      symbol->start + (code.size - 1), &gathering->content);
	}
	return ret;
}

static int count_lines(const struct line_extent *extents, size_t extent_count,
		       const uint64_t *vaddrs, size_t count, struct gather_counts *counts)
{
	size_t at = 0;
	for (size_t i = 0; i < count; i++) {
		while (at < extent_count && extents[at].last < vaddrs[i])
			at++;
		if (at < extent_count && extents[at].first <= vaddrs[i] && extents[at].rows)
			counts->lines++;
	}
	return 0;
}

/* Gives the complete records to `parts`, if there is one. */
static int hand_over(struct gathering *gathering, unsigned int done)
{
	const struct gather_parts *parts = gathering->parts;
	if (!parts)
		return 0;
	int ret = parts->take(parts->context, gathering->out, gathering->counts, done);
	record_set_release(gathering->out);
	return ret;
}

/* The lines of a compilation unit are complete. */
static int take_unit(void *context)
{
	struct gathering *gathering = context;
	uint64_t now_ns = clock_monotonic_ns();
	/* A part for each of the many small ones would cost more than what it saves. */
	if (now_ns - gathering->handed_ns < HAND_OVER_NS)
		return 0;
	gathering->handed_ns = now_ns;
	return hand_over(gathering, GATHER_FUNCTIONS | GATHER_CODE | GATHER_FLOW);
}

static int add_lines(struct gathering *gathering, int fd, const uint64_t *vaddrs, size_t count,
		     struct gather_counts *counts)
{
	const struct symbol_table *table = gathering->table;
	CLEANUP(free_pointer)
	struct line_extent *extents = calloc(table->count ? table->count : 1, sizeof(*extents));
	if (!extents)
		return -ENOMEM;
	size_t extent_count = 0;
	for (size_t i = 0; i < table->count; i++) {
		const struct symbol *symbol = &table->list[i];
		/* One within the last is covered by the last one's lines; stubs have none. */
		if (!gathering->chosen[i] || (symbol->flags & FUNCTION_PLT) ||
		    (extent_count && symbol->start <= extents[extent_count - 1].last))
			continue;
		extents[extent_count++] =
			(struct line_extent){ symbol->start,
					      symbol->start + (symbol->size_bytes - 1), 0 };
	}
	struct line_units units = { take_unit, gathering };
	int ret = line_index_records(fd, extents, extent_count, gathering->parts ? &units : NULL,
				     gathering->out, gathering->err);
	counts->debug_damaged = ret == -EBADMSG;
	if (counts->debug_damaged)
		ret = 0; /* what was before the damage counts */
	if (ret == 0)
		count_lines(extents, extent_count, vaddrs, count, counts);
	return ret;
}

/* The code section that holds the address, or where there are no sections the segment. */
static bool find_code(const struct elf_file *file, uint64_t vaddr, uint64_t *first, uint64_t *end)
{
	for (size_t i = 0; i < file->section_count; i++) {
		const struct elf_section *section = &file->sections[i];
		if ((section->flags & SHF_ALLOC) && (section->flags & SHF_EXECINSTR) &&
		    vaddr >= section->vaddr && vaddr - section->vaddr < section->size_bytes) {
			*first = section->vaddr;
			*end = section->vaddr + section->size_bytes;
			return true;
		}
	}
	for (size_t i = 0; i < file->segment_count; i++) {
		const struct elf_segment *segment = &file->segments[i];
		if (segment->type == PT_LOAD && (segment->flags & PF_X) &&
		    vaddr >= segment->vaddr && vaddr - segment->vaddr < segment->file_bytes) {
			*first = segment->vaddr;
			*end = segment->vaddr + segment->file_bytes;
			return true;
		}
	}
	return false;
}

/* The first symbol that begins behind the address, or NULL. */
static const struct symbol *next_symbol(const struct symbol_table *table, uint64_t vaddr)
{
	size_t at = SORTED_BEHIND(table->list, table->count, start, vaddr);
	return at < table->count ? &table->list[at] : NULL;
}

static bool is_nearest(const struct symbol *symbol)
{
	return symbol && symbol->flags & FUNCTION_NEAREST;
}

/* For an address in no known function, a window: the code around it within its page and between the
 * functions on either side. Two addresses of one page have one window. It has the name of
 * `nearest`, in whose guessed extent it is, if there is one. */
static bool window_around(const struct gathering *gathering, uint64_t vaddr,
			  const struct symbol *nearest, struct symbol *window)
{
	const struct symbol_table *table = gathering->table;
	uint64_t first, end, page = vaddr & ~(uint64_t)(WINDOW_BYTES - 1);
	if (!find_code(gathering->file, vaddr, &first, &end))
		return false;
	if (page > first)
		first = page;
	if (end - 1 > page + (WINDOW_BYTES - 1))
		end = page + WINDOW_BYTES;
	if (nearest && nearest->start > first)
		first = nearest->start;
	const struct interval_piece *piece = interval_map_before(&table->map, vaddr);
	uint64_t behind = !piece ? 0 : vaddr <= piece->last ? piece->first : piece->last + 1;
	const struct symbol *next = next_symbol(table, vaddr);
	if (behind > first)
		first = behind;
	if (next && next->start < end)
		end = next->start;
	*window = (struct symbol){ .start = first,
				   .size_bytes = end - first,
				   .flags = FUNCTION_WINDOW | FUNCTION_UNNAMED };
	if (nearest) {
		window->name = nearest->name;
		window->flags = FUNCTION_WINDOW | nearest->flags;
	}
	return true;
}

/* Adds windows for code in no function and behind symbols of unknown size: those records of `what`
 * that are in `part`. `vaddrs` rise. */
static int add_windows(struct gathering *gathering, const uint64_t *vaddrs, size_t count,
		       unsigned int what, unsigned int part)
{
	struct symbol window = { 0 };
	int ret = 0;
	for (size_t i = 0; i < count && ret == 0; i++) {
		if (vaddrs[i] >= window.start && vaddrs[i] - window.start < window.size_bytes)
			continue;
		const struct symbol *symbol = symbol_table_find(gathering->table, vaddrs[i]);
		bool wanted = symbol ? is_nearest(symbol) : (what & GATHER_CODE) != 0;
		if (wanted && window_around(gathering, vaddrs[i], symbol, &window))
			ret = add_function(gathering, &window, what & part);
	}
	return ret;
}

static int add_functions(struct gathering *gathering, const uint64_t *vaddrs, size_t count,
			 unsigned int what, unsigned int part)
{
	const struct symbol_table *table = gathering->table;
	int ret = 0;
	size_t added = 0;
	for (size_t i = 0; ret == 0 && i < table->count; i++) {
		if (!gathering->chosen[i])
			continue;
		ret = add_function(gathering, &table->list[i], what & part);
		if (++added % FUNCTIONS_HELD == 0)
			elf_file_let_go(gathering->file);
	}
	return ret < 0 ? ret : add_windows(gathering, vaddrs, count, what, part);
}

static int gather_from(const struct elf_file *file, const struct elf_file *debug, int lines_fd,
		       const uint64_t *vaddrs, size_t count, unsigned int what,
		       const struct gather_parts *parts, struct record_set *out,
		       struct gather_counts *counts, struct error *err)
{
	struct symbol_table table;
	int ret = symbol_table_build(file, debug, &table);
	if (ret < 0)
		return ret;
	elf_file_let_go(file);
	if (debug)
		elf_file_let_go(debug);
	struct gathering gathering = { .file = file,
				       .table = &table,
				       .out = out,
				       .counts = counts,
				       .parts = parts,
				       .err = err };
	gathering.chosen = calloc(table.count ? table.count : 1, sizeof(bool));
	ret = gathering.chosen ? 0 : -ENOMEM;
	counts->functions = table.count;
	for (size_t i = 0; ret == 0 && i < count; i++) {
		const struct symbol *symbol = symbol_table_find(&table, vaddrs[i]);
		if (!symbol)
			continue;
		counts->found++;
		counts->named += symbol->name.size > 0;
		if (!is_nearest(symbol))
			choose(&gathering, symbol);
	}
	/* What matters most comes first: the rest may be cut off at any time. */
	if (ret == 0 && (what & GATHER_FUNCTIONS)) {
		ret = add_functions(&gathering, vaddrs, count, what, GATHER_FUNCTIONS);
		if (ret == 0 && what != GATHER_FUNCTIONS)
			ret = hand_over(&gathering, GATHER_FUNCTIONS);
	}
	if (ret == 0 && (what & GATHER_CODE))
		ret = add_functions(&gathering, vaddrs, count, what, GATHER_CODE);
	elf_file_let_go(file);
	if (ret == 0 && (what & GATHER_CODE) && (what & GATHER_FLOW))
		ret = hand_over(&gathering, GATHER_FUNCTIONS | GATHER_CODE);
	if (ret == 0 && (what & GATHER_FLOW))
		ret = gather_flow(file, &table, gathering.chosen, out);
	elf_file_let_go(file);
	if (ret == 0 && (what & GATHER_LINES) && lines_fd >= 0) {
		ret = hand_over(&gathering, GATHER_FUNCTIONS | GATHER_CODE | GATHER_FLOW);
		if (ret == 0)
			ret = add_lines(&gathering, lines_fd, vaddrs, count, counts);
	}
	record_set_sort(out);
	buffer_release(&gathering.content);
	free(gathering.chosen);
	symbol_table_release(&table);
	return ret;
}

static bool has_lines(const struct elf_file *file)
{
	return elf_file_section_bytes(file, elf_file_section(file, ".debug_info")).size > 0 ||
	       elf_file_section_bytes(file, elf_file_section(file, ".zdebug_info")).size > 0;
}

int gather_records(int fd, int debug_fd, const uint64_t *vaddrs, size_t count, unsigned int what,
		   struct record_set *out, struct gather_counts *counts,
		   const struct gather_parts *parts, struct error *err)
{
	CLEANUP(mapped_elf_release) struct mapped_elf main = { 0 };
	CLEANUP(mapped_elf_release) struct mapped_elf debug = { 0 };
	*counts = (struct gather_counts){ 0 };
	int ret = mapped_elf_open(fd, &main, err);
	if (ret < 0)
		return ret;
	bool use_debug = false;
	if (debug_fd >= 0) {
		/* A debug file that cannot be read is left out, and counted as refused. */
		ret = mapped_elf_open(debug_fd, &debug, NULL);
		use_debug = ret == 0 && debug_matches(&main.file, &debug.file);
		counts->debug_refused = !use_debug;
	}
	int lines_fd = has_lines(&main.file)		     ? fd
		       : use_debug && has_lines(&debug.file) ? debug_fd
							     : -1;
	ret = gather_from(&main.file, use_debug ? &debug.file : NULL, lines_fd, vaddrs, count, what,
			  parts, out, counts, err);
	return ret == -ENOMEM ? error_set(err, ret, "out of memory") : ret;
}
