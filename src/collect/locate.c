#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "collect/session.h"
#include "collect/stacks.h"
#include "image/signed_pointer.h"

#define VSYSCALL_START UINT64_C(0xffffffffff600000) /* x86-64: one page for every process */
#define VSYSCALL_END   UINT64_C(0xffffffffff601000)
#define RESCAN_NS      1000000000u

int session_unknown(struct session *session, enum unknown_cause cause, struct located *out)
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
	/* All at vaddr 0: addresses without a mapping mean something else in each process. */
	*out = (struct located){ .image = *image, .cause = cause };
	return 0;
}

/* Code that a process made itself, which has an image for each process. `wanted` is the address to
 * look up: `address`, or the byte before it when that is where a call returns to. */
static int locate_runtime(struct session *session, struct process *process, uint64_t address,
			  uint64_t wanted, struct located *out)
{
	struct share *share = session_share(session, process);
	if (!process->runtime_image) {
		if (!share_take(&session->shares, share, SHARE_CONTEXTS, JIT_CONTEXTS)) {
			out->cause = UNKNOWN_BEYOND_LIMIT;
			out->fleeting = true;
			return 0;
		}
		char name[160];
		/* The name is the same whoever records the process, and differs by host and boot.
		 */
		snprintf(name, sizeof(name), "%s %" PRIu32 " %" PRIu64 " %.8s", process->comm,
			 process->pid, process->start_ns / 10000000, session->boot_id);
		struct profile_image image = { .kind = IMAGE_JIT,
					       .space = SPACE_PROCESS,
					       .name = span_of_text(name) };
		int ret = profile_add_image(session->profile, &image, &process->runtime_image);
		if (ret < 0)
			return ret;
		/* It had the same name before an exec: the image is paid for. */
		if (number_map_find(&session->jits.by_image, process->runtime_image))
			share_give_back(&session->shares, share, SHARE_CONTEXTS, JIT_CONTEXTS);
	}
	out->image = process->runtime_image;
	out->fleeting = true; /* code is made anew at the same address */
	int ret = jit_table_locate(&session->jits, process, share, out->image, wanted,
				   session->sample_ns, &out->vaddr);
	out->vaddr += address - wanted;
	return ret;
}

int session_find_mapping(struct session *session, struct process *process, uint64_t address,
			 const struct mapping **mapping)
{
	*mapping = process_mapping(process, address);
	uint64_t now = *mapping ? 0 : clock_monotonic_ns();
	if (*mapping || process->exit_ns || now - process->scanned_ns < RESCAN_NS)
		return 0;
	process->scanned_ns = now;
	int ret = session_scan_maps(session, process);
	if (ret == 0)
		*mapping = address_space_find(process->space, address);
	return ret;
}

static int locate_in_file(struct session *session, uint32_t file, uint64_t offset,
			  struct located *out)
{
	struct profile_frame frame = { 0 };
	int ret = file_table_locate(&session->files, file, offset, &frame, &out->cause);
	out->image = frame.image;
	out->vaddr = frame.vaddr;
	return ret;
}

/* The address without the signature that a return address of AArch64 may have, where nothing is
 * mapped at the word as it is. Elsewhere such a word is no address. */
static uint64_t without_signature(const struct process *process, uint64_t address)
{
#ifdef __aarch64__
	const struct address_space *space = process->space;
	if (space->count && !process_mapping(process, address))
		return signed_pointer_address(address, address_space_end(space) - 1);
#else
	(void)process;
#endif
	return address;
}

static int locate_user(struct session *session, struct process *process, uint64_t address,
		       enum frame_kind kind, struct located *out)
{
	/* A call may be the last instruction of its mapping: look up the byte before the return. */
	uint64_t back = kind == FRAME_RETURN && address;
	uint64_t wanted = without_signature(process, address - back);
	address = wanted + back;
	if (wanted >= VSYSCALL_START && wanted < VSYSCALL_END)
		return locate_in_file(session, session->files.vsyscall, address - VSYSCALL_START,
				      out);
	const struct mapping *mapping;
	int ret = session_find_mapping(session, process, wanted, &mapping);
	if (ret < 0)
		return ret;
	if (!mapping) {
		out->cause = process->known ? UNKNOWN_NO_MAPPING : UNKNOWN_NO_PROCESS;
		return 0;
	}
	if (file_is_runtime_code(file_table_get(&session->files, mapping->file)))
		return locate_runtime(session, process, address, wanted, out);
	return locate_in_file(session, mapping->file, address - mapping->start + mapping->offset,
			      out);
}

