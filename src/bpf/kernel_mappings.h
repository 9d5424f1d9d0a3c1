/*
 * kernel_mappings - where an address of a process lies, for programs: a walk of the kernel's tree
 * of mappings, which takes 1 to 2 us where its nodes are in no cache, and what can be remembered of
 * it. Before it is included there is FIELD(name), a field of struct kernel_layout.
 */
#pragma once

static __always_inline __u64 read_word(__u64 address)
{
	__u64 word = 0;
	bpf_probe_read_kernel(&word, sizeof(word), (const void *)address);
	return word;
}

static __always_inline __u32 read_half(__u64 address)
{
	__u32 half = 0;
	bpf_probe_read_kernel(&half, sizeof(half), (const void *)address);
	return half;
}

/* A node of the tree of mappings (the kernel's maple tree): its address and its type are one word. */
#define NODE(entry)	((entry) & ~255ull)
#define NODE_TYPE(entry) ((__u32)((entry) >> 3) & 15)
#define NODE_GAPS	3 /* maple_arange_64 */
#define NODE_LEAF	1 /* maple_leaf_64, as maple_range_64 */
#define DEPTH_MOST	6 /* 16 to the 6th are more mappings than a process may have */

/* The mapping that may hold `address`, or 0; `border`: room for KERNEL_BORDERS_MOST. No lock is
 * taken: a change may be under way, so whoever asks looks whether it does. */
static __always_inline __u64 find_mapping(__u64 *border, __u64 mm, __u64 address)
{
	__u64 entry = read_word(mm + FIELD(mm_tree) + FIELD(tree_root)), most = ~0ull;
	if ((entry & 3) != 2)
		return 0;
	for (int depth = 0; depth < DEPTH_MOST && entry; depth++) {
		__u64 node = NODE(entry);
		__u32 type = NODE_TYPE(entry), count, slots, i;
		if (type == NODE_GAPS) {
			count = FIELD(gap_borders);
			slots = FIELD(gap_entry);
			if (bpf_probe_read_kernel(border, FIELD(gap_borders) * 8,
						  (const void *)(node + FIELD(gap_border))))
				return 0;
		} else {
			count = FIELD(range_borders);
			slots = FIELD(range_entry);
			if (bpf_probe_read_kernel(border, FIELD(range_borders) * 8,
						  (const void *)(node + FIELD(range_border))))
				return 0;
		}
		for (i = 0; i < KERNEL_BORDERS_MOST; i++) {
			__u64 at = border[i];
			if (i >= count || !at || at >= most)
				break;
			if (address <= at) {
				most = at;
				break;
			}
		}
		entry = read_word(node + slots + i * 8);
		if (type <= NODE_LEAF)
			return entry;
	}
	return 0;
}

/* Whose mappings are remembered: a process since its last exec. */
struct space {
	__u64 mm, execs;
	__u32 pid;
	__u32 changes; /* when it was looked at last */
};

/* Whether that is still the current process, whose mappings can be remembered; if not, it is from
 * now on, and what was remembered is of no use. */
static __always_inline int enter_space(struct space *space, __u64 task, __u64 mm)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	__u64 execs = read_half(task + FIELD(task_exec));
	int can = FIELD(mm_changes) != KERNEL_FIELD_NONE;
	int same = can && space->mm == mm && space->pid == pid && space->execs == execs;
	space->mm = mm;
	space->pid = pid;
	space->execs = execs;
	space->changes = can ? read_half(mm + FIELD(mm_changes)) : 0;
	return same;
}

/* A mapping that is remembered. */
struct area {
	__u64 start, end; /* the same: none */
	__u64 at;	  /* the kernel's structure; 0: it was being changed */
	__u32 lock, changes;
};

static __always_inline void forget_area(struct area *area)
{
	area->end = area->start;
}

/* What is remembered of the mapping at `at`, as find_mapping() found it. */
static __always_inline struct area read_area(const struct space *space, __u64 at)
{
	struct area area = { .changes = space->changes };
	if (FIELD(mapping_lock) != KERNEL_FIELD_NONE) {
		area.lock = read_half(at + FIELD(mapping_lock)); /* before it may change */
		area.at = area.lock != space->changes ? at : 0;
	}
	area.start = read_word(at + FIELD(mapping_start));
	area.end = read_word(at + FIELD(mapping_end));
	return area;
}

/*
 * Whether a mapping is what it was: none of the process's has changed, or this one has not. Whoever
 * changes or removes one writes the number of changes to its lock first (vma_start_write of
 * include/linux/mmap_lock.h), and a number is odd while changes are under way (since Linux 6.13;
 * for earlier ones it is a look more).
 */
static __always_inline int area_holds(struct area *area, const struct space *space)
{
	if (area->changes == space->changes && !(space->changes & 1))
		return 1;
	if (!area->at || read_word(area->at + FIELD(mapping_mm)) != space->mm ||
	    read_half(area->at + FIELD(mapping_lock)) != area->lock)
		return 0;
	area->changes = space->changes;
	return 1;
}
