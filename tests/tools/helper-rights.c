/*
 * helper-rights - starts each kind of helper process, looks at it from outside, and lists what it
 * may do: its status, its limits, its descriptors, and its filter as the kernel has it (as
 * root) or as the source does. Exits 1 when one is not confined as it should be.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/count_of.h"
#include "base/error.h"
#include "collect/edge_helper.h"
#include "collect/step_path.h"
#include "collect/stepper.h"
#include "confine/confinement.h"
#include "confine/syscall_filter.h"
#include "import/unwind/unwind_helper.h"
#include "support/filter_verdicts.h"
#include "symbol/demangle.h"
#include "symbol/helper_process.h"
#include "symbol/reader_helper.h"

#ifndef PTRACE_SECCOMP_GET_FILTER
#define PTRACE_SECCOMP_GET_FILTER 0x420c
#endif
#define STARTS 200

static int faults;

static void print_lines(pid_t pid, const char *file, const char *const *wanted, size_t count)
{
	char path[64], line[256];
	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	FILE *lines = fopen(path, "re");
	while (lines && fgets(line, sizeof(line), lines))
		for (size_t i = 0; i < count; i++)
			if (strncmp(line, wanted[i], strlen(wanted[i])) == 0)
				printf("  %s", line);
	if (lines)
		fclose(lines);
}

static long status_number(pid_t pid, const char *name)
{
	char path[64], line[256];
	long number = -1;
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	FILE *lines = fopen(path, "re");
	while (lines && fgets(line, sizeof(line), lines))
		if (strncmp(line, name, strlen(name)) == 0)
			number = strtol(line + strlen(name), NULL, 10);
	if (lines)
		fclose(lines);
	return number;
}

static void print_descriptors(pid_t pid)
{
	char path[64], link[320], target[256];
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	DIR *folder = opendir(path);
	if (!folder) {
		printf("  descriptors: not to be seen by its own user\n");
		return;
	}
	struct dirent *entry;
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(link, sizeof(link), "%s/%s", path, entry->d_name);
		ssize_t size = readlink(link, target, sizeof(target) - 1);
		target[size > 0 ? size : 0] = 0;
		char *end = strchr(target, ':'); /* sockets and pipes have numbers that change */
		if (end && target[0] != '/')
			*end = 0;
		printf("  descriptor %s: %s\n", entry->d_name, target);
	}
	closedir(folder);
}

static void print_memory(pid_t pid)
{
	char path[64], line[512];
	size_t shared = 0, executable_writable = 0, size = 0;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		char rights[5];
		if (sscanf(line, "%*s %4s", rights) != 1)
			continue;
		shared += rights[3] == 's';
		executable_writable += rights[1] == 'w' && rights[2] == 'x';
	}
	if (!maps) {
		printf("  memory: not to be seen by its own user\n");
		return;
	}
	fclose(maps);
	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	FILE *environment = fopen(path, "re");
	for (int c; environment && (c = fgetc(environment)) != EOF;)
		size += c != 0;
	if (environment)
		fclose(environment);
	printf("  memory: %zu shared mappings, %zu both writable and executable, "
	       "%zu bytes of environment\n",
	       shared, executable_writable, size);
	faults += shared + executable_writable + size != 0;
}

/* The kernel's copy; 0 where it is not shown. */
static size_t live_filter(pid_t pid, struct sock_filter *code)
{
	int status;
	if (ptrace(PTRACE_ATTACH, pid, 0, 0) != 0)
		return 0;
	waitpid(pid, &status, __WALL);
	long count = ptrace((enum __ptrace_request)PTRACE_SECCOMP_GET_FILTER, pid, 0, NULL);
	if (count > 0 && count <= SYSCALL_FILTER_MAX)
		count = ptrace((enum __ptrace_request)PTRACE_SECCOMP_GET_FILTER, pid, 0, code);
	else
		count = 0;
	ptrace(PTRACE_DETACH, pid, 0, 0);
	return count > 0 ? (size_t)count : 0;
}

static void print_calls(const char *title, const struct sock_filter *code, size_t count,
			unsigned int any, unsigned int exactly)
{
	size_t column = (size_t)printf("  %s:", title), found = 0;
	for (uint32_t number = 0; number < FILTER_CALLS; number++) {
		const char *name = filter_call_name(number);
		unsigned int verdicts = filter_verdicts(code, count, number);
		if (!name || !(verdicts & any) || (exactly && verdicts != exactly))
			continue;
		if (column + strlen(name) > 96)
			column = (size_t)printf("\n   ") - 1;
		column += (size_t)printf(" %s", name);
		found++;
	}
	printf("%s\n", found ? "" : " none");
}

