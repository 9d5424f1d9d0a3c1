#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/message.h"

extern char **environ;

/* One of them in a process, as there is one stdout. */
static struct {
	bool refused;
	pid_t pid;  /* 0: none runs */
	int errors; /* a copy of stderr as it was; -1: stderr was not redirected */
} pager = { .errors = -1 };

/* 126 and 127: the shell could not run it; what it has not read goes straight to the terminal. */
static char script[] = "eval \"$1\"; s=$?; [ $s -lt 126 ] || [ $s -gt 127 ] || exec cat; exit $s";
static char usual[] = "command -v less >/dev/null || exec cat; exec less";

void pager_refuse(void)
{
	pager.refused = true;
}

/* NULL: none. */
static char *choose(void)
{
	char *asked = getenv("CULPRIT_PAGER");
	const char *terminal = getenv("TERM");
	if (!asked)
		asked = getenv("PAGER");
	if (asked)
		return *asked && strcmp(asked, "cat") != 0 ? asked : NULL;
	return terminal && *terminal && strcmp(terminal, "dumb") != 0 ? usual : NULL;
}

/* Whether this process has rights that its user has not, who chooses the pager. */
static bool has_other_rights(void)
{
	return getuid() != geteuid() || getgid() != getegid();
}

/* The environment with LESS and LV; borrows its texts. NULL: out of memory. */
static char **environment(void)
{
	static char less[] = "LESS=FRX", lv[] = "LV=-c";
	size_t count = 0;
	while (environ && environ[count])
		count++;
	char **list = calloc(count + 3, sizeof(*list));
	if (!list)
		return NULL;
	if (count)
		memcpy(list, environ, count * sizeof(*list));
	if (!getenv("LESS"))
		list[count++] = less;
	if (!getenv("LV"))
		list[count++] = lv;
	return list;
}

/* Starts the pager, with no signal ignored: those of the keyboard are for it while it runs. */
static int spawn(char *command, int from, pid_t *pid)
{
	char shell[] = "sh", option[] = "-c", name[] = "culprit";
	char *arguments[] = { shell, option, script, name, command, NULL };
	CLEANUP(free_pointer) char **variables = environment();
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t usual_signals;
	if (!variables)
		return -ENOMEM;
	sigemptyset(&usual_signals);
	sigaddset(&usual_signals, SIGPIPE);
	sigaddset(&usual_signals, SIGXFSZ);
	sigaddset(&usual_signals, SIGINT);
	sigaddset(&usual_signals, SIGQUIT);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawn_file_actions_adddup2(&actions, from, STDIN_FILENO);
	posix_spawnattr_setsigdefault(&attributes, &usual_signals);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	int ret = posix_spawn(pid, "/bin/sh", &actions, &attributes, arguments, variables);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -ret;
}

void pager_start(void)
{
	int ends[2];
	char *command = choose();
	if (message_refused()) /* nothing will be shown */
		return;
	if (pager.pid || pager.refused || !command || has_other_rights() || !isatty(STDOUT_FILENO))
		return;
	fflush(stdout);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	if (spawn(command, ends[0], &pager.pid) < 0) {
		pager.pid = 0;
	} else {
		signal(SIGINT, SIG_IGN);
		signal(SIGQUIT, SIG_IGN);
		signal(SIGPIPE, SIG_IGN); /* when the pager ends early */
		dup2(ends[1], STDOUT_FILENO);
		if (isatty(STDERR_FILENO)) {
			pager.errors = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
			if (pager.errors >= 0)
				dup2(ends[1], STDERR_FILENO);
		}
	}
	close(ends[0]);
	close(ends[1]);
}

void pager_finish(void)
{
	if (!pager.pid)
		return;
	fflush(stdout);
	close(STDOUT_FILENO);
	if (pager.errors >= 0) {
		dup2(pager.errors, STDERR_FILENO);
		close(pager.errors);
		pager.errors = -1;
	}
	while (waitpid(pager.pid, NULL, 0) < 0 && errno == EINTR)
		;
	pager.pid = 0;
}
