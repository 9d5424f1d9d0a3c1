/*
 * bench-interpret [-n PATHS] [-i INSTRUCTIONS] [-s STACK_BYTES] [-m] -- COMMAND... - the
 * interpreter of samples against the CPU: a program is stopped at random times, what it
 * does next is interpreted from its registers and a few bytes of its stack, with -m also from
 * what its registers point to, as bpf/sample_memory.h reads it; then it is
 * single-stepped and both are compared. Prints how many paths diverge, what they yield,
 * and what they cost. 1: could not; 3: more than one path in a thousand diverges; 77:
 * programs cannot be traced here.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/random.h"
#include "bpf/sample_memory.h"
#include "isa/interpret.h"

#define MAPPINGS     1024
#define EDGES	     256
#define STEPS_MOST   4096 /* a repeated instruction steps as often as it repeats */
#define STACK_MOST   4096
#define STACK_KEPT   64
#define KEPT_MOST    20000
#define PAUSE_NS     300000 /* between stops, on average */
#define TOLERATED_OF 1000
#define SHOWN_MOST   10

struct mapping {
	uint64_t start, end;
	bool executable;
	uint8_t *bytes; /* NULL: not read yet */
	size_t size;
};

struct edge {
	uint64_t from, to;
};

struct session {
	pid_t pid;
	int memory;
	struct interpreter *interpreter;
	struct random_state random;
	unsigned limit, stack_bytes;
	bool memory_too;
	struct mapping mappings[MAPPINGS]; /* those that nothing writes */
	size_t mapping_count;
	struct edge edges[EDGES];
	size_t edge_count;
	uint64_t trace[STEPS_MOST];
	/* totals */
	uint64_t paths, diverged, compared, instructions, outcomes, with_outcome, interrupted;
	uint64_t ends[INTERPRET_ENDS], blocks_read;
	double interpret_s;
	bool ended;
	/* of the program that runs now, for the cost */
	struct kept {
		struct interpret_start start;
		uint8_t stack[STACK_KEPT];
		struct blocks {
			struct interpret_block list[INTERPRET_REGISTERS];
			uint8_t bytes[INTERPRET_REGISTERS][SAMPLE_MEMORY_BYTES];
			unsigned count;
		} blocks;
	} * kept;
	size_t kept_count;
	uint64_t timed;
};

static double processor_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

#ifdef __x86_64__
#define THIS_ISA ISA_X86_64

static bool read_state(pid_t pid, struct interpret_start *start)
{
	struct user_regs_struct r;
	if (ptrace(PTRACE_GETREGS, pid, NULL, &r) < 0 || (int64_t)r.orig_rax >= 0)
		return false; /* in a system call: it may be restarted */
	const uint64_t values[16] = { r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi,
				      r.r8,  r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15 };
	memcpy(start->registers, values, sizeof(values));
	start->registers_known = 0xffff;
	start->flags_known = true;
	start->flags = r.eflags;
	start->pc = r.rip;
	return true;
}

static uint64_t stack_pointer(const struct interpret_start *start)
{
	return start->registers[X86_RSP];
}

static uint64_t read_pc(pid_t pid)
{
	return (uint64_t)ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user_regs_struct, rip), NULL);
}
#else
#define THIS_ISA ISA_AARCH64

static bool read_registers(pid_t pid, struct user_regs_struct *registers)
{
	struct iovec space = { registers, sizeof(*registers) };
	return ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &space) == 0;
}

static bool read_state(pid_t pid, struct interpret_start *start)
{
	struct user_regs_struct r;
	int call = -1;
	struct iovec space = { &call, sizeof(call) };
	ptrace(PTRACE_GETREGSET, pid, (void *)NT_ARM_SYSTEM_CALL, &space);
	if (call >= 0 || !read_registers(pid, &r))
		return false;
	memcpy(start->registers, r.regs, 31 * sizeof(uint64_t));
	start->registers[AARCH64_SP] = r.sp;
	start->registers_known = UINT32_MAX;
	start->pc = r.pc; /* perf has no flags either */
	return true;
}

static uint64_t stack_pointer(const struct interpret_start *start)
{
	return start->registers[AARCH64_SP];
}

static uint64_t read_pc(pid_t pid)
{
	struct user_regs_struct r = { 0 };
	read_registers(pid, &r);
	return r.pc;
}
#endif