static void print_filter(pid_t pid, enum confinement_kind kind)
{
	static struct sock_filter live[SYSCALL_FILTER_MAX];
	static struct syscall_filter built;
	const struct sock_filter *code = live;
	size_t count = live_filter(pid, live);
	if (count) {
		printf("  filter: %zu instructions, read from the kernel\n", count);
	} else {
		confinement_filter(&(struct confinement){ .kind = kind, .socket = HELPER_SOCKET },
				   &built);
		code = built.code;
		count = built.count;
		printf("  filter: as in the source; the kernel shows it to root only\n");
	}
	print_calls("always", code, count, VERDICT_ALLOW, VERDICT_ALLOW);
	printf("  by their arguments:");
	for (uint32_t number = 0; number < FILTER_CALLS; number++) {
		const char *name = filter_call_name(number);
		unsigned int verdicts = filter_verdicts(code, count, number);
		if (name && (verdicts & VERDICT_ALLOW) && verdicts != VERDICT_ALLOW)
			printf(" %s", name);
	}
	printf("\n");
	print_calls("answered by its own handler", code, count, VERDICT_TRAP, 0);
	print_calls("deadly", code, count, VERDICT_KILL, VERDICT_KILL);
	size_t refused = 0;
	for (uint32_t number = 0; number < FILTER_CALLS; number++)
		refused += filter_call_name(number) &&
			   !(filter_verdicts(code, count, number) & (VERDICT_ALLOW | VERDICT_TRAP));
	printf("  refused altogether: %zu calls\n", refused);
}

/* It confines itself first of all, and works then. */
static bool is_confined(pid_t pid)
{
	for (int i = 0; i < STARTS; i++) {
		if (status_number(pid, "Seccomp:") == 2)
			return true;
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	return false;
}

static void list(const char *name, const char *work, pid_t pid, enum confinement_kind kind)
{
	static const char *const status[] = { "Uid:",	 "Gid:",	"Groups:",
					      "CapInh:", "CapPrm:",	"CapEff:",
					      "CapAmb:", "NoNewPrivs:", "Seccomp:" };
	static const char *const limits[] = { "Max cpu time", "Max file size", "Max data size",
					      "Max core",     "Max processes", "Max open files",
					      "Max locked",   "Max address",   "Max msgqueue" };
	printf("%s - %s\n", name, work);
	if (!is_confined(pid)) {
		printf("  NOT CONFINED BY A FILTER\n");
		faults++;
	}
	print_lines(pid, "status", status, COUNT_OF(status));
	print_lines(pid, "limits", limits, COUNT_OF(limits));
	print_descriptors(pid);
	print_memory(pid);
	print_filter(pid, kind);
	printf("\n");
}

static void list_helper(const char *name, const char *work, void (*run)(int socket),
			enum confinement_kind kind)
{
	struct helper helper = { .run = run };
	struct error err;
	if (helper_start(&helper, &err) < 0) {
		fprintf(stderr, "helper-rights: %s\n", err.text);
		faults++;
		return;
	}
	list(name, work, helper.pid, kind);
	helper_stop(&helper);
}

static void list_layers(void)
{
	static const char *const names[] = { "parse", "open", "step" };
	printf("layers of this machine\n  Landlock ABI: %d\n", confinement_landlock_abi());
	for (enum confinement_kind kind = 0; kind < CONFINEMENT_KINDS; kind++) {
		char text[512];
		uint32_t missing;
		int ret = confinement_probe(kind, &missing);
		confinement_missing_text(missing, text, sizeof(text));
		printf("  %s: %s\n", names[kind],
		       ret < 0	 ? strerror(-ret)
		       : text[0] ? text
				 : "all hold");
		faults += ret < 0;
	}
	printf("\n");
}

int main(void)
{
	struct demangler demangler;
	struct stepper stepper;
	struct error err;
	list_layers();
	list_helper("culprit-parse", "reads ELF and DWARF", reader_helper_parse, CONFINEMENT_PARSE);
	demangler_init(&demangler);
	list_helper("culprit-names", "demangles", demangler.helper.run, CONFINEMENT_PARSE);
	list_helper("culprit-unwind", "unwinds user stacks", unwind_helper_run, CONFINEMENT_PARSE);
	list_helper("culprit-edges", "interprets samples", edge_helper_run, CONFINEMENT_PARSE);
	list_helper("culprit-decode", "decodes stepped instructions", step_decoder_run,
		    CONFINEMENT_PARSE);
	list_helper("culprit-open", "opens strangers' files", reader_helper_open, CONFINEMENT_OPEN);
	if (stepper_start(&stepper, &err) < 0) {
		fprintf(stderr, "helper-rights: %s\n", err.text);
		return 1;
	}
	list("culprit-step", "single-steps threads", stepper.pid, CONFINEMENT_STEP);
	stepper_stop(&stepper);
	return faults > 0;
}
