#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "collect/session.h"

#define VSYSCALL_START	 UINT64_C(0xffffffffff600000) /* x86-64: one page for every process */
#define VSYSCALL_END	 UINT64_C(0xffffffffff601000)
#define RESCAN_NS	 1000000000u
#define RUNTIME_CONTEXTS 2u /* what a process's own code takes, in names of contexts */
#define STACK_LIMIT                                                                                \
	1024 /* frames; kernel.perf_event_max_stack is 127 unless somebody raised it               \
	      */

static int unknown_frame(struct session *session, enum unknown_cause cause,
			 struct profile_frame *frame)
{
	uint32_t *image = &session->unknown_images[cause];
	if (!*image) {
		struct profile_image made = { .kind = IMAGE_UNKNOWN,
					      .space = SPACE_PROCESS,
					      .name = span_of_text(unknown_texts[cause]) };
		int ret = profile_add_image(session->profile, &made, image);
		if (ret < 0)
			return ret;
	}
	/* Without a mapping an address means nothing beside that of another process. */
	frame->image = *image;
	frame->vaddr = 0;
	return 0;
}

/* Code that a process made itself: an image of its own for each process. `wanted` lies in it when
 * `address` is where a call returns to. */
static int runtime_frame(struct session *session, struct process *process, uint64_t address,
			 uint64_t wanted, struct profile_frame *frame, enum unknown_cause *cause)
{
	struct share *share = session_share(session, process);
	if (!process->runtime_image) {
		if (!share_take(&session->shares, share, SHARE_CONTEXTS, RUNTIME_CONTEXTS)) {
			*cause = UNKNOWN_BEYOND_LIMIT;
			return 0;
		}
		char name[160];
		/* The same process, whoever records it; another one on every host and boot. */
		snprintf(name, sizeof(name), "%s %" PRIu32 " %" PRIu64 " %.8s", process->comm,
			 process->pid, process->start_ns / 10000000, session->boot_id);
		struct profile_image image = { .kind = IMAGE_JIT,
					       .space = SPACE_PROCESS,
					       .name = span_of_text(name) };
		int ret = profile_add_image(session->profile, &image, &process->runtime_image);
		if (ret < 0)
			return ret;
	}
	frame->image = process->runtime_image;
	int ret = jit_table_locate(&session->jits, process, share, frame->image, wanted,
				   session->sample_ns, &frame->vaddr);
	frame->vaddr += address - wanted;
	return ret;
}

static const struct mapping *find_mapping(struct session *session, struct process *process,
					  uint64_t address, int *ret)
{
	const struct mapping *mapping = process_mapping(process, address);
	uint64_t now = mapping ? 0 : clock_monotonic_ns();
	if (mapping || process->exit_ns || now - process->scanned_ns < RESCAN_NS)
		return mapping;
	process->scanned_ns = now;
	*ret = session_scan_maps(session, process);
	return *ret < 0 ? NULL : address_space_find(process->space, address);
}

static int locate_user(struct session *session, struct process *process, uint64_t address,
		       enum frame_kind kind, struct profile_frame *frame, enum unknown_cause *cause)
{
	/* A call may be the last instruction of its mapping. */
	uint64_t wanted = kind == FRAME_RETURN && address ? address - 1 : address;
	if (wanted >= VSYSCALL_START && wanted < VSYSCALL_END)
		return file_table_locate(&session->files, session->files.vsyscall,
					 address - VSYSCALL_START, frame, cause);
	int ret = 0;
	const struct mapping *mapping = find_mapping(session, process, wanted, &ret);
	if (ret < 0)
		return ret;
	if (!mapping) {
		*cause = process->known ? UNKNOWN_NO_MAPPING : UNKNOWN_NO_PROCESS;
		return 0;
	}
	const struct file *file = file_table_get(&session->files, mapping->file);
	if (file_is_runtime_code(file))
		return runtime_frame(session, process, address, wanted, frame, cause);
	return file_table_locate(&session->files, mapping->file,
				 address - mapping->start + mapping->offset, frame, cause);
}

int session_beyond_limit(struct session *session, struct profile_frame *frame)
{
	return unknown_frame(session, UNKNOWN_BEYOND_LIMIT, frame);
}

