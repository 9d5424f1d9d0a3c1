/* Walks the user's stack at a sample by the rules of the files that its code is in, before the
 * kernel writes the sample (user_stack.h). */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "kernel_layout_fields.h"
#include "program_time.h"
#include "program_timed.h"
#include "user_stack_record.h"

char terms[] SEC("license") = "Dual MIT/GPL"; /* the helpers are for such programs alone */

const volatile struct user_stack_settings settings;
volatile struct user_stack_state shared;

/* What the code that is shared with the user needs (src/unwind). */
#define FRAME_INLINE	   static __always_inline
#define FRAME_FORGET(rows) (((rows) ^ shared.nothing) & 0x1ffff)
#define WALK_READ	   read_stack
#include "unwind/frame_rule.h"
#include "unwind/frame_table_layout.h"
#include "unwind/walk_end.h"
struct work;
static __always_inline int read_stack(struct work *work, __u64 address, uint64_t *words,
				      __u32 count);
#include "unwind/walk_step.h"

#define FIELD(name) (settings.layout.name)
#include "kernel_mappings.h"

/* Registers by their words: by name some have 16 bits, which the verifier refuses. */
#if defined(__TARGET_ARCH_x86)
#define MACHINE		WALK_X86_64
#define REGISTER_WORDS	21
#define CS		17
#define IS_USER(word)	((word(CS) & 3) != 0)
#define NARROW_CODE	0x23 /* __USER32_CS */
#define IS_NARROW(word) (word(CS) == NARROW_CODE)
#define TAKE(word)                                                                                 \
	do {                                                                                       \
		state->ip = word(16);                                                              \
		state->sp = word(19);                                                              \
		state->fp = word(4);                                                               \
		state->link = word(5);                                                             \
		state->other = word(7);                                                            \
		state->first = word(14);                                                           \
	} while (0)
#else
#define MACHINE		WALK_AARCH64
#define REGISTER_WORDS	34
#define PSTATE		33
#define IS_USER(word)	((word(PSTATE) & 15) == 0)
#define IS_NARROW(word) ((word(PSTATE) & 16) != 0) /* PSR_MODE32_BIT */
#define TAKE(word)                                                                                 \
	do {                                                                                       \
		state->ip = word(32);                                                              \
		state->sp = word(31);                                                              \
		state->fp = word(29);                                                              \
		state->link = word(30);                                                            \
	} while (0)
#endif

struct slab {
	__u32 words[FRAME_SLAB_WORDS];
};

struct inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct slab));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, FRAME_SLAB_MOST);
	__type(key, __u32);
	__array(values, struct inner);
} slabs SEC(".maps");

/* The number of each file that is known: of its table below, and one; 0: it has no rules;
 * USER_STACK_ASKED: its rules have been asked for; USER_STACK_POSTPONED: they cannot be had now. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, USER_STACK_TABLES);
	__type(key, struct user_stack_key);
	__type(value, __u32);
} files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, USER_STACK_TABLES);
	__type(key, __u32);
	__type(value, struct user_stack_table);
} tables SEC(".maps");

/* Rings when a file is asked for, so that the user comes at once. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* the user gives it, by the machine's pages */
} bell SEC(".maps");

/* The output event of each CPU; as many as the machine may have. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} outputs SEC(".maps");

/* Rules of places that this CPU has seen: a line of memory where tables take four. */
struct memo {
	__u64 place, rule;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* the user gives it, by the machine's CPUs */
	__type(key, __u32);
	__type(value, struct memo);
} memos SEC(".maps");

#define MAPPING_CODE 4 /* VM_EXEC */

struct mapping {
	__u64 delta; /* of an address in the file */
	struct user_stack_table table;
	__u32 may_guess; /* it has no rules, or they are known */
	__u32 known;	 /* it is no file whose rules may still come */
};

#define WINDOW_WORDS 64u
#define LINE_BYTES   64u
#define PAGE_LEAST   4096u /* bytes of a page, on any machine */

/* The part of the stack that was read last. To read takes its time (60 to 90 ns on a Skylake, most
 * of what a frame takes), whether 16 bytes are read or 512. */
struct window {
	__u64 at;
	__u64 bytes; /* 0: nothing is in it */
	__u64 words[WINDOW_WORDS];
};

struct process {
	struct space space;
	struct mapping mappings[AREAS];
};

