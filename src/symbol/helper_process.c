#include "symbol/helper_process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/heap.h"
#include "base/only_fd.h"
#include "base/sanitizers.h"
#include "confine/confinement.h"
#include "symbol/helper_nursery.h"

#define END_WAIT_MS	     200 /* for a helper that ends; one that hangs in the kernel is reaped later */
#define KILL_WAIT_MS	     5			/* for one that was killed when it gave no answer */
#define PARSER_ADDRESS_BYTES ((rlim_t)64 << 30) /* files of up to 8 GiB are mapped, some twice */
#define PARSER_MEMORY_BYTES  ((rlim_t)4 << 30)
#define INHERITED_STEP_BYTES ((rlim_t)64 << 20)
#define HELPER_OPEN_FILES    64
#define LONG_REQUEST_NS	     UINT64_C(20000000) /* may have taken much memory */
#define HELPER_CANNOT_START  71 /* exit status; HELPER_OUT_OF_MEMORY is another */

static void apply_haste(struct helper *helper)
{
	if (helper->hasty)
		haste_raise(helper->pid, &helper->usual);
	else
		haste_restore(helper->pid, &helper->usual);
}

void helper_set_hasty(struct helper *helper, enum helper_haste haste)
{
	helper->hasty = haste == HELPER_HASTY;
	if (helper->pid)
		apply_haste(helper);
}

uint64_t helper_waited_ns(const struct helper *helper)
{
	return helper->pid ? haste_waited_ns(helper->pid) : 0;
}

static uint64_t running_cpu_ns(pid_t pid)
{
	clockid_t clock;
	struct timespec used;
	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
		return 0;
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

uint64_t helper_cpu_ns(const struct helper *helper)
{
	return helper->ended_cpu_ns + (helper->pid ? running_cpu_ns(helper->pid) : 0);
}

static pid_t fork_here(const struct helper *helper, const int pair[2])
{
	pid_t pid = fork();
	if (pid == 0) {
		close(pair[0]);
		helper->run(pair[1]);
		_exit(0);
	}
	return pid < 0 ? -errno : pid;
}

/* The process, whose socket becomes the helper's, or a negative errno. */
static pid_t fork_helper(struct helper *helper, bool from_nursery)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return -errno;
	pid_t pid =
		from_nursery ? helper_nursery_fork(helper->run, pair[1]) : fork_here(helper, pair);
	close(pair[1]);
	if (pid < 0)
		close(pair[0]);
	else
		helper->socket = pair[0];
	return pid;
}

int helper_start(struct helper *helper, struct error *err)
{
	pid_t pid = fork_helper(helper, true);
	if (pid < 0)
		pid = fork_helper(helper, false);
	if (pid < 0)
		return error_set(err, pid, "cannot start a helper process: %s", strerror(-pid));
	helper->pid = pid;
	helper->usual.raised = false;
	haste_follow(pid);
	apply_haste(helper);
	return 0;
}

static void reap_abandoned(struct helper *helper)
{
	size_t kept = 0;
	for (size_t i = 0; i < helper->abandoned_count; i++)
		if (waitpid(helper->abandoned[i].pid, NULL, WNOHANG) == 0)
			helper->abandoned[kept++] = helper->abandoned[i];
	helper->abandoned_count = kept;
}

/* Keeps a killed helper to be reaped later; without memory for that it stays a zombie. */
static void abandon(struct helper *helper)
{
	if (helper->abandoned_count == helper->abandoned_capacity) {
		size_t capacity = helper->abandoned_capacity ? 2 * helper->abandoned_capacity : 16;
		struct helper_abandoned *grown =
			reallocarray(helper->abandoned, capacity, sizeof(*grown));
		if (!grown)
			return;
		helper->abandoned = grown;
		helper->abandoned_capacity = capacity;
	}
	helper->abandoned[helper->abandoned_count++] =
		(struct helper_abandoned){ helper->pid, helper->user };
}

size_t helper_stuck(struct helper *helper, uint32_t user)
{
	size_t count = 0;
	reap_abandoned(helper);
	for (size_t i = 0; i < helper->abandoned_count; i++)
		count += helper->abandoned[i].user == user;
	return count;
}

void helper_dismiss(struct helper *helper)
{
	if (helper->pid && helper->socket >= 0)
		close(helper->socket);
	helper->socket = -1;
}

