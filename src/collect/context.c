#include <string.h>

#include "collect/session.h"
#include "profile/cgroup_names.h"

#define STALE_NS    1000000000u
#define KWORKER	    "kworker"
#define BEYOND_COMM "[beyond the limit]"

/* Kernel workers are many, with names of what they did last: they count as one. */
struct span session_comm(const char *comm, bool kernel)
{
	if (kernel && strncmp(comm, KWORKER, sizeof(KWORKER) - 1) == 0)
		return span_of_text(KWORKER);
	return comm[0] ? span_of_text(comm) : (struct span){ NULL, 0 };
}

/* Whether to look a trusted process's user up again: it may change without an exec, as daemons'
 * children do. */
static bool is_stale(const struct session *session, const struct process *process)
{
	const struct share *share = process->share;
	return !share->strange && !process->kernel && !process->exit_ns &&
	       !process->share_inherited && session->sample_ns > process->share_asked_ns &&
	       session->sample_ns - process->share_asked_ns >= STALE_NS;
}

/* The share that is known, or a fresh one when that is stale. */
static struct share *current_share(struct session *session, struct process *process)
{
	if (!is_stale(session, process))
		return process->share;
	struct share *share = shares_of_process(&session->shares, process->pid);
	process->share_asked_ns = session->sample_ns;
	if (share)
		process->share = share;
	return process->share;
}

struct share *session_share(struct session *session, struct process *process)
{
	if (process->share_asked)
		return current_share(session, process);
	struct share *share = process->kernel || process->exit_ns
				      ? NULL
				      : shares_of_process(&session->shares, process->pid);
	process->share_inherited = !share && !process->kernel;
	if (share)
		process->share = share;
	else if (process->kernel)
		process->share = &session->shares.own;
	else if (!process->share)
		process->share = shares_of_user(&session->shares, SHARE_USER_UNKNOWN);
	process->share_asked = true;
	process->share_asked_ns = session->sample_ns;
	return process->share;
}

struct share *session_payer(struct session *session, struct process *process)
{
	struct share *share = session_share(session, process);
	return process->share_inherited && !share->strange ? &session->shares.ended : share;
}

#define SPLIT_MAPPINGS 2u /* that one mapping adds at most: itself, and the rest of another */

bool session_may_map(struct session *session, struct process *process)
{
	struct share *share = session_share(session, process);
	const struct address_space *space = process->space;
	uint64_t copied = space->references > 1 ? space->count : 0;
	if (share_fits(&session->shares, share, SHARE_MAPPINGS, copied + SPLIT_MAPPINGS))
		return true;
	share->refused[SHARE_MAPPINGS]++;
	return false;
}

void session_forget_space(void *context, struct address_space *space)
{
	struct session *session = context;
	if (space->share)
		share_give_back(&session->shares, space->share, SHARE_MAPPINGS, space->held);
	space->share = NULL;
	space->held = 0;
}

void session_count_mappings(struct session *session, struct process *process)
{
	if (!process || process->space->references > 1)
		return;
	struct address_space *space = process->space;
	struct share *share = session_share(session, process);
	if (space->share != share)
		session_forget_space(session, space);
	space->share = share;
	if (space->count < space->held)
		share_give_back(&session->shares, share, SHARE_MAPPINGS,
				space->held - space->count);
	else
		share_hold(&session->shares, share, SHARE_MAPPINGS, space->count - space->held);
	space->held = space->count;
}

int session_add_context(struct session *session, struct share *share,
			const struct profile_context *context, uint32_t *id)
{
	const struct table *table = profile_table(session->profile, PROFILE_CONTEXT);
	size_t known = table->count;
	/* A user whose processes have ever new names gets one name for all the rest. */
	if (!share_has_room(&session->shares, share, SHARE_CONTEXTS) &&
	    !profile_has_context(session->profile, context)) {
		struct profile_context rest = { .comm = span_of_text(BEYOND_COMM) };
		share->refused[SHARE_CONTEXTS]++;
		return profile_add_context(session->profile, &rest, id);
	}
	int ret = profile_add_context(session->profile, context, id);
	share_hold(&session->shares, share, SHARE_CONTEXTS, table->count - known);
	share->names += table->count - known;
	return ret;
}

bool session_keeps_process(const struct session *session, const struct profile_context *context,
			   bool mapped)
{
	return session->identity & (COLLECT_PER_PROCESS | COLLECT_PER_THREAD) ||
	       kept_processes_have(&session->kept, context->comm, context->cgroup, mapped);
}

static int make_context(struct session *session, struct process *process, uint32_t tid,
			uint32_t slot, uint32_t *id)
{
	struct span group = groups_path(&session->groups, process->group);
	struct profile_context context = {
		.comm = session_comm(process->comm, process->kernel),
		.cgroup = group,
		.container = cgroup_container(group),
	};
	if (session_keeps_process(session, &context, process->kept)) {
		context.pid = optional_of(process->pid);
		if (process->start_ns)
			context.start_ns = optional_of(process->start_ns);
	}
	if (session->identity & COLLECT_PER_THREAD) {
		context.tid = optional_of(tid);
		context.thread =
			span_of_text(process_thread_comm(&session->processes, process, tid));
	}
	if (session->identity & COLLECT_PER_CPU)
		context.cpu = optional_of((uint64_t)session->counters.cpus[slot]);
	return session_add_context(session, session_share(session, process), &context, id);
}

int session_ask_group(struct session *session, struct process *process)
{
	if (process->asked)
		return 0;
	process->asked = true;
	process->context = 0;
	return session_read_group(session, process);
}

int session_context(struct session *session, struct process *process, uint32_t tid, uint32_t slot,
		    uint32_t *id)
{
	int ret = session_ask_group(session, process);
	if (ret < 0)
		return ret;
	if (!process->context)
		process->context = ++session->context_serial;
	if (!(session->identity & COLLECT_PER_THREAD))
		tid = 0;
	if (!(session->identity & COLLECT_PER_CPU))
		slot = 0;
	uint64_t hash = hash_u64((uint64_t)process->context << 32 | tid) + slot;
	struct session_context *cached = &session->contexts[hash % SESSION_CONTEXT_CACHE];
	if (cached->serial == process->context && cached->tid == tid && cached->slot == slot) {
		*id = cached->id;
		return 0;
	}
	ret = make_context(session, process, tid, slot, id);
	if (ret == 0)
		*cached = (struct session_context){ process->context, tid, slot, *id };
	return ret;
}