/* What a CPU works with; much of it because a program's own stack has 512 bytes, over all calls. */
struct work {
	struct walk_state state, start;
	__u64 registers[REGISTER_WORDS];
	struct window window;
	struct process processes[1 << SPACE_BITS];
	__u32 process;	    /* that is walked */
	__u32 turn, copied; /* bytes of copies in that turn */
	__u32 guesses; /* that the frame which is walked to now is the next of */
	struct user_stack_head head;
	__u64 frames[USER_STACK_FRAMES_MOST + 1];
	__u64 borders[KERNEL_BORDERS_MOST];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct work);
} works SEC(".maps");

/* A stack that is walked later. */
struct copy {
	struct user_stack_head head;
	__u64 registers[USER_STACK_REGISTERS];
	__u8 stack[USER_STACK_COPY_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* the user gives it, by the machine's CPUs */
	__type(key, __u32);
	__type(value, struct copy);
} copies SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* the user gives it, by the machine's CPUs */
	__type(key, __u32);
	__type(value, struct user_stack_cpu);
} cpus SEC(".maps");

/* ---- The stack's memory */

/* Reads the line that an address is in and what is behind it, up to the end of the page: where that
 * cannot be read, a word of it cannot either. */
__noinline int move_window(__u64 address)
{
	__u32 only = 0;
	struct work *work = bpf_map_lookup_elem(&works, &only);
	if (!work)
		return 1;
	__u64 at = address & -(__u64)LINE_BYTES;
	__u32 bytes = PAGE_LEAST - (__u32)(at & (PAGE_LEAST - 1));
	if (bytes > sizeof(work->window.words))
		bytes = sizeof(work->window.words);
	work->window.bytes = 0;
	if (bpf_probe_read_user(work->window.words, bytes, (const void *)at))
		return 1;
	work->window.at = at;
	work->window.bytes = bytes;
	return 0;
}

static __always_inline int read_stack(struct work *work, __u64 address, uint64_t *words,
				      __u32 count)
{
	struct window *window = &work->window;
	__u32 size = count * sizeof(*words);
	if (address & 7 || (address & (PAGE_LEAST - 1)) + size > PAGE_LEAST)
		return bpf_probe_read_user(words, size, (const void *)address);
	__u64 behind = address - window->at;
	if (behind >= window->bytes || window->bytes - behind < size) {
		if (move_window(address))
			return 1;
		behind = address & (LINE_BYTES - 1);
	}
	for (__u32 i = 0; i < count; i++)
		words[i] = window->words[((behind >> 3) + i) & (WINDOW_WORDS - 1)];
	return 0;
}

/* ---- Rules */

static __always_inline const __u32 *slab_of(__u32 at)
{
	__u32 number = at >> FRAME_SLAB_BITS, only = 0;
	void *slab = bpf_map_lookup_elem(&slabs, &number);
	return slab ? bpf_map_lookup_elem(slab, &only) : 0;
}

static __always_inline __u64 look_up(const struct user_stack_table *table, __u64 offset)
{
	__u64 page = (offset >> FRAME_PAGE_BITS) - table->first_page;
	if (page >= table->page_count)
		return FRAME_CFA_NONE;
	__u32 at = table->pages_at + (__u32)page;
	const __u32 *slab = slab_of(at);
	if (!slab)
		return FRAME_CFA_NONE;
	at = frame_slab_word(slab, at);
	slab = at ? slab_of(at) : 0;
	if (!slab)
		return FRAME_CFA_NONE;
	__u32 number = frame_page_find(slab, at & (FRAME_SLAB_WORDS - 1), (__u32)offset & 0xffff);
	if (number > 0xffff)
		return FRAME_CFA_NONE;
	at = table->rules_at + number * 2;
	slab = slab_of(at);
	return slab ? frame_slab_word(slab, at) | (__u64)frame_slab_word(slab, at + 1) << 32
		    : FRAME_CFA_NONE;
}

/* ---- Mappings */

static __always_inline struct process *current_process(struct work *work)
{
	return &work->processes[work->process & ((1 << SPACE_BITS) - 1)];
}

