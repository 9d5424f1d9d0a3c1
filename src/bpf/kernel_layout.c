#include "bpf/kernel_layout.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/count_of.h"
#include "base/error.h"

#define NESTED_MOST 8 /* structures without a name in each other; the kernel has 3 */

enum place { OFFSET, ELEMENTS }; /* of an array: how many it has */

struct field {
	const char *structure, *name;
	uint32_t at; /* in struct kernel_layout */
	enum place place;
	bool optional;
};

#define AT(name) offsetof(struct kernel_layout, name)

static const struct field fields[] = {
	{ "task_struct", "mm", AT(task_mm), OFFSET, false },
	{ "task_struct", "group_leader", AT(task_leader), OFFSET, false },
	{ "task_struct", "comm", AT(task_comm), OFFSET, false },
	{ "task_struct", "cgroups", AT(task_cgroups), OFFSET, true },
	{ "task_struct", "real_parent", AT(task_parent), OFFSET, false },
	{ "task_struct", "tgid", AT(task_tgid), OFFSET, false },
	{ "task_struct", "start_boottime", AT(task_start), OFFSET, false },
	{ "task_struct", "self_exec_id", AT(task_exec), OFFSET, false },
	{ "mm_struct", "mm_mt", AT(mm_tree), OFFSET, true },
	{ "maple_tree", "ma_root", AT(tree_root), OFFSET, true },
	{ "mm_struct", "mm_lock_seq", AT(mm_changes), OFFSET, true },
	{ "mm_struct", "context.vdso", AT(mm_vdso), OFFSET, true },
	{ "vm_area_struct", "vm_start", AT(mapping_start), OFFSET, false },
	{ "vm_area_struct", "vm_end", AT(mapping_end), OFFSET, false },
	{ "vm_area_struct", "vm_pgoff", AT(mapping_page), OFFSET, false },
	{ "vm_area_struct", "vm_file", AT(mapping_file), OFFSET, false },
	{ "vm_area_struct", "vm_flags", AT(mapping_flags), OFFSET, false },
	{ "vm_area_struct", "vm_mm", AT(mapping_mm), OFFSET, false },
	{ "vm_area_struct", "vm_lock_seq", AT(mapping_lock), OFFSET, true },
	{ "file", "f_inode", AT(file_inode), OFFSET, false },
	{ "inode", "i_ino", AT(inode_number), OFFSET, false },
	{ "inode", "i_generation", AT(inode_generation), OFFSET, false },
	{ "inode", "i_sb", AT(inode_device), OFFSET, false },
	{ "super_block", "s_dev", AT(super_device), OFFSET, false },
	{ "maple_range_64", "pivot", AT(range_borders), ELEMENTS, true },
	{ "maple_range_64", "pivot", AT(range_border), OFFSET, true },
	{ "maple_range_64", "slot", AT(range_entry), OFFSET, true },
	{ "maple_arange_64", "pivot", AT(gap_borders), ELEMENTS, true },
	{ "maple_arange_64", "pivot", AT(gap_border), OFFSET, true },
	{ "maple_arange_64", "slot", AT(gap_entry), OFFSET, true },
};

/* Finds a field, also in structures without a name inside; stores its type and adds its offset. */
static bool find_member(const struct btf *types, uint32_t structure, const char *name, int nested,
			uint32_t *type, uint32_t *offset)
{
	const struct btf_type *outer = btf__type_by_id(types, structure);
	if (!outer || !btf_is_composite(outer) || nested > NESTED_MOST)
		return false;
	const struct btf_member *members = btf_members(outer);
	for (uint32_t i = 0; i < btf_vlen(outer); i++) {
		const char *own = btf__name_by_offset(types, members[i].name_off);
		uint32_t bits = btf_member_bit_offset(outer, i), before = *offset;
		if (bits % 8)
			continue;
		*offset = before + bits / 8;
		*type = members[i].type;
		if (own && own[0] ? !strcmp(own, name)
				  : find_member(types, members[i].type, name, nested + 1, type,
						offset))
			return true;
		*offset = before;
	}
	return false;
}

/* The same, where the name may be that of a field of a field: "context.vdso". */
static bool find_path(const struct btf *types, uint32_t structure, const char *path, uint32_t *type,
		      uint32_t *offset)
{
	const char *dot = strchr(path, '.');
	char outer[32];
	if (!dot)
		return find_member(types, structure, path, 0, type, offset);
	size_t size = (size_t)(dot - path);
	if (size >= sizeof(outer))
		return false;
	memcpy(outer, path, size);
	outer[size] = 0;
	if (!find_member(types, structure, outer, 0, type, offset))
		return false;
	int inner = btf__resolve_type(types, *type); /* it may have a name of its own */
	return inner >= 0 &&
	       find_member(types, (uint32_t)inner, dot + 1, 0, type, offset);
}

static bool find_field(const struct btf *types, const struct field *field, uint32_t *value)
{
	int structure = btf__find_by_name_kind(types, field->structure, BTF_KIND_STRUCT);
	uint32_t type, offset = 0;
	if (structure < 0 || !find_path(types, (uint32_t)structure, field->name, &type, &offset))
		return false;
	const struct btf_type *found = btf__type_by_id(types, type);
	if (field->place == ELEMENTS && !(found && btf_is_array(found)))
		return false;
	*value = field->place == ELEMENTS ? btf_array(found)->nelems : offset;
	return true;
}

int kernel_layout_of(const struct btf *types, struct kernel_layout *layout, struct error *err)
{
	*layout = (struct kernel_layout){
		.page_bits = (uint32_t)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE)),
	};
	for (size_t i = 0; i < COUNT_OF(fields); i++) {
		uint32_t value = KERNEL_FIELD_NONE;
		if (!find_field(types, &fields[i], &value) && !fields[i].optional)
			return error_set(err, -ENOENT, "this kernel's types have no %s of %s",
					 fields[i].name, fields[i].structure);
		memcpy((char *)layout + fields[i].at, &value, sizeof(value));
	}
	/* No such field is more than programs have room for, too. */
	if (layout->tree_root == KERNEL_FIELD_NONE || layout->range_borders > KERNEL_BORDERS_MOST ||
	    layout->gap_borders > KERNEL_BORDERS_MOST)
		layout->mm_tree = KERNEL_FIELD_NONE;
	return 0;
}

int kernel_layout_read(struct kernel_layout *layout, struct error *err)
{
	struct btf *types = btf__load_vmlinux_btf();
	if (!types)
		return error_set(err, -ENOENT,
				 "this kernel does not describe its types (%s; "
				 "/sys/kernel/btf/vmlinux, of CONFIG_DEBUG_INFO_BTF)",
				 strerror(errno));
	int ret = kernel_layout_of(types, layout, err);
	btf__free(types);
	return ret;
}