void helper_kill_later(struct helper *helper)
{
	helper_dismiss(helper);
	if (helper->pid)
		kill(helper->pid, SIGKILL);
}

/* Ends the helper and says how it ended: its wait status, or -1 when that is not known in time. */
static int stop(struct helper *helper, int signal_number, int wait_ms)
{
	if (!helper->pid)
		return -1;
	helper_dismiss(helper);
	if (signal_number)
		kill(helper->pid, signal_number);
	int status = -1;
	pid_t ended = 0;
	struct rusage used;
	for (int waited_ms = 0; waited_ms < wait_ms; waited_ms++) {
		ended = wait4(helper->pid, &status, WNOHANG, &used);
		if (ended != 0)
			break;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	if (ended > 0)
		helper->ended_cpu_ns +=
			clock_timeval_ns(&used.ru_utime) + clock_timeval_ns(&used.ru_stime);
	if (ended == 0) {
		status = -1;
		helper->ended_cpu_ns += running_cpu_ns(helper->pid);
		kill(helper->pid, SIGKILL);
		abandon(helper);
	} else if (ended < 0) {
		status = -1; /* another wait() has reaped it */
	}
	helper->pid = 0;
	return status;
}

void helper_stop(struct helper *helper)
{
	stop(helper, 0, END_WAIT_MS);
	reap_abandoned(helper);
	free(helper->abandoned);
	helper->abandoned = NULL;
	helper->abandoned_count = helper->abandoned_capacity = 0;
}

void helper_kill(struct helper *helper)
{
	stop(helper, SIGKILL, END_WAIT_MS);
	reap_abandoned(helper);
}

/* Whether it has not received all that was sent. */
static bool has_unread_request(const struct helper *helper)
{
	int unread_bytes = 0;
	return ioctl(helper->socket, SIOCOUTQ, &unread_bytes) == 0 && unread_bytes > 0;
}

int helper_give_up(struct helper *helper, int cause, uint32_t timeout_ms, struct error *err)
{
	if (cause == -ETIMEDOUT) {
		helper->untaken = has_unread_request(helper);
		stop(helper, SIGKILL, KILL_WAIT_MS);
		return error_set(err, -ETIMEDOUT, "could not be read: no answer within %u ms",
				 timeout_ms);
	}
	if (cause == -ENOBUFS) {
		stop(helper, SIGKILL, KILL_WAIT_MS);
		return error_set(err, -ENOBUFS,
				 "could not be read: that takes more than %" PRIu64 " MB of memory",
				 helper->most_resident_bytes >> 20);
	}
	if (cause == -EFBIG) {
		stop(helper, SIGKILL, KILL_WAIT_MS);
		return error_set(err, -EFBIG,
				 "could not be read: what it has for the samples is more than "
				 "%" PRIu64 " MB",
				 helper->most_answer_bytes >> 20);
	}
	if (cause == -ECANCELED) {
		stop(helper, SIGKILL, KILL_WAIT_MS);
		return error_set(err, -ECANCELED, "was not read to its end: we were asked to end");
	}
	int status = stop(helper, SIGKILL, END_WAIT_MS);
	if (status != -1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS)
		return error_set(err, -EIO, "could not be read: it shrank while it was read");
	if (status != -1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		return error_set(
			err, -EIO,
			"could not be read: the parser was ended when it tried what no parser "
			"does (a system call that its filter forbids)");
	if (status != -1 && WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		return error_set(err, -EIO, "could not be read: the parser died of signal %d (%s)",
				 WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == HELPER_OUT_OF_MEMORY)
		return error_set(
			err, -ENOBUFS,
			"could not be read: that takes more memory than a parser may have");
	if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == HELPER_CANNOT_START)
		return error_set(err, -EIO,
				 "could not be read: the helper process cannot give up its rights "
				 "(exit status %d)",
				 WEXITSTATUS(status));
	if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) != 0)
		return error_set(err, -EIO,
				 "could not be read: the helper process ended with status %d",
				 WEXITSTATUS(status));
	return error_set(err, -EIO, "could not be read: the helper process failed (%s)",
			 strerror(-cause));
}

static uint64_t deadline_after(uint32_t timeout_ms)
{
	return clock_monotonic_ns() + (uint64_t)timeout_ms * 1000000;
}

