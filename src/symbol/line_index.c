#include "symbol/line_index_private.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sorted.h"
#include "symbol/debug_claims.h"
#include "symbol/helper_process.h"
#include "symbol/record.h"

/* Position of the first extent that ends at or after `vaddr`. */
static size_t first_extent(const struct line_wanted *wanted, uint64_t vaddr)
{
	return SORTED_FROM(wanted->extents, wanted->count, last, vaddr);
}

static bool is_wanted(const struct line_wanted *wanted, uint64_t first, uint64_t last)
{
	size_t at = first_extent(wanted, first);
	return at < wanted->count && wanted->extents[at].first <= last;
}

bool line_entry_is_wanted(Dwarf_Die *die, const struct line_wanted *wanted)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		if (end > start && is_wanted(wanted, start, end - 1))
			return true;
	return false;
}

static void release_unit(struct line_unit *unit)
{
	free(unit->inlined);
	free(unit->ranges);
	arena_release(&unit->arena);
	*unit = (struct line_unit){ 0 };
}

/* Records for the wanted functions that begin in [first, last], part of the unit's code. */
static int write_range(struct line_unit *unit, const struct line_wanted *wanted, uint64_t first,
		       uint64_t last, struct record_set *out)
{
	size_t range = 0;
	for (size_t i = first_extent(wanted, first);
	     i < wanted->count && wanted->extents[i].first <= last; i++) {
		struct line_extent *extent = &wanted->extents[i];
		if (extent->rows)
			continue; /* another unit had it */
		/* Ranges rise by first, extents too; one range of a function lies within it. */
		size_t low = range;
		size_t high = unit->range_count;
		while (low < high) {
			size_t middle = low + (high - low) / 2;
			if (unit->ranges[middle].first < extent->first)
				low = middle + 1;
			else
				high = middle;
		}
		range = low;
		size_t range_end = range;
		while (range_end < unit->range_count &&
		       unit->ranges[range_end].first <= extent->last)
			range_end++;
		int ret = line_unit_write(unit, extent, range, range_end, out);
		if (ret < 0)
			return ret;
		range = range_end;
	}
	return 0;
}

/* `split` is the unit's own part in a .dwo file, or the same as `die`. */
static int read_unit(Dwarf_Die *die, Dwarf_Die *split, const struct line_wanted *wanted,
		     const struct line_units *units, struct record_set *out)
{
	if (!line_entry_is_wanted(die, wanted))
		return 0;
	if (units && out->count) {
		int taken = units->begin(units->context);
		if (taken < 0)
			return taken;
	}
	struct line_unit unit = { 0 };
	Dwarf_Attribute folder;
	if (dwarf_attr(die, DW_AT_comp_dir, &folder))
		unit.folder = dwarf_formstring(&folder);
	if (dwarf_getsrclines(die, &unit.lines, &unit.line_count) != 0)
		unit.line_count = 0;
	if (dwarf_getsrcfiles(die, &unit.files, &unit.file_count) != 0)
		unit.file_count = 0;
	int ret = 0;
	if (unit.line_count) {
		line_unit_find_inlined(&unit, split, wanted);
		ret = unit.failed ? -ENOMEM : 0;
	}
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	while (unit.line_count && ret == 0 && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		if (end > start)
			ret = write_range(&unit, wanted, start, end - 1, out);
	release_unit(&unit);
	return ret;
}

/* libdw looks for the end of a string of these sections behind them (elfutils 0.188). */
static bool strings_end(Elf *elf)
{
	size_t names;
	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	for (Elf_Scn *section = elf_nextscn(elf, NULL); section;
	     section = elf_nextscn(elf, section)) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;
		if (!name || header.sh_type == SHT_NOBITS ||
		    (strcmp(name, ".debug_str") != 0 && strcmp(name, ".debug_line_str") != 0))
			continue;
		const Elf_Data *data = elf_getdata(section, NULL);
		if (data && data->d_size > 0 && data->d_buf &&
		    ((const char *)data->d_buf)[data->d_size - 1] != 0)
			return false;
	}
	return true;
}

/* By itself libdw would print a message and exit with a status that does not say why. */
__attribute__((noreturn)) static void no_memory(void)
{
	_exit(HELPER_OUT_OF_MEMORY);
}

static int read_units(Dwarf *dwarf, const struct line_wanted *wanted,
		      const struct line_units *units, struct record_set *out)
{
	int ret = 0, end = 1;
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, split;
	uint8_t type;
	while (ret == 0 &&
	       (end = dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die, &split)) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		bool has_split = type == DW_UT_skeleton && split.addr;
		ret = read_unit(&die, has_split ? &split : &die, wanted, units, out);
	}
	return ret == 0 && (end < 0 || !unit) ? -EBADMSG : ret;
}

int line_index_records(int fd, struct line_extent *extents, size_t count,
		       const struct line_units *units, struct record_set *out, struct error *err)
{
	struct line_wanted wanted = { extents, count };
	for (size_t i = 0; i < count; i++)
		extents[i].rows = 0;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return 0;
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	int ret = elf ? debug_claims_check(elf, err) : -EBADMSG;
	Dwarf *dwarf = ret == 0 ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
	if (dwarf)
		dwarf_new_oom_handler(dwarf, no_memory);
	if (ret == 0 && (!dwarf || !strings_end(elf))) /* unpacked by now */
		ret = -EBADMSG;
	if (ret == 0)
		ret = read_units(dwarf, &wanted, units, out);
	dwarf_end(dwarf);
	elf_end(elf);
	return ret;
}
