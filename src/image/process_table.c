#include "image/process_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static void drop_space(struct process_table *table, struct address_space *space)
{
	if (space && space->references == 1 && table->forget_space)
		table->forget_space(table->forget_context, space);
	address_space_drop(space);
}

static void process_free(struct process_table *table, struct process *process)
{
	drop_space(table, process->space);
	drop_space(table, process->former);
	free(process);
}

void process_table_release(struct process_table *table)
{
	/* Exited ones are on the list, and may be under their pid too. */
	for (size_t i = 0; i < table->exited_count; i++)
		if (process_find(table, table->exited[i]->pid) != table->exited[i])
			process_free(table, table->exited[i]);
	size_t position = 0;
	for (struct process *p; (p = number_map_next(&table->processes, &position));)
		process_free(table, p);
	position = 0;
	for (struct thread *t; (t = number_map_next(&table->threads, &position));)
		free(t);
	number_map_release(&table->processes);
	number_map_release(&table->threads);
	free(table->exited);
	arena_release(&table->long_names);
	*table = (struct process_table){ 0 };
}

struct process *process_find(const struct process_table *table, uint32_t pid)
{
	return number_map_find(&table->processes, pid);
}

/* A new process of that pid, without name or mappings; the table has no other one of that pid. */
static struct process *process_new(struct process_table *table, uint32_t pid)
{
	struct process *process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	process->space = address_space_new();
	if (!process->space || number_map_put(&table->processes, pid, process) < 0) {
		process_free(table, process);
		return NULL;
	}
	return process;
}

struct process *process_need(struct process_table *table, uint32_t pid)
{
	struct process *process = process_find(table, pid);
	return process ? process : process_new(table, pid);
}

/* Cuts the name to what Linux has room for. */
static void set_comm(char *comm, struct span name)
{
	size_t size = name.size < PROCESS_COMM_SIZE - 1 ? name.size : PROCESS_COMM_SIZE - 1;
	memset(comm, 0, PROCESS_COMM_SIZE);
	if (size)
		memcpy(comm, name.data, size);
}

/* The name for the table's lifetime when it is longer than that, else NULL. 0 or -ENOMEM. */
static int keep_long(struct process_table *table, struct span name, const char **kept)
{
	const char *before = *kept;
	*kept = NULL;
	if (name.size < PROCESS_COMM_SIZE)
		return 0;
	*kept = before && span_equal(name, span_of_text(before))
			? before
			: arena_copy_text(&table->long_names, name.data, name.size);
	return *kept ? 0 : -ENOMEM;
}

const char *process_thread_comm(const struct process_table *table, const struct process *process,
				uint32_t tid)
{
	const struct thread *thread =
		tid == process->pid ? NULL : number_map_find(&table->threads, tid);
	if (!thread || thread->pid != process->pid)
		return process_name(process);
	return thread->long_comm ? thread->long_comm : thread->comm;
}

/* The thread of that tid, of whatever process. NULL: out of memory. */
static struct thread *need_thread(struct process_table *table, uint32_t tid)
{
	struct thread *thread = number_map_find(&table->threads, tid);
	if (thread)
		return thread;
	thread = calloc(1, sizeof(*thread));
	if (!thread || number_map_put(&table->threads, tid, thread) < 0) {
		free(thread);
		return NULL;
	}
	return thread;
}

static int name_thread(struct process_table *table, uint32_t pid, uint32_t tid, struct span name)
{
	struct thread *thread = need_thread(table, tid);
	if (!thread)
		return -ENOMEM;
	thread->tid = tid;
	thread->pid = pid;
	set_comm(thread->comm, name);
	return keep_long(table, name, &thread->long_comm);
}

static void forget_thread(struct process_table *table, uint32_t tid)
{
	free(number_map_remove(&table->threads, tid));
}

static int fork_thread(struct process_table *table, uint32_t pid, uint32_t tid, uint32_t parent_tid)
{
	struct process *process = process_find(table, pid);
	if (process)
		process->threads++;
	const struct thread *parent =
		parent_tid == pid ? NULL : number_map_find(&table->threads, parent_tid);
	if (!process || !parent || parent->pid != pid) {
		forget_thread(table, tid);
		return 0;
	}
	struct thread *thread = need_thread(table, tid);
	if (!thread)
		return -ENOMEM;
	*thread = *parent; /* a long name is the table's: of all its threads one */
	thread->tid = tid;
	return 0;
}

/* Takes its pid from the process, and frees it unless it has exited: it is then in that list. */
static void retire(struct process_table *table, struct process *process)
{
	number_map_remove(&table->processes, process->pid);
	if (!process->exit_ns)
		process_free(table, process);
}

