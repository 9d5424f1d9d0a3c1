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

#include "machine/haste.h"
#include "symbol/reader_message.h"

struct error;

/* What ends a wait for a helper before its deadline. The owner's, and may change between calls. */
struct helper_watch {
	int wake_fd; /* readable: `look` is asked at once; -1: none */
	/* Asked some 50 times a second while a helper is waited for: a negative errno gives up what
	 * it does. NULL: nobody is asked. */
	int (*look)(void *context);
	void *context;
};

struct helper {
	void (*run)(int socket);	  /* the helper's whole life: calls helper_serve() */
	const struct helper_watch *watch; /* borrowed; NULL: none */
	/* More memory in use, of its own and of files, ends it while it is waited for; 0: any. */
	uint64_t most_resident_bytes;
	uint64_t most_answer_bytes; /* of one message; 0: MESSAGE_MAX_BYTES; else -EFBIG */
	bool hasty;		    /* helper_set_hasty() */
	struct haste_usual usual;
	uint32_t layers_missing; /* enum confinement_layer, as the last answer said */
	uint32_t user;		 /* on whose behalf it is asked from now on; the owner's to set */
	bool untaken; /* of the last request that broke its deadline: the helper had not even taken
			 it up, so it tells nothing about what was asked */
	/* private */
	pid_t pid; /* 0: not running */
	int socket;
	/* Killed, but the kernel has not let them go; of them only memory limits the number, and
	 * helper_stuck() tells it. */
	struct helper_abandoned {
		pid_t pid;
		uint32_t user; /* on whose behalf it was asked last */
	} * abandoned;
	size_t abandoned_count, abandoned_capacity;
};

int helper_start(struct helper *helper, struct error *err);
/* Also right for one that never started. Those that the kernel does not let go are left to it. */
void helper_stop(struct helper *helper);
void helper_kill(struct helper *helper); /* likewise, of one that is busy */
/* Tells it to end, without waiting for that; helper_stop() follows. */
void helper_dismiss(struct helper *helper);
void helper_kill_later(struct helper *helper); /* likewise, of one that is busy */
/* How many were killed that the kernel has not let go, when they were asked on this user's behalf:
 * a server did not answer them, and no signal ends that. */
size_t helper_stuck(struct helper *helper, uint32_t user);
/*
 * Sends a request and waits for its answer, which the caller releases when 0 is
 * returned. -ETIMEDOUT: the deadline; -EIO: the helper died (*err says how), and the next request
 * starts a new one, which knows nothing of the old one's; -ENOBUFS: it used more memory than it
 * may; -EFBIG: its answer is larger than it may be; what the watch said (the helper is ended then,
 * too); -ENOMEM; or the code that the helper answered with.
 */
int helper_ask(struct helper *helper, struct message *request, uint32_t timeout_ms,
	       struct message *answer, struct error *err);
/* The two halves of asking, for who has other work meanwhile. Each send that returns 0 is followed
 * by one receive; the deadlines begin with the calls. */
int helper_send(struct helper *helper, struct message *request, uint32_t timeout_ms,
		struct error *err);
int helper_receive(struct helper *helper, uint32_t timeout_ms, struct message *answer,
		   struct error *err);
/* As helper_receive(), of an answer in parts: *more tells whether another one follows. */
int helper_receive_part(struct helper *helper, uint32_t timeout_ms, struct message *answer,
			bool *more, struct error *err);
/* For who waits otherwise: gets rid of a helper that gave no answer for that cause (-ETIMEDOUT,
 * -ENOBUFS or what the watch said), says so and returns it. */
int helper_give_up(struct helper *helper, int cause, uint32_t timeout_ms, struct error *err);
/* Whether it uses more memory than it may. */
bool helper_is_too_large(const struct helper *helper);
/* Whether an answer has begun to come, or the helper has ended: helper_receive() need not wait. */
bool helper_answers(const struct helper *helper);

/* Whether the helper, and those that take its place, go before all usual processes, where we may
 * choose that (machine/haste.h). */
enum helper_haste { HELPER_AS_USUAL, HELPER_HASTY };
void helper_set_hasty(struct helper *helper, enum helper_haste haste);
/* As haste_waited_ns(), of the one that runs now. */
uint64_t helper_waited_ns(const struct helper *helper);

/* The other side. */
#define HELPER_SOCKET 3

/* Exit status of one that a library left without memory. */
#define HELPER_OUT_OF_MEMORY 72
struct helper_service {
	const char *name;
	/* Fills the answer, or returns a negative errno with *err. */
	int (*serve)(void *context, const struct message *request, struct message *answer,
		     struct error *err);
	void *context;
	/* Confined to computing and answering, with limits on memory and time; else to opening
	 * files for reading (confine/confinement.h). */
	bool without_rights;
	uint32_t open_files; /* at most; 0: 64 */
	uint64_t data_bytes; /* without rights: of its own memory; 0: 4 GiB */
	/* Without rights: as in struct confinement, with `context`. They may ask by HELPER_SOCKET.
	 */
	int (*open)(void *context, const char *path);
	long (*name_of)(void *context, int fd, char *name, size_t size);
};
/* Within serve(): sends a part of the answer ahead, whose payload is the caller's and is emptied. 0
 * or a negative errno. */
int helper_answer_part(struct message *part);
/* Answers requests until the socket's other end closes. */
__attribute__((noreturn)) void helper_serve(const struct helper_service *service, int socket);
