#include "collect/collector.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/small_file.h"
#include "collect/gather.h"
#include "collect/hotplug.h"
#include "collect/ledger.h"
#include "collect/plan.h"
#include "collect/session.h"
#include "collect/source.h"
#include "collect/stepper.h"
#include "collect/targets.h"
#include "confine/confinement.h"
#include "machine/event.h"
#include "machine/haste.h"
#include "profile/profile.h"
#include "symbol/reader.h"

#define SIDEBAND_PAUSE_NS                                                                          \
	5000000u /* news about processes wake us at once, 200 times a second at most */
#define SERVICE_NS	 100000000u /* rings are emptied ten times a second */
#define SETTLE_MARGIN_NS 500000u    /* a record of another CPU may still be on its way that long */
#define REAP_AFTER_NS                                                                              \
	2000000000u /* samples of an exited process's last moments have come by then */

struct collector {
	struct collect_options options;
	struct plan plan;
	struct session session;
	struct targets targets;
	struct ledger ledger;
	struct hotplug hotplug;
	struct source *source;
	struct random_state random;
	int poll_fd, timer_fd;
	int resume_fd; /* a timer: news about processes may wake us again */
	bool paused;
	bool sideband_news; /* the last service found some */
	uint64_t end_ns, epoch_begin_ns, epoch_start_real_ns, epoch;
};

static void note(const struct collector *collector, enum collect_note_kind kind,
		 const char *sentence)
{
	if (collector->options.note)
		collector->options.note(collector->options.note_context, kind, sentence);
}

void collector_free(struct collector *collector)
{
	if (!collector)
		return;
	struct session *session = &collector->session;
	counters_release(&session->counters);
	process_table_release(&session->processes);
	file_table_release(&session->files);
	kernel_map_release(&session->kernel);
	kernel_code_release(&session->kernel_code);
	sample_memory_close(&session->sample_memory);
	read_window_release(&session->reads);
	jit_table_release(&session->jits);
	edges_release(&session->edges);
	left_out_release(&session->unread);
	shares_release(&session->shares); /* after all that gives back to them */
	byte_pool_release(&session->groups);
	tally_release(&session->tally);
	chain_release(&session->chain);
	bursts_release(&session->bursts);
	profile_free(session->profile);
	/* Raised, they end sooner. */
	reader_free(session->reader);
	urgency_end(&session->urgency, NULL);
	free(session->last_exit);
	free(session->owed.list);
	targets_release(&collector->targets);
	ledger_release(&collector->ledger);
	hotplug_release(&collector->hotplug);
	source_free(collector->source);
	if (collector->timer_fd >= 0)
		close(collector->timer_fd);
	if (collector->resume_fd >= 0)
		close(collector->resume_fd);
	if (collector->poll_fd >= 0)
		close(collector->poll_fd);
	free(collector);
}

static void collector_freep(struct collector **collector)
{
	collector_free(*collector);
}

static int add_event(struct session *session, struct sampler *sampler, bool sampled_by_clock)
{
	const struct perf_event_attr *attr = &sampler->attr;
	const struct event *event = sampler->event;
	const struct sampler *leader = &session->counters.samplers[sampler->leader];
	struct profile_event row = {
		.name = span_of_text(sampler->name),
		.unit = span_of_text(event->unit ? event->unit : "events"),
		.pmu = span_of_text(event->pmu ? event->pmu : ""),
		.core_type = event->core_type ? span_of_text(event->core_type)
					      : (struct span){ NULL, 0 },
		.type = attr->type,
		.config = attr->config,
		.config1 = attr->config1,
		.config2 = attr->config2,
		.clock = sampled_by_clock ? EVENT_CLOCK : EVENT_COUNTED,
		.policy = sampler->sampled ? sampler->policy : PERIOD_NONE,
		.period = !sampler->sampled			? 0
			  : sampler->policy == PERIOD_FREQUENCY ? (uint64_t)sampler->frequency_hz
								: sampler->mean_period,
		.precise = attr->precise_ip,
		.exclude = (attr->exclude_user ? EXCLUDE_USER : 0u) |
			   (attr->exclude_kernel ? EXCLUDE_KERNEL : 0u) |
			   (attr->exclude_hv ? EXCLUDE_HV : 0u) |
			   (attr->exclude_idle ? EXCLUDE_IDLE : 0u) |
			   (attr->exclude_host ? EXCLUDE_HOST : 0u) |
			   (attr->exclude_guest ? EXCLUDE_GUEST : 0u),
		.origin = ORIGIN_MEASURED,
		.sampled = sampler->sampled,
		.leader = sampler->sampled ? (struct span){ NULL, 0 } : span_of_text(leader->name),
	};
	return profile_add_event(session->profile, &row, &sampler->id);
}

