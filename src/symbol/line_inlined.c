#include "symbol/line_index_private.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"
#include "symbol/record.h"

#define TREE_MAX_DEPTH 128 /* of entries below a compilation unit; compilers stay below 40 */

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		return dwarf_formstring(&attribute);
	return dwarf_diename(die);
}

/* The attributes of an inlined call, gathered in one pass over its entry. */
struct call {
	uint64_t file, line;
	Dwarf_Die origin; /* of the function that was inlined */
	bool has_origin;
};

static int take_attribute(Dwarf_Attribute *attribute, void *context)
{
	struct call *call = context;
	Dwarf_Word value;
	switch (dwarf_whatattr(attribute)) {
	case DW_AT_call_file:
		call->file = dwarf_formudata(attribute, &value) == 0 ? value : 0;
		break;
	case DW_AT_call_line:
		call->line = dwarf_formudata(attribute, &value) == 0 ? value : 0;
		break;
	case DW_AT_abstract_origin:
		call->has_origin = dwarf_formref_die(attribute, &call->origin) != NULL;
		break;
	default:
		break;
	}
	return DWARF_CB_OK;
}

/* The few functions that are inlined everywhere are asked for their names once. */
static const char *origin_name(struct line_unit *unit, struct call *call)
{
	if (!call->has_origin)
		return NULL;
	struct origin_name *known =
		&unit->origins[hash_u64((uintptr_t)call->origin.addr) % ORIGIN_CACHE];
	if (known->origin != call->origin.addr)
		*known = (struct origin_name){ call->origin.addr, linkage_name(&call->origin) };
	return known->name;
}

static void add_inlined(struct line_unit *unit, Dwarf_Die *die, uint32_t parent, uint32_t depth)
{
	struct call call = { 0 };
	dwarf_getattrs(die, take_attribute, &call, 0);
	if (array_reserve(&unit->inlined, &unit->inlined_capacity, unit->inlined_count,
			  sizeof(*unit->inlined)) < 0) {
		unit->failed = true;
		return;
	}
	uint32_t position = (uint32_t)unit->inlined_count++;
	unit->inlined[position] = (struct inlined){
		.function = origin_name(unit, &call),
		.call_file = call.file < unit->file_count
				     ? dwarf_filesrc(unit->files, call.file, NULL, NULL)
				     : NULL,
		.call_line = call.line <= UINT32_MAX ? (uint32_t)call.line : 0,
		.parent = parent,
		.depth = depth,
	};
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (end <= start)
			continue;
		if (array_reserve(&unit->ranges, &unit->range_capacity, unit->range_count,
				  sizeof(*unit->ranges)) < 0) {
			unit->failed = true;
			return;
		}
		unit->ranges[unit->range_count++] =
			(struct inline_range){ start, end - 1, position };
	}
}

/* Inlined calls within a function: they nest in each other and in blocks. */
static void walk_function(struct line_unit *unit, Dwarf_Die *function, uint32_t parent,
			  uint32_t inlining, unsigned int depth)
{
	Dwarf_Die child;
	if (depth > TREE_MAX_DEPTH || dwarf_child(function, &child) != 0)
		return;
	do {
		uint32_t position;
		switch (dwarf_tag(&child)) {
		case DW_TAG_inlined_subroutine:
			if (inlining + 1 >= RECORD_MAX_DEPTH)
				break;
			add_inlined(unit, &child, parent, inlining + 1);
			if (unit->failed)
				return;
			position = (uint32_t)unit->inlined_count - 1;
			walk_function(unit, &child, position, inlining + 1, depth + 1);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			walk_function(unit, &child, parent, inlining, depth + 1);
			break;
		default:
			break;
		}
	} while (!unit->failed && dwarf_siblingof(&child, &child) == 0);
}

/* Functions stand below the unit, its namespaces and types, and (nested ones) below blocks. */
static void walk_unit(struct line_unit *unit, Dwarf_Die *scope, const struct line_wanted *wanted,
		      unsigned int depth)
{
	Dwarf_Die child;
	if (depth > TREE_MAX_DEPTH || dwarf_child(scope, &child) != 0)
		return;
	do {
		switch (dwarf_tag(&child)) {
		case DW_TAG_subprogram:
			if (line_entry_is_wanted(&child, wanted))
				walk_function(unit, &child, UINT32_MAX, 0, 0);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_enumeration_type:
		case DW_TAG_union_type:
			walk_unit(unit, &child, wanted, depth + 1);
			break;
		default:
			break;
		}
	} while (!unit->failed && dwarf_siblingof(&child, &child) == 0);
}

static int compare_ranges(const void *a, const void *b)
{
	const struct inline_range *left = a;
	const struct inline_range *right = b;
	if (left->first != right->first)
		return left->first < right->first ? -1 : 1;
	return (left->inlined > right->inlined) - (left->inlined < right->inlined);
}

void line_unit_find_inlined(struct line_unit *unit, Dwarf_Die *scope,
			    const struct line_wanted *wanted)
{
	walk_unit(unit, scope, wanted, 0);
	if (unit->range_count)
		qsort(unit->ranges, unit->range_count, sizeof(*unit->ranges), compare_ranges);
}