/* What /proc says of a process's memory; all 0: not known. */
struct process_memory {
	uint64_t resident_bytes; /* that of mapped files included */
	uint64_t data_bytes;	 /* what RLIMIT_DATA limits, and its stack */
};

static struct process_memory memory_of(pid_t pid)
{
	char path[64], text[128];
	unsigned long long resident = 0, data = 0;
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return (struct process_memory){ 0 };
	ssize_t size = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[size > 0 ? size : 0] = 0;
	if (sscanf(text, "%*u %llu %*u %*u %*u %llu", &resident, &data) != 2)
		return (struct process_memory){ 0 };
	return (struct process_memory){ resident * page_bytes, data * page_bytes };
}

bool helper_is_too_large(const struct helper *helper)
{
	return helper->most_resident_bytes && !SANITIZERS &&
	       memory_of(helper->pid).resident_bytes > helper->most_resident_bytes;
}

static int look_after(void *context)
{
	const struct helper *helper = context;
	if (helper_is_too_large(helper))
		return -ENOBUFS;
	return helper->watch && helper->watch->look ? helper->watch->look(helper->watch->context)
						    : 0;
}

static struct message_watch watch_of(struct helper *helper, uint32_t timeout_ms)
{
	bool looks = helper->watch || helper->most_resident_bytes;
	return (struct message_watch){ .deadline_ns = deadline_after(timeout_ms),
				       .most_bytes = helper->most_answer_bytes,
				       .wake_fd = helper->watch ? helper->watch->wake_fd : -1,
				       .look = looks ? look_after : NULL,
				       .context = helper };
}

int helper_send(struct helper *helper, struct message *request, uint32_t timeout_ms,
		struct error *err)
{
	reap_abandoned(helper);
	helper->untaken = helper->unstarted = false;
	if (buffer_failed(&request->payload))
		return error_set(err, -ENOMEM, "out of memory");
	/* Asked before anything is sent: a helper that is idle need not be ended, nor one started.
	 */
	const struct helper_watch *owner = helper->watch;
	int ret = owner && owner->look ? owner->look(owner->context) : 0;
	if (ret < 0)
		return error_set(err, ret, "was not read: we were asked to end");
	if (!helper->pid)
		ret = helper_start(helper, err);
	helper->unstarted = ret < 0;
	if (ret < 0)
		return ret;
	request->header.timeout_ms = timeout_ms;
	struct message_watch watch = watch_of(helper, timeout_ms);
	ret = message_send_watched(helper->socket, request, &watch);
	return ret < 0 ? helper_give_up(helper, ret, timeout_ms, err) : 0;
}

int helper_receive_part(struct helper *helper, uint32_t timeout_ms, struct message *answer,
			bool *more, struct error *err)
{
	struct message_watch watch = watch_of(helper, timeout_ms);
	*more = false;
	/* Without time left nothing is received: it might send parts without end. */
	int ret = timeout_ms ? message_receive_watched(helper->socket, answer, &watch) : -ETIMEDOUT;
	if (ret < 0)
		return helper_give_up(helper, ret, timeout_ms, err);
	helper->layers_missing = answer->header.layers_missing;
	if (answer->header.code < 0) {
		/* It is not our own memory that ran out. */
		int code = answer->header.code == -ENOMEM ? -ENOBUFS : answer->header.code;
		error_set(err, code, "%s", buffer_text(&answer->payload));
		message_release(answer);
		return code;
	}
	*more = answer->header.more;
	return 0;
}

int helper_receive(struct helper *helper, uint32_t timeout_ms, struct message *answer,
		   struct error *err)
{
	bool more;
	int ret = helper_receive_part(helper, timeout_ms, answer, &more, err);
	if (ret < 0 || !more)
		return ret;
	/* Further parts would be taken for the next answer. */
	message_release(answer);
	return helper_give_up(helper, -EBADMSG, timeout_ms, err);
}

bool helper_answers(const struct helper *helper)
{
	struct pollfd ready = { .fd = helper->socket, .events = POLLIN };
	return !helper->pid || poll(&ready, 1, 0) > 0;
}

int helper_ask(struct helper *helper, struct message *request, uint32_t timeout_ms,
	       struct message *answer, struct error *err)
{
	int ret = helper_send(helper, request, timeout_ms, err);
	return ret < 0 ? ret : helper_receive(helper, timeout_ms, answer, err);
}

