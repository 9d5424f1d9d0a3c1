#include "collect/collector_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "bpf/user_stack.h"
#include "collect/burst_evidence.h"
#include "collect/calm.h"
#include "collect/gather.h"
#include "collect/own_cost.h"
#include "collect/stepper.h"
#include "confine/confinement.h"
#include "profile/profile.h"
#include "symbol/reader.h"

/* Records about processes wake us at once, but 200 times a second at most, and beyond the budget 50
 * times: where programs start and end without pause, waking up takes most of what a recording does.
 */
#define SIDEBAND_PAUSE_NS	 5000000u
#define SIDEBAND_PAUSE_BEYOND_NS 20000000u
#define SETTLE_MARGIN_NS  500000u    /* a record of another CPU may still be on its way that long */
#define SERVICE_STEP_NS	  100000000u /* that much is processed before rings are emptied again */
/* By then the samples of an exited process's last moments have come. */
#define REAP_AFTER_NS 2000000000u

/* Whether a timer has run out since the last look. */
static bool ran_out(int timer_fd)
{
	uint64_t expirations;
	return read(timer_fd, &expirations, sizeof(expirations)) == sizeof(expirations);
}

static void pause_sideband(struct collector *collector)
{
	const struct itimerspec timer = {
		.it_value = { .tv_nsec = collector->session.overhead.over ? SIDEBAND_PAUSE_BEYOND_NS
									  : SIDEBAND_PAUSE_NS },
	};
	if (collector->paused || epoll_ctl(collector->poll_fd, EPOLL_CTL_DEL,
					   collector->session.counters.sideband_watch.fd, NULL))
		return;
	timerfd_settime(collector->resume_fd, 0, &timer, NULL);
	collector->paused = true;
}

static void resume_sideband(struct collector *collector)
{
	struct epoll_event event = { .events = EPOLLIN };
	if (collector->paused && ran_out(collector->resume_fd))
		collector->paused =
			epoll_ctl(collector->poll_fd, EPOLL_CTL_ADD,
				  collector->session.counters.sideband_watch.fd, &event) != 0;
}

static uint64_t sideband_bytes(const struct counters *counters)
{
	uint64_t sum = 0;
	for (size_t slot = 0; slot < counters->cpu_count; slot++)
		sum += counters_ring(counters, slot, true)->bytes;
	return sum;
}

/* The end of the step that begins with the first record that waits. No ring is handled beyond what
 * was copied of every other; the first record is, in any case. */
static uint64_t step_end_ns(const struct counters *counters, uint64_t limit_ns)
{
	uint64_t first_ns = limit_ns, copied_ns = limit_ns;
	for (size_t i = 0; i < 2 * counters->cpu_count; i++) {
		const struct ring *ring = &counters->rings[i];
		const struct ring_entry *entry = ring_peek(ring);
		if (entry && entry->time < first_ns)
			first_ns = entry->time;
		if (ring_copied_until(ring) < copied_ns)
			copied_ns = ring_copied_until(ring);
	}
	uint64_t end_ns =
		limit_ns - first_ns > SERVICE_STEP_NS ? first_ns + SERVICE_STEP_NS : limit_ns;
	return end_ns < copied_ns ? end_ns : copied_ns;
}

/* Empties the rings and processes their records up to `limit_ns`, in steps, and empties them again
 * before each step: their keeper may have copied much, which takes a while. */
static int service(struct collector *collector, uint64_t limit_ns)
{
	struct session *session = &collector->session;
	struct counters *counters = &session->counters;
	uint64_t before = sideband_bytes(counters);
	uint64_t end_ns;
	int ret;
	do {
		ret = session_copy_rings(session);
		end_ns = step_end_ns(counters, limit_ns);
		if (ret == 0)
			ret = ring_merge(counters->rings, 2 * counters->cpu_count, end_ns,
					 session_process_record, session);
	} while (ret == 0 && end_ns < limit_ns);
	frame_tables_retry(&session->frames);
	collector->sideband_news = sideband_bytes(counters) != before;
	return ret;
}

static int failed(struct error *err, int ret)
{
	return error_set(err, ret,
			 ret == -ENOMEM ? "out of memory while collecting"
					: "a perf ring cannot be read: %s",
			 strerror(-ret));
}

/* As service(), but a stretch of steps is added up as soon as the records up to its end are
 * processed: its addresses mean what was mapped then. */
