#include <errno.h>
#include <string.h>

#include "collect/cgroup.h"
#include "collect/session.h"

#define KWORKER "kworker"

/* Kernel workers are many and named after what they did last: they are one. */
static struct span comm_of(const struct process *process)
{
	if (process->kernel && strncmp(process->comm, KWORKER, sizeof(KWORKER) - 1) == 0)
		return span_of_text(KWORKER);
	return process->comm[0] ? span_of_text(process->comm) : (struct span){ NULL, 0 };
}

static int make_context(struct session *session, struct process *process, uint32_t tid,
			uint32_t slot, uint32_t *id)
{
	struct span group = byte_pool_get(&session->groups, process->group);
	struct profile_context context = {
		.comm = comm_of(process),
		.cgroup = group,
		.container = cgroup_container(group),
	};
	if (session->identity & (COLLECT_PER_PROCESS | COLLECT_PER_THREAD)) {
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
	return profile_add_context(session->profile, &context, id);
}

int session_context(struct session *session, struct process *process, uint32_t tid, uint32_t slot,
		    uint32_t *id)
{
	if (!process->asked) {
		process->asked = true;
		int ret = session_read_group(session, process);
		if (ret < 0)
			return ret;
		process->context = 0;
	}
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
	int ret = make_context(session, process, tid, slot, id);
	if (ret == 0)
		*cached = (struct session_context){ process->context, tid, slot, *id };
	return ret;
}
