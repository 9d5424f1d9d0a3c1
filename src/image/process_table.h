/*
 * process_table - which processes live, their names and mappings, kept up to date
 * from FORK, COMM, MMAP and EXIT records in the order of their time. Pids are used
 * again: an entry is one process, from its fork to its exit. It stays until
 * process_reap(), since samples of its last moments carry its pid.
 *
 * Records come from the kernel, or from a stranger's file: any order and any
 * number must be bearable, if not meaningful. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/number_map.h"
#include "base/span.h"
#include "image/address_space.h"

#define PROCESS_COMM_SIZE 16 /* TASK_COMM_LEN, with its NUL */

struct process {
	uint32_t pid;
	uint32_t parent;
	uint64_t start_ns; /* by the clock of the records; of processes that are older: as /proc
			      says */
	char comm[PROCESS_COMM_SIZE]; /* cut, when the name is longer: process_name() */
	const char *long_comm;	      /* the whole name if `comm` is cut, the table's; else NULL */
	struct address_space *space;
	struct address_space *former; /* the space before the last exec, or NULL */
	uint64_t exit_ns;	      /* 0: alive */
	uint32_t threads;	      /* alive, as far as is known */
	bool known;    /* its name and mappings were seen; false: only samples named its pid */
	bool kernel;   /* a kernel thread */
	bool followed; /* below the process that the owner asked to follow */
	bool mute;     /* reading its /proc/PID/maps got no answer: it is not read again */
	bool narrow;   /* runs 32-bit code */
	bool execed;   /* its program began while we watched */
	bool busy;     /* for the owner: it took CPU time of late, when it was seen first */
	bool mapped;   /* for the owner: whether it was told of a mapping; an exec sets it to false */
	/* For the owner, of what is mapped: children inherit them; an exec sets kept_before to
	   kept, and that to false. */
	bool kept, kept_before;
	/* For the owner, 0 in a new process; children inherit `group`, not `context`. A new name,
	   or an exec, sets `context` and `asked` to 0. */
	uint32_t group;
	uint32_t context;
	uint32_t runtime_image; /* for code without a file; an exec sets it to 0 */
	uint64_t scanned_ns;
	bool asked;
	/* Whose share (collect/shares.h) the process belongs to. Children inherit `share` and are
	   asked themselves; an exec sets share_asked to false. */
	void *share;
	bool share_asked, share_inherited; /* share_inherited: asking failed, it is the parent's */
	uint64_t share_asked_ns;
	uint32_t serial; /* process_serial() */
};

struct thread {
	uint32_t tid;
	uint32_t pid;
	char comm[PROCESS_COMM_SIZE];
	const char *long_comm;
};

struct process_table {
	struct number_map processes; /* struct process, by pid */
	struct number_map
		threads;	 /* struct thread, by tid: those whose name is not the process's */
	struct arena long_names; /* Linux has none; recordings of Android's processes do */
	uint32_t last_serial;	 /* the last process_serial() that was given out */
	/* The owner's: called before an address space is freed, when not NULL. */
	void (*forget_space)(void *context, struct address_space *space);
	void *forget_context;
	struct process **exited; /* private, for process_reap() */
	size_t exited_count, exited_capacity;
};

void process_table_release(struct process_table *table); /* also right for a zeroed one */

/* For tests and fuzzers: which invariant does not hold, or NULL: processes and threads are found by
 * their numbers; mappings rise, do not overlap, and are found by their addresses. */
const char *process_table_fault(const struct process_table *table);

struct process *process_find(const struct process_table *table, uint32_t pid); /* or NULL */
/* The process of that pid; a new one without name or mappings when there is none. NULL: out of
 * memory. */
struct process *process_need(struct process_table *table, uint32_t pid);

/* A new process (pid differs from the parent's) inherits name, group and mappings; a new thread a
 * name. */
int process_fork(struct process_table *table, uint32_t pid, uint32_t tid, uint32_t parent_pid,
		 uint32_t parent_tid, uint64_t time_ns);
/* Removes the mappings that a process inherited, when it turns out to run another program than its
 * parent. 0 or -ENOMEM. */
int process_disinherit(struct process_table *table, uint32_t pid);
int process_comm(struct process_table *table, uint32_t pid, uint32_t tid, struct span name,
		 bool exec, uint64_t time_ns);
int process_map(struct process_table *table, uint32_t pid, const struct mapping *mapping);
int process_exit(struct process_table *table, uint32_t pid, uint32_t tid, uint64_t time_ns);

/*
 * The mapping at an address, or NULL: of the present space, else of that before the
 * last exec: samples taken while the kernel works on an exec are still the old
 * program's.
 */
const struct mapping *process_mapping(const struct process *process, uint64_t address);

/* A number that stands for the process's name and mappings: it is never used for another process,
 * and whatever changes them gives the process a new one. */
static inline uint32_t process_serial(struct process_table *table, struct process *process)
{
	if (!process->serial)
		process->serial = ++table->last_serial;
	return process->serial;
}

/* Forgets processes that exited before `time_ns`. */
void process_reap(struct process_table *table, uint64_t time_ns);

/* "" for a process without a name. */
static inline const char *process_name(const struct process *process)
{
	return process->long_comm ? process->long_comm : process->comm;
}
/* The thread's own name; the process's when none is known. "" for a process without a name. */
const char *process_thread_comm(const struct process_table *table, const struct process *process,
				uint32_t tid);
