/*
 * stat_control - commands that another program sends while `culprit stat` counts, as perf's
 * --control: lines "enable", "disable", "ping" and "stop" on one descriptor or FIFO, each answered
 * by "ack\n" on the other, if there is one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define STAT_CONTROL_LINE 64

struct stat_control {
	int fd, ack_fd;		      /* -1: none */
	bool own_fd, own_ack;	      /* opened here */
	char line[STAT_CONTROL_LINE]; /* what has come of the next command */
	size_t size;
	bool too_long;	   /* the rest of the line is dropped */
	size_t unknown;	   /* lines that were no command */
	bool unread, deaf; /* an acknowledgement found no room; nobody is left to read one */
};

enum stat_control_command {
	STAT_CONTROL_NONE, /* nothing more has come, or enough for this turn */
	STAT_CONTROL_ENABLE,
	STAT_CONTROL_DISABLE,
	STAT_CONTROL_PING,
	STAT_CONTROL_STOP,
	STAT_CONTROL_UNKNOWN, /* a line that is no command; it is in `line` */
	STAT_CONTROL_CLOSED,  /* nothing more will come */
};

/* "fd:CTL[,ACK]" or "fifo:CTL[,ACK]"; NULL: none. 0, or the exit status after a message. */
int stat_control_open(struct stat_control *control, const char *text);
void stat_control_close(struct stat_control *control);
/* The next command of what can be read without waiting. */
enum stat_control_command stat_control_next(struct stat_control *control);
/* Says that the line of STAT_CONTROL_UNKNOWN is none: of the first one, and at the end how many. */
void stat_control_reject(struct stat_control *control);
/* Says that a command is done; never waits for who reads that. */
void stat_control_acknowledge(struct stat_control *control);
