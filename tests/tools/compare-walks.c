/*
 * compare-walks COUNT COMMAND... - stops the command, and what it starts, at moments by chance, and
 * compares the stacks that unwind rules find with those of libdwfl, frame by frame: both read the
 * process while it stands still. Prints how many stacks are equal; ends when COUNT were compared or
 * the command has ended.
 *
 *	equal		all frames of both
 *	shorter		ours are the first of libdwfl's
 *	longer		likewise, the other way round; or ours have one more, the caller of an
 *			innermost one that no table is about
 *	other		a frame differs
 */
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "image/elf_file.h"
#include "image/mapped_elf.h"
#include "image/vdso.h"
#include "support/stopped_thread.h"
#include "unwind/frame_rules.h"
#include "unwind/stack_walk.h"

#define FRAMES	   512
#define FILES_MOST 256
#define MAPS_MOST  1024
#define SHOWN	   5
#define VDSO	   "[vdso]"

struct file {
	char path[512];
	struct frame_rules rules;
	bool read;
};

struct map {
	uint64_t start, end, offset;
	struct file *file; /* NULL: of none */
};

static struct file files[FILES_MOST];
static size_t file_count;
static struct map maps[MAPS_MOST];
static size_t map_count;
static uint64_t equal, shorter, longer, other, whole, frames_equal;
static double ours_ns, theirs_ns;

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static struct file *file_of(const char *path)
{
	for (size_t i = 0; i < file_count; i++)
		if (strcmp(files[i].path, path) == 0)
			return &files[i];
	if (file_count == FILES_MOST)
		return NULL;
	struct file *file = &files[file_count++];
	snprintf(file->path, sizeof(file->path), "%s", path);
	return file;
}

/* Of what the kernel maps into every process, as it is in this one. */
static void read_vdso_rules(struct frame_rules *rules)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	CLEANUP(elf_file_release) struct elf_file elf = { 0 };
	struct error err;
	if (vdso_read(&bytes, NULL) == 0 && elf_file_parse(bytes.data, bytes.size, &elf, &err) == 0)
		frame_rules_read(&elf, rules);
}

/* The rules of a file, read when a stack leads there first. */
static const struct frame_rules *rules_of(struct file *file)
{
	CLEANUP(mapped_elf_release) struct mapped_elf elf = { 0 };
	if (file->read)
		return &file->rules;
	file->read = true;
	if (strcmp(file->path, VDSO) == 0) {
		read_vdso_rules(&file->rules);
		return &file->rules;
	}
	CLEANUP(close_fd) int fd = open(file->path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && mapped_elf_open(fd, &elf, NULL) == 0)
		frame_rules_read(&elf.file, &file->rules);
	return &file->rules;
}

static bool read_maps(pid_t pid)
{
	char path[64], line[1024];
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *from = fopen(path, "re");
	map_count = 0;
	while (from && fgets(line, sizeof(line), from) && map_count < MAPS_MOST) {
		struct map *map = &maps[map_count];
		char access[8], name[512] = "";
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %511[^\n]",
			   &map->start, &map->end, access, &map->offset, name) < 4 ||
		    access[2] != 'x')
			continue;
		bool known = name[0] == '/' || strcmp(name, VDSO) == 0;
		map->file = known ? file_of(name) : NULL;
		map_count++;
	}
	if (from)
		fclose(from);
	return map_count > 0;
}

static void look_up(void *nothing, uint64_t address, struct walk_place *place)
{
	(void)nothing;
	place->may_guess = true;
	for (size_t i = 0; i < map_count; i++) {
		if (address < maps[i].start || address >= maps[i].end)
			continue;
		if (!maps[i].file)
			return;
		const struct frame_rules *rules = rules_of(maps[i].file);
		place->rule = frame_rules_find(rules, address - maps[i].start + maps[i].offset);
		place->has_rules = rules->count > 0;
		return;
	}
	place->end = WALK_NO_MAPPING;
}

static size_t walk(pid_t pid, struct walk_frame *frames, enum walk_end *end)
{
	static struct stopped_thread thread;
	size_t count = 0;
	*end = WALK_NO_REGISTERS;
	if (!stopped_thread_read(pid, STOPPED_STACK_BYTES, &thread))
		return 0;
	struct stack_walk wanted = stopped_thread_walk(&thread);
	wanted.look_up = look_up;
	double start = now_ns();
	*end = stack_walk_run(&wanted, frames, FRAMES, &count);
	ours_ns += now_ns() - start;
	return count;
}

struct found {
	uint64_t addresses[FRAMES];
	size_t count;
	bool bare; /* no table is about the innermost one */
};

static int take_frame(Dwfl_Frame *frame, void *context)
{
	struct found *found = context;
	Dwarf_Addr address;
	if (found->count == FRAMES || !dwfl_frame_pc(frame, &address, NULL))
		return DWARF_CB_ABORT;
	found->addresses[found->count++] = address;
	return DWARF_CB_OK;
}

static bool is_about(Dwarf_CFI *table, Dwarf_Addr address)
{
	Dwarf_Frame *frame = NULL;
	bool found = table && dwarf_cfi_addrframe(table, address, &frame) == 0;
	free(frame);
	return found;
}

static bool is_bare(Dwfl *dwfl, Dwarf_Addr address)
{
	Dwfl_Module *module = dwfl_addrmodule(dwfl, address);
	Dwarf_Addr bias = 0;
	Dwarf_CFI *table = module ? dwfl_module_eh_cfi(module, &bias) : NULL;
	if (is_about(table, address - bias))
		return false;
	table = module ? dwfl_module_dwarf_cfi(module, &bias) : NULL;
	return !is_about(table, address - bias);
}