int process_fork(struct process_table *table, uint32_t pid, uint32_t tid, uint32_t parent_pid,
		 uint32_t parent_tid, uint64_t time_ns)
{
	if (pid == parent_pid)
		return tid == pid ? 0 : fork_thread(table, pid, tid, parent_tid);
	struct process *earlier = process_find(table, pid);
	if (earlier)
		retire(table, earlier);
	forget_thread(table, tid);
	struct process *child = process_new(table, pid);
	if (!child)
		return -ENOMEM;
	child->parent = parent_pid;
	child->threads = 1;
	child->start_ns = time_ns;
	const struct process *parent = process_find(table, parent_pid);
	if (!parent)
		return 0;
	address_space_drop(child->space);
	child->space = address_space_share(parent->space);
	child->former = parent->former ? address_space_share(parent->former) : NULL;
	const char *name = process_thread_comm(table, parent, parent_tid);
	const size_t size = strnlen(name, PROCESS_COMM_SIZE); /* a long one is not gone through */
	set_comm(child->comm, (struct span){ name, size });
	child->long_comm = size < PROCESS_COMM_SIZE ? NULL : name; /* is the table's */
	child->known = parent->known;
	child->kernel = parent->kernel;
	child->followed = parent->followed;
	child->narrow = parent->narrow;
	child->kept = parent->kept;
	child->kept_before = parent->kept_before;
	child->group = parent->group;
	child->share = parent->share;
	return 0;
}

int process_disinherit(struct process_table *table, uint32_t pid)
{
	struct process *process = process_find(table, pid);
	struct address_space *space = process ? address_space_new() : NULL;
	if (!space)
		return process ? -ENOMEM : 0;
	drop_space(table, process->space);
	drop_space(table, process->former);
	process->space = space;
	process->former = NULL;
	process->kept = process->kept_before = false;
	process->serial = 0;
	return 0;
}

int process_comm(struct process_table *table, uint32_t pid, uint32_t tid, struct span name,
		 bool exec, uint64_t time_ns)
{
	struct process *process = process_need(table, pid);
	if (!process)
		return -ENOMEM;
	process->context = 0;
	process->serial = 0;
	if (exec) {
		/* The other threads are gone, and whoever called exec is the process now. */
		struct address_space *space = address_space_new();
		if (!space)
			return -ENOMEM;
		drop_space(table, process->former);
		process->former = process->space;
		process->space = space;
		process->known = true;
		process->execed = true;
		process->mapped = false;
		process->kept_before = process->kept;
		process->kept = false;
		process->kernel = false;
		process->narrow = false;
		process->asked = false;
		process->share_asked = false;
		process->runtime_image = 0;
		process->threads = 1;
		if (!process->start_ns)
			process->start_ns = time_ns;
		forget_thread(table, tid);
	}
	if (tid == pid || exec) {
		set_comm(process->comm, name);
		return keep_long(table, name, &process->long_comm);
	}
	return name_thread(table, pid, tid, name);
}

int process_map(struct process_table *table, uint32_t pid, const struct mapping *mapping)
{
	struct process *process = process_need(table, pid);
	if (!process)
		return -ENOMEM;
	process->known = true;
	process->serial = 0;
	return address_space_add(&process->space, mapping);
}

const struct mapping *process_mapping(const struct process *process, uint64_t address)
{
	const struct mapping *mapping = address_space_find(process->space, address);
	return mapping || !process->former ? mapping : address_space_find(process->former, address);
}

int process_exit(struct process_table *table, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	if (tid != pid)
		forget_thread(table, tid);
	struct process *process = process_find(table, pid);
	if (!process || process->exit_ns)
		return 0;
	if (process->threads)
		process->threads--;
	/* A first thread may end before the others. Of a process that we never saw whole, the
	   count is unknown: then the first thread stands for all. */
	if (process->threads || (tid != pid && !process->known))
		return 0;
	int ret = array_reserve(&table->exited, &table->exited_capacity, table->exited_count,
				sizeof(struct process *));
	if (ret < 0)
		return ret;
	process->exit_ns = time_ns ? time_ns : 1;
	table->exited[table->exited_count++] = process;
	return 0;
}

void process_reap(struct process_table *table, uint64_t time_ns)
{
	size_t kept = 0;
	for (size_t i = 0; i < table->exited_count; i++) {
		struct process *process = table->exited[i];
		if (process->exit_ns >= time_ns) {
			table->exited[kept++] = process;
			continue;
		}
		if (process_find(table, process->pid) == process)
			number_map_remove(&table->processes, process->pid);
		process_free(table, process);
	}
	table->exited_count = kept;
}