static int service_bursts(struct collector *collector, uint64_t limit_ns)
{
	struct session *session = &collector->session;
	limit_ns = bursts_limit(&session->bursts, limit_ns);
	uint64_t stepped_ns = bursts_answer_end(&session->bursts, limit_ns);
	int ret = service(collector, stepped_ns);
	bool news = collector->sideband_news;
	if (ret == 0)
		ret = burst_evidence_add(session, stepped_ns);
	if (ret == 0)
		bursts_begin(&session->bursts);
	if (ret == 0 && stepped_ns < limit_ns) {
		ret = service(collector, limit_ns);
		collector->sideband_news |= news;
	}
	return ret;
}

enum service_purpose { SERVICE_RINGS, SERVICE_DRAIN };

/*
 * Reads the counters, for a drain those of clocks too. It comes before the samples up to then are
 * handled, which takes a while: what runs meanwhile has its samples in the next window, and its
 * counts as well. And it comes once: two readings at the same moment show neither the rate that
 * periods are adapted to nor whether a CPU was away.
 */
static int read_counters(struct collector *collector, enum service_purpose purpose, bool counted)
{
	struct counters *counters = &collector->session.counters;
	if (purpose == SERVICE_DRAIN)
		return counters_read(counters, COUNTERS_ALL);
	return counted ? counters_read(counters, COUNTERS_COUNTED) : 0;
}

/* With the end of a turn its samples are added. */
static bool counts_due(const struct collector *collector, enum service_purpose purpose, bool turned,
		       uint64_t now_ns)
{
	const struct kernel_counts *counts = &collector->session.counted;
	return counts->table &&
	       (purpose == SERVICE_DRAIN || turned || kernel_counts_due(counts, now_ns));
}

/* Samples that the kernel counted come before the records up to then are processed, and are added
 * behind them. */
static int collect_counts(struct collector *collector, uint64_t *until_ns)
{
	struct session *session = &collector->session;
	int ret = session_collect_counts(session, &collector->random, until_ns);
	return ret < 0 ? ret : 1;
}

/* Adapts the rate to the budget. The periods follow when they are drawn anew. */
static void keep_budget(struct collector *collector, uint64_t now_ns)
{
	struct session *session = &collector->session;
	struct overhead *overhead = &session->overhead;
	if (!(overhead->budget_ratio > 0) || !overhead_due(overhead, now_ns))
		return;
	overhead_step(overhead, now_ns, own_spent_ns(session, now_ns),
		      (double)session->counters.cpu_count);
	session->counters.period_scale = overhead->scale;
}

/* Looks which CPUs idle. The periods of their clocks follow when they are drawn anew. */
static void look_for_calm(struct collector *collector)
{
	struct counters *counters = &collector->session.counters;
	if (!collector->calm)
		return;
	cpu_time_read(counters->cpus, counters->cpu_count, collector->looks);
	for (size_t slot = 0; slot < counters->cpu_count; slot++) {
		struct calm_cpu *cpu = &collector->calm[slot];
		calm_look(cpu, &collector->looks[slot]);
		for (size_t i = 0; i < counters->sampler_count; i++) {
			const struct sampler *sampler = &counters->samplers[i];
			struct lane *lane = counters_lane(counters, i, slot);
			lane->calm =
				cpu->calm && sampler->clock && sampler->policy == PERIOD_RANDOM;
		}
	}
}

/* Events that take turns are not switched while some are opened anew. */
static int without_turns(struct collector *collector,
			 int (*look)(struct hotplug *, struct counters *, struct ledger *,
				     uint64_t),
			 uint64_t now_ns)
{
	struct counters *counters = &collector->session.counters;
	int ret = turns_hold(&collector->turns, counters);
	if (ret >= 0)
		ret = look(&collector->hotplug, counters, &collector->ledger, now_ns);
	turns_release(&collector->turns, counters);
	return ret;
}

