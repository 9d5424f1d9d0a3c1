#include "collect/stacks.h"

#include <errno.h>

#include "base/clock.h"
#include "bpf/user_stack.h"
#include "collect/session.h"
#include "unwind/stack_walk.h"

#define PREPARING_NS UINT64_C(1000000000)

/* A walk, and what its look_up() needs. */
struct walking {
	struct session *session;
	struct process *process;
	int failure; /* a negative errno, which ends the walk */
};

static void look_up(void *context, uint64_t address, struct walk_place *place)
{
	struct walking *walking = context;
	struct session *session = walking->session;
	const struct mapping *mapping;
	int ret = session_find_mapping(session, walking->process, address, &mapping);
	*place = (struct walk_place){ .end = WALK_NO_MAPPING };
	if (ret == 0 && mapping) {
		const struct file *file = file_table_get(&session->files, mapping->file);
		uint64_t offset = address - mapping->start + mapping->offset;
		*place = (struct walk_place){ .end = WALK_GOES_ON, .may_guess = true };
		if (!file_is_runtime_code(file))
			ret = frame_tables_look_up(&session->frames, mapping->file, offset, place);
	}
	walking->failure = ret;
	if (ret < 0)
		place->end = WALK_NO_TABLE;
}

/* Why the frames beyond the last one are not known. */
static enum unknown_cause cause_of(enum walk_end end)
{
	switch (end) {
	case WALK_WHOLE:
		return UNKNOWN_NONE;
	case WALK_TOO_DEEP:
		return UNKNOWN_TOO_DEEP;
	case WALK_UNREADABLE:
		return UNKNOWN_BEYOND_COPY;
	case WALK_NO_RULE:
	case WALK_BAD_RULE:
	case WALK_LOST:
		return UNKNOWN_NO_RULE;
	case WALK_NO_MAPPING:
	case WALK_BACKWARDS:
		return UNKNOWN_NO_STACK;
	default:
		return UNKNOWN_NOT_UNWOUND;
	}
}

/* Within execve(2) the kernel works for a program that is gone: its registers lead nowhere. Then
 * there are no callers but the kernel's own. */
static bool is_gone(const struct stacks_sample *sample, enum walk_end end, size_t count,
		    size_t stack_bytes)
{
	return sample->mode == CODE_KERNEL && count <= 1 &&
	       (end == WALK_NO_MAPPING || (end == WALK_UNREADABLE && stack_bytes == 0));
}

/* Walks a copied stack. Adds the user's frames to the session's chain, which has room for them. 0
 * or -ENOMEM. */
static int walk_copy(struct session *session, struct process *process,
		     const struct stacks_sample *sample, struct stack_walk *walk, bool *cut)
{
	struct walking walking = { session, process, 0 };
	struct walk_frame frames[STACKS_DEEPEST];
	struct chain *chain = &session->chain;
	size_t count;
	walk->machine = WALK_MACHINE;
	walk->look_up = look_up;
	walk->context = &walking;
	enum walk_end end = stack_walk_run(walk, frames, STACKS_DEEPEST, &count);
	session->stacks_copied++;
	if (is_gone(sample, end, count, walk->stack.size))
		return walking.failure;
	for (size_t i = 0; i < count; i++) {
		chain_add(chain, frames[i].address, CODE_USER,
			  frames[i].returns ? FRAME_RETURN : FRAME_IP);
		session->frames_guessed += frames[i].guessed;
	}
	chain->user_missing = cause_of(end);
	*cut = *cut || end == WALK_TOO_DEEP;
	return walking.failure;
}

/* The copy is in the sample itself. */
static int add_sampled(struct session *session, struct process *process,
		       const struct stacks_sample *sample, bool *cut)
{
	const struct perf_words *words = &sample->sample->user_registers;
	uint64_t registers[STACKS_REGISTERS] = { 0 };
	uint64_t at = 0;
	for (unsigned bit = 0; bit < STACKS_REGISTERS && at < words->count; bit++)
		if (session->stack_registers >> bit & 1)
			registers[bit] = perf_word(words, at++);
	struct stack_walk walk = { .narrow = sample->sample->user_abi == PERF_SAMPLE_REGS_ABI_32,
				   .registers = registers,
				   .mask = session->stack_registers,
				   .stack = sample->sample->user_stack };
	return walk_copy(session, process, sample, &walk, cut);
}