static int locate_kernel(struct session *session, uint64_t address, enum frame_kind kind,
			 struct located *out)
{
	struct profile_frame frame = { 0 };
	uint64_t back = kind == FRAME_RETURN && address;
	int ret = kernel_map_locate(&session->kernel, address - back, &frame, &out->cause);
	out->image = frame.image;
	out->vaddr = frame.vaddr + back;
	return ret;
}

int session_locate(struct session *session, struct process *process, enum code_mode mode,
		   uint64_t address, enum frame_kind kind, struct located *out)
{
	*out = (struct located){ 0 };
	int ret = 0;
	switch (mode) {
	case CODE_KERNEL:
		ret = locate_kernel(session, address, kind, out);
		break;
	case CODE_HYPERVISOR:
		out->cause = UNKNOWN_HYPERVISOR;
		break;
	case CODE_GUEST_KERNEL:
		out->cause = UNKNOWN_GUEST_KERNEL;
		break;
	case CODE_GUEST_USER:
		out->cause = UNKNOWN_GUEST_USER;
		break;
	case CODE_USER:
	case CODE_UNKNOWN:
		if (process)
			ret = locate_user(session, process, address, kind, out);
		else
			out->cause = UNKNOWN_NO_PROCESS;
		break;
	}
	bool fleeting = out->fleeting;
	if (ret == 0 && out->cause != UNKNOWN_NONE)
		ret = session_unknown(session, out->cause, out);
	out->fleeting = fleeting;
	return ret;
}

int session_locate_file(struct session *session, uint32_t file, uint64_t offset,
			struct located *out)
{
	*out = (struct located){ .cause = UNKNOWN_NO_MAPPING };
	int ret = 0;
	if (file && !file_is_runtime_code(file_table_get(&session->files, file))) {
		out->cause = UNKNOWN_NONE;
		ret = locate_in_file(session, file, offset, out);
	}
	if (ret == 0 && out->cause != UNKNOWN_NONE)
		ret = session_unknown(session, out->cause, out);
	return ret;
}

/* ---- the session as a struct world */

static int world_locate(void *owner, struct process *process, enum code_mode mode, uint64_t address,
			enum frame_kind kind, struct located *out)
{
	return session_locate(owner, process, mode, address, kind, out);
}

static int world_unknown(void *owner, enum unknown_cause cause, struct located *out)
{
	return session_unknown(owner, cause, out);
}

static enum unknown_cause world_cause(const void *owner, uint32_t image)
{
	const struct session *session = owner;
	for (size_t cause = 1; cause < UNKNOWN_CAUSES; cause++)
		if (session->unknown_images[cause] == image)
			return (enum unknown_cause)cause;
	return UNKNOWN_NONE;
}

/* Changes every second, too: mappings are read again then (find_mapping()), which may change what
 * addresses mean without a record. */
static uint64_t world_meaning(void *owner, struct process *process)
{
	struct session *session = owner;
	uint64_t serial = process ? process_serial(&session->processes, process) : 0;
	return hash_u64(serial << 32 | session->kernel.changes) +
	       hash_u64(session->sample_ns / RESCAN_NS);
}

struct world session_world(struct session *session)
{
	return (struct world){ session, world_locate, world_unknown, world_cause, world_meaning };
}

int session_calls(struct session *session, struct process *process,
		  const struct stacks_sample *sample, struct tally_place *place, bool *cut)
{
	const struct perf_words *words = &sample->sample->chain;
	struct cells *cells = &session->tally.cells;
	struct share *share = process ? session_share(session, process) : &session->shares.own;
	size_t known = cells->node_count;
	*cut = session->max_stack && chain_reaches(words, session->max_stack);
	place->stack = true;
	if (!share_has_room(&session->shares, share, SHARE_STACKS)) {
		share->refused[SHARE_STACKS]++; /* the stack is the innermost frame alone */
		return 0;
	}
	/* The chain's first address is left out: the sampled one may be more exact. */
	bool apart = session->stacks == COLLECT_STACKS_RULES ||
		     session->stacks == COLLECT_STACKS_BRANCHES; /* from the kernel's part */
	int ret =
		apart ? stacks_calls(session, process, sample, &place->calls, cut)
		      : calls_of_words(cells, &session->world, process, words,
				       chain_words_of_leaf(words), &session->chain, &place->calls);
	share_hold(&session->shares, share, SHARE_STACKS, cells->node_count - known);
	return ret;
}