static void raise_file_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static uint64_t read_number(const char *path)
{
	char line[32];
	return small_file_read_line(path, line, sizeof(line)) < 0 ? 0 : strtoull(line, NULL, 10);
}

static int64_t boot_offset_ns(void)
{
	struct timespec boot;
	uint64_t monotonic = clock_monotonic_ns();
	clock_gettime(CLOCK_BOOTTIME, &boot);
	return (int64_t)((uint64_t)boot.tv_sec * 1000000000u + (uint64_t)boot.tv_nsec - monotonic);
}

static int make_poll_fd(struct collector *collector, struct error *err)
{
	const struct counters *counters = &collector->session.counters;
	struct epoll_event event = { .events = EPOLLIN };
	collector->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	collector->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	collector->resume_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	int fds[6] = { collector->timer_fd, collector->resume_fd, counters->watch.fd,
		       counters->sideband_watch.fd };
	size_t count = bursts_fds(&collector->session.bursts, &fds[4]) ? 6 : 4;
	for (size_t i = 0; i < count; i++)
		if (collector->poll_fd < 0 || fds[i] < 0 ||
		    epoll_ctl(collector->poll_fd, EPOLL_CTL_ADD, fds[i], &event))
			return error_set(err, -errno, "cannot make descriptors to wait with: %s",
					 strerror(errno));
	return 0;
}

/* Whether a timer has run out since the last look. */
static bool ran_out(int timer_fd)
{
	uint64_t expirations;
	return read(timer_fd, &expirations, sizeof(expirations)) == sizeof(expirations);
}

