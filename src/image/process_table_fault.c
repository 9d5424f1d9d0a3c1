#include <string.h>

#include "image/process_table.h"

static const char *space_fault(const struct address_space *space)
{
	struct mapping_place place = { 0 };
	uint64_t end = 0;
	size_t count = 0;
	if (!space->references)
		return "an address space that a process has is nobody's";
	for (const struct mapping *mapping; (mapping = address_space_next(space, &place));
	     count++) {
		if (mapping->start >= mapping->end)
			return "a mapping is empty";
		if (mapping->start < end)
			return "mappings overlap, or are not in order";
		end = mapping->end;
		if (address_space_find(space, mapping->start) != mapping ||
		    address_space_find(space, mapping->end - 1) != mapping)
			return "a mapping is not found by its addresses";
	}
	if (count != space->count)
		return "an address space has more or fewer mappings than it says";
	return end == address_space_end(space) ? NULL : "an address space ends elsewhere";
}

static const char *process_fault(const struct process_table *table, const struct process *process)
{
	if (process_find(table, process->pid) != process)
		return "a process is not found by its number";
	if (process->serial > table->last_serial)
		return "a process has a serial number that was not given out";
	if (!memchr(process->comm, 0, sizeof(process->comm)))
		return "a process's name has no end";
	const char *fault = process->space ? space_fault(process->space) : NULL;
	return fault || !process->former ? fault : space_fault(process->former);
}

const char *process_table_fault(const struct process_table *table)
{
	const char *fault = NULL;
	size_t at = 0;
	for (const struct process *process;
	     !fault && (process = number_map_next(&table->processes, &at));)
		fault = process_fault(table, process);
	at = 0;
	for (const struct thread *thread;
	     !fault && (thread = number_map_next(&table->threads, &at));) {
		if (number_map_find(&table->threads, thread->tid) != thread)
			fault = "a thread is not found by its number";
		else if (!memchr(thread->comm, 0, sizeof(thread->comm)))
			fault = "a thread's name has no end";
	}
	return fault;
}
