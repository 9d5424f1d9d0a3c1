#include "cli/top_source.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "analyze/names/names_here.h"
#include "analyze/names/resolver_options.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/sum.h"
#include "cli/daemon_client.h"
#include "collect/collector.h"
#include "profile/difference.h"
#include "profile/profile.h"
#include "profile/stackless.h"
#include "profile/window.h"
#include "store/profile_file.h"

#define CLOSE_NS 200000000 /* how long a thread that reads a file is waited for */

struct top_source {
	struct top_source_times times;
	/* what the thread works with: one of the two */
	struct collect_options options;
	struct collector *collector;
	void (*note)(void *context, enum collect_note_kind kind, const char *sentence);
	void *note_context;
	char *socket;
	struct profile *snapshot; /* the last one */
	struct names_here *names; /* of snapshots, which have none */

	pthread_t thread;
	bool running;
	int stop_fd; /* readable: it is to end */
	int news_fd; /* readable: there is a part, or a failure */

	pthread_mutex_t lock; /* of what follows */
	struct profile *part; /* what nobody has taken yet */
	uint64_t ns;	      /* how long that is */
	struct error err;     /* with code < 0: it has failed */
	bool answers;	      /* there is a collector, or the daemon has answered once */
	bool ended;	      /* the thread uses the source no more */
	bool abandoned;	      /* the thread is to free the source */
};

/* ---- what the thread hands over */

