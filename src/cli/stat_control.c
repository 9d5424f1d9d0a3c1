#include "cli/stat_control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/number.h"
#include "cli/message.h"
#include "cli/verbs.h"

/* Read in one turn: a writer that never stops keeps nothing else from being looked at. */
#define TURN_BYTES 4096

static int misuse(const char *text)
{
	return options_misuse(&verb_stat,
			      "--control needs fd:CTL[,ACK] or fifo:CTL[,ACK], not '%s'", text);
}

/* A descriptor that we were started with: it stays open, but no program that we start gets it. */
static int take_descriptor(const char *number, int *fd)
{
	uint64_t value;
	if (!number_parse_u64(number, &value) || value > INT32_MAX)
		return options_misuse(&verb_stat, "--control: '%s' is no descriptor", number);
	int flags = fcntl((int)value, F_GETFD);
	if (flags < 0 || fcntl((int)value, F_SETFD, flags | FD_CLOEXEC) < 0) {
		message_error("--control: descriptor %s is not open", number);
		return 1;
	}
	*fd = (int)value;
	return 0;
}

/* For reading and writing, so that opening waits for nobody and no end of file comes between two
 * writers, as perf does. */
static int open_fifo(const char *path, int *fd)
{
	*fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (*fd >= 0)
		return 0;
	message_error("cannot open '%s' for --control: %s", path, strerror(errno));
	return 1;
}

int stat_control_open(struct stat_control *control, const char *text)
{
	*control = (struct stat_control){ .fd = -1, .ack_fd = -1 };
	if (!text)
		return 0;
	bool fifo = strncmp(text, "fifo:", 5) == 0;
	if (!fifo && strncmp(text, "fd:", 3) != 0)
		return misuse(text);
	CLEANUP(free_pointer) char *copy = strdup(text + (fifo ? 5 : 3));
	if (!copy) {
		message_error("out of memory for --control");
		return 1;
	}
	char *ack = strchr(copy, ',');
	if (ack)
		*ack++ = 0;
	if (!*copy || (ack && !*ack))
		return misuse(text);
	control->own_fd = fifo;
	control->own_ack = fifo && ack;
	int status = fifo ? open_fifo(copy, &control->fd) : take_descriptor(copy, &control->fd);
	if (status == 0 && ack)
		status = fifo ? open_fifo(ack, &control->ack_fd)
			      : take_descriptor(ack, &control->ack_fd);
	return status;
}

void stat_control_close(struct stat_control *control)
{
	if (control->unknown > 1)
		message_warning("--control: lines that were no commands: %zu in all",
				control->unknown);
	if (control->own_fd)
		close_fd(&control->fd);
	if (control->own_ack)
		close_fd(&control->ack_fd);
	control->fd = control->ack_fd = -1;
}

static enum stat_control_command command_of(const char *line)
{
	static const struct {
		const char *name;
		enum stat_control_command command;
	} commands[] = {
		{ "enable", STAT_CONTROL_ENABLE },
		{ "disable", STAT_CONTROL_DISABLE },
		{ "ping", STAT_CONTROL_PING },
		{ "stop", STAT_CONTROL_STOP },
	};
	for (size_t i = 0; i < COUNT_OF(commands); i++)
		if (strcmp(commands[i].name, line) == 0)
			return commands[i].command;
	return STAT_CONTROL_UNKNOWN;
}

/* Whether one can read or write a few bytes without waiting. It is asked each time: a descriptor
 * that we were given is others', too, and O_NONBLOCK would be theirs. */
static bool is_ready(int fd, short events)
{
	struct pollfd ready = { fd, events, 0 };
	return poll(&ready, 1, 0) > 0;
}

/* Takes a byte of a line. The command, at the end of one; else STAT_CONTROL_NONE. */
static enum stat_control_command take_byte(struct stat_control *control, char byte)
{
	/* shells end a line with a newline, programs sometimes a text with its NUL */
	if (byte != '\n' && byte != 0) {
		if (control->size < sizeof(control->line) - 1)
			control->line[control->size++] = byte;
		else
			control->too_long = true;
		return STAT_CONTROL_NONE;
	}
	control->line[control->size] = 0;
	bool empty = control->size == 0, too_long = control->too_long;
	control->size = 0;
	control->too_long = false;
	if (empty)
		return STAT_CONTROL_NONE;
	return too_long ? STAT_CONTROL_UNKNOWN : command_of(control->line);
}

enum stat_control_command stat_control_next(struct stat_control *control)
{
	for (int i = 0; i < TURN_BYTES && is_ready(control->fd, POLLIN); i++) {
		char byte;
		ssize_t got = read(control->fd, &byte, 1);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			return STAT_CONTROL_NONE;
		if (got < 0)
			message_warning("--control: cannot read: %s", strerror(errno));
		if (got <= 0)
			return STAT_CONTROL_CLOSED;
		enum stat_control_command command = take_byte(control, byte);
		if (command != STAT_CONTROL_NONE)
			return command;
	}
	return STAT_CONTROL_NONE;
}

void stat_control_reject(struct stat_control *control)
{
	if (control->unknown++ == 0)
		message_warning("--control: unknown command '%s'; there are enable, disable, ping "
				"and stop",
				control->line);
}

void stat_control_acknowledge(struct stat_control *control)
{
	static const char ack[] = "ack\n";
	ssize_t size = sizeof(ack) - 1;
	if (control->ack_fd < 0 || control->deaf)
		return;
	errno = EAGAIN;
	if (is_ready(control->ack_fd, POLLOUT) && write(control->ack_fd, ack, (size_t)size) == size)
		return;
	control->deaf = errno != EAGAIN;
	if (!control->unread || control->deaf)
		message_warning("--control: cannot acknowledge: %s",
				errno == EAGAIN ? "nobody reads what came before"
						: strerror(errno));
	control->unread = true;
}