/* Which mappings cannot be written; their bytes are read when first asked for. */
static void read_mappings(struct session *session)
{
	char path[64], line[512];
	snprintf(path, sizeof(path), "/proc/%d/maps", session->pid);
	for (size_t i = 0; i < session->mapping_count; i++)
		free(session->mappings[i].bytes);
	session->mapping_count = 0;
	FILE *file = fopen(path, "re");
	while (file && session->mapping_count < MAPPINGS && fgets(line, sizeof(line), file)) {
		struct mapping *mapping = &session->mappings[session->mapping_count];
		char rights[8], name[256] = "";
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %255s", &mapping->start,
			   &mapping->end, rights, name) < 3)
			continue;
		if (rights[0] != 'r' || rights[1] == 'w' || strcmp(name, "[vvar]") == 0)
			continue;
		mapping->executable = rights[2] == 'x';
		mapping->bytes = NULL;
		session->mapping_count++;
	}
	if (file)
		fclose(file);
}

static void read_mapping(struct session *session, struct mapping *mapping)
{
	size_t size = mapping->end - mapping->start;
	mapping->bytes = malloc(size);
	mapping->size = 0;
	while (mapping->bytes && mapping->size < size) {
		ssize_t got = pread(session->memory, mapping->bytes + mapping->size,
				    size - mapping->size, (off_t)(mapping->start + mapping->size));
		if (got <= 0)
			break;
		mapping->size += (size_t)got;
	}
}

static void read_program(struct session *session)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/mem", session->pid);
	if (session->memory >= 0)
		close(session->memory);
	session->memory = open(path, O_RDONLY | O_CLOEXEC);
	read_mappings(session);
}

static struct mapping *find_mapping(struct session *session, uint64_t address)
{
	for (size_t i = 0; i < session->mapping_count; i++) {
		struct mapping *mapping = &session->mappings[i];
		if (address < mapping->start || address >= mapping->end)
			continue;
		if (!mapping->bytes)
			read_mapping(session, mapping);
		return address - mapping->start < mapping->size ? mapping : NULL;
	}
	return NULL;
}

static struct span code_of(void *context, uint64_t address)
{
	struct mapping *mapping = find_mapping(context, address);
	if (!mapping || !mapping->executable)
		return (struct span){ NULL, 0 };
	return (struct span){ mapping->bytes + (address - mapping->start), mapping->end - address };
}

static bool read_only(void *context, uint64_t address, unsigned bytes, uint64_t *value)
{
	struct mapping *mapping = find_mapping(context, address);
	if (!mapping || mapping->size - (address - mapping->start) < bytes)
		return false;
	*value = 0;
	memcpy(value, mapping->bytes + (address - mapping->start), bytes);
	return true;
}

static void keep_edge(void *context, uint64_t from, uint64_t to, enum interpret_edge kind)
{
	struct session *session = context;
	(void)kind;
	if (session->edge_count < EDGES)
		session->edges[session->edge_count++] = (struct edge){ from, to };
}

/* False: it ended, or a signal came, which it then gets. */
static bool resume(struct session *session, int how, int *signal_to_give, int expected)
{
	int status;
	if (ptrace(how, session->pid, NULL, (void *)(intptr_t)*signal_to_give) < 0 ||
	    waitpid(session->pid, &status, 0) < 0 || !WIFSTOPPED(status)) {
		session->ended = true;
		return false;
	}
	*signal_to_give = 0;
	if (WSTOPSIG(status) == expected)
		return true;
	*signal_to_give = WSTOPSIG(status);
	return false;
}

/* Hypervisors execute cpuid, and some lose the trap of its step. */
static bool loses_traps(struct session *session, uint64_t pc)
{
	struct span code = code_of(session, pc);
	return THIS_ISA == ISA_X86_64 && code.size >= 2 && !memcmp(code.data, "\x0f\xa2", 2);
}

/* Steps as many instructions as were interpreted; repetitions of one count once. */
static bool step_along(struct session *session, const struct interpret_result *path, uint64_t pc,
		       int *signal_to_give)
{
	session->trace[0] = pc;
	for (size_t at = 0, steps = 0; at < path->instructions; steps++) {
		if (steps == STEPS_MOST || loses_traps(session, session->trace[at]) ||
		    !resume(session, PTRACE_SINGLESTEP, signal_to_give, SIGTRAP))
			return false;
		uint64_t next = read_pc(session->pid);
		struct span code = code_of(session, next);
		bool repeats = next == session->trace[at] && code.size &&
			       (*(const uint8_t *)code.data & 0xfe) == 0xf2;
		if (!repeats)
			session->trace[++at] = next;
	}
	return true;
}

