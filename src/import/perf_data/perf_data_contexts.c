/*
 * Who ran: processes and threads by their names, and control groups where
 * samples have them. Numbers of processes are not kept: memory grows with names.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "import/perf_data/perf_data_private.h"

#define KWORKER "kworker"

static bool context_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct perf_context *context = &((const struct perf_context *)rows)[position];
	const struct perf_context *key = wanted;
	return context->comm == key->comm && context->thread == key->thread &&
	       context->cgroup == key->cgroup;
}

static uint64_t context_hash(const struct perf_context *context)
{
	return hash_u64((uint64_t)context->comm << 32 | context->thread) ^
	       hash_u64(context->cgroup);
}

static int context_number(struct perf_data *data, const struct perf_context *wanted,
			  uint32_t *number)
{
	uint64_t hash = context_hash(wanted);
	uint32_t at =
		hash_index_find(&data->context_index, hash, context_equal, data->contexts, wanted);
	if (at == HASH_INDEX_NONE) {
		at = (uint32_t)data->context_count;
		if (array_reserve(&data->contexts, &data->context_capacity, data->context_count,
				  sizeof(*wanted)) < 0)
			return -ENOMEM;
		data->contexts[at] = *wanted;
		if (hash_index_add(&data->context_index, hash, at) < 0)
			return -ENOMEM;
		data->context_count++;
	}
	*number = at + 1;
	return 0;
}

void perf_data_forget_thread(struct perf_data *data, uint32_t tid)
{
	data->context_slots[tid % PERF_CONTEXT_SLOTS].serial = 0;
}

int perf_data_cgroup(struct perf_data *data, const struct perf_record *record)
{
	uint32_t path;
	if (!record->cgroup.path.size)
		return 0;
	int ret = byte_pool_add(&data->names, record->cgroup.path, &path);
	return ret < 0 ? ret
		       : number_map_put(&data->cgroups, record->cgroup.id, (void *)(uintptr_t)path);
}

/*
 * The number of a process's or a thread's name, 0 of an empty one. The process table has one copy
 * of a long name for all that inherit it, for as long as the table lives, so its address stands for
 * it: samples of many threads need not read all of it each time.
 */
static int name_number(struct perf_data *data, const char *name, uint32_t *number)
{
	const struct span text = { name, strnlen(name, PROCESS_COMM_SIZE) };
	const uint64_t address = (uintptr_t)name;
	*number = 0;
	if (text.size < PROCESS_COMM_SIZE)
		return text.size ? byte_pool_add(&data->names, text, number) : 0;
	*number = (uint32_t)(uintptr_t)number_map_find(&data->long_names, address);
	if (*number)
		return 0;
	int ret = byte_pool_add(&data->names, span_of_text(name), number);
	return ret < 0 ? ret
		       : number_map_put(&data->long_names, address, (void *)(uintptr_t)*number);
}

static int name_context(struct perf_data *data, const struct process *process, uint32_t tid,
			struct perf_context *context)
{
	int ret = name_number(data, process_name(process), &context->comm);
	if (ret == 0)
		ret = name_number(data, process_thread_comm(&data->processes, process, tid),
				  &context->thread);
	if (context->comm == context->thread)
		context->thread = 0;
	/* Kernel workers are many and named after their last work: they count as one process. */
	if (ret == 0 && strncmp(process->comm, KWORKER, sizeof(KWORKER) - 1) == 0) {
		context->thread = context->comm;
		ret = byte_pool_add(&data->names, span_of_text(KWORKER), &context->comm);
	}
	return ret;
}

int perf_data_context(struct perf_data *data, struct process *process, uint32_t tid,
		      uint64_t cgroup, uint32_t *context)
{
	struct perf_context_slot *slot = &data->context_slots[tid % PERF_CONTEXT_SLOTS];
	uint32_t serial = process_serial(&data->processes, process);
	if (slot->serial == serial && slot->tid == tid && slot->cgroup == cgroup) {
		*context = slot->context;
		return 0;
	}
	struct perf_context wanted = { 0 };
	if (cgroup) /* 0: the event has none */
		wanted.cgroup = (uint32_t)(uintptr_t)number_map_find(&data->cgroups, cgroup);
	int ret = name_context(data, process, tid, &wanted);
	if (ret == 0)
		ret = context_number(data, &wanted, context);
	if (ret == 0)
		*slot = (struct perf_context_slot){ cgroup, tid, serial, *context };
	return ret;
}
