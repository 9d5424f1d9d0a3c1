/*
 * kernel_mappings - where an address of a process lies, for programs: a walk of the kernel's tree
 * of mappings, which takes 1 to 3 us where its nodes are in no cache, and what can be remembered of
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

#define SPACE_BITS 2  /* log2 of the processes whose mappings a CPU remembers, */
#define AREAS	   4u /* and of each so many */
#define NONE	   UINT32_MAX

/* A mapping that is remembered. */
struct area {
	__u64 start, end; /* the same: none */
	__u64 at;	  /* the kernel's structure; 0: it was being changed */
	__u32 lock, changes;
};

/* What is remembered of a process since its last exec. */
struct space {
	__u64 mm, execs;
	__u32 pid;
	__u32 changes;	  /* when it was looked at last */
	__u32 generation; /* of what the program knows about files */
	__u32 next;
	struct area areas[AREAS];
};

static __always_inline __u32 space_number(__u64 mm)
{
	return mm * 0x9e3779b97f4a7c15ull >> (64 - SPACE_BITS);
}

static __always_inline void forget_area(struct area *area)
{
	area->end = area->start;
}

/* Makes it the current process's: nothing is remembered of another one, of an earlier generation,
 * or where the kernel does not count changes. */
static __always_inline void enter_space(struct space *space, __u64 task, __u64 mm, __u32 generation)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	__u64 execs = read_half(task + FIELD(task_exec));
	int counts = FIELD(mm_changes) != KERNEL_FIELD_NONE;
	int same = counts && space->mm == mm && space->pid == pid && space->execs == execs &&
		   space->generation == generation;
	space->changes = counts ? read_half(mm + FIELD(mm_changes)) : 0;
	if (same)
		return;
	space->mm = mm;
	space->pid = pid;
	space->execs = execs;
	space->generation = generation;
	for (__u32 i = 0; i < AREAS; i++)
		forget_area(&space->areas[i]);
}

/* What is to be remembered of the mapping at `at`, as find_mapping() found it. Whoever changes or
 * removes one writes the number of changes to its lock first (vma_start_write of the kernel's
 * include/linux/mmap_lock.h), and the number is another when that is done; so what is read behind
 * the two is of one state, or the lock will be another. */
static __always_inline struct area read_area(const struct space *space, __u64 at)
{
	struct area area = { .changes = space->changes };
	if (FIELD(mapping_lock) != KERNEL_FIELD_NONE) {
		area.lock = read_half(at + FIELD(mapping_lock));
		area.at = area.lock != read_half(space->mm + FIELD(mm_changes)) ? at : 0;
	}
	area.start = read_word(at + FIELD(mapping_start));
	area.end = read_word(at + FIELD(mapping_end));
	return area;
}

/* Remembers it instead of the oldest one, and returns its number. */
static __always_inline __u32 add_area(struct space *space, const struct area *area)
{
	__u32 number = space->next++ & (AREAS - 1);
	space->areas[number] = *area;
	return number;
}

/* Whether a mapping is what it was: none of the process's has changed, or this one has not. The
 * number of changes is odd while one is under way (since Linux 6.13; for earlier ones it is a look
 * more). */
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

/* The number of the mapping that holds an address, if it is remembered and is what it was; or NONE.
 */
static __always_inline __u32 find_area(struct space *space, __u64 address)
{
	for (__u32 i = 0; i < AREAS; i++) {
		struct area *area = &space->areas[i];
		if (address < area->start || address >= area->end)
			continue;
		if (area_holds(area, space))
			return i;
		forget_area(area);
	}
	return NONE;
}
