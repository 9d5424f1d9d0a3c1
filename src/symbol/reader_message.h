/*
 * reader_message - what the reader and its helper processes say to each other
 * over a stream socket: a header, then a payload, with descriptors beside the
 * header. Either side gives up at a deadline.
 */
#pragma once

#include <stdint.h>

#include "base/buffer.h"

#define MESSAGE_MAX_FDS	    2
#define MESSAGE_MAX_BYTES   (1u << 30) /* of one payload */
#define MESSAGE_NO_DEADLINE UINT64_MAX

enum reader_operation {
	OPERATION_OPEN_PATH = 1,
	OPERATION_OPEN_EXECUTABLE,
	OPERATION_OPEN_MAPPING,
	OPERATION_IDENTIFY,
	OPERATION_GATHER,
	OPERATION_FRAME_TABLE,
	OPERATION_READ,
	OPERATION_COPY,
	OPERATION_OPEN_BELOW,
	OPERATION_READ_PROCESS,
	/* Questions of the parser while it gathers, which are answered before it goes on. */
	OPERATION_WANT_FILE, /* has a path as payload; its answer a descriptor */
	OPERATION_WANT_NAME, /* has a descriptor; its answer the path as payload */
};

/* Of OPERATION_READ_PROCESS, as header.what: which file below /proc/PID. */
enum reader_process { READER_PROCESS_STAT, READER_PROCESS_MAPS };

struct message_header {
	uint32_t operation; /* of a request */
	int32_t code;	    /* of an answer: 0 or a negative errno, the payload is then its text */
	uint32_t timeout_ms;
	uint32_t what;
	uint64_t payload_bytes;
	uint32_t fd_count;
	uint32_t more;		 /* of an answer: further parts follow it */
	uint32_t layers_missing; /* likewise: enum confinement_layer */
	uint32_t unused;
};

struct message {
	struct message_header header;
	struct buffer payload;
	int fds[MESSAGE_MAX_FDS]; /* header.fd_count of them; a received message owns them */
};

/* What may end the wait for a message. */
struct message_watch {
	uint64_t deadline_ns; /* CLOCK_MONOTONIC, or MESSAGE_NO_DEADLINE */
	uint64_t most_bytes;  /* of a payload that is received, else -EFBIG; 0: MESSAGE_MAX_BYTES */
	int wake_fd;	      /* polled as well; -1: none */
	/* Called when wake_fd is readable, and then has to empty it, and every MESSAGE_LOOK_MS; a
	 * negative errno ends the wait, and is returned. May be NULL. */
	int (*look)(void *context);
	void *context;
};
#define MESSAGE_LOOK_MS 20u

/* Frees the payload and closes the fds of a received message. */
void message_release(struct message *message);
/* Returns 0, -ETIMEDOUT, -EPIPE when the other side is gone, or another negative errno. */
int message_send(int socket, const struct message *message, uint64_t deadline_ns);
int message_receive(int socket, struct message *message, uint64_t deadline_ns);
/* Likewise, or what watch->look() returned. */
int message_send_watched(int socket, const struct message *message,
			 const struct message_watch *watch);
int message_receive_watched(int socket, struct message *message, const struct message_watch *watch);
