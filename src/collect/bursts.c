#include "collect/bursts.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "collect/stepper.h"
#include "profile/profile.h"

#define FIRST_COST_NS 5000000.0	  /* of a stretch, until it is measured: 200 steps of 25 us */
#define LEAST_GAP_NS  2000000.0	  /* mean, where stretches end at once and cost nothing */
#define COST_DECAY    0.9	  /* of the moving average, per stretch */
#define HOLD_NS	      1000000000u /* samples of a stretch that takes longer count as usual */
#define STOP_WAIT_MS  700	  /* longer than a stretch may take */

int bursts_init(struct bursts *bursts, struct stepper *stepper, double share_percent,
		const struct helper_watch *watch, struct error *err)
{
	*bursts = (struct bursts){
		.decoder = { .run = step_decoder_run, .watch = watch },
		.random = random_seed(clock_realtime_ns() ^ ((uint64_t)getpid() << 32)),
		.share = share_percent / 100,
		.cost_ns = FIRST_COST_NS,
		.timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
		.answer = calloc(1, sizeof(struct steps)),
		.path = calloc(1, sizeof(struct step_path)),
		.found = profile_new(),
	};
	if (bursts->timer_fd < 0)
		return error_set(err, -errno, "cannot make a timer: %s", strerror(errno));
	if (!bursts->answer || !bursts->path || !bursts->found)
		return error_set(err, -ENOMEM, "out of memory");
	int ret = helper_start(&bursts->decoder, err);
	if (ret == 0)
		bursts->stepper = stepper;
	return ret;
}

void bursts_release(struct bursts *bursts)
{
	helper_stop(&bursts->decoder);
	free(bursts->answer);
	free(bursts->path);
	profile_free(bursts->found);
	if (bursts->timer_fd > 0)
		close(bursts->timer_fd);
	*bursts = (struct bursts){ 0 };
}

bool bursts_fds(const struct bursts *bursts, int fds[2])
{
	if (!bursts->stepper)
		return false;
	fds[0] = bursts->stepper->socket;
	fds[1] = bursts->timer_fd;
	return true;
}

/* Gaps are drawn from an exponential distribution, whose events no program can foresee or lock to.
 * A stretch of cost c is a share s of the time when the mean gap is c * (1 / s - 1). */
static void set_due(struct bursts *bursts)
{
	double mean = bursts->cost_ns * (1 / bursts->share - 1);
	double gap = -fmax(mean, LEAST_GAP_NS) * log(1 - random_unit(&bursts->random));
	struct itimerspec timer = { 0 };
	uint64_t gap_ns = (uint64_t)fmax(gap, 1);
	timer.it_value.tv_sec = (time_t)(gap_ns / 1000000000u);
	timer.it_value.tv_nsec = (long)(gap_ns % 1000000000u);
	timerfd_settime(bursts->timer_fd, 0, &timer, NULL);
	bursts->due_ns = clock_monotonic_ns() + gap_ns;
}

void bursts_start(struct bursts *bursts)
{
	if (bursts->stepper)
		set_due(bursts);
}

uint64_t bursts_limit(const struct bursts *bursts, uint64_t limit_ns)
{
	bool holds = bursts->asked && limit_ns != UINT64_MAX && limit_ns >= bursts->asked_ns &&
		     limit_ns - bursts->asked_ns < HOLD_NS;
	return holds ? bursts->asked_ns - 1 : limit_ns;
}

uint64_t bursts_answer_end(const struct bursts *bursts, uint64_t limit_ns)
{
	return bursts->answered && bursts->answer->end_ns < limit_ns ? bursts->answer->end_ns
								     : limit_ns;
}

bool bursts_was_stepped(const struct bursts *bursts, uint32_t tid, uint64_t time_ns)
{
	for (size_t i = 0; i < bursts->window_count; i++) {
		const struct bursts_window *window = &bursts->windows[i];
		if (window->tid == tid && time_ns >= window->begin_ns && time_ns <= window->end_ns)
			return true;
	}
	return false;
}

void bursts_note_sample(struct bursts *bursts, uint32_t pid, uint32_t tid)
{
	if (bursts->stepper)
		bursts->seen[bursts->seen_count++ % BURSTS_SEEN] =
			(struct bursts_thread){ pid, tid };
}

static void remember_window(struct bursts *bursts, const struct steps *steps)
{
	if (bursts->window_count == BURSTS_WINDOWS) {
		memmove(&bursts->windows[0], &bursts->windows[1],
			(BURSTS_WINDOWS - 1) * sizeof(bursts->windows[0]));
		bursts->window_count--;
	}
	bursts->windows[bursts->window_count++] =
		(struct bursts_window){ (uint32_t)steps->tid, steps->begin_ns, steps->end_ns };
}