static bool agrees(const struct session *session, const struct interpret_result *path)
{
	size_t at = 0;
	for (size_t i = 0; i < session->edge_count; i++, at++) {
		while (at < path->instructions && session->trace[at] != session->edges[i].from)
			at++;
		if (at == path->instructions || session->trace[at + 1] != session->edges[i].to)
			return false;
	}
	return session->trace[path->instructions] == path->pc;
}

static void count(struct session *session, const struct interpret_result *path)
{
	session->paths++;
	session->instructions += path->instructions;
	session->outcomes += path->outcomes;
	session->with_outcome += path->outcomes > 0;
	session->ends[path->end]++;
}

/* Points to the bytes that *blocks holds. */
static void point_to_blocks(struct blocks *blocks, struct interpret_start *start)
{
	for (unsigned i = 0; i < blocks->count; i++)
		blocks->list[i].bytes.data = blocks->bytes[i];
	start->blocks = blocks->list;
	start->block_count = blocks->count;
}

static void read_blocks(struct session *session, struct interpret_start *start,
			struct blocks *blocks)
{
	blocks->count = 0;
	for (unsigned r = 0; r < INTERPRET_REGISTERS && session->memory_too; r++) {
		uint64_t address = start->registers[r] & ~(uint64_t)(SAMPLE_MEMORY_LINE - 1);
		bool seen = !(start->registers_known >> r & 1);
		for (unsigned i = 0; i < blocks->count; i++)
			seen = seen || blocks->list[i].address == address;
		if (seen ||
		    pread(session->memory, blocks->bytes[blocks->count], SAMPLE_MEMORY_BYTES,
			  (off_t)address) != (ssize_t)SAMPLE_MEMORY_BYTES)
			continue;
		blocks->list[blocks->count++] =
			(struct interpret_block){ address, { NULL, SAMPLE_MEMORY_BYTES } };
	}
	session->blocks_read += blocks->count;
	point_to_blocks(blocks, start);
}

static void keep_start(struct session *session, const struct interpret_start *start)
{
	if (session->kept_count == KEPT_MOST)
		return;
	struct kept *kept = &session->kept[session->kept_count++];
	size_t size = start->stack.size < STACK_KEPT ? start->stack.size : STACK_KEPT;
	kept->start = *start;
	memcpy(kept->stack, start->stack.data, size);
	kept->start.stack = (struct span){ kept->stack, size };
	memcpy(&kept->blocks.list, start->blocks, start->block_count * sizeof(*start->blocks));
	kept->blocks.count = start->block_count;
	for (unsigned i = 0; i < start->block_count; i++)
		memcpy(kept->blocks.bytes[i], start->blocks[i].bytes.data, SAMPLE_MEMORY_BYTES);
	point_to_blocks(&kept->blocks, &kept->start);
}

/* One after another, as samples of a recording are. */
static void time_paths(struct session *session)
{
	const struct interpret_callbacks callbacks = { session, code_of, read_only, keep_edge };
	double begin_s = processor_s();
	for (size_t i = 0; i < session->kept_count; i++) {
		struct interpret_result path;
		session->edge_count = 0;
		interpreter_run(session->interpreter, &session->kept[i].start, &callbacks,
				session->limit, &path);
	}
	session->interpret_s += processor_s() - begin_s;
	session->timed += session->kept_count;
	session->kept_count = 0;
}

static void one_path(struct session *session, int *signal_to_give)
{
	static uint8_t stack[STACK_MOST];
	static struct blocks blocks;
	struct interpret_start start = { 0 };
	struct interpret_result path;
	const struct interpret_callbacks callbacks = { session, code_of, read_only, keep_edge };
	if (!read_state(session->pid, &start))
		return;
	if (!find_mapping(session, start.pc))
		read_mappings(session);
	ssize_t got =
		pread(session->memory, stack, session->stack_bytes, (off_t)stack_pointer(&start));
	start.stack = (struct span){ stack, got > 0 ? (size_t)got : 0 };
	read_blocks(session, &start, &blocks);
	session->edge_count = 0;
	interpreter_run(session->interpreter, &start, &callbacks, session->limit, &path);
	count(session, &path);
	keep_start(session, &start);
	if (!step_along(session, &path, start.pc, signal_to_give)) {
		session->interrupted++;
		return;
	}
	session->compared++;
	if (agrees(session, &path))
		return;
	if (++session->diverged > SHOWN_MOST)
		return;
	fprintf(stderr,
		"diverges: from %" PRIx64 ", %u instructions to %" PRIx64 " instead of %" PRIx64
		"\n",
		start.pc, path.instructions, path.pc, session->trace[path.instructions]);
}