static void pause_sideband(struct collector *collector)
{
	struct itimerspec timer = { .it_value = { .tv_nsec = SIDEBAND_PAUSE_NS } };
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

static int init_session(struct collector *collector, struct error *err)
{
	struct session *session = &collector->session;
	const struct collect_options *options = &collector->options;
	session->profile = profile_new();
	if (!session->profile)
		return error_set(err, -ENOMEM, "out of memory");
	if (tally_init(&session->tally, session->profile) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	session->world = session_world(session);
	session->options = options;
	session->processes.forget_space = session_forget_space;
	session->processes.forget_context = session;
	session->identity = options->identity;
	session->stacks = options->stacks;
	session->inherit = collector->plan.inherit;
	session->edge_ratio = collector->plan.edge_ratio;
	session->follow = collector->plan.follow;
	session->boot_offset_ns = boot_offset_ns();
	session->max_stack = read_number("/proc/sys/kernel/perf_event_max_stack");
	collector->source = source_new();
	if (!collector->source)
		return error_set(err, -ENOMEM, "out of memory");
	snprintf(session->boot_id, sizeof(session->boot_id), "%s",
		 source_boot_id(collector->source));
	/* Helpers are forks: now, while we are small. */
	struct error cause;
	struct reader_options reading = {
		.strange_bytes = options->gather_unlimited ? 0 : SHARE_HELPER_BYTES,
		.watch = &session->watch,
	};
	session->watch = (struct helper_watch){ .wake_fd = options->wish ? options->wish_fd : -1,
						.look = session_look,
						.context = session };
	shares_init(&session->shares,
		    &(struct share_limits){ .unlimited = options->gather_unlimited,
					    .time_ns = options->gather_time_ns,
					    .stacks = options->stacks });
	if (reader_new(&reading, &session->reader, &cause) < 0) {
		char text[1200];
		snprintf(text, sizeof(text), "%s: files are known by their path alone", cause.text);
		note(collector, COLLECT_WARNING, text);
	}
	const struct edges_options interpreting = { .files = &session->files,
						    .shares = &session->shares,
						    .watch = &session->watch,
						    .sampler_count =
							    collector->plan.sampler_count };
	if (collector->plan.edges && edges_init(&session->edges, &interpreting, &cause) < 0) {
		char text[1200];
		snprintf(text, sizeof(text), "%s: samples are not interpreted", cause.text);
		note(collector, COLLECT_WARNING, text);
	}
	if (options->stepper && bursts_init(&session->bursts, options->stepper,
					    options->burst_percent, &session->watch, &cause) < 0)
		return error_set(err, cause.code, "no bursts: %s", cause.text);
	urgency_begin(&session->urgency, session->reader);
	int ret = file_table_init(&session->files, session->profile, session->reader,
				  &session->shares);
	jit_table_init(&session->jits, session->reader, &session->files, &session->shares);
	session->ask = (struct proc_ask){ session->reader, &session->shares, &session->unread,
					  &session->watch, &session->silent };
	session->jits.watch = &session->watch;
	if (ret == 0)
		ret = kernel_map_init(&session->kernel, session->profile);
	if (ret < 0)
		return error_set(err, ret, "out of memory");
	return 0;
}

static int open_counters(struct collector *collector, struct error *err)
{
	struct session *session = &collector->session;
	struct plan *plan = &collector->plan;
	struct counters_options options = plan->counters;
	options.features = &plan->features;
	options.cpus = &plan->cpus;
	options.watch = &session->watch;
	struct sampler *samplers = plan->samplers;
	plan->samplers = NULL; /* the counters' from here on */
	int ret = counters_init(&session->counters, samplers, plan->sampler_count, &options, err);
	if (ret < 0)
		return ret;
	session->last_exit = calloc(session->counters.cpu_count + 1, sizeof(uint32_t));
	if (!session->last_exit)
		return error_set(err, -ENOMEM, "out of memory");
	return targets_open(&collector->targets, session, &collector->options, plan, err);
}

/* The kernel may have granted less than was asked: the names must say so. */
static int name_events(struct collector *collector, struct error *err)
{
	struct session *session = &collector->session;
	bool samples_kernel = false;
	for (size_t i = 0; i < session->counters.sampler_count; i++) {
		struct sampler *sampler = &session->counters.samplers[i];
		if (sampler->attr.exclude_kernel && !sampler->event->attr.exclude_kernel &&
		    !collector->options.user_only) {
			size_t length = strlen(sampler->name);
			snprintf(sampler->name + length, sizeof(sampler->name) - length, "%s",
				 strchr(sampler->name, ':') ? "u" : ":u");
		}
	}
	for (size_t i = 0; i < session->counters.sampler_count; i++) {
		struct sampler *sampler = &session->counters.samplers[i];
		samples_kernel = samples_kernel || !sampler->attr.exclude_kernel;
		if (add_event(session, sampler, sampler->clock) < 0)
			return error_set(err, -ENOMEM, "out of memory");
	}
	if (session->kernel.hidden && samples_kernel)
		note(collector, COLLECT_WARNING,
		     "the kernel hides its addresses (kptr_restrict, or no CAP_SYSLOG): samples in "
		     "the kernel stay without names");
	if (session->counters.memory_refusal && collector->options.edges == COLLECT_EDGES_ALL) {
		char text[256];
		snprintf(text, sizeof(text),
			 "memory at a sample's registers cannot be read (%s): samples are "
			 "interpreted without it",
			 strerror(-session->counters.memory_refusal));
		note(collector, COLLECT_NOTE, text);
	}
	if (session->counters.kernel_dropped)
		note(collector, COLLECT_WARNING,
		     "no right to sample the kernel: user code only; 'culprit doctor' lists the "
		     "ways to allow it");
	return 0;
}

int collector_new(const struct collect_options *options, struct collector **out, struct error *err)
{
	CLEANUP(collector_freep) struct collector *collector = calloc(1, sizeof(*collector));
	if (!collector)
		return error_set(err, -ENOMEM, "out of memory");
	collector->options = *options;
	collector->poll_fd = collector->timer_fd = collector->resume_fd = -1;
	collector->hotplug = HOTPLUG_NONE;
	collector->session.counters.watch = RING_WATCH_NONE;
	collector->session.counters.sideband_watch = RING_WATCH_NONE;
	collector->random = random_seed(clock_realtime_ns() ^ (uint64_t)getpid());
	collector->session.sample_memory = SAMPLE_MEMORY_CLOSED;
	raise_file_limit();
	haste_prefer();
	int ret = plan_make(&collector->plan, options, &collector->session.sample_memory, err);
	if (ret == 0)
		ret = init_session(collector, err);
	if (ret == 0 && !options->user_only && !options->redact)
		kernel_code_open(&collector->session.kernel_code);
	if (ret == 0)
		ret = open_counters(collector, err);
	if (ret == 0)
		ret = name_events(collector, err);
	if (ret == 0)
		ret = make_poll_fd(collector, err);
	plan_release(&collector->plan);
	urgency_end(&collector->session.urgency, collector->session.reader);
	if (ret < 0)
		return ret;
	*out = collector;
	collector = NULL; /* the caller's from here on */
	return 0;
}

static void set_timer(const struct collector *collector)
{
	struct timespec interval = { .tv_nsec = SERVICE_NS };
	struct itimerspec timer = { interval, interval };
	timerfd_settime(collector->timer_fd, 0, &timer, NULL);
}

/* Whatever runs on the CPUs has samples. */
static bool samples_all(const struct collector *collector)
{
	const struct collect_options *options = &collector->options;
	return options->target == COLLECT_SYSTEM && !options->user_only && !options->kernel_only &&
	       !collector->session.counters.kernel_dropped;
}

int collector_start(struct collector *collector, struct error *err)
{
	struct session *session = &collector->session;
	if (ledger_init(&collector->ledger, session, samples_all(collector)) < 0 ||
	    targets_start(&collector->targets, &session->ask, collector->options.children) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	collector->epoch_begin_ns = clock_monotonic_ns();
	collector->epoch_start_real_ns = clock_realtime_ns();
	hotplug_start(&collector->hotplug, &session->counters, collector->epoch_begin_ns);
	int ret = counters_enable(&session->counters, err);
	if (ret < 0)
		return ret;
	set_timer(collector);
	bursts_start(&session->bursts);
	return 0;
}

int collector_poll_fd(const struct collector *collector)
{
	return collector->poll_fd;
}

const struct proc_ask *collector_proc_ask(const struct collector *collector)
{
	return &collector->session.ask;
}

bool collector_alive(struct collector *collector)
{
	return targets_alive(&collector->targets);
}

static uint64_t sideband_bytes(const struct counters *counters)
{
	uint64_t sum = 0;
	for (size_t slot = 0; slot < counters->cpu_count; slot++)
		sum += counters_ring(counters, slot, true)->bytes;
	return sum;
}

/* Empties the rings and handles what they held up to `limit_ns`. */
static int service(struct collector *collector, uint64_t limit_ns)
{
	struct session *session = &collector->session;
	struct counters *counters = &session->counters;
	uint64_t before = sideband_bytes(counters);
	int ret = session_copy_rings(session);
	collector->sideband_news = sideband_bytes(counters) != before;
	if (ret == 0)
		ret = ring_merge(counters->rings, 2 * counters->cpu_count, limit_ns,
				 session_take_record, session);
	return ret;
}

static int failed(struct error *err, int ret)
{
	return error_set(err, ret,
			 ret == -ENOMEM ? "out of memory while collecting"
					: "a perf ring cannot be read: %s",
			 strerror(-ret));
}

/* As service(). What was stepped means what was mapped then: not more is handled before it. */
static int service_bursts(struct collector *collector, uint64_t limit_ns)
{
	struct session *session = &collector->session;
	limit_ns = bursts_limit(&session->bursts, limit_ns);
	uint64_t stepped_ns = bursts_complete(&session->bursts, limit_ns);
	int ret = service(collector, stepped_ns);
	bool news = collector->sideband_news;
	if (ret == 0)
		ret = bursts_service(&session->bursts, session, stepped_ns);
	if (ret == 0 && stepped_ns < limit_ns) {
		ret = service(collector, limit_ns);
		collector->sideband_news |= news;
	}
	return ret;
}

int collector_service(struct collector *collector, struct error *err)
{
	struct session *session = &collector->session;
	uint64_t now = clock_monotonic_ns();
	bool due = ran_out(collector->timer_fd);
	urgency_watch(&session->urgency);
	resume_sideband(collector);
	ring_watch_renew(&session->counters.watch);
	ring_watch_renew(&session->counters.sideband_watch);
	bursts_take_answer(&session->bursts);
	int ret = service_bursts(collector, now - SETTLE_MARGIN_NS);
	/* One that is gone polls readable for ever. */
	if (session->bursts.stepper && session->bursts.stepper->lost)
		epoll_ctl(collector->poll_fd, EPOLL_CTL_DEL, session->bursts.stepper->socket, NULL);
	if (collector->sideband_news)
		pause_sideband(collector);
	if (ret == 0 && due)
		ret = edges_service(&session->edges, EDGES_GO_ON);
	if (ret == 0 && due)
		ret = hotplug_follow(&collector->hotplug, &session->counters, &collector->ledger,
				     now);
	if (ret == 0 && due && !session->inherit) {
		ret = counters_read(&session->counters, COUNTERS_COUNTED);
		if (ret == 0)
			ret = session_settle(session, false);
		counters_redraw(&session->counters, &collector->random);
	}
	process_reap(&session->processes, now - REAP_AFTER_NS);
	return ret < 0 ? failed(err, ret) : 0;
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

/* Hands out what the tally holds; at the end of an epoch, names and code too. */
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
		ret = edge_tally_take(&session->edges.tally, &translation);
	if (ret == 0)
		ret = bursts_take(&session->bursts, &translation);
	if (ret == 0)
		ret = tally_take(&session->tally, &translation);
	if (ret == 0)
		ret = ledger_write(&collector->ledger, session, state == EPOCH_ENDS,
				   samples_all(collector), &translation);
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
	int ret = collector_service(collector, err);
	if (ret < 0)
		return ret;
	ret = counters_read(&session->counters, COUNTERS_ALL);
	uint64_t now_ns = clock_monotonic_ns();
	if (ret == 0)
		ret = hotplug_check(&collector->hotplug, &session->counters, &collector->ledger,
				    now_ns);
	if (ret == 0)
		ret = session_settle(session, false);
	hotplug_settle(&collector->hotplug, &session->counters, &collector->ledger, now_ns);
	return ret < 0 ? failed(err, ret) : 0;
}

int collector_drain(struct collector *collector, struct profile **delta, struct error *err)
{
	int ret = service_and_read(collector, err);
	return ret < 0 ? ret : take(collector, EPOCH_GOES_ON, delta, err);
}

int collector_end_epoch(struct collector *collector, struct profile **delta, struct error *err)
{
	int ret = service_and_read(collector, err);
	if (ret < 0)
		return ret;
	collector->end_ns = clock_monotonic_ns();
	uint64_t next_real_ns = clock_realtime_ns();
	urgency_begin(&collector->session.urgency, collector->session.reader);
	ret = take(collector, EPOCH_ENDS, delta, err);
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
	note(collector, COLLECT_WARNING, text);
}

/* The other layers hold everywhere that we know; this one is what keeps files, processes and
 * networks from a parser. */
static void tell_helpers(const struct collector *collector)
{
	const struct reader *reader = collector->session.reader;
	if (reader && (reader_layers_missing(reader) & CONFINEMENT_FILTER))
		note(collector, COLLECT_WARNING,
		     "helper processes read strangers' files with no filter of system calls "
		     "(seccomp), for this machine has none; 'culprit doctor' says what holds");
}

static void tell_bursts(const struct collector *collector)
{
	char text[400];
	bool warns = bursts_tell(&collector->session.bursts, text, sizeof(text));
	if (text[0])
		note(collector, warns ? COLLECT_WARNING : COLLECT_NOTE, text);
}

static void tell_hotplug(const struct collector *collector)
{
	char text[600];
	hotplug_tell(&collector->hotplug, text, sizeof(text));
	if (text[0])
		note(collector, COLLECT_WARNING, text);
}

void collector_tell_missing(const struct collector *collector, uint64_t samples, char *text,
			    size_t size)
{
	const struct session *session = &collector->session;
	guarded_tell(&session->guarded,
		     session->counters.options.user_sideband ? GUARDED_BE_ROOT
							     : GUARDED_WHOLE_MACHINE,
		     text, size);
	if (!text[0])
		targets_tell_below(&collector->targets, &session->ask, samples, text, size);
}

int collector_finish(struct collector *collector, struct profile **delta, struct error *err)
{
	struct session *session = &collector->session;
	urgency_begin(&session->urgency, session->reader);
	bursts_stop(&session->bursts);
	counters_disable(&session->counters);
	ledger_stop(&collector->ledger, session);
	collector->end_ns = clock_monotonic_ns();
	int ret = service_bursts(collector, UINT64_MAX);
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
	urgency_look(&session->urgency, session->reader);
	if (ret == 0)
		ret = session_settle(session, true);
	urgency_look(&session->urgency, session->reader);
	tally_close(&session->tally);
	ret = ret < 0 ? failed(err, ret) : take(collector, EPOCH_ENDS, delta, err);
	/* They end while the profile is written. Nothing is counted any more. */
	reader_dismiss(session->reader);
	tally_release(&session->tally);
	edge_tally_release(&session->edges.tally);
	return ret;
}