static void count(struct bursts *bursts, const struct steps *steps)
{
	uint64_t spent_ns = steps->end_ns - steps->begin_ns;
	bursts->ends[steps->end]++;
	bursts->ns += spent_ns;
	bursts->steps += steps->count;
	bursts->started += steps->count > 0;
	bursts->cost_ns = COST_DECAY * bursts->cost_ns + (1 - COST_DECAY) * (double)spent_ns;
	if (steps->end == STEP_REFUSED && !bursts->refusal) {
		bursts->refusal = steps->code;
		bursts->refused_tid = (uint32_t)steps->tid;
	}
}

static void forget(struct bursts *bursts, uint32_t tid)
{
	size_t known = bursts->seen_count < BURSTS_SEEN ? bursts->seen_count : BURSTS_SEEN;
	size_t kept = 0;
	for (size_t i = 0; i < known; i++)
		if (bursts->seen[i].tid != tid)
			bursts->seen[kept++] = bursts->seen[i];
	bursts->seen_count = kept;
}

void bursts_receive(struct bursts *bursts)
{
	struct stepper *stepper = bursts->stepper;
	if (!stepper)
		return;
	stepper_receive(stepper);
	bool lost = stepper->lost && bursts->asked;
	if (!bursts->asked || !(stepper->answered || lost))
		return;
	bursts->asked = false;
	if (lost || stepper->steps.end >= STEP_ENDS)
		return;
	stepper->answered = false;
	*bursts->answer = stepper->steps;
	bursts->answered = bursts->answer->count > 0;
	if (bursts->answer->end == STEP_GONE)
		forget(bursts, bursts->stepped.tid);
	count(bursts, bursts->answer);
	if (bursts->answer->end_ns > bursts->answer->begin_ns)
		remember_window(bursts, bursts->answer);
	set_due(bursts);
}

/* Chooses a thread among the last samples, so each as likely as its share of the CPU time. */
static void begin_one(struct bursts *bursts)
{
	uint64_t now_ns = clock_monotonic_ns();
	size_t known = bursts->seen_count < BURSTS_SEEN ? bursts->seen_count : BURSTS_SEEN;
	if (bursts->asked || bursts->answered || now_ns < bursts->due_ns || bursts->stepper->lost ||
	    bursts->stepper->ended)
		return;
	if (!known) {
		set_due(bursts);
		return;
	}
	bursts->stepped = bursts->seen[random_below(&bursts->random, known)];
	bursts->asked = stepper_ask(bursts->stepper, (pid_t)bursts->stepped.tid, STEP_LIMIT) == 0;
	bursts->asked_ns = now_ns;
}

void bursts_begin(struct bursts *bursts)
{
	uint64_t expirations;
	if (!bursts->stepper)
		return;
	while (read(bursts->timer_fd, &expirations, sizeof(expirations)) > 0)
		;
	if (bursts->due_ns)
		begin_one(bursts);
}

void bursts_stop(struct bursts *bursts)
{
	bursts->due_ns = 0;
	if (!bursts->asked)
		return;
	struct pollfd fd = { bursts->stepper->socket, POLLIN, 0 };
	uint64_t until_ns = clock_monotonic_ns() + STOP_WAIT_MS * UINT64_C(1000000);
	const struct helper_watch *watch = bursts->decoder.watch;
	while (bursts->asked && clock_monotonic_ns() < until_ns) {
		if (watch && watch->look && watch->look(watch->context) < 0)
			break;
		poll(&fd, 1, MESSAGE_LOOK_MS);
		bursts_receive(bursts);
	}
	bursts->due_ns = 0;
}

bool bursts_describe(const struct bursts *bursts, char *text, size_t size)
{
	text[0] = 0;
	if (!bursts->stepper)
		return false;
	if (bursts->stepper->lost && !bursts->stepper->ended) {
		snprintf(text, size, "the process that steps has ended: no bursts from then on");
		return true;
	}
	if (bursts->refusal && !bursts->started) {
		snprintf(text, size, "no bursts: thread %" PRIu32 " may not be traced: %s%s",
			 bursts->refused_tid, strerror(-bursts->refusal),
			 bursts->refusal == -EPERM
				 ? " (another user's, or kernel.yama.ptrace_scope forbids it)"
				 : "");
		return true;
	}
	const char *left_alone = bursts->started	     ? NULL
				 : bursts->ends[STEP_TRACED] ? "another program traces it"
				 : bursts->ends[STEP_NARROW] ? "it is 32-bit code"
				 : bursts->ends[STEP_OWN_TRAPS]
					 ? "it ignores or awaits SIGTRAP, or steps itself"
					 : NULL;
	if (left_alone) {
		snprintf(text, size, "no bursts: what was to be stepped cannot be: %s", left_alone);
		return true;
	}
	if (!bursts->started) {
		snprintf(text, size, "no bursts: nothing ran when one was due");
		return false;
	}
	int length = snprintf(
		text, size, "%" PRIu64 " bursts, %" PRIu64 " instructions stepped, %.1f us each",
		bursts->started, bursts->steps, (double)bursts->ns / (double)bursts->steps / 1000);
	if (bursts->failures && length > 0 && (size_t)length < size)
		snprintf(text + length, size - (size_t)length,
			 "; %u left out, whose code could not be decoded", bursts->failures);
	return bursts->failures > 0;
}