/* The frames that the kernel has walked. */
static void add_frames(struct session *session, const struct stacks_sample *sample,
		       const struct user_stack_read *read, bool *cut)
{
	const struct user_stack_head *head = &read->head;
	const struct perf_words words = { read->frames, head->count };
	struct chain *chain = &session->chain;
	enum walk_end end = head->end < WALK_ENDS ? (enum walk_end)head->end : WALK_NO_REGISTERS;
	if (is_gone(sample, end, head->count, 0))
		return;
	for (uint64_t i = 0; i < words.count && i < STACKS_DEEPEST; i++) {
		uint64_t word = perf_word(&words, i);
		chain_add(chain, word & USER_STACK_ADDRESS, CODE_USER,
			  word & USER_STACK_INTERRUPTED ? FRAME_IP : FRAME_RETURN);
		session->frames_guessed += (word & USER_STACK_GUESSED) != 0;
	}
	chain->user_missing = end == WALK_UNREADABLE ? UNKNOWN_NO_STACK : cause_of(end);
	*cut = *cut || end == WALK_TOO_DEEP;
}

/* The kernel has walked the stack, or added a copy of it. 0 or -ENOMEM. */
static int add_walked(struct session *session, struct process *process,
		      const struct stacks_sample *sample, bool *cut)
{
	struct user_stack_read read;
	if (!user_stack_read(sample->added, &read))
		return 0;
	if (read.head.kind == USER_STACK_FRAMES) {
		add_frames(session, sample, &read, cut);
		return 0;
	}
	uint64_t registers[STACKS_REGISTERS] = { 0 };
	stack_walk_registers(read.registers, registers);
	struct stack_walk walk = { .narrow = read.head.narrow,
				   .registers = registers,
				   .mask = WALK_MASK,
				   .stack = read.stack };
	return walk_copy(session, process, sample, &walk, cut);
}

/* The hardware has kept the calls: as many as it has room for. */
static void add_branches(struct session *session, const struct perf_words *branches, bool *cut)
{
	chain_add_branches(&session->chain, branches);
	if (!session->call_depth || branches->count / 3 < session->call_depth)
		return;
	session->chain.user_missing = UNKNOWN_TOO_DEEP;
	*cut = true;
}

static bool is_wanted(const struct process *process, const pid_t *pids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (process->pid == (uint32_t)pids[i])
			return true;
	return !count && process->busy && !process->kernel;
}

int stacks_prepare(struct session *session, const pid_t *pids, size_t count)
{
	uint64_t begin_ns = clock_monotonic_ns();
	size_t position = 0;
	int ret = 0;
	for (const struct process *process;
	     ret == 0 && (process = number_map_next(&session->processes.processes, &position));) {
		struct mapping_place place = { 0 };
		const struct mapping *mapping;
		if (!process->space || !is_wanted(process, pids, count))
			continue;
		while (ret == 0 && (mapping = address_space_next(process->space, &place)) &&
		       clock_monotonic_ns() - begin_ns < PREPARING_NS &&
		       session_wish(session) == COLLECT_GO_ON)
			if (!file_is_runtime_code(file_table_get(&session->files, mapping->file)))
				ret = frame_tables_make(&session->frames, mapping->file);
	}
	return ret;
}

int stacks_tell_rules(struct session *session, struct process *process, struct span added)
{
	struct user_stack_read read;
	const struct mapping *mapping;
	if (!process || !user_stack_read(added, &read) || !read.head.missing.inode)
		return 0;
	int ret = session_find_mapping(session, process, read.head.missing_address, &mapping);
	if (ret < 0 || !mapping)
		return ret;
	if (file_is_runtime_code(file_table_get(&session->files, mapping->file)))
		return frame_tables_tell_none(&session->frames, mapping->file, &read.head.missing);
	return frame_tables_tell(&session->frames, mapping->file, &read.head.missing);
}

int stacks_calls(struct session *session, struct process *process,
		 const struct stacks_sample *sample, uint32_t *calls, bool *cut)
{
	struct chain *chain = &session->chain;
	const struct perf_sample *record = sample->sample;
	*calls = 0;
	if (chain_begin(chain, record->chain.count + record->branches.count + STACKS_DEEPEST) < 0)
		return -ENOMEM;
	chain_add_words(chain, &record->chain, false);
	size_t before = chain->count;
	int ret = 0;
	if (process && sample->added.size)
		ret = add_walked(session, process, sample, cut);
	else if (process && session->stacks == COLLECT_STACKS_BRANCHES)
		add_branches(session, &record->branches, cut);
	else if (process && !sample->walked && record->user_abi)
		ret = add_sampled(session, process, sample, cut);
	if (ret < 0)
		return ret;
	if (sample->mode == CODE_USER && chain->count == before)
		chain->user_missing = UNKNOWN_NOT_UNWOUND;
	/* Of user code whose registers are not known the sampled address is all there is. */
	size_t first = chain->count ? 1 : 0;
	return calls_of_chain(&session->tally.cells, &session->world, process, chain, first, calls);
}