static void signal_news(struct top_source *source)
{
	const uint64_t one = 1;
	while (write(source->news_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* Takes the part. Parts that nobody has taken become one. 0 or a negative errno with *err. */
static int hand_over(struct top_source *source, struct profile *part, struct error *err)
{
	uint64_t ns = profile_length_ns(part);
	int ret = 0;
	pthread_mutex_lock(&source->lock);
	sum_add(&source->ns, ns);
	if (source->part) {
		ret = profile_merge(source->part, part, err);
		profile_free(part);
	} else {
		source->part = part;
	}
	pthread_mutex_unlock(&source->lock);
	signal_news(source);
	return ret;
}

static void hand_over_failure(struct top_source *source, const struct error *err)
{
	pthread_mutex_lock(&source->lock);
	source->err = *err;
	pthread_mutex_unlock(&source->lock);
	signal_news(source);
}

static void hand_over_answer(struct top_source *source)
{
	pthread_mutex_lock(&source->lock);
	source->answers = true;
	pthread_mutex_unlock(&source->lock);
	signal_news(source);
}

bool top_source_answers(struct top_source *source)
{
	pthread_mutex_lock(&source->lock);
	bool answers = source->answers;
	pthread_mutex_unlock(&source->lock);
	return answers;
}

int top_source_poll_fd(const struct top_source *source)
{
	return source->news_fd;
}

int top_source_take(struct top_source *source, struct profile **part, uint64_t *ns,
		    struct error *err)
{
	uint64_t count;
	int ret = 0;
	if (read(source->news_fd, &count, sizeof(count)) < 0 && errno != EAGAIN && errno != EINTR)
		return error_set(err, -errno, "cannot wait for samples: %s", strerror(errno));
	pthread_mutex_lock(&source->lock);
	*part = source->part;
	*ns = source->ns;
	source->part = NULL;
	source->ns = 0;
	if (!*part && source->err.code < 0) {
		*err = source->err;
		ret = err->code;
	}
	bool failed = source->err.code < 0;
	pthread_mutex_unlock(&source->lock);
	if (*part && failed)
		signal_news(source); /* for the next call */
	return ret;
}

/* ---- the thread */

static bool is_to_stop(const struct top_source *source)
{
	struct pollfd fd = { source->stop_fd, POLLIN, 0 };
	return poll(&fd, 1, 0) > 0;
}

static enum collect_wish wish(void *context)
{
	return is_to_stop(context) ? COLLECT_STOP : COLLECT_GO_ON;
}

/* What is left out because the source is being closed is in no table. */
static void note(void *context, enum collect_note_kind kind, const char *sentence)
{
	const struct top_source *source = context;
	if (source->note && !is_to_stop(source))
		source->note(source->note_context, kind, sentence);
}

/* Waits until then, and empties rings meanwhile. 1: it is to stop; 0; or a negative errno. */
static int wait_until(struct top_source *source, uint64_t until_ns, struct error *err)
{
	for (;;) {
		uint64_t now = clock_monotonic_ns();
		int timeout_ms = until_ns > now ? (int)((until_ns - now + 999999) / 1000000) : 0;
		struct pollfd fds[] = {
			{ source->stop_fd, POLLIN, 0 },
			{ source->collector ? collector_poll_fd(source->collector) : -1, POLLIN, 0 }
		};
		int ready = poll(fds, 2, timeout_ms);
		if (ready < 0 && errno != EINTR)
			return error_set(err, -errno, "cannot wait for samples: %s",
					 strerror(errno));
		if (ready > 0 && fds[0].revents)
			return 1;
		if (ready > 0 && fds[1].revents) {
			int ret = collector_service(source->collector, err);
			if (ret < 0)
				return ret;
		}
		if (clock_monotonic_ns() >= until_ns)
			return 0;
	}
}

/*
 * An epoch each time, and no drain of one that goes on: its end gathers names, which nobody can
 * look up later of a process that has ended, of a container's files and of code made at run time.
 * What the epoch before had it does not gather again.
 */
static int sample_part(struct top_source *source, struct profile **part, struct error *err)
{
	return collector_end_epoch(source->collector, part, err);
}

/* Without stacks, which no table of top shows and which would be most of what grows. */
static int ask_snapshot(const struct top_source *source, struct profile **snapshot,
			struct error *err)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	int ret = daemon_client_ask(source->socket, "snapshot", source->stop_fd, &bytes, err);
	if (ret == 0)
		ret = profile_file_decode(bytes.data, bytes.size, "the daemon's snapshot", snapshot,
					  NULL, err);
	if (ret == 0 && profile_drop_stacks(*snapshot) < 0) {
		profile_free(*snapshot);
		*snapshot = NULL;
		return error_set(err, -ENOMEM, "out of memory for the daemon's snapshot");
	}
	return ret;
}

/* *part is NULL where the daemon has begun another epoch, which only the next snapshot can be
 * compared with. */
static int ask_part(struct top_source *source, struct profile **part, struct error *err)
{
	struct profile *snapshot = NULL;
	int ret = ask_snapshot(source, &snapshot, err);
	if (ret < 0)
		return ret;
	*part = NULL;
	ret = profile_difference(source->snapshot, snapshot, part, err);
	profile_free(source->snapshot);
	source->snapshot = snapshot;
	if (ret < 0)
		return ret == -ERANGE ? 0 : ret;
	ret = names_here_add(source->names, *part, err);
	if (ret < 0) {
		profile_free(*part);
		*part = NULL;
	}
	return ret;
}

static int next_part(struct top_source *source, uint64_t at_ns, struct error *err)
{
	struct profile *part = NULL;
	int ret = wait_until(source, at_ns, err);
	if (ret)
		return ret;
	ret = source->collector ? sample_part(source, &part, err) : ask_part(source, &part, err);
	if (ret == 0 && part)
		ret = hand_over(source, part, err);
	if (ret == 0 && source->collector && !collector_alive(source->collector))
		ret = error_set(err, -ENODATA, "what was watched has ended");
	return ret;
}

static int begin(struct top_source *source, struct error *err)
{
	if (source->collector)
		return 0;
	int ret = ask_snapshot(source, &source->snapshot, err);
	if (ret == 0)
		hand_over_answer(source);
	return ret;
}

static void serve(struct top_source *source)
{
	struct error err = { 0 };
	int ret = begin(source, &err);
	uint64_t at_ns = clock_monotonic_ns() + source->times.first_ns;
	while (ret == 0) {
		ret = next_part(source, at_ns, &err);
		/* what took longer delays the next one, too */
		uint64_t now = clock_monotonic_ns();
		at_ns = at_ns + source->times.next_ns > now ? at_ns + source->times.next_ns : now;
	}
	if (ret < 0)
		hand_over_failure(source, &err);
}

static void source_free(struct top_source *source)
{
	collector_free(source->collector);
	profile_free(source->snapshot);
	profile_free(source->part);
	names_here_free(source->names);
	free(source->socket);
	if (source->stop_fd >= 0)
		close(source->stop_fd);
	if (source->news_fd >= 0)
		close(source->news_fd);
	pthread_mutex_destroy(&source->lock);
	free(source);
}

static void *run(void *context)
{
	struct top_source *source = context;
	serve(source);
	pthread_mutex_lock(&source->lock);
	bool abandoned = source->abandoned;
	source->ended = true;
	pthread_mutex_unlock(&source->lock);
	if (abandoned)
		source_free(source);
	return NULL;
}

/* ---- opening and closing */

static struct top_source *source_new(struct top_source_times times)
{
	struct top_source *source = calloc(1, sizeof(*source));
	if (!source)
		return NULL;
	source->times = times;
	pthread_mutex_init(&source->lock, NULL);
	source->stop_fd = eventfd(0, EFD_CLOEXEC);
	source->news_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (source->stop_fd >= 0 && source->news_fd >= 0)
		return source;
	source_free(source);
	return NULL;
}

/* Signals are the caller's: the thread has them blocked, but for those of its own mistakes, whose
 * handlers give the terminal back. */
static int start_thread(struct top_source *source, struct error *err)
{
	static const int own[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS };
	sigset_t all, before;
	sigfillset(&all);
	for (size_t i = 0; i < COUNT_OF(own); i++)
		sigdelset(&all, own[i]);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int ret = -pthread_create(&source->thread, NULL, run, source);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	source->running = ret == 0;
	return ret < 0 ? error_set(err, ret, "cannot start a thread: %s", strerror(-ret)) : 0;
}

static int finish_opening(struct top_source *source, int ret, struct top_source **out,
			  struct error *err)
{
	if (ret == 0)
		ret = start_thread(source, err);
	if (ret < 0) {
		top_source_close(source);
		return ret;
	}
	*out = source;
	return 0;
}

int top_source_sample(const struct collect_options *options, struct top_source_times times,
		      struct top_source **out, struct error *err)
{
	struct top_source *source = source_new(times);
	if (!source)
		return error_set(err, -ENOMEM, "out of memory, or of descriptors");
	source->options = *options;
	source->options.wish = wish;
	source->options.wish_context = source;
	source->options.wish_fd = source->stop_fd;
	source->note = options->note;
	source->note_context = options->note_context;
	source->options.note = options->note ? note : NULL;
	source->options.note_context = source;
	source->answers = true;
	int ret = collector_new(&source->options, &source->collector, err);
	if (ret == 0)
		ret = collector_start(source->collector, err);
	return finish_opening(source, ret, out, err);
}

int top_source_ask(const char *socket, struct top_source_times times, struct top_source **out,
		   struct error *err)
{
	struct top_source *source = source_new(times);
	if (!source)
		return error_set(err, -ENOMEM, "out of memory, or of descriptors");
	const struct resolver_options naming = { 0 };
	source->names = names_here_new(&naming);
	source->socket = strdup(socket);
	int ret = source->names && source->socket ? 0 : error_set(err, -ENOMEM, "out of memory");
	return finish_opening(source, ret, out, err);
}

/* Whether the thread has ended; else it frees the source. */
static bool end_thread(struct top_source *source)
{
	const uint64_t one = 1;
	const pthread_t thread = source->thread;
	struct timespec until;
	while (write(source->stop_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	if (source->collector)
		return pthread_join(thread, NULL) == 0;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += CLOSE_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	if (pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) == 0)
		return true;
	pthread_mutex_lock(&source->lock);
	bool ended = source->ended;
	source->abandoned = !ended;
	pthread_mutex_unlock(&source->lock);
	if (ended)
		return pthread_join(thread, NULL) == 0;
	pthread_detach(thread);
	return false;
}

void top_source_close(struct top_source *source)
{
	if (source && (!source->running || end_thread(source)))
		source_free(source);
}
