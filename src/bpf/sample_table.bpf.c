/* Counts samples where they happen (sample_table.h). */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "kernel_layout_fields.h"
#include "program_time.h"
#include "program_timed.h"
#include "sample_table_layout.h"

char terms[] SEC("license") = "Dual MIT/GPL"; /* the helpers are for such programs alone */

const volatile struct sample_table_settings settings;
volatile struct sample_table_state state;

/* The user gives the numbers of entries, by the machine's CPUs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample_table_line);
} lines SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample_table_entry);
} spill SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample_table_cpu);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct sample_table_image_key);
	__type(value, struct sample_table_image);
} images SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct sample_table_context_key);
	__type(value, struct sample_table_context);
} contexts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} news SEC(".maps");

#define FIELD(name) (settings.layout.name)
#include "kernel_mappings.h"

struct file {
	__u64 offset; /* of an address in the file: minus the mapping's start */
	__u32 image;
};

struct process {
	struct space space;
	struct file files[AREAS];
};

/* What a CPU remembers. */
struct remembered {
	struct sample_table_context_key context_key; /* of the last sample */
	__u32 context, generation;
	struct process processes[1 << SPACE_BITS];
	/* room for news, which a stack has not */
	struct sample_table_news news;
	__u64 borders[KERNEL_BORDERS_MOST];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct remembered);
} remembered SEC(".maps");

#if defined(__TARGET_ARCH_x86)
#define IS_USER(regs) (((regs).cs & 3) != 0)
#define PC(regs)      ((regs).rip)
#else
#define IS_USER(regs) (((regs).pstate & 15) == 0)
#define PC(regs)      ((regs).pc)
#endif

static __always_inline void tell(struct sample_table_cpu *cpu, const struct sample_table_news *what)
{
	if (bpf_ringbuf_output(&news, (void *)what, sizeof(*what), BPF_RB_NO_WAKEUP))
		cpu->unsought++;
}

/* ---- Entries */

static __always_inline void push_out(struct sample_table_cpu *cpu, __u32 half, __u32 number,
				     const struct sample_table_entry *entry)
{
	__u32 used = cpu->spilled[half];
	__u32 at = (half * settings.cpus + number) * settings.spill + used;
	struct sample_table_entry *to = bpf_map_lookup_elem(&spill, &at);
	if (used >= settings.spill || !to) {
		cpu->events[entry->place >> SAMPLE_TABLE_OFFSET_BITS & (SAMPLE_TABLE_EVENTS - 1)]
			.lost += entry->rest & SAMPLE_TABLE_COUNT_MOST;
		return;
	}
	*to = *entry;
	cpu->spilled[half] = used + 1;
}

/* Whether there was an entry of it. */
static __always_inline int count(struct sample_table_cpu *cpu, __u32 number, __u64 place,
				 __u64 rest)
{
	__u32 half = state.half & 1;
	__u64 mixed = (place ^ (rest >> SAMPLE_TABLE_COUNT_BITS) * 0xff51afd7ed558ccdull) *
		      0x9e3779b97f4a7c15ull;
	__u32 at = ((half * settings.cpus + number) << settings.lines_bits) +
		   (__u32)(mixed >> 32 >> (32 - settings.lines_bits));
	struct sample_table_line *line = bpf_map_lookup_elem(&lines, &at);
	if (!line)
		return 0;
#pragma clang loop unroll(full)
	for (int i = 0; i < (int)SAMPLE_TABLE_WAYS; i++) {
		struct sample_table_entry *way = &line->ways[i];
		if (way->place != place || (way->rest ^ rest) >> SAMPLE_TABLE_COUNT_BITS)
			continue;
		if ((way->rest & SAMPLE_TABLE_COUNT_MOST) == SAMPLE_TABLE_COUNT_MOST) {
			push_out(cpu, half, number, way);
			way->rest -= SAMPLE_TABLE_COUNT_MOST;
		}
		way->rest++;
		return 1;
	}
#pragma clang loop unroll(full)
	for (int i = 0; i < (int)SAMPLE_TABLE_WAYS; i++) {
		struct sample_table_entry *way = &line->ways[i];
		if (way->rest)
			continue;
		way->place = place;
		way->rest = rest + 1;
		return 0;
	}
	struct sample_table_entry *way = &line->ways[cpu->turn++ % SAMPLE_TABLE_WAYS];
	push_out(cpu, half, number, way);
	way->place = place;
	way->rest = rest + 1;
	return 0;
}