/* Fills in what is known of the rules of a file. */
static __always_inline void know_file(struct mapping *mapping, const struct user_stack_key *key)
{
	__u32 *number = bpf_map_lookup_elem(&files, key);
	mapping->known = number ? *number != USER_STACK_ASKED : !shared.room;
	mapping->may_guess = mapping->known && (!number || *number != USER_STACK_POSTPONED);
	if (!mapping->known)
		mapping->table.key = *key;
	if (!number || !mapping->may_guess)
		return;
	__u32 at = *number - 1;
	struct user_stack_table *table = *number ? bpf_map_lookup_elem(&tables, &at) : 0;
	if (!table)
		return;
	mapping->table = *table;
	if (mapping->table.key.inode != key->inode || mapping->table.key.device != key->device ||
	    mapping->table.key.generation != key->generation)
		mapping->table.page_count = 0;
}

static __always_inline struct mapping *mapping_at(struct work *work, __u32 number)
{
	return &current_process(work)->mappings[number & (AREAS - 1)];
}

/* The number of the mapping of code that holds an address, which is remembered from now on; NONE.
 */
__noinline __u32 learn_mapping(__u64 address)
{
	__u32 only = 0;
	struct work *work = bpf_map_lookup_elem(&works, &only);
	if (!work)
		return NONE;
	struct process *process = current_process(work);
	__u64 found = find_mapping(work->borders, process->space.mm, address);
	if (!found)
		return NONE;
	struct area area = read_area(&process->space, found);
	__u64 start = area.start, file = read_word(found + FIELD(mapping_file));
	if (address < start || address >= area.end ||
	    !(read_word(found + FIELD(mapping_flags)) & MAPPING_CODE))
		return NONE;
	__u32 number = add_area(&process->space, &area);
	struct mapping *mapping = &process->mappings[number];
	mapping->delta = -start;
	mapping->table.page_count = 0;
	mapping->known = mapping->may_guess = 1;
	struct user_stack_key key = { .inode = USER_STACK_VDSO };
	if (file) {
		__u64 inode = read_word(file + FIELD(file_inode));
		mapping->delta =
			(read_word(found + FIELD(mapping_page)) << FIELD(page_bits)) - start;
		key.inode = read_word(inode + FIELD(inode_number));
		key.generation = read_half(inode + FIELD(inode_generation));
		key.device =
			read_half(read_word(inode + FIELD(inode_device)) + FIELD(super_device));
	} else if (FIELD(mm_vdso) == KERNEL_FIELD_NONE ||
		   read_word(process->space.mm + FIELD(mm_vdso)) != start) {
		return number; /* code that the process made itself */
	}
	know_file(mapping, &key);
	if (!mapping->known)
		forget_area(&process->space.areas[number]); /* it will be known soon */
	return number;
}

static __always_inline __u32 mapping_of(struct work *work, __u64 address)
{
	__u32 number = find_area(&current_process(work)->space, address);
	return number != NONE ? number : learn_mapping(address);
}

static __always_inline __u64 place_of(const struct mapping *mapping, __u64 address)
{
	return (__u64)mapping->table.serial << 40 |
	       ((address + mapping->delta) & ((1ull << 40) - 1));
}

static __always_inline struct memo *memo_of(__u64 place)
{
	__u32 slot = (__u32)(place * 0x9e3779b97f4a7c15ull >> (64 - USER_STACK_MEMO_BITS)) |
		     bpf_get_smp_processor_id() << USER_STACK_MEMO_BITS;
	return bpf_map_lookup_elem(&memos, &slot);
}

/* The rule of an address in a mapping that is remembered, as it is from now on. */
__noinline __u64 learn_rule(__u32 number, __u64 address)
{
	__u32 only = 0;
	struct work *work = bpf_map_lookup_elem(&works, &only);
	if (!work)
		return FRAME_CFA_NONE;
	const struct mapping *mapping = mapping_at(work, number);
	__u64 place = place_of(mapping, address);
	__u64 rule = look_up(&mapping->table, address + mapping->delta);
	struct memo *memo = memo_of(place);
	if (memo) {
		memo->place = 0;
		memo->rule = rule;
		memo->place = place;
	}
	return rule;
}

static __always_inline __u64 rule_at(struct work *work, __u32 number, __u64 address)
{
	const struct mapping *mapping = mapping_at(work, number);
	if (!mapping->table.page_count)
		return FRAME_CFA_NONE;
	__u64 place = place_of(mapping, address);
	const struct memo *memo = memo_of(place);
	return memo && memo->place == place ? memo->rule : learn_rule(number, address);
}

