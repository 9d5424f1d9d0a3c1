#include "cli/top_terminal.h"

#include <curses.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "base/count_of.h"
#include "base/error.h"

/* All that end a program, but for those that the owner of the screen takes, and SIGALRM, which is
 * the collector's while it is at work (machine/haste.h). */
static const int fatal[] = { SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,    SIGFPE,
			     SIGSEGV, SIGSYS,  SIGUSR1, SIGUSR2, SIGPROF,   SIGXCPU,
			     SIGXFSZ, SIGPIPE, SIGIO,	SIGPWR,	 SIGVTALRM, SIGSTKFLT };

/* What a handler of them needs: only what may be called in one (signal-safety(7)). */
static struct {
	struct termios modes; /* of the terminal before */
	char farewell[256];   /* what makes the terminal's display as it was */
	size_t size;
	volatile sig_atomic_t taken;
	pid_t owner;	/* helper processes, which are forks of us, have not taken it */
	bool remembers; /* what follows */
	struct sigaction before[COUNT_OF(fatal)];
} terminal;

static void give_back_and_die(int number)
{
	const int error = errno;
	/* of a job in the background the terminal is another's */
	if (terminal.taken && getpid() == terminal.owner && tcgetpgrp(STDIN_FILENO) == getpgrp()) {
		terminal.taken = 0;
		if (write(STDOUT_FILENO, terminal.farewell, terminal.size) < 0)
			errno = error; /* nothing is left to do about it */
		tcsetattr(STDIN_FILENO, TCSANOW, &terminal.modes);
	}
	for (size_t i = 0; i < COUNT_OF(fatal); i++)
		if (fatal[i] == number)
			sigaction(number, &terminal.before[i], NULL);
	raise(number); /* once this handler has returned */
	errno = error;
}

static int keep_character(int character)
{
	if (terminal.size < sizeof(terminal.farewell))
		terminal.farewell[terminal.size++] = (char)character;
	return character;
}

/* What makes the display as it was; the terminal's description is the one in use. */
static void keep_farewell(void)
{
	static const char *const names[] = { "sgr0", "cnorm", "rmkx", "rmcup" };
	terminal.size = 0;
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const char *text = tigetstr(names[i]);
		if (text && text != (const char *)-1)
			tputs(text, 1, keep_character);
	}
}

static bool can_place_text(void)
{
	const char *move = tigetstr("cup");
	return move && move != (const char *)-1;
}

int top_terminal_check(struct error *err)
{
	const char *type = getenv("TERM");
	int found;
	if (!type || !*type)
		return error_set(err, -ENOTTY,
				 "$TERM does not say what terminal this is; --batch prints tables");
	if (setupterm(type, STDOUT_FILENO, &found) == ERR)
		return error_set(err, -ENOTTY,
				 "no terminal is known by the name '%s' ($TERM); --batch prints "
				 "tables",
				 type);
	bool can = can_place_text();
	keep_farewell();
	del_curterm(cur_term);
	return can ? 0
		   : error_set(err, -ENOTTY,
			       "text cannot be placed on a terminal of the kind '%s' ($TERM); "
			       "--batch prints tables",
			       type);
}

int top_terminal_remember(void)
{
	struct sigaction action = { .sa_handler = give_back_and_die };
	if (tcgetattr(STDIN_FILENO, &terminal.modes) < 0)
		return -errno;
	terminal.owner = getpid();
	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < COUNT_OF(fatal); i++) {
		sigaction(fatal[i], NULL, &terminal.before[i]);
		if (terminal.before[i].sa_handler != SIG_IGN)
			sigaction(fatal[i], &action, NULL);
	}
	terminal.remembers = true;
	return 0;
}

void top_terminal_take(enum top_terminal_state state)
{
	terminal.taken = state == TOP_TERMINAL_TAKEN;
}

void top_terminal_forget(void)
{
	terminal.taken = 0;
	for (size_t i = 0; i < COUNT_OF(fatal) && terminal.remembers; i++)
		sigaction(fatal[i], &terminal.before[i], NULL);
	terminal.remembers = false;
}
