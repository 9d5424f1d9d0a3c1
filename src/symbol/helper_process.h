/*
 * helper_process - a forked process that answers requests (symbol/reader_message.h)
 * within a deadline or is killed and started anew at the next one. What may crash
 * or hang on a stranger's file is done there.
 *
 * Make it early, while the process is small and has no threads. One thread at a
 * time. A request costs 20 to 40 us plus the work.
 *
 * A helper starts as a copy of this process, or of its nursery (symbol/helper_nursery.h): its
 * environment and the memory that others share with us are taken away, what else lies in memory is
 * not. So where there is no nursery a helper that is started late, or anew, has a copy of what this
 * process knew by then, but can send it to nobody but this process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/only_fd.h"
#include "machine/haste.h"
#include "symbol/reader_message.h"

struct error;

/* What ends a wait for a helper before its deadline. The owner keeps it, and may change it between
 * calls. */
struct helper_watch {
	int wake_fd; /* when it is readable `look` is called at once; -1: none */
	/* Called some 50 times a second while a helper is waited for; -ECANCELED ends the wait
	 * and the helper (another negative errno does so as -EIO). May be NULL. */
	int (*look)(void *context);
	void *context;
};

struct helper {
	void (*run)(int socket);	  /* the helper's whole life: calls helper_serve() */
	const struct helper_watch *watch; /* borrowed; NULL: none */
	/* It is ended when it is waited for and uses more memory, its own and that of files; 0:
	 * any. */
	uint64_t most_resident_bytes;
	uint64_t most_answer_bytes; /* of one message; 0: MESSAGE_MAX_BYTES; else -EFBIG */
	bool hasty;		    /* helper_set_hasty() */
	struct haste_usual usual;
	uint32_t layers_missing; /* enum confinement_layer, as the last answer said */
	uint32_t user;		 /* for whom the next requests are made; the owner sets it */
	bool untaken;	/* whether the helper had not even received the last request that broke its
			   deadline, which then says nothing about what was asked */
	bool unstarted; /* whether no process could be started for the last request, likewise */
	/* private */
	uint64_t ended_cpu_ns; /* of those that have ended */
	pid_t pid; /* 0: not running */
	int socket;
	/* Killed, but still waiting in the kernel. Only memory limits their number; helper_stuck()
	 * counts them. */
	struct helper_abandoned {
		pid_t pid;
		uint32_t user; /* for whom its last request was made */
	} * abandoned;
	size_t abandoned_count, abandoned_capacity;
};

int helper_start(struct helper *helper, struct error *err);
/* Waits for its end, 200 ms at most, then kills it. Also right for one that never started. Killed
 * ones that still wait in the kernel are not waited for. */
void helper_stop(struct helper *helper);
void helper_kill(struct helper *helper); /* likewise, without waiting for what it does */
/* Closes its socket, which ends it when it is idle, and does not wait; helper_stop() follows. */
void helper_dismiss(struct helper *helper);
void helper_kill_later(struct helper *helper); /* likewise, but kills it */
/* How many of those that worked for this user were killed and still wait in the kernel: for a
 * server that does not answer, which no signal ends. */
size_t helper_stuck(struct helper *helper, uint32_t user);
/*
 * Sends a request and waits for its answer, which the caller releases when 0 is
 * returned. -ETIMEDOUT: the deadline; -EIO: the helper died (*err says how); -ENOBUFS: it needs
 * more memory than it may use; -EFBIG: its answer is larger than it may be; -ECANCELED: the
 * watch said so; -ENOMEM; or the code that the helper answered with. A helper that gave no whole
 * answer is ended, and the next request starts a new one.
 */
int helper_ask(struct helper *helper, struct message *request, uint32_t timeout_ms,
	       struct message *answer, struct error *err);
/* The two halves of helper_ask(), for callers with other work in between. Each send that returns 0
 * must be followed by one receive; each has a deadline of its own. */
int helper_send(struct helper *helper, struct message *request, uint32_t timeout_ms,
		struct error *err);
int helper_receive(struct helper *helper, uint32_t timeout_ms, struct message *answer,
		   struct error *err);
/* As helper_receive(), of an answer in parts: *more says whether another part follows. */
int helper_receive_part(struct helper *helper, uint32_t timeout_ms, struct message *answer,
			bool *more, struct error *err);
/* For callers that wait in another way: kills a helper that gave no answer because of `cause`
 * (-ETIMEDOUT, -ENOBUFS, -EFBIG or -ECANCELED; others count as -EIO). Fills *err and returns its
 * code. */
int helper_give_up(struct helper *helper, int cause, uint32_t timeout_ms, struct error *err);
/* Whether it uses more memory than it may. */
bool helper_is_too_large(const struct helper *helper);
/* Whether an answer has begun to arrive, or the helper has ended: helper_receive() does not wait.
 */
bool helper_answers(const struct helper *helper);

/* Whether the helper, and those started in its place, are scheduled before usual processes, where
 * we have the right to choose that (machine/haste.h). */
enum helper_haste { HELPER_AS_USUAL, HELPER_HASTY };
void helper_set_hasty(struct helper *helper, enum helper_haste haste);
/* As haste_waited_ns(), of the one that runs now. */
uint64_t helper_waited_ns(const struct helper *helper);
/* CPU time that it and those before it have used. Of one that was killed and not reaped at once,
 * what it had used then. */
uint64_t helper_cpu_ns(const struct helper *helper);

/* ---- the helper's own side */
#define HELPER_SOCKET ONLY_FD

/* Exit status when a library ran out of memory. */
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
	uint64_t data_bytes; /* without rights: of its own memory, beside what its parent had; 0: 4
				GiB */
	/* Without rights: as in struct confinement, with `context`. They may send questions by
	 * HELPER_SOCKET. */
	int (*open)(void *context, const char *path);
	long (*name_of)(void *context, int fd, char *name, size_t size);
};
/* Within serve(): sends a part of the answer ahead of the rest, and empties it. 0 or a negative
 * errno.
 */
int helper_answer_part(struct message *part);
/* Answers requests until the socket's other end closes. */
__attribute__((noreturn)) void helper_serve(const struct helper_service *service, int socket);
