/*
 * kernel_mappings - where an address of a process lies, for programs: a walk of the kernel's tree of
 * mappings. Before it is included there is FIELD(name), a field of struct kernel_layout.
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