/* libdwfl's stack. */
static void walk_theirs(pid_t pid, struct found *found)
{
	static char *no_path = "";
	static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_linux_proc_find_elf,
						  .find_debuginfo = dwfl_standard_find_debuginfo,
						  .debuginfo_path = &no_path };
	static Dwfl *dwfl;
	static pid_t of;
	if (of != pid) {
		if (dwfl)
			dwfl_end(dwfl);
		dwfl = dwfl_begin(&callbacks);
		of = pid;
		dwfl_linux_proc_report(dwfl, pid);
		dwfl_report_end(dwfl, NULL, NULL);
		dwfl_linux_proc_attach(dwfl, pid, true);
	} else {
		dwfl_report_begin(dwfl);
		dwfl_linux_proc_report(dwfl, pid);
		dwfl_report_end(dwfl, NULL, NULL);
	}
	found->count = 0;
	double start = now_ns();
	dwfl_getthread_frames(dwfl, pid, take_frame, found);
	theirs_ns += now_ns() - start;
	found->bare = found->count && is_bare(dwfl, found->addresses[0]);
}

static void show(pid_t pid, const struct walk_frame *ours, size_t count, enum walk_end end,
		 const struct found *theirs)
{
	static int shown;
	if (shown++ >= SHOWN)
		return;
	printf("process %d, ours ends with %d\n", pid, end);
	for (size_t i = 0; i < count || i < theirs->count; i++) {
		uint64_t address = i < count ? ours[i].address : theirs->addresses[i];
		const char *name = "";
		for (size_t m = 0; m < map_count; m++)
			if (address >= maps[m].start && address < maps[m].end && maps[m].file)
				name = maps[m].file->path;
		printf("  %#14" PRIx64 "%c %#14" PRIx64 " %s\n", i < count ? ours[i].address : 0,
		       i < count && ours[i].guessed ? '?' : ' ',
		       i < theirs->count ? theirs->addresses[i] : 0, name);
	}
}

/* Whether ours have all of libdwfl's frames and one more behind the innermost, about which no table
 * is (.fini): libdwfl passes over its caller. */
static bool misses_caller(const struct walk_frame *ours, size_t count, const struct found *theirs)
{
	size_t same = 1;
	if (!theirs->bare || count != theirs->count + 1 || ours[1].guessed ||
	    ours[0].address != theirs->addresses[0])
		return false;
	while (same < theirs->count && ours[same + 1].address == theirs->addresses[same])
		same++;
	return same == theirs->count;
}

static void compare(pid_t pid)
{
	struct walk_frame ours[FRAMES];
	struct found theirs;
	enum walk_end end;
	if (!read_maps(pid))
		return;
	size_t count = walk(pid, ours, &end);
	if (!count)
		return;
	walk_theirs(pid, &theirs);
	size_t same = 0;
	while (same < count && same < theirs.count && ours[same].address == theirs.addresses[same])
		same++;
	whole += end == WALK_WHOLE;
	frames_equal += same;
	if (same == count && same == theirs.count)
		equal++;
	else if (same == count)
		shorter++;
	else if (same == theirs.count || misses_caller(ours, count, &theirs))
		longer++;
	else
		other++;
	if (same != count || same != theirs.count)
		show(pid, ours, count, end, &theirs);
}

static pid_t start(char **command)
{
	pid_t pid = fork();
	if (pid == 0) {
		raise(SIGSTOP);
		execvp(command[0], command);
		_exit(127);
	}
	int status;
	waitpid(pid, &status, WUNTRACED);
	long options = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
		       PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	if (pid < 0 || ptrace(PTRACE_SEIZE, pid, NULL, options) < 0)
		return -1;
	kill(pid, SIGCONT);
	return pid;
}

/* What has stopped goes on; a stop that was asked for is compared before. False: it has ended. */
static void serve(pid_t pid, int status, bool asked)
{
	int event = status >> 16;
	int number = WSTOPSIG(status);
	if (asked && event == PTRACE_EVENT_STOP && number == SIGTRAP)
		compare(pid);
	ptrace(PTRACE_CONT, pid, NULL, event ? 0 : number == SIGTRAP ? 0 : number);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: compare-walks COUNT COMMAND...\n");
		return 2;
	}
	uint64_t wanted = strtoull(argv[1], NULL, 10);
	pid_t first = start(argv + 2), last = first;
	if (first < 0) {
		printf("nothing may be traced here\n");
		return 77;
	}
	srandom(1);
	while (equal + shorter + longer + other < wanted) {
		int status;
		struct timespec pause = { .tv_nsec = 300000 + random() % 1000000 };
		nanosleep(&pause, NULL);
		bool asked = ptrace(PTRACE_INTERRUPT, last, NULL, NULL) == 0;
		pid_t pid = waitpid(-1, &status, asked ? __WALL : __WALL | WNOHANG);
		if (pid < 0)
			break;
		for (; pid > 0; pid = waitpid(-1, &status, __WALL | WNOHANG)) {
			if (!WIFSTOPPED(status))
				continue;
			serve(pid, status, asked && pid == last);
			/* The youngest is where the work is done. */
			last = pid > last ? pid : last;
		}
		if (kill(last, 0) < 0 || !asked)
			last = first;
		if (kill(first, 0) < 0)
			break;
	}
	kill(first, SIGKILL);
	uint64_t all = equal + shorter + longer + other;
	printf("%" PRIu64 " stacks: %" PRIu64 " equal, %" PRIu64 " shorter, %" PRIu64
	       " longer, %" PRIu64 " other; %" PRIu64 " whole; %" PRIu64
	       " frames equal; %.1f us a stack, libdwfl %.1f us\n",
	       all, equal, shorter, longer, other, whole, frames_equal,
	       all ? ours_ns / (double)all / 1e3 : 0, all ? theirs_ns / (double)all / 1e3 : 0);
	return 0;
}