/* ---- The walk */

/* The rule of an innermost frame that none is about. */
__noinline __u64 leaf_rule(void)
{
	__u32 only = 0;
	struct work *work = bpf_map_lookup_elem(&works, &only);
	if (!work)
		return FRAME_CFA_NONE;
	__u64 back = walk_leaf_return(&work->state, MACHINE, work);
	__u32 before = back ? mapping_of(work, back - 1) : NONE;
	return before != NONE && rule_at(work, before, back - 1) != FRAME_CFA_NONE
		       ? walk_leaf_rule(MACHINE)
		       : FRAME_CFA_NONE;
}

/* Adds a frame and goes to its caller. 1: the walk has ended. */
static __always_inline int step(struct work *work)
{
	struct walk_state *state = &work->state;
	__u32 count = work->head.count;
	if (count >= USER_STACK_FRAMES_MOST) {
		work->head.end = WALK_TOO_DEEP;
		return 1;
	}
	int guessed = state->guessed != work->guesses;
	__u64 address = state->ip - state->returns;
	__u32 number = mapping_of(work, address);
	if (number == NONE && guessed) {
		work->head.end = WALK_NO_RULE; /* a guess that leads nowhere was wrong */
		return 1;
	}
	work->frames[count & USER_STACK_FRAMES_MOST] =
		(state->ip & USER_STACK_ADDRESS) | (state->returns ? 0 : USER_STACK_INTERRUPTED) |
		(guessed ? USER_STACK_GUESSED : 0);
	work->head.count = count + 1;
	work->guesses = state->guessed;
	if (number == NONE) {
		work->head.end = WALK_NO_MAPPING;
		return 1;
	}
	const struct mapping *mapping = mapping_at(work, number);
	int may_guess = mapping->may_guess;
	__u64 rule = rule_at(work, number, address);
	if (rule == FRAME_CFA_NONE && mapping->table.page_count && !state->frames) {
		rule = leaf_rule();
		mapping = mapping_at(work, number);
	}
	enum walk_end end = walk_step(state, MACHINE, rule, may_guess, work);
	if (end == WALK_NO_TABLE && !mapping->known) {
		work->head.missing = mapping->table.key;
		work->head.missing_address = address;
	}
	if (end == WALK_LOST && MACHINE == WALK_X86_64 && !state->follow) {
		/* Few stacks need rbx: those are walked once more. */
		*state = work->start;
		state->follow = 1;
		work->guesses = 0;
		work->head.count = 0;
		return 0;
	}
	work->head.end = end;
	return end != WALK_GOES_ON;
}

/* Is verified once, in whatever loop it stands. */
__noinline int walk_once(__u32 turn)
{
	__u32 only = 0;
	struct work *work = bpf_map_lookup_elem(&works, &only);
	return work && turn < 2 * USER_STACK_FRAMES_MOST ? step(work) : 1;
}

static __always_inline void put_frames(void *sample, struct work *work)
{
	__u32 size = sizeof(work->head) +
		     (work->head.count & USER_STACK_FRAMES_MOST) * sizeof(work->frames[0]);
	bpf_perf_event_output(sample, &outputs, BPF_F_CURRENT_CPU, &work->head, size);
}

#define ANCESTORS_MOST 32 /* that are looked at, from a process upwards */

/* Whether the sampled process is one of those that are asked about. */
static __always_inline int is_wanted(__u64 task)
{
	__u32 root = shared.root;
	__u64 leader = read_word(task + FIELD(task_leader));
	if (!root)
		return 1;
	for (int i = 0; i < ANCESTORS_MOST && leader; i++) {
		__u32 number = read_half(leader + FIELD(task_tgid));
		if (number == root)
			return 1;
		if (number <= 1)
			return 0;
		leader = read_word(leader + FIELD(task_parent));
		leader = leader ? read_word(leader + FIELD(task_leader)) : 0;
	}
	return 0;
}

/* Whether the user wants another copy, and can take it: samples are worth more than whole stacks. */
static __always_inline int has_room(struct work *work, __u64 task)
{
	__u32 turn = shared.turn;
	if (!is_wanted(task))
		return 0;
	if (work->turn != turn) {
		work->turn = turn;
		work->copied = 0;
	}
	return work->copied < shared.room;
}

