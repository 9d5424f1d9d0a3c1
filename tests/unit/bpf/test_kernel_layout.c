#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <cmocka.h>

#include "base/error.h"
#include "bpf/kernel_layout.h"
#include "support/skip.h"

static int word; /* the type of all fields */

static int begin(struct btf *types, const char *name)
{
	int id = btf__add_struct(types, name, 256);
	assert_true(id > 0);
	return id;
}

static void field(struct btf *types, const char *name, int type, uint32_t at)
{
	assert_int_equal(btf__add_field(types, name, type, at * 8, 0), 0);
}

static void structure(struct btf *types, const char *name, const char *first, uint32_t first_at,
		      const char *second, uint32_t second_at)
{
	begin(types, name);
	field(types, first, word, first_at);
	if (second)
		field(types, second, word, second_at);
}

static void node(struct btf *types, const char *name, uint32_t borders)
{
	int pivots = btf__add_array(types, word, word, borders);
	int slots = btf__add_array(types, word, word, borders + 1);
	begin(types, name);
	field(types, "pivot", pivots, 8);
	field(types, "slot", slots, 8 + 8 * borders);
}

enum { WITHOUT_TREE = 1, WITHOUT_INODE = 2 };

/* A kernel's types; of mappings and memory, in structures without a name, as it has them. */
static struct btf *make_types(int without)
{
	struct btf *types = btf__new_empty();
	assert_non_null(types);
	word = btf__add_int(types, "unsigned long", 8, 0);
	begin(types, "task_struct");
	field(types, "mm", word, 100);
	field(types, "group_leader", word, 108);
	field(types, "comm", word, 116);
	field(types, "start_boottime", word, 132);
	field(types, "self_exec_id", word, 140);
	field(types, "real_parent", word, 148);
	field(types, "tgid", word, 156);
	structure(types, "maple_tree", "ma_flags", 4, "ma_root", 8);
	int inner = begin(types, NULL);
	if (!(without & WITHOUT_TREE))
		field(types, "mm_mt", word, 32);
	field(types, "mm_count", word, 40);
	begin(types, "context");
	field(types, "lock", word, 0);
	field(types, "vdso", word, 24);
	int context = btf__add_typedef(types, "mm_context_t", btf__find_by_name(types, "context"));
	begin(types, "mm_struct");
	field(types, NULL, inner, 64);
	field(types, "context", context, 200);
	int ends = begin(types, NULL);
	field(types, "vm_start", word, 0);
	field(types, "vm_end", word, 8);
	int either = btf__add_union(types, NULL, 16);
	field(types, "vm_freeptr", word, 0);
	field(types, NULL, ends, 0);
	begin(types, "vm_area_struct");
	field(types, "vm_first", word, 0);
	field(types, NULL, either, 16);
	field(types, "vm_mm", word, 32);
	field(types, "vm_pgoff", word, 48);
	field(types, "vm_file", word, 56);
	field(types, "vm_flags", word, 64);
	field(types, "vm_lock_seq", word, 72);
	structure(types, "file", "f_mode", 0, "f_inode", 24);
	begin(types, "inode");
	if (!(without & WITHOUT_INODE))
		field(types, "i_ino", word, 16);
	field(types, "i_generation", word, 28);
	field(types, "i_sb", word, 40);
	structure(types, "super_block", "s_dev", 12, NULL, 0);
	node(types, "maple_range_64", 15);
	node(types, "maple_arange_64", 9);
	return types;
}

static void fields_are_found_wherever_they_lie(void **state)
{
	struct btf *types = make_types(0);
	struct kernel_layout layout;
	struct error err;
	(void)state;
	assert_int_equal(kernel_layout_of(types, &layout, &err), 0);
	const struct kernel_layout expected = {
		.task_mm = 100,
		.task_leader = 108,
		.task_comm = 116,
		.task_cgroups = KERNEL_FIELD_NONE,
		.task_start = 132,
		.task_exec = 140,
		.task_parent = 148,
		.task_tgid = 156,
		.mm_tree = 96,
		.tree_root = 8,
		.mapping_start = 16,
		.mapping_end = 24,
		.mapping_page = 48,
		.mapping_file = 56,
		.mapping_flags = 64,
		.mm_vdso = 224,
		.mapping_mm = 32,
		.mapping_lock = 72,
		.file_inode = 24,
		.inode_number = 16,
		.inode_generation = 28,
		.inode_device = 40,
		.super_device = 12,
		.mm_changes = KERNEL_FIELD_NONE,
		.range_borders = 15,
		.range_border = 8,
		.range_entry = 128,
		.gap_borders = 9,
		.gap_border = 8,
		.gap_entry = 80,
		.page_bits = (uint32_t)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE)),
	};
	assert_memory_equal(&layout, &expected, sizeof(layout));
	btf__free(types);
}

static void an_older_kernel_has_no_tree(void **state)
{
	struct btf *types = make_types(WITHOUT_TREE);
	struct kernel_layout layout;
	(void)state;
	assert_int_equal(kernel_layout_of(types, &layout, NULL), 0);
	assert_int_equal(layout.mm_tree, KERNEL_FIELD_NONE);
	assert_int_equal(layout.mapping_end, 24);
	btf__free(types);
}

static void what_every_kernel_has_is_missed(void **state)
{
	struct btf *types = make_types(WITHOUT_INODE), *none = btf__new_empty();
	struct kernel_layout layout;
	struct error err;
	(void)state;
	assert_int_equal(kernel_layout_of(types, &layout, &err), -ENOENT);
	assert_string_equal(err.text, "this kernel's types have no i_ino of inode");
	assert_int_equal(kernel_layout_of(none, &layout, &err), -ENOENT);
	assert_string_equal(err.text, "this kernel's types have no mm of task_struct");
	btf__free(types);
	btf__free(none);
}

static void this_kernel_has_all_of_them(void **state)
{
	struct kernel_layout layout;
	struct error err;
	(void)state;
	if (kernel_layout_read(&layout, &err) < 0)
		SKIP("%s", err.text);
	assert_int_not_equal(layout.mapping_start, layout.mapping_end);
	assert_int_not_equal(layout.task_mm, layout.task_leader);
	/* nodes have 256 bytes */
	if (layout.mm_tree != KERNEL_FIELD_NONE) {
		assert_in_range(layout.range_borders, 1, 15);
		assert_in_range(layout.gap_borders, 1, layout.range_borders);
		assert_int_equal(layout.range_entry,
				 layout.range_border + 8 * layout.range_borders);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_found_wherever_they_lie),
		cmocka_unit_test(an_older_kernel_has_no_tree),
		cmocka_unit_test(what_every_kernel_has_is_missed),
		cmocka_unit_test(this_kernel_has_all_of_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
