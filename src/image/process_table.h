/*
 * process_table - which processes live, what they are called and what they have
 * mapped, kept up to date from FORK, COMM, MMAP and EXIT records in the order of
 * their time. A pid is used again and again: an entry is one process, from its
 * fork to its exit, and stays for a while after it, since samples of its last
 * moments carry its pid.
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
	uint64_t start_ns; /* clock of the records; processes from before: as /proc says */
	char comm[PROCESS_COMM_SIZE]; /* cut, when the name is longer: process_name() */
	const char *long_comm;	      /* the whole of such a name, the table's; else NULL */
	struct address_space *space;
	struct address_space *former; /* that the last exec took away, or NULL */
	uint64_t exit_ns;	      /* 0: alive */
	uint32_t threads;	      /* that live, as far as is known */
	bool known;    /* its name and mappings were seen; false: only samples named its pid */
	bool kernel;   /* a kernel thread */
	bool followed; /* below the process that the owner asked to follow */
	bool mute;     /* nobody gets an answer about its mappings: it is not asked again */
	bool narrow;   /* runs 32-bit code */
	bool execed;   /* its program began while we watched */
	/* For the owner, 0 at birth; children inherit `group`, not `context`. A new name, or an
	   exec, sets `context` and `asked` back. */
	uint32_t group;
	uint32_t context;
	uint32_t runtime_image; /* for code without a file; an exec sets it back */
	uint64_t scanned_ns;
	bool asked;
	void *share; /* whose the process is; inherited, unasked; an exec sets share_asked back */
	bool share_asked, share_inherited; /* nobody could be asked: it is that of who forked it */
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
	uint32_t last_serial;	 /* that was given to a process */
	/* The owner's: called before an address space is freed, when not NULL. */
	void (*forget_space)(void *context, struct address_space *space);
	void *forget_context;
	struct process **exited; /* private, for process_reap() */
	size_t exited_count, exited_capacity;
};

void process_table_release(struct process_table *table); /* also right for a zeroed one */

/* For tests and fuzzers: which invariant does not hold, or NULL. Processes and threads are found by
 * their numbers, mappings are in order and apart, and found by their addresses. */
const char *process_table_fault(const struct process_table *table);

struct process *process_find(const struct process_table *table, uint32_t pid); /* or NULL */
/* The process of that pid; a new one without name or mappings when there is none. NULL: out of
 * memory. */
struct process *process_need(struct process_table *table, uint32_t pid);

/* A new process (pid differs from the parent's) inherits name, group and mappings; a new thread a
 * name. */
int process_fork(struct process_table *table, uint32_t pid, uint32_t tid, uint32_t parent_pid,
		 uint32_t parent_tid, uint64_t time_ns);
/* Of a process that runs another program than it was forked from: takes back the mappings that it
 * inherited. 0 or -ENOMEM. */
int process_disinherit(struct process_table *table, uint32_t pid);
int process_comm(struct process_table *table, uint32_t pid, uint32_t tid, struct span name,
		 bool exec, uint64_t time_ns);
int process_map(struct process_table *table, uint32_t pid, const struct mapping *mapping);
int process_exit(struct process_table *table, uint32_t pid, uint32_t tid, uint64_t time_ns);

/*
 * What lies at an address, or NULL: what is mapped now, else what was before the
 * last exec, for while the kernel still works at that its caller is the old
 * program.
 */
const struct mapping *process_mapping(const struct process *process, uint64_t address);

/* A number for what the process's name and addresses mean: another one after whatever changes them,
 * and in every process. */
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