/* By exec: what was kept is of the program before. */
static void change_program(struct session *session)
{
	time_paths(session);
	read_program(session);
}

static void run_session(struct session *session, uint64_t paths)
{
	int signal_to_give = 0;
	while (!session->ended && session->paths < paths) {
		if (ptrace(PTRACE_CONT, session->pid, NULL, (void *)(intptr_t)signal_to_give) < 0)
			return;
		signal_to_give = 0;
		struct timespec pause = { 0, (long)(PAUSE_NS / 2 +
						    random_below(&session->random, PAUSE_NS)) };
		nanosleep(&pause, NULL);
		kill(session->pid, SIGSTOP);
		int status;
		if (waitpid(session->pid, &status, 0) < 0 || !WIFSTOPPED(status)) {
			session->ended = true;
			return;
		}
		if (WSTOPSIG(status) == SIGSTOP)
			one_path(session, &signal_to_give);
		else if (WSTOPSIG(status) == SIGTRAP)
			change_program(session);
		else
			signal_to_give = WSTOPSIG(status);
	}
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void print(const struct session *session)
{
	double paths = session->paths ? (double)session->paths : 1;
	printf("%" PRIu64 " paths, %" PRIu64 " compared, %" PRIu64
	       " diverge; %.1f %% have an outcome, "
	       "%.2f outcomes and %.1f instructions each, %.2f us each\n",
	       session->paths, session->compared, session->diverged,
	       share(session->with_outcome, session->paths), (double)session->outcomes / paths,
	       (double)session->instructions / paths,
	       session->timed ? session->interpret_s * 1e6 / (double)session->timed : 0);
	printf("ends:");
	for (int end = 0; end < INTERPRET_ENDS; end++)
		if (session->ends[end])
			printf(" %s %.1f %%", interpret_end_name(end),
			       share(session->ends[end], session->paths));
	if (session->memory_too)
		printf(" (%.1f blocks a path)", (double)session->blocks_read / paths);
	printf("\n");
}

/* Stopped behind its exec. */
static pid_t start_program(char **command)
{
	pid_t pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(77);
		execvp(command[0], command);
		_exit(127);
	}
	int status;
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -1;
	if (!WIFSTOPPED(status)) {
		bool untraceable = WIFEXITED(status) && WEXITSTATUS(status) == 77;
		fprintf(stderr, "bench-interpret: %s '%s'\n",
			untraceable ? "cannot trace" : "cannot run", command[0]);
		exit(untraceable ? 77 : 1);
	}
	ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)PTRACE_O_EXITKILL);
	return pid;
}

int main(int argc, char **argv)
{
	static struct session session = { .memory = -1,
					  .limit = INTERPRET_LIMIT_USUAL,
					  .stack_bytes = 8 };
	uint64_t paths = 20000;
	int option;
	while ((option = getopt(argc, argv, "+n:i:s:m")) != -1) {
		unsigned long value = optarg ? strtoul(optarg, NULL, 10) : 0;
		if (option == 'n')
			paths = value;
		else if (option == 'i' && value < EDGES)
			session.limit = (unsigned)value;
		else if (option == 's' && value <= STACK_MOST)
			session.stack_bytes = (unsigned)value;
		else if (option == 'm')
			session.memory_too = true;
		else
			optind = argc;
	}
	if (optind >= argc) {
		fprintf(stderr, "usage: bench-interpret [-n PATHS] [-i INSTRUCTIONS] "
				"[-s STACK_BYTES] [-m] -- COMMAND...\n");
		return 2;
	}
	struct error err;
	if (interpreter_new(THIS_ISA, &session.interpreter, &err) < 0) {
		fprintf(stderr, "bench-interpret: %s\n", err.text);
		return 1;
	}
	session.random = random_seed(5);
	session.kept = malloc(KEPT_MOST * sizeof(*session.kept));
	if (!session.kept)
		return 1;
	/* until there are as many as were asked for */
	while (session.paths < paths) {
		uint64_t before = session.paths;
		session.pid = start_program(argv + optind);
		session.ended = false;
		read_program(&session);
		if (session.memory >= 0)
			run_session(&session, paths);
		time_paths(&session);
		if (!session.ended) {
			kill(session.pid, SIGKILL);
			waitpid(session.pid, NULL, 0);
		}
		if (session.paths == before) {
			fprintf(stderr, "bench-interpret: '%s' ends too early\n", argv[optind]);
			return 1;
		}
	}
	print(&session);
	interpreter_free(session.interpreter);
	free(session.kept);
	return session.diverged * TOLERATED_OF > session.compared ? 3 : 0;
}