/* ---- Contexts */

static __always_inline __u32 context_number(struct sample_table_cpu *cpu, struct remembered *last,
					    const struct sample_table_context_key *key)
{
	struct sample_table_context *known = bpf_map_lookup_elem(&contexts, key);
	if (known)
		return known->number;
	if (state.context_count >= settings.numbers) /* which takes no number */
		return SAMPLE_TABLE_UNKNOWN;
	struct sample_table_news *said = &last->news;
	__u32 number = __sync_fetch_and_add(&state.contexts, 1) + 1;
	number &= (1u << SAMPLE_TABLE_CONTEXT_BITS) - 1;
	if (!number) /* which is UNKNOWN */
		number = __sync_fetch_and_add(&state.contexts, 1) + 1;
	said->kind = SAMPLE_TABLE_NEWS_CONTEXT;
	said->context.key = *key;
	said->context.value.number = number;
	said->context.value.pid = bpf_get_current_pid_tgid() >> 32;
	if (bpf_map_update_elem(&contexts, key, &said->context.value, BPF_NOEXIST)) {
		/* another CPU was first, or there is no room */
		known = bpf_map_lookup_elem(&contexts, key);
		return known ? known->number : SAMPLE_TABLE_UNKNOWN;
	}
	__sync_fetch_and_add(&state.context_count, 1);
	tell(cpu, said);
	return number;
}

/* Whose sample it is; `address`: its place is an address, which is of a process. */
static __always_inline void fill_context(struct sample_table_context_key *key, __u64 task,
					 int address)
{
	__u64 leader = read_word(task + FIELD(task_leader));
	key->user = (__u32)bpf_get_current_uid_gid();
	bpf_probe_read_kernel(key->name, sizeof(key->name),
			      (const void *)(leader + FIELD(task_comm)));
	if (settings.contexts == SAMPLE_TABLE_BY_NAME && !address) {
		key->kind = SAMPLE_TABLE_BY_NAME;
		key->cgroup = bpf_get_current_cgroup_id();
		if (FIELD(task_cgroups) != KERNEL_FIELD_NONE)
			key->groups = read_word(task + FIELD(task_cgroups));
		return;
	}
	key->kind = SAMPLE_TABLE_BY_PROCESS;
	key->pid = bpf_get_current_pid_tgid() >> 32;
	key->start_ns = read_word(leader + FIELD(task_start));
	key->execs = read_half(task + FIELD(task_exec));
	if (settings.contexts == SAMPLE_TABLE_BY_THREAD) {
		key->kind = SAMPLE_TABLE_BY_THREAD;
		key->tid = (__u32)bpf_get_current_pid_tgid();
	}
}

static __always_inline int same_key(const struct sample_table_context_key *a,
				    const struct sample_table_context_key *b)
{
	const __u64 *left = (const __u64 *)a, *right = (const __u64 *)b;
	__u64 differs = 0;
#pragma clang loop unroll(full)
	for (unsigned i = 0; i < sizeof(*a) / sizeof(*left); i++)
		differs |= left[i] ^ right[i];
	return !differs;
}

/* ---- Images */

static __always_inline __u32 image_number(struct sample_table_cpu *cpu, struct remembered *last,
					  const struct sample_table_image_key *key, __u64 start,
					  __u64 end, __u64 offset)
{
	struct sample_table_image *known = bpf_map_lookup_elem(&images, key);
	if (known)
		return known->number;
	if (state.image_count >= settings.numbers)
		return SAMPLE_TABLE_ADDRESS;
	struct sample_table_news *said = &last->news;
	__u32 given = __sync_fetch_and_add(&state.images, 1);
	said->kind = SAMPLE_TABLE_NEWS_IMAGE;
	said->image.key = *key;
	/* all numbers but those that stand for no file, again and again */
	said->image.value.number =
		given % ((1u << SAMPLE_TABLE_IMAGE_BITS) - SAMPLE_TABLE_IMAGES) + SAMPLE_TABLE_IMAGES;
	said->image.value.pid = bpf_get_current_pid_tgid() >> 32;
	said->image.value.start = start;
	said->image.value.end = end;
	said->image.value.offset = offset;
	if (bpf_map_update_elem(&images, key, &said->image.value, BPF_NOEXIST)) {
		known = bpf_map_lookup_elem(&images, key);
		return known ? known->number : SAMPLE_TABLE_ADDRESS;
	}
	__sync_fetch_and_add(&state.image_count, 1);
	tell(cpu, said);
	return said->image.value.number;
}

