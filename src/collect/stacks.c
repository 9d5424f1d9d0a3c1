#include "collect/stacks.h"

#include <errno.h>

#include "collect/session.h"
#include "unwind/stack_walk.h"

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

/* Adds the user's frames to the chain, which has room for them. 0 or -ENOMEM. */
static int add_user_frames(struct session *session, struct process *process,
			   const struct perf_sample *sample, struct chain *chain, bool *cut)
{
	struct walking walking = { session, process, 0 };
	struct walk_frame frames[STACKS_DEEPEST];
	uint64_t registers[STACKS_REGISTERS] = { 0 };
	uint64_t at = 0;
	size_t count;
	for (unsigned bit = 0; bit < STACKS_REGISTERS && at < sample->user_registers.count; bit++)
		if (session->stack_registers >> bit & 1)
			registers[bit] = perf_word(&sample->user_registers, at++);
	struct stack_walk walk = { .machine = WALK_MACHINE,
				   .narrow = sample->user_abi == PERF_SAMPLE_REGS_ABI_32,
				   .registers = registers,
				   .mask = session->stack_registers,
				   .stack = sample->user_stack,
				   .look_up = look_up,
				   .context = &walking };
	enum walk_end end = stack_walk_run(&walk, frames, STACKS_DEEPEST, &count);
	for (size_t i = 0; i < count; i++) {
		chain_add(chain, frames[i].address, CODE_USER,
			  frames[i].returns ? FRAME_RETURN : FRAME_IP);
		session->stacks_guessed += frames[i].guessed;
	}
	session->stacks_ended[end]++;
	chain->user_missing = cause_of(end);
	*cut = *cut || end == WALK_TOO_DEEP;
	return walking.failure;
}

int stacks_calls(struct session *session, struct process *process, const struct perf_sample *sample,
		 enum code_mode mode, uint32_t *calls, bool *cut)
{
	struct chain *chain = &session->chain;
	*calls = 0;
	if (chain_begin(chain, sample->chain.count + STACKS_DEEPEST) < 0)
		return -ENOMEM;
	chain_add_words(chain, &sample->chain, false);
	int ret = 0;
	if (process && sample->user_abi)
		ret = add_user_frames(session, process, sample, chain, cut);
	else if (mode == CODE_USER)
		chain->user_missing = UNKNOWN_NOT_UNWOUND;
	if (ret < 0)
		return ret;
	/* Of user code whose registers are not known the sampled address is all there is. */
	size_t first = chain->count ? 1 : 0;
	return calls_of_chain(&session->tally.cells, &session->world, process, chain, first, calls);
}