static int serve(struct collector *collector, enum service_purpose purpose, struct error *err)
{
	struct session *session = &collector->session;
	uint64_t now = clock_monotonic_ns();
	uint64_t until = now - SETTLE_MARGIN_NS;
	int ret = ring_keeper_end(&session->keeper);
	bool due = ran_out(collector->timer_fd);
	bool weighs = due && !session->inherit;
	keep_budget(collector, now);
	if (due)
		look_for_calm(collector);
	int turned = turns_hold(&collector->turns, &session->counters);
	if (ret == 0 && turned < 0)
		ret = turned;
	bool collects = counts_due(collector, purpose, turned > 0, until);
	if (ret == 0)
		ret = read_counters(collector, purpose, weighs || collects);
	turns_release(&collector->turns, &session->counters);
	int counted = ret == 0 && collects ? collect_counts(collector, &until) : 0;
	if (counted < 0)
		ret = counted;
	urgency_watch(&session->urgency);
	resume_sideband(collector);
	ring_watch_renew(&session->counters.watch);
	ring_watch_renew(&session->counters.sideband_watch);
	/* What rang is too young to be processed now. */
	if (session->walker && user_stack_rang(session->walker))
		collector_set_timer(collector, 2 * SETTLE_MARGIN_NS);
	bursts_receive(&session->bursts);
	if (ret == 0)
		ret = service_bursts(collector, until);
	if (ret == 0 && counted)
		ret = session_add_counts(session);
	/* The socket of a stepper that is gone polls readable for ever. */
	if (session->bursts.stepper && session->bursts.stepper->lost)
		epoll_ctl(collector->poll_fd, EPOLL_CTL_DEL, session->bursts.stepper->socket, NULL);
	if (collector->sideband_news)
		pause_sideband(collector);
	if (ret == 0 && due)
		ret = edges_service(&session->edges, EDGES_GO_ON);
	if (ret == 0 && due)
		ret = without_turns(collector, hotplug_follow, now);
	if (ret == 0 && (weighs || turned > 0 || counted))
		ret = session_settle(session, counted ? SETTLE_ALL : SETTLE_RINGS);
	if (ret == 0 && weighs) {
		if (!session->counted.table)
			counters_redraw(&session->counters, &collector->random);
	}
	process_reap(&session->processes, now - REAP_AFTER_NS);
	return ret < 0 ? failed(err, ret) : 0;
}

int collector_service(struct collector *collector, struct error *err)
{
	return serve(collector, SERVICE_RINGS, err);
}

static int add_source(struct collector *collector, struct profile *profile)
{
	struct source_facts facts = {
		.redact = collector->options.redact,
		.epoch = collector->epoch,
		.start_ns = collector->epoch_start_real_ns,
		.duration_ns = (collector->end_ns ? collector->end_ns : clock_monotonic_ns()) -
			       collector->epoch_begin_ns,
	};
	return source_add(collector->source, &facts, profile);
}

enum epoch_state { EPOCH_GOES_ON, EPOCH_ENDS };

/* Makes a profile of all that was added up; at the end of an epoch with names and code. */
static int take(struct collector *collector, enum epoch_state state, struct profile **delta,
		struct error *err)
{
	struct session *session = &collector->session;
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	if (!profile)
		return failed(err, -ENOMEM);
	struct tally_translation translation = { 0 };
	int ret = tally_translation_init(&translation, session->profile, profile);
	translation.redact = collector->options.redact;
	if (ret == 0)
		ret = edge_tally_flush(&session->edges.tally, &translation);
	if (ret == 0)
		ret = burst_evidence_flush(&session->bursts, &translation);
	if (ret == 0)
		ret = tally_flush(&session->tally, &translation);
	if (ret == 0)
		ret = ledger_write(&collector->ledger, session, state == EPOCH_ENDS,
				   collector_samples_all(collector), &translation);
	if (ret == 0)
		ret = add_source(collector, profile);
	if (ret == 0 && state == EPOCH_ENDS)
		ret = collector->options.stash
			      ? gather_stash(session, &translation, collector->options.redact)
			      : gather_nothing(session, &translation, collector->options.redact);
	tally_translation_release(&translation);
	if (ret < 0)
		return failed(err, ret);
	*delta = profile;
	profile = NULL; /* the caller's from here on */
	return 0;
}

static int service_and_read(struct collector *collector, struct error *err)
{
	struct session *session = &collector->session;
	int ret = serve(collector, SERVICE_DRAIN, err);
	if (ret < 0)
		return ret;
	uint64_t now_ns = clock_monotonic_ns();
	ret = without_turns(collector, hotplug_check, now_ns);
	if (ret == 0)
		ret = session_settle(session, SETTLE_ALL);
	hotplug_settle(&collector->hotplug, &session->counters, &collector->ledger, now_ns);
	/* From here on the profile is made and the owner writes it, until the next call. */
	ring_keeper_begin(&session->keeper);
	return ret < 0 ? failed(err, ret) : 0;
}

int collector_drain(struct collector *collector, struct profile **delta, struct error *err)
{
	int ret = service_and_read(collector, err);
	return ret < 0 ? ret : take(collector, EPOCH_GOES_ON, delta, err);
}

/* Where that fails the epoch is whole all the same, and the next one's end tries it again. */
static void begin_generation(struct collector *collector)
{
	char sentence[128];
	int ret = session_begin_generation(&collector->session);
	if (ret == 0)
		return;
	snprintf(sentence, sizeof(sentence), "what ran before is not forgotten: %s",
		 strerror(-ret));
	collector_note(collector, COLLECT_WARNING, sentence);
}