/* Only the socket stays open; the terminal's signals are its parent's business. */
static int detach(int *socket)
{
	static const int ignored[] = { SIGINT,	SIGQUIT, SIGTERM, SIGHUP,
				       SIGPIPE, SIGTSTP, SIGUSR1, SIGUSR2 };
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	/* A handler inherited from the parent would act as if this were the parent. */
	static const int fatal[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
	for (size_t i = 0; !SANITIZERS && i < sizeof(fatal) / sizeof(fatal[0]); i++)
		signal(fatal[i], SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGALRM, SIG_DFL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	int ret = only_fd(*socket);
	*socket = HELPER_SOCKET;
	if (ret < 0)
		return ret;
	return chdir("/") == 0 ? 0 : -errno;
}

static void limit_to(__rlimit_resource_t resource, rlim_t value)
{
	struct rlimit limit = { value, value };
	setrlimit(resource, &limit);
}

/* The memory of a large parent, which is not the helper's own; of a small one it does not count. */
static rlim_t inherited_bytes(void)
{
	uint64_t bytes = memory_of(getpid()).data_bytes;
	return bytes - bytes % INHERITED_STEP_BYTES;
}

/* From here on the process can compute, answer, and read what it is handed. */
static int give_up_rights(const struct helper_service *service, int socket, uint32_t *missing)
{
	limit_to(RLIMIT_NOFILE, service->open_files ? service->open_files : HELPER_OPEN_FILES);
	if (service->without_rights && !SANITIZERS) {
		limit_to(RLIMIT_AS, PARSER_ADDRESS_BYTES);
		limit_to(RLIMIT_DATA,
			 inherited_bytes() +
				 (service->data_bytes ? service->data_bytes : PARSER_MEMORY_BYTES));
	}
	return confine(&(struct confinement){ .kind = service->without_rights ? CONFINEMENT_PARSE
									      : CONFINEMENT_OPEN,
					      .socket = socket,
					      .open = service->open,
					      .name = service->name_of,
					      .context = service->context },
		       missing);
}

/* The parent kills us at the deadline; this is for when the parent itself is gone. */
static void limit_cpu_time(uint32_t timeout_ms)
{
	struct rusage used;
	struct rlimit limit;
	if (getrusage(RUSAGE_SELF, &used) != 0 || getrlimit(RLIMIT_CPU, &limit) != 0)
		return;
	limit.rlim_cur =
		(rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + timeout_ms / 1000 + 3;
	setrlimit(RLIMIT_CPU, &limit);
}

int helper_answer_part(struct message *part)
{
	part->header.code = 0;
	part->header.more = 1;
	int ret = buffer_failed(&part->payload)
			  ? -ENOMEM
			  : message_send(HELPER_SOCKET, part, MESSAGE_NO_DEADLINE);
	message_release(part);
	return ret;
}

void helper_serve(const struct helper_service *service, int socket)
{
	prctl(PR_SET_NAME, service->name, 0, 0, 0);
	budget_close(); /* it has limits of its own */
	uint32_t missing;
	if (detach(&socket) < 0 || give_up_rights(service, socket, &missing) < 0)
		_exit(HELPER_CANNOT_START);
	struct message request;
	while (message_receive(socket, &request, MESSAGE_NO_DEADLINE) == 0) {
		struct message answer = { 0 };
		struct error err = { 0 };
		uint64_t begin_ns = clock_monotonic_ns();
		if (service->without_rights)
			limit_cpu_time(request.header.timeout_ms);
		int ret = service->serve(service->context, &request, &answer, &err);
		if (ret == 0 && buffer_failed(&answer.payload))
			ret = error_set(&err, -ENOMEM, "out of memory");
		answer.header.code = ret;
		answer.header.layers_missing = missing;
		if (ret < 0) {
			buffer_release(&answer.payload);
			buffer_append_text(&answer.payload, err.text);
		}
		ret = message_send(socket, &answer, MESSAGE_NO_DEADLINE);
		message_release(&answer);
		message_release(&request);
		if (clock_monotonic_ns() - begin_ns > LONG_REQUEST_NS)
			heap_trim();
		if (ret < 0)
			break;
	}
	_exit(0);
}