/* What is remembered of an address from now on; 0: it is in no file that has a number. */
static __always_inline const struct file *learn_file(struct sample_table_cpu *cpu,
						     struct remembered *last,
						     struct process *process, __u64 address)
{
	__u64 mapping = find_mapping(last->borders, process->space.mm, address);
	if (!mapping)
		return 0;
	struct area area = read_area(&process->space, mapping);
	__u64 file = read_word(mapping + FIELD(mapping_file));
	if (address < area.start || address >= area.end || !file)
		return 0;
	__u64 offset = read_word(mapping + FIELD(mapping_page)) << FIELD(page_bits);
	__u64 inode = read_word(file + FIELD(file_inode));
	struct sample_table_image_key key = {
		.inode = read_word(inode + FIELD(inode_number)),
		.generation = read_half(inode + FIELD(inode_generation)),
		.device = read_half(read_word(inode + FIELD(inode_device)) + FIELD(super_device)),
	};
	__u32 image = image_number(cpu, last, &key, area.start, area.end, offset);
	if (image == SAMPLE_TABLE_ADDRESS)
		return 0;
	struct file *known = &process->files[add_area(&process->space, &area)];
	known->offset = offset - area.start;
	known->image = image;
	return known;
}

/* Looks the image of `address` up; SAMPLE_TABLE_ADDRESS: it has none. */
static __always_inline __u32 find_image(struct sample_table_cpu *cpu, struct remembered *last,
					__u64 task, __u64 address, __u64 *offset)
{
	if (FIELD(mm_tree) == KERNEL_FIELD_NONE)
		return SAMPLE_TABLE_ADDRESS;
	__u64 mm = read_word(task + FIELD(task_mm));
	if (!mm)
		return SAMPLE_TABLE_ADDRESS;
	struct process *process = &last->processes[space_number(mm) & ((1 << SPACE_BITS) - 1)];
	enter_space(&process->space, task, mm, state.generation);
	__u32 number = find_area(&process->space, address);
	const struct file *file =
		number != NONE ? &process->files[number] : learn_file(cpu, last, process, address);
	if (!file)
		return SAMPLE_TABLE_ADDRESS;
	*offset = address + file->offset;
	return file->image;
}

SEC("perf_event")
int count_sample(struct bpf_perf_event_data *sample)
{
	__u32 number = bpf_get_smp_processor_id(), only = 0;
	struct sample_table_cpu *cpu = bpf_map_lookup_elem(&cpus, &number);
	struct remembered *last = bpf_map_lookup_elem(&remembered, &only);
	if (!cpu || !last)
		return 0;
	__u32 event = bpf_get_attach_cookie(sample) & (SAMPLE_TABLE_EVENTS - 1);
	__u64 task = bpf_get_current_task();
	__u64 address = PC(sample->regs), offset = address;
	__u32 image = SAMPLE_TABLE_KERNEL, generation = state.generation;
	__u64 start_ns = timed_start(cpu->events[event].seen++);
	if (IS_USER(sample->regs))
		image = find_image(cpu, last, task, address, &offset);
	struct sample_table_context_key key = { 0 };
	fill_context(&key, task, image == SAMPLE_TABLE_ADDRESS);
	if (last->generation != generation || !same_key(&key, &last->context_key)) {
		last->context = context_number(cpu, last, &key);
		last->context_key = key;
		/* what had no room is tried again */
		last->generation = generation - (last->context == SAMPLE_TABLE_UNKNOWN);
	}
	__u64 context = last->context;
	__u64 place = (offset & ((1ull << SAMPLE_TABLE_OFFSET_BITS) - 1)) |
		      (__u64)event << SAMPLE_TABLE_OFFSET_BITS | context << SAMPLE_TABLE_CONTEXT_AT;
	__u64 rest = (__u64)image << SAMPLE_TABLE_COUNT_BITS |
		     context >> SAMPLE_TABLE_CONTEXT_LOW << SAMPLE_TABLE_REST_CONTEXT;
	int hit = count(cpu, number, place, rest);
	if (start_ns)
		timed_end(hit ? &cpu->hits : &cpu->misses, start_ns);
	return 0;
}