/* Asks for the file whose rules are missing. */
static __always_inline void ask(struct work *work)
{
	__u32 asked = USER_STACK_ASKED;
	struct user_stack_key key = work->head.missing;
	if (bpf_map_update_elem(&files, &key, &asked, BPF_NOEXIST))
		return;
	work->head.first = 1;
	bpf_ringbuf_output(&bell, &asked, sizeof(asked), BPF_RB_FORCE_WAKEUP);
}

/* What could not be walked for want of rules is walked by the user. */
static __always_inline void put_copy(void *sample, struct work *work)
{
	__u32 cpu = bpf_get_smp_processor_id(), size = 0;
	struct copy *copy = bpf_map_lookup_elem(&copies, &cpu);
	if (!copy)
		return;
	copy->head = work->head;
	copy->head.kind = USER_STACK_COPY;
	copy->registers[0] = work->start.ip;
	copy->registers[1] = work->start.sp;
	copy->registers[2] = work->start.fp;
	copy->registers[3] = work->start.link;
	copy->registers[4] = work->start.other;
	copy->registers[5] = work->start.first;
	for (__u32 i = 0; i < USER_STACK_COPY_BYTES / USER_STACK_COPY_STEP; i++) {
		__u32 at = i * USER_STACK_COPY_STEP;
		if (at >= USER_STACK_LATER_BYTES && !work->head.first)
			break;
		if (bpf_probe_read_user(copy->stack + at, USER_STACK_COPY_STEP,
					(const void *)(work->start.sp + at)))
			break;
		size = at + USER_STACK_COPY_STEP;
	}
	copy->head.count = size;
	work->copied += size;
	if (size > USER_STACK_COPY_BYTES)
		return;
	bpf_perf_event_output(sample, &outputs, BPF_F_CURRENT_CPU, copy,
			      sizeof(*copy) - USER_STACK_COPY_BYTES + size);
}

/* Walks the stack of a task's user code, and puts what it found beside the sample. */
static __always_inline void walk(struct bpf_perf_event_data *sample, struct work *work, __u64 task,
				 __u64 mm)
{
	struct walk_state *state = &work->start;
	*state = (struct walk_state){ 0 };
	__u32 narrow;
	volatile __u64 *words = (void *)sample;
#define OF_SAMPLE(number) (words[number])
	if (IS_USER(OF_SAMPLE)) {
		TAKE(OF_SAMPLE);
		narrow = IS_NARROW(OF_SAMPLE);
	} else {
		struct task_struct *current = bpf_get_current_task_btf();
		if (bpf_probe_read_kernel(work->registers, sizeof(work->registers),
					  (void *)bpf_task_pt_regs(current)))
			return;
#define OF_TASK(number) (work->registers[number])
		TAKE(OF_TASK);
		narrow = IS_NARROW(OF_TASK);
	}
	work->process = space_number(mm);
	enter_space(&current_process(work)->space, task, mm, shared.generation);
	work->state = *state;
	work->guesses = 0;
	work->window.bytes = 0;
	work->head = (struct user_stack_head){ .kind = USER_STACK_FRAMES, .narrow = narrow };
	if (narrow) {
		work->head.end = WALK_NO_REGISTERS;
		if (has_room(work, task))
			put_copy(sample, work);
		return;
	}
	for (__u32 i = 0; i < 2 * USER_STACK_FRAMES_MOST; i++)
		if (walk_once(i))
			break;
	if (work->head.missing.inode && has_room(work, task)) {
		ask(work);
		put_copy(sample, work);
	} else {
		put_frames(sample, work);
	}
}

SEC("perf_event")
int walk_stack(struct bpf_perf_event_data *sample)
{
	__u32 only = 0, number = bpf_get_smp_processor_id();
	struct work *work = bpf_map_lookup_elem(&works, &only);
	struct user_stack_cpu *cpu = bpf_map_lookup_elem(&cpus, &number);
	if (!work || !cpu)
		return 1;
	__u64 task = bpf_get_current_task();
	__u64 mm = read_word(task + FIELD(task_mm));
	if (!mm)
		return 1; /* a kernel thread */
	__u64 start_ns = timed_start(cpu->seen++);
	walk(sample, work, task, mm);
	if (start_ns)
		timed_end(&cpu->walks, start_ns);
	return 1; /* the sample itself is wanted */
}
