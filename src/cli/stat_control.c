#include "cli/stat_control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/number.h"
#include "cli/message.h"
#include "cli/verbs.h"

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

static int set_nonblocking(struct stat_control *control)
{
	int flags = fcntl(control->fd, F_GETFL);
	if (flags >= 0 && fcntl(control->fd, F_SETFL, flags | O_NONBLOCK) == 0) {
		control->flags_before = flags;
		return 0;
	}
	message_error("--control: cannot read descriptor %d: %s", control->fd, strerror(errno));
	return 1;
}

int stat_control_open(struct stat_control *control, const char *text)
{
	*control = (struct stat_control){ .fd = -1, .ack_fd = -1, .flags_before = -1 };
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
	return status ? status : set_nonblocking(control);
}

void stat_control_close(struct stat_control *control)
{
	if (control->own_fd)
		close_fd(&control->fd);
	else if (control->flags_before >= 0)
		fcntl(control->fd, F_SETFL, control->flags_before);
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

enum stat_control_command stat_control_next(struct stat_control *control)
{
	char byte;
	for (ssize_t got; (got = read(control->fd, &byte, 1)) != 0;) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno == EAGAIN ? STAT_CONTROL_NONE : STAT_CONTROL_CLOSED;
		/* shells end a line with a newline, programs sometimes a text with its NUL */
		if (byte != '\n' && byte != 0) {
			if (control->size < sizeof(control->line) - 1)
				control->line[control->size++] = byte;
			else
				control->too_long = true;
			continue;
		}
		control->line[control->size] = 0;
		bool empty = control->size == 0, too_long = control->too_long;
		control->size = 0;
		control->too_long = false;
		if (!empty)
			return too_long ? STAT_CONTROL_UNKNOWN : command_of(control->line);
	}
	return STAT_CONTROL_CLOSED;
}

void stat_control_acknowledge(struct stat_control *control)
{
	static const char ack[] = "ack\n";
	if (control->ack_fd >= 0 &&
	    write(control->ack_fd, ack, sizeof(ack) - 1) != (ssize_t)sizeof(ack) - 1)
		message_warning("--control: cannot acknowledge: %s", strerror(errno));
}