/* When the next epoch begins, by the clock that others set. Duration is by one that nobody sets, so
 * an epoch may end ahead of the former: by less than a step the next one begins there, and later
 * ones stay ahead by as much; from a step on, also of many corrections, it follows the clock. */
static uint64_t next_start_ns(const struct collector *collector)
{
	uint64_t now_ns = clock_realtime_ns();
	uint64_t end_ns =
		collector->epoch_start_real_ns + (collector->end_ns - collector->epoch_begin_ns);
	return now_ns < end_ns && end_ns - now_ns < CLOCK_STEP_NS ? end_ns : now_ns;
}

int collector_end_epoch(struct collector *collector, struct profile **delta, struct error *err)
{
	int ret = service_and_read(collector, err);
	if (ret < 0)
		return ret;
	collector->end_ns = clock_monotonic_ns();
	uint64_t next_real_ns = next_start_ns(collector);
	urgency_begin(&collector->session.urgency, collector->session.reader);
	ret = take(collector, EPOCH_ENDS, delta, err);
	if (ret == 0)
		begin_generation(collector);
	urgency_end(&collector->session.urgency, collector->session.reader);
	collector->epoch++;
	collector->epoch_begin_ns = collector->end_ns;
	collector->epoch_start_real_ns = next_real_ns;
	collector->end_ns = 0;
	return ret;
}

static void tell_edges(const struct collector *collector)
{
	const struct edges *edges = &collector->session.edges;
	char text[400];
	if (!edges->failures)
		return;
	snprintf(text, sizeof(text), "interpreting samples failed %u times, the last time thus: %s",
		 edges->failures, edges->failure);
	collector_note(collector, COLLECT_WARNING, text);
}

/* The other layers of the confinement are there on every machine that we know; the filter is what
 * keeps files, processes and networks from a parser. */
static void tell_helpers(const struct collector *collector)
{
	const struct reader *reader = collector->session.reader;
	if (reader && (reader_layers_missing(reader) & CONFINEMENT_FILTER))
		collector_note(
			collector, COLLECT_WARNING,
			"helper processes read strangers' files with no filter of system calls "
			"(seccomp), for this machine has none; 'culprit doctor' says what holds");
}

static void tell_bursts(const struct collector *collector)
{
	char text[400];
	bool warns = bursts_describe(&collector->session.bursts, text, sizeof(text));
	if (text[0])
		collector_note(collector, warns ? COLLECT_WARNING : COLLECT_NOTE, text);
}

static void tell_hotplug(const struct collector *collector)
{
	char text[600];
	hotplug_describe(&collector->hotplug, text, sizeof(text));
	if (text[0])
		collector_note(collector, COLLECT_WARNING, text);
}

int collector_finish(struct collector *collector, struct profile **delta, struct error *err)
{
	struct session *session = &collector->session;
	urgency_begin(&session->urgency, session->reader);
	bursts_stop(&session->bursts);
	int ret = turns_stop(&collector->turns, &session->counters);
	counters_disable(&session->counters);
	ledger_stop(&collector->ledger, session);
	collector->end_ns = clock_monotonic_ns();
	int ended = ring_keeper_end(&session->keeper);
	ret = ret < 0 ? ret : ended;
	uint64_t until;
	if (ret == 0 && session->counted.table)
		ret = counters_read(&session->counters, COUNTERS_COUNTED);
	if (ret == 0 && session->counted.table)
		ret = session_collect_counts(session, NULL, &until);
	if (ret == 0)
		ret = service_bursts(collector, UINT64_MAX);
	if (ret == 0 && session->counted.table)
		ret = session_add_counts(session);
	if (ret == 0)
		ret = edges_service(&session->edges, EDGES_WAIT);
	hotplug_settle(&collector->hotplug, &session->counters, &collector->ledger,
		       collector->end_ns);
	tell_edges(collector);
	tell_helpers(collector);
	tell_bursts(collector);
	tell_hotplug(collector);
	if (ret == 0)
		ret = counters_read(&session->counters, COUNTERS_ALL);
	turns_finish(&collector->turns, &session->counters, collector->end_ns);
	urgency_look(&session->urgency, session->reader);
	if (ret == 0)
		ret = session_settle(session, SETTLE_REST);
	urgency_look(&session->urgency, session->reader);
	tally_close(&session->tally);
	ret = ret < 0 ? failed(err, ret) : take(collector, EPOCH_ENDS, delta, err);
	/* Helpers end while the profile is written. */
	reader_dismiss(session->reader);
	tally_release(&session->tally);
	edge_tally_release(&session->edges.tally);
	return ret;
}
