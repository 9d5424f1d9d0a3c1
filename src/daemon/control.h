/*
 * control - the Unix socket through which a running daemon is asked for something.
 *
 * The protocol: a client connects, sends one line of at most CONTROL_REQUEST_BYTES, and receives
 * "ok BYTES\n" and so many bytes, or "error SENTENCE\n"; then the connection is closed. Requests
 * are answered one after the other, in the order in which they are complete.
 *
 * Clients are strangers. Who a client is, is what the kernel says of it when it connected
 * (SO_PEERCRED): root and the daemon's own user may ask for everything, members of the daemon's
 * group for what changes nothing, all others for nothing. A client has 5 s for its line, and 10 s
 * for each part of the answer that it takes; 8 are served at a time, and 50 are let in a second.
 * Beyond that clients wait in the kernel's queue.
 *
 * All functions are called by one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"

struct error;

#define CONTROL_REQUEST_BYTES 1024 /* the newline included */
#define CONTROL_CLIENTS	      8

enum control_rights { CONTROL_NOTHING, CONTROL_LOOK, CONTROL_ALL };

struct control_handler {
	/*
	 * Answers a request, a line without control characters and without its newline: appends
	 * what the client receives to *answer. 0, or a negative errno value with the sentence for
	 * the client in *err.
	 */
	int (*answer)(void *context, const char *request, enum control_rights rights,
		      struct buffer *answer, struct error *err);
	void *context;
};

struct control_client {
	int fd; /* -1: a free place */
	enum control_rights rights;
	char request[CONTROL_REQUEST_BYTES];
	size_t request_bytes;
	struct buffer answer; /* with its first line; empty until the request is complete */
	size_t sent_bytes;
	uint64_t deadline_ns; /* monotonic */
};

struct control {
	/* private */
	const struct control_handler *handler;
	int listen_fd, lock_fd, poll_fd; /* -1: none */
	char *path;
	struct control_client clients[CONTROL_CLIENTS];
	bool listening;	    /* new clients are waited for */
	uint64_t now_ns;    /* of this control_serve(), and what answering took in it */
	uint64_t second_ns; /* when the present second began */
	unsigned let_in;    /* clients in it */
	uint64_t refused;   /* clients without rights, so far */
};

#define CONTROL_NONE ((struct control){ .listen_fd = -1, .lock_fd = -1, .poll_fd = -1 })

/* Makes the socket, mode 0660, with a lock file PATH.lock beside it; a socket that a killed daemon
 * left is replaced. `handler` is borrowed. 0; -EBUSY when another daemon has it; or another
 * negative errno, with *err. Release it either way. */
int control_open(struct control *control, const char *path, const struct control_handler *handler,
		 struct error *err);
void control_release(struct control *control); /* removes the socket; also right for CONTROL_NONE */

/* Polls readable when there is something to do; -1: there is no socket. */
int control_poll_fd(const struct control *control);
/* When to call control_serve() even if nothing is readable (monotonic); UINT64_MAX: never. */
uint64_t control_next_ns(const struct control *control);
/* Lets clients in, reads, answers and sends what can be done without waiting. */
void control_serve(struct control *control, uint64_t now_ns);

/* For control_serve() and tests: the rights of a process of that user with these groups. */
enum control_rights control_rights_of(uid_t user, const gid_t *groups, size_t group_count);
