/*
 * kernel_layout_fields - where the fields lie that programs read in the running kernel's structures,
 * as they are told when they are loaded (kernel_layout.h).
 */
#pragma once

#include <stdint.h>

#define KERNEL_FIELD_NONE UINT32_MAX /* this kernel has no such field */

#define KERNEL_BORDERS_MOST 15 /* between the entries of a node */

/* Offsets in bytes. */
struct kernel_layout {
	uint32_t task_mm, task_leader, task_comm, task_cgroups;
	uint32_t task_parent, task_tgid;
	uint32_t task_start; /* since boot, in ns */
	uint32_t task_exec;  /* 32 or 64 bits; counts its execs */
	uint32_t mm_tree;    /* of its mappings; NONE before Linux 6.1 */
	uint32_t tree_root;
	uint32_t mm_changes; /* 32 bits; counts its changes of mappings; NONE before Linux 6.4 */
	uint32_t mm_vdso;    /* where it is mapped; NONE: there is none */
	uint32_t mapping_start, mapping_end, mapping_page, mapping_file, mapping_flags;
	uint32_t mapping_mm;
	uint32_t mapping_lock; /* 32 bits; NONE before Linux 6.4: what mm_changes was when a change
				  of this mapping began last */
	uint32_t file_inode;
	uint32_t inode_number, inode_generation, inode_device; /* the last: of its super block */
	uint32_t super_device;
	/* Nodes of the tree, of leaves and wide ranges, and of inner nodes that know gaps: how many
	 * borders they have, and where these and the entries between them lie. */
	uint32_t range_borders, range_border, range_entry;
	uint32_t gap_borders, gap_border, gap_entry;
	uint32_t page_bits; /* log2 of a page's bytes */
};