int session_locate(struct session *session, struct process *process, enum session_mode mode,
		   uint64_t address, enum frame_kind kind, struct profile_frame *frame,
		   enum unknown_cause *cause)
{
	*cause = UNKNOWN_NONE;
	*frame = (struct profile_frame){ .kind = kind };
	int ret = 0;
	switch (mode) {
	case SESSION_KERNEL:
		ret = kernel_map_locate(&session->kernel, address, frame, cause);
		break;
	case SESSION_HYPERVISOR:
		*cause = UNKNOWN_HYPERVISOR;
		break;
	case SESSION_GUEST:
		*cause = UNKNOWN_GUEST;
		break;
	case SESSION_USER:
		ret = process ? locate_user(session, process, address, kind, frame, cause) : 0;
		if (!process)
			*cause = UNKNOWN_NO_PROCESS;
		break;
	}
	if (ret == 0 && *cause != UNKNOWN_NONE)
		ret = unknown_frame(session, *cause, frame);
	return ret;
}

/* arm64 signs return addresses in the bits above the address proper. */
static uint64_t strip_signature(uint64_t address)
{
#ifdef __aarch64__
	if (!(address & (UINT64_C(1) << 55)))
		return address & ((UINT64_C(1) << 48) - 1);
#endif
	return address;
}

struct chain_entry {
	uint64_t address;
	enum session_mode mode;
	enum frame_kind kind;
};

static bool is_mark(uint64_t word)
{
	return word >= (uint64_t)PERF_CONTEXT_MAX;
}

static enum session_mode mode_of_mark(uint64_t mark)
{
	switch (mark) {
	case (uint64_t)PERF_CONTEXT_KERNEL:
		return SESSION_KERNEL;
	case (uint64_t)PERF_CONTEXT_USER:
		return SESSION_USER;
	case (uint64_t)PERF_CONTEXT_HV:
		return SESSION_HYPERVISOR;
	default:
		return SESSION_GUEST;
	}
}

/* Innermost first. The first address of each part is where it was interrupted, the others are
 * returns. */
static size_t read_chain(const struct perf_words *chain, struct chain_entry *entries)
{
	size_t count = 0;
	enum session_mode mode = SESSION_USER;
	bool first = true;
	for (uint64_t i = 0; i < chain->count && count < STACK_LIMIT; i++) {
		uint64_t word = perf_word(chain, i);
		if (is_mark(word)) {
			mode = mode_of_mark(word);
			first = true;
			continue;
		}
		entries[count++] =
			(struct chain_entry){ mode == SESSION_USER ? strip_signature(word) : word,
					      mode, first ? FRAME_IP : FRAME_RETURN };
		first = false;
	}
	return count;
}

/* The innermost frame alone, when there is no room for stacks. Each new one is a place, too: when
 * there is no room for these, all that are new are one. */
static int add_leaf(struct session *session, struct share *share, const struct profile_frame *leaf,
		    uint32_t *node)
{
	struct profile_frame rest = { 0 };
	share->refused[SHARE_STACKS]++;
	if (share_has_room(&session->shares, share, SHARE_PLACES) ||
	    profile_has_node(session->profile, 0, leaf))
		return profile_add_node(session->profile, 0, leaf, node);
	int ret = session_beyond_limit(session, &rest);
	return ret < 0 ? ret : profile_add_node(session->profile, 0, &rest, node);
}

int session_stack(struct session *session, struct process *process, const struct perf_words *chain,
		  const struct profile_frame *leaf, uint32_t *node, bool *cut)
{
	struct chain_entry entries[STACK_LIMIT];
	size_t count = read_chain(chain, entries);
	struct share *share = process ? session_share(session, process) : &session->shares.own;
	size_t known = profile_table(session->profile, PROFILE_NODE)->count;
	*cut = session->max_stack && count >= session->max_stack;
	*node = 0;
	if (!share_has_room(&session->shares, share, SHARE_STACKS))
		return add_leaf(session, share, leaf, node);
	uint32_t last_unknown = 0;
	for (size_t i = count; i-- > 1;) {
		struct profile_frame frame;
		enum unknown_cause cause;
		int ret = session_locate(session, process, entries[i].mode, entries[i].address,
					 entries[i].kind, &frame, &cause);
		if (ret < 0)
			return ret;
		/* A chain without frame pointers wanders: one unknown frame says it. */
		if (cause != UNKNOWN_NONE && frame.image == last_unknown)
			continue;
		last_unknown = cause != UNKNOWN_NONE ? frame.image : 0;
		ret = profile_add_node(session->profile, *node, &frame, node);
		if (ret < 0)
			return ret;
	}
	int ret = profile_add_node(session->profile, *node, leaf, node);
	share_hold(&session->shares, share, SHARE_STACKS,
		   profile_table(session->profile, PROFILE_NODE)->count - known);
	return ret;
}
