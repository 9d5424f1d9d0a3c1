/*
 * helper_process - a forked process that answers requests (symbol/reader_message.h)
 * within a deadline or is killed and started anew at the next one. What may crash
 * or hang on a stranger's file is done there.
 *
 * Make it early, while the process is small and has no threads. One thread at a
 * time. A request costs 20 to 40 us plus the work.
 *
 * A helper starts as a copy of this process: its environment and the memory that
 * others share with us are taken away, what else lies in memory is not. So one
 * that is started late, or anew, has what this process knew by then; it can tell that
 * to nobody but this process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbol/reader_message.h"

struct error;

#define HELPER_ABANDONED_MAX 16

struct helper {
	void (*run)(int socket); /* the helper's whole life: calls helper_serve() */
	uint32_t layers_missing; /* enum confinement_layer, as the last answer said */
	/* private */
	pid_t pid; /* 0: not running */
	int socket;
	pid_t abandoned[HELPER_ABANDONED_MAX]; /* killed, but the kernel has not let them go */
	size_t abandoned_count;
};

int helper_start(struct helper *helper, struct error *err);
void helper_stop(struct helper *helper); /* also right for one that never started */
/*
 * Sends a request and waits for its answer, which the caller releases when 0 is
 * returned. -ETIMEDOUT: the deadline; -EIO: the helper died (*err says how), and the next request
 * starts a new one, which knows nothing of the old one's; -ENOMEM; or the code that the helper
 * answered with.
 */
int helper_ask(struct helper *helper, struct message *request, uint32_t timeout_ms,
	       struct message *answer, struct error *err);
/* The two halves of asking, for who has other work meanwhile. Each send that returns 0 is followed
 * by one receive; the deadlines begin with the calls. */
int helper_send(struct helper *helper, struct message *request, uint32_t timeout_ms,
		struct error *err);
int helper_receive(struct helper *helper, uint32_t timeout_ms, struct message *answer,
		   struct error *err);
/* Whether an answer has begun to come, or the helper has ended: helper_receive() need not wait. */
bool helper_answers(const struct helper *helper);

/* The other side. */
#define HELPER_SOCKET 3
struct helper_service {
	const char *name;
	/* Fills the answer, or returns a negative errno with *err. */
	int (*serve)(void *context, const struct message *request, struct message *answer,
		     struct error *err);
	void *context;
	/* Confined to computing and answering, with limits on memory and time; else to opening
	 * files for reading (machine/confinement.h). */
	bool without_rights;
	uint32_t open_files; /* at most; 0: 64 */
	/* Without rights: as in struct confinement, with `context`. They may ask by HELPER_SOCKET.
	 */
	int (*open)(void *context, const char *path);
	long (*name_of)(void *context, int fd, char *name, size_t size);
};
/* Answers requests until the socket's other end closes. */
__attribute__((noreturn)) void helper_serve(const struct helper_service *service, int socket);
